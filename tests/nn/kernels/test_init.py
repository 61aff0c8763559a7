"""The backends compute the sums of their interface, always the same, with any number of threads."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import Tensor

from edgecond.graph import Graph, Labels, Rows
from edgecond.nn import kernels
from edgecond.nn.convolution import factored, per_label
from edgecond.nn.kernels import Activations, Gradients
from edgecond.nn.kernels import torch as torch_backend
from edgecond.nn.kernels.cpp import CPP
from edgecond.nn.kernels.torch import TORCH
from tests.nn.convolution.zoo import evaluate, graph_of, numbers

GRAPH = graph_of([(0, 1), (4, 1), (0, 1), (2, 3), (1, 0), (3, 0), (3, 2)], 4, sources=5)
M, R, J, K, U = 7, 3, 2, 5, 4  # edges; widths of the signals of rows and columns, and of activations; labels


def rows_of(by: str) -> Rows:
    return GRAPH.by_target if by == "target" else GRAPH.by_source


def activations_of(kind: str) -> tuple[Activations, np.ndarray]:
    """Activations as the kernels take them, and as a dense matrix with a row per edge of the graph."""
    if kind == "one-hot":
        index = GRAPH.labels.index
        assert index is not None
        return Activations(None, index), np.eye(U)[index.numpy()]
    given = numbers(M, K, seed=1)
    if kind == "dense":
        return Activations(given), given.numpy()
    if kind == "bias":
        return Activations(given), np.hstack([given.numpy(), np.ones((M, 1))])
    weight, bias = numbers(6, K, seed=2), numbers(6, seed=3)
    return Activations(given, None, [weight], [bias]), np.maximum(given.numpy() @ weight.numpy().T + bias.numpy(), 0)


def ends(rows: Rows) -> list[tuple[int, int, int]]:
    """Row, vertex at the other end, and number of every edge."""
    spans = pairwise(rows.pointer.tolist())
    edge = rows.edge.tolist() if rows.edge is not None else list(range(M))
    return [(r, rows.column.tolist()[e], edge[e]) for r, (a, b) in enumerate(spans) for e in range(a, b)]


kinds = pytest.mark.parametrize("kind", ["dense", "bias", "one-hot", "layer"])
by = pytest.mark.parametrize("by", ["target", "source"])


@by
@kinds
def test_gather_sums_what_the_neighbours_of_a_row_send(kind: str, by: str, engine: str):
    """The formula of the module, by a loop: sum over e and c of a_ec W_c y_e."""
    rows, (activations, dense) = rows_of(by), activations_of(kind)
    weight, y = numbers(dense.shape[1], R, J, seed=4), numbers(5, J, seed=5)

    ours = kernels.gather(rows, activations, weight, y)

    expected = np.zeros((len(rows.pointer) - 1, R))
    for r, j, e in ends(rows):
        expected[r] += np.einsum("c,crj,j->r", dense[e], weight.numpy(), y.numpy()[j])
    np.testing.assert_allclose(ours.numpy(), expected, atol=1e-12)


@by
@kinds
def test_spread_adds_what_every_row_sends_and_fills_the_gradients(kind: str, by: str, engine: str):
    """The formulas of the module, by a loop; the output is added to, the gradients are written over."""
    rows, (activations, dense) = rows_of(by), activations_of(kind)
    weight, y = numbers(dense.shape[1], R, J, seed=4), numbers(5, J, seed=5)
    z = numbers(len(rows.pointer) - 1, R, seed=6)
    hidden = None if activations.hidden is None else torch.full((M, K), torch.nan).double()
    to = Gradients(
        torch.ones(5, J).double(),
        hidden,
        torch.full(weight.shape, torch.nan).double(),
        [torch.full(layer.shape, torch.nan).double() for layer in activations.weights],
        [torch.full(bias.shape, torch.nan).double() for bias in activations.biases],
    )

    kernels.spread(rows, activations, weight, z, y, to)

    out, for_weight, for_dense = np.ones((5, J)), np.zeros(weight.shape), np.zeros(dense.shape)
    for r, j, e in ends(rows):
        out[j] += np.einsum("c,crj,r->j", dense[e], weight.numpy(), z.numpy()[r])
        for_weight += np.einsum("c,r,j->crj", dense[e], z.numpy()[r], y.numpy()[j])
        for_dense[e] = np.einsum("r,crj,j->c", z.numpy()[r], weight.numpy(), y.numpy()[j])
    np.testing.assert_allclose(to.out, out, atol=1e-12)
    np.testing.assert_allclose(to.weight, for_weight, atol=1e-12)
    if kind == "layer":
        slope = for_dense * (dense > 0)
        np.testing.assert_allclose(to.weights[0], slope.T @ activations.hidden.numpy(), atol=1e-12)
        np.testing.assert_allclose(to.biases[0], slope.sum(0), atol=1e-12)
        np.testing.assert_allclose(to.hidden, slope @ activations.weights[0].numpy(), atol=1e-12)
    elif hidden is not None:
        np.testing.assert_allclose(to.hidden, for_dense[:, :K], atol=1e-12)


@by
@kinds
def test_the_torch_backend_may_take_one_channel_at_a_time(kind: str, by: str, monkeypatch: pytest.MonkeyPatch):
    """What the torch backend forms at a time is bounded; the sums do not depend on where it cuts."""
    rows, (activations, dense) = rows_of(by), activations_of(kind)
    weight, y = numbers(dense.shape[1], R, J, seed=4), numbers(5, J, seed=5)
    z = numbers(len(rows.pointer) - 1, R, seed=6)

    def all_sums() -> list[Tensor]:
        to = Gradients(
            torch.zeros(5, J).double(),
            None if activations.hidden is None else torch.empty(M, K).double(),
            torch.empty_like(weight),
            [torch.empty_like(layer) for layer in activations.weights],
            [torch.empty_like(bias) for bias in activations.biases],
        )
        TORCH.spread(rows, activations, weight, z, y, to)
        sums = [TORCH.gather(rows, activations, weight, y), to.out, to.hidden, to.weight, *to.weights, *to.biases]
        return [tensor for tensor in sums if tensor is not None]

    at_once = all_sums()
    monkeypatch.setattr(torch_backend, "ELEMENTS", 1)
    by_channel = all_sums()
    monkeypatch.setattr(torch_backend, "BLOCK", 1)

    torch.testing.assert_close(by_channel, at_once)
    torch.testing.assert_close(all_sums(), at_once)


@by
@pytest.mark.parametrize("engine", ["torch"], indirect=True)
def test_autocast_leaves_the_sums_in_the_precision_of_their_arguments(by: str, engine: str):
    """The operator widens its arguments to float32; bfloat16, which autocast asks for, has a precision of 1/256."""
    x, hidden, weight = numbers(5, J).float(), numbers(M, K, seed=1).float(), numbers(K, R, J, seed=2).float()
    plain = factored(x, GRAPH, hidden, weight, by=by)

    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.testing.assert_close(factored(x, GRAPH, hidden, weight, by=by), plain)


# Repeatability


N_LARGE, M_LARGE = 1500, 40_000


@cache
def large() -> Graph:
    """Large enough that every kernel works on three threads, and in more than one round.

    16 rounds of 2,048 edges are 32,768 edges. With 33 channels and widths 8 and 16, the edges take 40,000 * 33 * 8 =
    10.6 million multiply-adds, and a thread is worth half a million.
    """
    generator = torch.Generator().manual_seed(0)
    source, target = torch.randint(N_LARGE, (2, M_LARGE), generator=generator)
    index = torch.randint(4, (M_LARGE,), generator=generator)
    return Graph.from_edges(source, target, Labels(torch.eye(4), index), num_vertices=N_LARGE)


LARGE: dict[str, Callable[..., Tensor]] = {
    "dense": lambda by, x, hidden, weight: factored(x, large(), hidden, weight, by=by),
    "layers": lambda by, x, labels, weight, w0, w1, b0, b1: factored(
        x, large(), labels, weight, layers=([w0, w1], [b0, b1]), by=by
    ),
    "one-hot": lambda by, x, theta: per_label(x, large(), theta, by=by),
}


def large_inputs(kind: str) -> dict[str, Tensor]:
    x = numbers(N_LARGE, 8)
    match kind:
        case "one-hot":
            inputs = {"x": x, "theta": numbers(4, 16, 8, seed=1)}
        case "dense":
            inputs = {"x": x, "hidden": numbers(M_LARGE, 32, seed=1), "weight": numbers(33, 16, 8, seed=2)}
        case _:
            inputs = {"x": x, "labels": numbers(M_LARGE, 6, seed=1), "weight": numbers(33, 16, 8, seed=2)}
            inputs |= {"w0": numbers(16, 6, seed=3), "w1": numbers(32, 16, seed=4)}
            inputs |= {"b0": numbers(16, seed=5), "b1": numbers(32, seed=6)}
    return {name: tensor.float() for name, tensor in inputs.items()}


def assert_identical(ours: dict[str, Tensor], others: dict[str, Tensor]) -> None:
    for name, tensor in ours.items():
        assert tensor.equal(others[name]), name


@by
@pytest.mark.parametrize("kind", LARGE)
@pytest.mark.parametrize("engine", ["avx512", "avx2", "plain"], indirect=True)
def test_values_and_gradients_are_bit_identical_with_any_number_of_threads(kind: str, by: str, engine: str):
    """Every element is summed by one thread in a fixed order, or in parts that the problem alone sets."""
    inputs, runs = large_inputs(kind), []

    for threads in (1, 2, 3, 2):
        torch.set_num_threads(threads)
        runs.append(evaluate(lambda **t: LARGE[kind](by, **t), **inputs))

    for again in runs[1:]:
        assert_identical(runs[0], again)


@by
@pytest.mark.parametrize("engine", ["torch"], indirect=True)
def test_the_torch_backend_is_bit_identical_from_run_to_run(by: str, engine: str):
    """The order of every sum is fixed by the graph."""
    torch.set_num_threads(2)
    inputs = large_inputs("layers")

    first, second = (evaluate(lambda **t: LARGE["layers"](by, **t), **inputs) for _ in range(2))

    assert_identical(first, second)


@by
@pytest.mark.parametrize("kind", LARGE)
@pytest.mark.parametrize("engine", ["avx512", "avx2", "plain"], indirect=True)
def test_the_cpp_backend_agrees_with_the_torch_backend_on_a_large_graph(kind: str, by: str, engine: str):
    """Two methods: loops over rows on three threads, and torch's own operations; single precision to 1e-4."""
    torch.set_num_threads(3)
    inputs = large_inputs(kind)
    ours = evaluate(lambda **t: LARGE[kind](by, **t), **inputs)

    expected = expected_on_the_large_graph(kind)

    for name, exact in expected.items():
        assert float((ours[name] - exact).abs().max()) <= 1e-4 * float(exact.abs().max()), name


@cache
def expected_on_the_large_graph(kind: str) -> dict[str, Tensor]:
    """In double precision, on torch's operations."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CPP, "extension", None)
        inputs = {name: tensor.double() for name, tensor in large_inputs(kind).items()}
        return evaluate(lambda **t: LARGE[kind]("target", **t), **inputs)


# The choice of a backend


def test_the_kernels_can_be_turned_off_and_need_not_be_there():
    """The documented switch, both values; and an extension that was not built, for which None in sys.modules stands."""
    code = """
import importlib, os, sys
from edgecond.nn import kernels
from edgecond.nn.kernels import cpp
for switch in ("", "plain", "0", "hidden"):
    os.environ["EDGECOND_NATIVE"] = switch
    if switch == "hidden":
        sys.modules["edgecond.nn.kernels._kernels"] = None
        del kernels._kernels
    importlib.reload(cpp)
    importlib.reload(kernels)
    print(kernels.available(), kernels.instruction_set())
"""

    environment = {**os.environ, "EDGECOND_NATIVE": ""}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)

    built = find_spec("edgecond.nn.kernels._kernels") is not None
    plain = "plain" if built else "none"
    first = widest() if built else "none"
    assert run.stdout.splitlines() == [f"{built} {first}", f"{built} {plain}", "False none", "False none"]


def widest() -> str:
    """Return the widest instruction set by the flags that Linux lists; by the extension elsewhere."""
    if not os.path.exists("/proc/cpuinfo"):
        return str(import_module("edgecond.nn.kernels._kernels").instruction_sets()[-1])
    with open("/proc/cpuinfo") as file:
        flags = set(next((line for line in file if line.startswith("flags")), "").split())
    avx2 = {"avx2", "fma"} <= flags
    return (
        "avx512" if avx2 and {"avx512f", "avx512vl", "avx512dq", "avx512bw"} <= flags else "avx2" if avx2 else "plain"
    )


@pytest.mark.skipif(not kernels.available(), reason="the kernels are not built")
def test_kernels_of_a_processor_without_wide_vectors_are_never_picked():
    """Illegal instructions end a process: the C++ code lists what the processor has, and a call asks for no more."""
    assert kernels.instruction_set() == widest()
    rows, a = rows_of("target"), activations_of("dense")[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CPP, "set", 99)
        kernels.gather(rows, a, numbers(K, R, J), numbers(5, J))


def test_importing_the_extension_does_not_turn_the_kernels_on(monkeypatch: pytest.MonkeyPatch):
    """Python binds an imported module to its package; the switch must not be undone by that."""
    monkeypatch.setattr(CPP, "extension", None)
    if find_spec("edgecond.nn.kernels._kernels") is not None:
        import_module("edgecond.nn.kernels._kernels")

    assert not kernels.available()


def test_the_instruction_set_is_the_one_in_use(engine: str):
    assert kernels.instruction_set() == ("none" if engine == "torch" else engine)
    assert kernels.available() == (engine != "torch")


def test_the_cpp_backend_serves_single_and_double_precision_on_the_cpu(engine: str):
    """The torch backend serves everything else."""
    dtypes = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
    preferred = TORCH if engine == "torch" else CPP

    chosen = [kernels.backend_for(torch.empty(0, dtype=dtype)) for dtype in dtypes]

    assert chosen == [preferred, preferred, TORCH, TORCH]
    assert kernels.backend_for(torch.empty(0, device="meta")) is TORCH


def test_the_first_backend_that_serves_a_tensor_computes_on_it(monkeypatch: pytest.MonkeyPatch):
    """A backend that is added to the list serves its tensors; others are left to those after it."""

    class Integers(type(TORCH)):  # type: ignore[misc]
        def serves(self, signal: Tensor) -> bool:
            return not signal.is_floating_point()

        def drop_(self, tensor: Tensor, p: float, seed: int) -> Tensor:
            return tensor.zero_()

    monkeypatch.setattr(kernels, "BACKENDS", (Integers(), *kernels.BACKENDS))

    assert kernels.drop_(torch.ones(3, dtype=torch.int32), 0.5, 0).tolist() == [0, 0, 0]
    assert kernels.backend_for(torch.ones(3)) is not kernels.BACKENDS[0]


def test_hidden_layers_are_fused_where_the_cpp_backend_serves(engine: str):
    """The low-memory mode relies on it: the C++ kernels store no activations, torch's operations do."""
    assert kernels.fuses(torch.empty(0)) == (engine != "torch")
    assert not kernels.fuses(torch.empty(0).half())


# Arguments that do not fit


@pytest.mark.parametrize(
    ("change", "facts"),
    [
        (
            {"a": Activations(numbers(M, K).float())},
            r"hidden must .* of torch\.float64 .*: got \(7, 5\) of torch\.float32",
        ),
        ({"a": Activations(numbers(M - 1, K))}, r"one row for each of 7 edges: got \(6, 5\)"),
        (
            {"a": Activations(None, torch.zeros(M, dtype=torch.int32))},
            r"index of labels must have 1 dimensions, of torch\.int64 .*: got \(7,\) of torch\.int32",
        ),
        ({"a": Activations(None)}, r"one row for each of 7 edges: got none"),
        ({"a": Activations(numbers(M, K + 1))}, r"one matrix per activation.*: got 5 matrices for 6 activations"),
        (
            {"a": Activations(numbers(M, 3), None, [numbers(K, 4)], [numbers(K)])},
            r"must take 3 inputs.*: got a weight of shape \(5, 4\) and a bias of shape \(5,\)",
        ),
        ({"y": numbers(5, J + 1)}, r"matrices of 3 by 2 do not fit signals of shape \(5, 3\)"),
    ],
    ids=["precision", "rows", "index", "nothing", "activations", "layers", "signal"],
)
def test_the_kernels_refuse_tensors_that_do_not_fit(change: dict[str, object], facts: str, engine: str):
    """They are given addresses, and would read beyond the end of a tensor that is too short."""
    arguments = {"a": Activations(numbers(M, K)), "y": numbers(5, J)} | change

    with pytest.raises(ValueError, match=facts):
        kernels.gather(GRAPH.by_target, arguments["a"], numbers(K, R, J), arguments["y"])


def test_spread_checks_the_signal_of_the_rows(engine: str):
    to = Gradients(torch.zeros(5, J).double())

    with pytest.raises(ValueError, match=r"matrices of 3 by 2 do not fit signals of shape \(5, 2\) and \(3, 3\)"):
        kernels.spread(GRAPH.by_target, Activations(numbers(M, K)), numbers(K, R, J), numbers(3, R), numbers(5, J), to)
