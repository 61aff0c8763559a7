"""Growth with the number of edges, up to a million vertices and ten million edges: `python -m benchmarks.large`."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import torch

from benchmarks.cases import SEED
from benchmarks.memory import peak_above, status
from edgecond import ECConv, FilterNetwork, Graph

EDGES = (1_250_000, 2_500_000, 5_000_000, 10_000_000)
DEGREE = 10


def measure(edges: int) -> dict[str, float]:
    """Return seconds, peak bytes above the inputs, and peak bytes of the process, measured in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.large", str(edges)]
    result: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return result


def main(m: int) -> None:
    torch.manual_seed(SEED)
    torch.set_num_threads(2)
    n = m // DEGREE
    target = torch.arange(n).repeat_interleave(DEGREE)
    source = torch.randint(0, n, (m,))
    graph = Graph.from_edges(source, target, torch.randn(m, 6), num_vertices=n)
    conv = ECConv(16, 32, FilterNetwork([6, 16, 32], 16, 32))
    x = torch.randn(n, 16, requires_grad=True)
    start = time.perf_counter()
    above = peak_above(lambda: conv(x, graph).sum().backward())
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "above_inputs": above, "process": status("VmHWM")}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
