"""Compile what the Triton backend launches ahead of time, without a GPU, and print what each kernel takes, as JSON.

    python -m tests.nn.kernels.triton.ahead [--every]

The launches are those of the backend itself, recorded instead of run. By default, a few kernels; with `--every`,
those for all widths, precisions and targets, which takes more than an hour on one core.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import torch
import triton
from torch import Tensor
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile

from edgecond.graph import Rows
from edgecond.nn.kernels import Activations, Gradients, Runs
from edgecond.nn.kernels.triton import options, programs, Triton

TARGETS = {name: GPUTarget("cuda", int(name[3:]), 32) for name in ("sm_80", "sm_90", "sm_100")}
TARGETS["gfx942"] = GPUTarget("hip", "gfx942", 64)
TYPES = {torch.float32: "*fp32", torch.float16: "*fp16", torch.bfloat16: "*bf16", torch.int64: "*i64"}
WIDTHS = (16, 24, 32, 48, 64, 96)  # of the signals in the networks of the paper
FILTERS = {16: (16,), 32: (16, 32), 64: (64,)}  # hidden layers of F for every k; the last two are those of the paper
KERNELS = ("blend", "send", "differentiate", "collect", "join")
LABELS = 6  # offsets in Cartesian and spherical coordinates, Section 4.1


@dataclass(frozen=True)
class Case:
    """A convolution of the given width, k, degree and precision, or with given activations instead of layers of F."""

    width: int
    k: int
    degree: int = 8
    dtype: torch.dtype = torch.float32
    layers: bool = True

    def __str__(self) -> str:
        kind = "F inside" if self.layers else "activations and runs"
        return f"{self.dtype}, width {self.width}, k = {self.k}, degree {self.degree}, {kind}"


@dataclass(frozen=True)
class Resources:
    """What a compiled kernel takes: bytes of stack per thread and of shared memory, spills, atomic instructions."""

    target: str
    case: str
    kernel: str
    registers: int
    stack: int
    spills: int
    shared: int
    atomics: int


class Recorder(Triton):
    """The backend with launches that are recorded instead of run."""

    def __init__(self) -> None:
        super().__init__(("cpu",))
        self.launches: list[tuple[str, int, dict[str, Any]]] = []

    def launch(self, kernel: str, grid: tuple[int, ...], warps: int, **arguments: Any) -> None:
        self.launches.append((kernel, warps, arguments))


def launches_of(case: Case) -> list[tuple[str, int, dict[str, Any]]]:
    """Return the launches of both passes of a convolution, and of both sums over runs."""

    def zeros(*shape: int) -> Tensor:
        return torch.zeros(*shape, dtype=case.dtype)

    recorder, n, d = Recorder(), 128, case.width
    m = n * case.degree
    rows = Rows(torch.arange(n + 1) * case.degree, torch.zeros(m, dtype=torch.long))
    widths = (LABELS, *FILTERS[case.k]) if case.layers else (case.k,)
    weights, biases = [zeros(o, i) for i, o in pairwise(widths)], [zeros(o) for o in widths[1:]]
    a, weight, y = Activations(zeros(m, widths[0]), None, weights, biases), zeros(case.k + 1, d, d), zeros(n, d)
    to = Gradients(zeros(n, d), zeros(m, widths[0]), zeros(*weight.shape), weights, biases)
    recorder.gather(rows, a, weight, y)
    recorder.spread(rows, a, weight, y, y, to)
    if not case.layers:
        for scale in (None, zeros(m)):
            runs = Runs(torch.tensor([0, m]), rows.column, rows.column, scale)
            recorder.products(runs, zeros(1, runs.channels, d, d), y, n)
            recorder.outer_sums(runs, y, y)
        recorder.gather(rows, Activations(None, torch.zeros(m, dtype=torch.long)), weight, y)
    return recorder.launches


def source_of(target: str, kernel: str, given: dict[str, Any]) -> ASTSource:
    """Return what the compiler takes for a launch: the function, the types of its arguments and the constants."""
    function = getattr(programs, kernel)
    given = given | ({"P": "ieee"} if target.startswith("gfx") else {})
    signature, constants, attributes = {}, {}, {}
    for position, name in enumerate(function.arg_names):
        value = given[name]
        if name.isupper() or value is None:
            signature[name], constants[name] = "constexpr", value
        elif isinstance(value, Tensor):
            signature[name], attributes[position,] = TYPES[value.dtype], [["tt.divisibility", 16]]
        else:
            signature[name] = "i32"
    return ASTSource(function, signature=signature, constexprs=constants, attrs=attributes)


def resources(target: str, case: Case, kernel: str, warps: int, source: ASTSource) -> Resources:
    """Compile a launch for a target."""
    nvidia = target.startswith("sm")
    compiled = compile(source, target=TARGETS[target], options=options(warps, nvidia=nvidia))
    return Resources(
        target, str(case), kernel, shared=compiled.metadata.shared, **(_of_nvidia if nvidia else _of_amd)(compiled.asm)
    )


def _of_nvidia(asm: dict[str, Any]) -> dict[str, int]:
    tool = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(asm["cubin"])
        file.flush()
        usage = subprocess.run([tool, "-res-usage", file.name], capture_output=True, text=True, check=True).stdout
    found = re.search(r"REG:(\d+) STACK:(\d+) SHARED:\d+ LOCAL:(\d+)", usage)
    assert found is not None, usage
    registers, stack, local = map(int, found.groups())  # what is spilled lies on the stack
    return {
        "registers": registers,
        "stack": stack + local,
        "spills": 0,
        "atomics": len(re.findall(r"\b(?:atom|red)\.", asm["ptx"])),
    }


def _of_amd(asm: dict[str, Any]) -> dict[str, int]:
    text = asm["amdgcn"]

    def number(name: str) -> int:
        found = re.search(rf"\.{name}: +(\d+)", text)
        assert found is not None, name
        return int(found[1])

    return {
        "registers": number("vgpr_count"),
        "stack": number("private_segment_fixed_size"),
        "spills": number("vgpr_spill_count") + number("sgpr_spill_count"),
        "atomics": text.count("_atomic_"),
    }


def cases(every: bool) -> Iterator[tuple[str, Case, Sequence[str]]]:
    """Yield targets, cases and kernels."""
    if every:
        for target, width, k, degree in product(TARGETS, WIDTHS, FILTERS, (8, 64)):
            yield target, Case(width, k, degree), KERNELS
        for target, width, k in product(TARGETS, WIDTHS, FILTERS):
            yield target, Case(width, k, 64, layers=False), KERNELS
            yield target, Case(width, k, 128, layers=False), KERNELS
            yield target, Case(width, k, 64, torch.bfloat16), KERNELS
            yield target, Case(width, k, 64, torch.float16), KERNELS
        return
    yield "sm_80", Case(32, 32), KERNELS
    for target in ("sm_90", "sm_100", "gfx942"):
        yield target, Case(96, 64, 64), ("differentiate",)  # takes the most registers and shared memory
    yield "gfx942", Case(96, 64, 128, layers=False), ("send",)


def main() -> None:
    """Print the resources of every kernel, one line of JSON each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", action="store_true")
    seen = set()
    for target, case, kernels in cases(parser.parse_args().every):
        for kernel, warps, given in launches_of(case):
            source = source_of(target, kernel, given)
            key = (target, warps, source.hash())
            if kernel in kernels and key not in seen:
                seen.add(key)
                print(json.dumps(asdict(resources(target, case, kernel, warps, source))), flush=True)


if __name__ == "__main__":
    main()
