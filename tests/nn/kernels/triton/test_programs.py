"""The kernels compile for every target without atomics, stack or spills, and move few more bytes than they must."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from edgecond.graph import Rows
from edgecond.nn.kernels import Activations, Gradients, Runs
from edgecond.nn.kernels.triton import Triton

pytest.importorskip("triton")

ROOT = Path(__file__).parents[4]
EVERY = os.environ.get("EDGECOND_EVERY_GPU") == "1"  # all widths, precisions and targets: over an hour


def test_kernels_compile_without_atomics_stack_or_spills(tmp_path: Path):
    """Ahead of time for sm_80, sm_90, sm_100 and gfx942, at the widths of the paper's networks; 48 KiB of shared memory
    is what every GPU gives to a program."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment |= {"TRITON_CACHE_DIR": str(tmp_path), "TRITON_DEFAULT_FP_FUSION": "1"}
    command = [sys.executable, "-m", "tests.nn.kernels.triton.ahead", *["--every"] * EVERY]

    lines = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout

    compiled = [json.loads(line) for line in lines.splitlines()]
    assert {"blend", "send", "differentiate", "collect", "join"} == {kernel["kernel"] for kernel in compiled}
    assert {"sm_80", "sm_90", "sm_100", "gfx942"} == {kernel["target"] for kernel in compiled}
    wasteful = [k for k in compiled if k["atomics"] or k["stack"] or k["spills"] or k["shared"] >= 48 << 10]
    assert wasteful == []


class Counted(Triton):
    """The backend in the interpreter, with the bytes that the loads and stores of each kernel move."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from triton.runtime.interpreter import InterpreterBuilder

        super().__init__(("cpu",))
        self.bytes: Counter[str] = Counter()
        load, store = InterpreterBuilder.create_masked_load, InterpreterBuilder.create_masked_store

        def count(pointers: Any, mask: Any) -> None:
            self.bytes[self.kernel] += int(np.sum(mask.data)) * pointers.get_element_ty().primitive_bitwidth // 8

        def counted_load(builder: Any, pointers: Any, mask: Any, *rest: Any) -> Any:
            count(pointers, mask)
            return load(builder, pointers, mask, *rest)

        def counted_store(builder: Any, pointers: Any, value: Any, mask: Any, *rest: Any) -> Any:
            count(pointers, mask)
            return store(builder, pointers, value, mask, *rest)

        monkeypatch.setattr(InterpreterBuilder, "create_masked_load", counted_load)
        monkeypatch.setattr(InterpreterBuilder, "create_masked_store", counted_store)

    def launch(self, kernel: str, *arguments: Any, **named: Any) -> None:
        self.kernel = kernel
        super().launch(kernel, *arguments, **named)


@pytest.mark.parametrize(
    ("layers", "d", "degree"),
    [((16, 32), 32, 8), ((64,), 48, 4), ((16, 32), 32, 100), ((64,), 16, 100), ((64,), 96, 500)],
    ids=["cloud", "graph", "two layers", "narrow signal", "wide signal, high degree"],
)
def test_kernels_with_f_inside_move_less_than_one_and_a_half_of_what_they_must(
    layers: tuple[int, ...], d: int, degree: int, monkeypatch: pytest.MonkeyPatch
):
    """They must read labels, columns and signals of all edges and the pointer once, and read or write A or G once; the
    gradients of the layers and those of the labels, which take a kernel each, must also be written."""
    backend, n, s, k = Counted(monkeypatch), max(160 // degree, 2), 6, layers[-1]
    m, sides = n * degree, (s, *layers)
    rows = Rows(torch.arange(n + 1) * degree, torch.arange(m) % n)
    weights = [torch.ones(o, i) for i, o in zip(sides, layers, strict=False)]
    a = Activations(torch.ones(m, s), None, weights, [torch.ones(o) for o in layers])
    weight, y = torch.ones(k, d, d), torch.ones(n, d)
    layered = [w.clone() for w in weights], [b.clone() for b in a.biases]
    to = Gradients(torch.zeros(n, d), torch.zeros(m, s), None, *layered)

    backend.gather(rows, a, weight, y)
    backend.spread(rows, a, weight, y, y, to)

    f = sum(4 * (w.numel() + len(w)) for w in weights)
    of_rows, of_edges = 8 * (n + 1) + 4 * n * k * d, 4 * m * s + f
    needed = {
        "blend": of_rows + of_edges + m * (8 + 4 * d),
        "send": of_rows + of_edges + m * 4 * d,
        "differentiate": 2 * (of_rows + of_edges + m * (8 + 4 * d)) + f + 4 * m * s,
        "collect": 8 * (n + 1) + m * (8 + 4 * d) + 4 * n * d,
    }
    assert {kernel: backend.bytes[kernel] <= 1.5 * bytes for kernel, bytes in needed.items()} == dict.fromkeys(
        needed, True
    )


@pytest.mark.parametrize(
    ("d", "scaled", "kernels"),
    [(d, scaled, ("send", "blend")) for d in (16, 64) for scaled in (False, True)] + [(96, False, ("send",))],
)
def test_kernels_over_runs_move_less_than_one_and_a_half_of_what_they_must(
    d: int, scaled: bool, kernels: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
):
    """They must read both ends of every edge, or read one and write the message, and read or write a filter per run."""
    backend, m, n = Counted(monkeypatch), 600, 20
    index = torch.arange(m) % n
    runs = Runs(torch.tensor([0, 150, m]), index, index, torch.ones(m) if scaled else None)

    backend.products(runs, torch.ones(2, 1 + scaled, d, d), torch.ones(n, d), n)
    backend.outer_sums(runs, torch.ones(n, d), torch.ones(n, d))

    filters = 4 * 2 * (1 + scaled) * d * d
    needed = {
        "send": filters + m * (8 + 8 * d + 4 * scaled),
        "blend": filters + m * (16 + 8 * d + 4 * scaled),
    }
    assert {kernel: backend.bytes[kernel] <= 1.5 * needed[kernel] for kernel in kernels} == dict.fromkeys(kernels, True)
