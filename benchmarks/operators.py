"""Graph kernel networks on Darcy flow, with `NNConv` and with `ECConv`: `python -m benchmarks.operators`.

The model and its data are those of examples/darcy.py, at a larger size. The last measurement is a training step on a
mesh of a million edges, for which `NNConv` would need more memory than a workstation has.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from copy import deepcopy
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import nn, Tensor

from benchmarks import records
from benchmarks.cases import SEED
from benchmarks.memory import peak_above, status
from benchmarks.page import measured, MIB, table_row
from benchmarks.timing import clocked, seconds
from edgecond.nn import swap
from examples.darcy import Field, field, GraphKernelNetwork

PAGE = records.ROOT / "docs" / "operators.md"
START, END = "<!-- written by python -m benchmarks.operators -->", "<!-- until here -->"
POINTS, RADIUS, WIDTH, HIDDEN, DEPTH = 1_000, 0.1, 32, (64, 128), 4
MESH_POINTS, MESH_WIDTH, MESH_HIDDEN = 167_500, 64, (32, 64)
ROUNDS = 5
RIVALS = ("NNConv", "ECConv")


def problem(points: int, radius: float | None) -> Field:
    """Return a problem that is the same in every process."""
    return field(points, np.random.default_rng(SEED), radius)


def model(rival: str, width: int, hidden: tuple[int, int]) -> nn.Module:
    """Return the network, from the same parameters for both rivals."""
    torch.manual_seed(SEED)
    network = GraphKernelNetwork(width, hidden, DEPTH)
    if rival == "ECConv":
        swap(network)
    return network


def step(network: nn.Module, one: Field) -> Tensor:
    """Return the loss of a forward and a backward pass; the edges are a new tensor, as from a loader."""
    network.zero_grad()
    loss = (network(one.x, one.edge_index.clone(), one.edge_attr) - one.u).square().mean()
    loss.backward()
    return loss.detach()


def training(threads: int) -> dict[str, Any]:
    """Return milliseconds of a step, the ratio within a round, and the losses of both after some steps of Adam."""
    torch.set_num_threads(threads)
    one = problem(POINTS, RADIUS)
    networks = {rival: model(rival, WIDTH, HIDDEN) for rival in RIVALS}
    optimizers = {rival: torch.optim.Adam(network.parameters()) for rival, network in networks.items()}
    times: dict[str, list[float]] = {rival: [] for rival in RIVALS}
    losses: dict[str, list[float]] = {rival: [] for rival in RIVALS}
    for _ in range(ROUNDS):
        for rival, network in networks.items():
            loss, spent = clocked(lambda network=network: step(network, one))  # type: ignore[misc]
            if rival == "ECConv":
                spent = min(spent, *(seconds(lambda network=network: step(network, one)) for _ in range(2)))
            optimizers[rival].step()
            times[rival].append(spent)
            losses[rival].append(float(loss))
    return {
        "milliseconds": {rival: 1e3 * median(spent) for rival, spent in times.items()},
        "times_faster": median(a / b for a, b in zip(*times.values(), strict=True)),
        "losses": losses,
        "largest_difference": max(abs(a - b) / a for a, b in zip(*losses.values(), strict=True)),
    }


def memory(rival: str) -> None:
    """Print the peak bytes of a step above its inputs."""
    torch.set_num_threads(1)
    network = model(rival, WIDTH, HIDDEN)
    step(deepcopy(network), problem(50, RADIUS))  # loads code and sets up buffers that a second call would not need
    one = problem(POINTS, RADIUS)
    print(peak_above(lambda: step(network, one)))


def mesh() -> None:
    """Print size, seconds and memory of a step of ECConv on the edges of a large mesh."""
    torch.set_num_threads(2)
    network, one = model("ECConv", MESH_WIDTH, MESH_HIDDEN), problem(MESH_POINTS, None)
    m = one.edge_index.shape[1]
    above, spent = clocked(lambda: peak_above(lambda: step(network, one)))
    sizes = {"vertices": len(one.x), "edges": m, "width": MESH_WIDTH, "layers": DEPTH}
    costs = {"filters_of_a_layer": 4 * m * MESH_WIDTH**2, "seconds": spent, "peak": above, "process": status("VmHWM")}
    print(json.dumps(sizes | costs))


def fresh(*arguments: str) -> Any:
    """Run a measurement in a process of its own, and return what it prints."""
    command = [sys.executable, "-m", "benchmarks.operators", *arguments]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def table(record: dict[str, Any]) -> str:
    """Return the measurements as they are on the page."""
    used, large, one = record["memory"], record["mesh"], record["training"]["1"]
    rows = [
        ["", "1 thread", "2 threads", "peak memory"],
        ["---", "---:", "---:", "---:"],
        *(
            [f"`{rival}`"]
            + [f"{record['training'][threads]['milliseconds'][rival]:,.0f} ms" for threads in ("1", "2")]
            + [f"{used[rival] / MIB:,.0f} MiB"]
            for rival in RIVALS
        ),
        ["ratio"]
        + [f"{record['training'][threads]['times_faster']:.1f}x faster" for threads in ("1", "2")]
        + [f"{used['NNConv'] / used['ECConv']:.0f}x less"],
    ]
    step = (
        f"A step on {record['vertices']:,} points and {record['edges']:,} edges, {WIDTH} channels, F = "
        f"{'-'.join(map(str, (6, *HIDDEN)))}, {DEPTH} applications of the layer. The losses of {ROUNDS} steps of Adam "
        f"agree to {one['largest_difference']:.0e} of their size."
    )
    filters, gib = large["filters_of_a_layer"], 2**30
    million = (
        f"On a triangulation with {large['vertices']:,} vertices and {large['edges']:,} edges, {large['width']} "
        f"channels, the filters of a single application take {filters / gib:.1f} GiB in `NNConv`, and training keeps "
        f"all {large['layers']} of them for the backward pass. A step of `ECConv` takes {large['seconds']:.0f} s and "
        f"{large['peak'] / gib:.1f} GiB, {filters / large['peak']:.0f}x less than these filters alone."
    )
    return "\n".join([*wrap(step), "", *map(table_row, rows), "", *wrap(million), "", measured(record)])


wrap = partial(textwrap.wrap, width=112, break_on_hyphens=False, break_long_words=False)


def filled(text: str, record: dict[str, Any]) -> str:
    """Return the page with the measurements between its two marks."""
    before, _, rest = text.partition(START)
    return f"{before}{START}\n{table(record)}\n{END}{rest.partition(END)[2]}"


def current() -> str:
    """Return the page of the record that exists."""
    return filled(PAGE.read_text(), records.read(records.OPERATORS))


def main() -> None:
    one = problem(POINTS, RADIUS)
    record = {
        **records.circumstances(),
        "vertices": len(one.x),
        "edges": one.edge_index.shape[1],
        "training": {str(threads): training(threads) for threads in (1, 2)},
        "memory": {rival: fresh("memory", rival) for rival in RIVALS},
        "mesh": fresh("mesh"),
    }
    records.write(records.OPERATORS, record)
    PAGE.write_text(filled(PAGE.read_text(), record))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["memory", rival]:
            memory(rival)
        case ["mesh"]:
            mesh()
        case _:
            main()
