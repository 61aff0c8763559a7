"""The Triton backend computes the sums of its interface, always the same, and waits for nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, HealthCheck, settings
from torch import Tensor

from edgecond.graph import Graph, Rows
from edgecond.nn import kernels
from edgecond.nn.convolution import factored, per_label, REDUCTIONS
from edgecond.nn.kernels import Activations, Gradients, Runs
from edgecond.nn.kernels import triton as module
from edgecond.nn.kernels.cpp import CPP
from edgecond.nn.kernels.torch import TORCH
from edgecond.nn.kernels.triton import TRITON, Triton
from tests.nn.convolution import test_grouped, test_init, test_operators, test_piecewise
from tests.nn.convolution.zoo import assert_agree, evaluate, graph_of, graphs, numbers, ZOO

PATHS = ["factored by target", "factored by source", "per_label by target", "per_label by source", "per_label by label"]
SMALL = graph_of([(0, 1), (2, 1), (0, 1), (1, 0), (3, 3), (0, 3), (2, 3)], 4)
HUB = graph_of([(j % 5, 2) for j in range(150)] + [(3, 0), (2, 1), (2, 2), (3, 4)] + [(1, i % 5) for i in range(60)], 5)


def single(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.float() for name, tensor in inputs.items()}


def assert_close(ours: dict[str, Tensor], expected: dict[str, Tensor], tolerance: float) -> None:
    """Check that all tensors agree, relative to the largest element."""
    for name, exact in expected.items():
        error = float((ours[name].double() - exact.double()).abs().max()) if exact.numel() else 0.0
        assert error <= tolerance * float(exact.abs().max() if exact.numel() else 1.0), name


# Agreement with Equation 1


@pytest.mark.parametrize("way", PATHS)
@pytest.mark.parametrize("name", ZOO)
def test_every_path_agrees_with_the_reference_on_the_zoo(name: str, way: str, interpreted: Triton):
    """Values and gradients of the signal, the labels and all parameters of F, against a loop in double precision."""
    inputs = test_init.inputs_of(ZOO[name], True)

    ours = evaluate(test_init.convolution(ZOO[name], **test_init.WAYS[way]), **single(inputs))

    assert_agree(ours, test_init.expected_in_the_zoo(name, True, True, "mean"))


@pytest.mark.parametrize("by", ["target", "source"])
@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_every_aggregation_agrees_with_the_reference(reduce: str, by: str, interpreted: Triton):
    """With F inside the kernels; the maximum and the standard deviation take the messages of all edges."""
    graph = test_init.one_label_per_edge(SMALL)
    inputs = test_init.inputs_of(graph, True)

    ours = evaluate(test_init.convolution(graph, reduce, algorithm="factored", by=by), **single(inputs))

    assert_agree(ours, evaluate(test_init.by_the_equation(graph, reduce), **inputs))


@pytest.mark.parametrize("name", ["a cycle", "more targets than sources", "every degree to 12"])
def test_pieces_of_f_agree_with_the_reference(name: str, interpreted: Triton):
    """Labels of one number, whose filters are linear in between the breakpoints of F."""
    graph = test_piecewise.scalar(ZOO[name])
    inputs = test_piecewise.inputs_of(graph, 3, 7, 5, bias=True)

    ours = evaluate(test_piecewise.by_pieces(graph), **single(inputs))

    assert_agree(ours, evaluate(test_piecewise.by_the_equation(graph), **inputs))


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(graph=graphs())
def test_any_small_graph_agrees_with_the_reference(graph: Graph, interpreted: Triton):
    graph = test_init.one_label_per_edge(graph)
    inputs = test_init.inputs_of(graph, False)

    ours = evaluate(test_init.convolution(graph, algorithm="factored", by="target"), **single(inputs))

    assert_agree(ours, evaluate(test_init.by_the_equation(graph, "mean"), **inputs))


@pytest.mark.parametrize("scaled", [False, True], ids=["", "linear in a scale"])
@pytest.mark.parametrize("sizes", [[0, 4, 1, 0, 200], [97, 33]], ids=str)
def test_every_edge_has_the_filter_of_its_run(sizes: list[int], scaled: bool, interpreted: Triton, monkeypatch):
    """Values and gradients of signal, matrices and scales; runs are cut at every 32nd edge."""
    monkeypatch.setattr(module, "CUT", 32)
    inputs = test_grouped.inputs_of(sizes, scaled, 20, 35)

    ours = evaluate(test_grouped.by_run(sizes), **single(inputs))

    assert_agree(ours, evaluate(test_grouped.by_edge(sizes), **inputs))


# Networks F and widths of every size


def blended(by: str, depth: int, graph: Graph = SMALL) -> Callable[..., Tensor]:
    def function(x: Tensor, hidden: Tensor, weight: Tensor, **layers: Tensor) -> Tensor:
        parts = list(layers.values())
        return factored(x, graph, hidden, weight, "sum", layers=(parts[:depth], parts[depth:]), by=by)

    return function


def blended_inputs(s: int, widths: tuple[int, ...], d_in: int, d_out: int, graph: Graph = SMALL) -> dict[str, Tensor]:
    sides = (s, *widths)
    inputs = {"x": numbers(graph.num_sources, d_in), "hidden": numbers(graph.num_edges, s, seed=1)}
    inputs["weight"] = numbers(sides[-1] + 1, d_out, d_in, seed=2)
    for position, width in enumerate(widths):
        inputs[f"w{position}"] = numbers(width, sides[position], seed=3 + position) / sides[position] ** 0.5
    return inputs | {f"b{position}": numbers(width, seed=9 + position) for position, width in enumerate(widths)}


@pytest.mark.parametrize("by", ["target", "source"])
@pytest.mark.parametrize(
    "widths", [(), (64,), (16, 32), (5, 9, 7), (16, 64), (70,)], ids=lambda widths: "-".join(map(str, widths)) or "none"
)
def test_hidden_layers_are_evaluated_inside_the_kernels_or_before(
    widths: tuple[int, ...], by: str, interpreted: Triton
):
    """The operator's own differentiable form, in double precision, on torch; three layers or wide ones are stored."""
    inputs = blended_inputs(6, widths, 18, 5)

    ours = evaluate(blended(by, len(widths)), **single(inputs))

    kernels.BACKENDS = (TORCH,)
    assert_agree(ours, evaluate(blended(by, len(widths)), **inputs))


@pytest.mark.parametrize("widths", [(1, 1, 1), (33, 3, 20), (3, 140, 5), (140, 3, 5), (5, 3, 150)], ids=str)
def test_every_width_is_served(widths: tuple[int, int, int], interpreted: Triton):
    """Below, at and above the widest tile, for the signals and for given activations."""
    d_in, d_out, k = widths
    inputs = blended_inputs(k, (), d_in, d_out)

    ours = evaluate(blended("target", 0), **single(inputs))

    kernels.BACKENDS = (TORCH,)
    assert_agree(ours, evaluate(blended("target", 0), **inputs))


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float16, 2e-3), (torch.bfloat16, 2e-2)], ids=["half", "bf16"])
@pytest.mark.parametrize("kind", ["layers", "one-hot"])
def test_halves_are_summed_in_single_precision(kind: str, dtype: torch.dtype, tolerance: float, interpreted, bfloat16):
    """A half has 11 significant bits and a bfloat16 has 8; errors are those of a few roundings, not of their sum."""
    if kind == "layers":
        function, inputs = blended("target", 2, HUB), blended_inputs(6, (16, 32), 40, 5, HUB)
        for name in ("hidden", "w0", "w1", "b0", "b1"):  # so that rounding turns no hidden unit on or off
            inputs[name] = inputs[name].round() + (0.5 if name.startswith("b") else 0.0)
    else:
        function, inputs = (
            lambda x, theta: per_label(x, HUB, theta, "sum"),
            {"x": numbers(5, 18), "theta": numbers(4, 7, 18)},
        )
    rounded = {name: tensor.to(dtype) for name, tensor in inputs.items()}

    ours = evaluate(function, **rounded)

    assert {tensor.dtype for tensor in ours.values()} == {dtype}
    kernels.BACKENDS = (TORCH,)
    assert_close(ours, evaluate(function, **{name: tensor.double() for name, tensor in rounded.items()}), tolerance)


# Vertices of high degree


@pytest.mark.parametrize("cut", [16, 64])
@pytest.mark.parametrize("by", ["target", "source"])
def test_vertices_of_high_degree_are_cut_into_pieces(by: str, cut: int, interpreted: Triton, monkeypatch):
    """One vertex has 150 of 214 neighbours, another sends 60 messages: both sums have several pieces. The signals are
    wider than the 32 columns whose products a program holds."""
    inputs = blended_inputs(6, (16, 32), 40, 35, HUB)
    monkeypatch.setattr(module, "CUT", cut)

    ours = evaluate(blended(by, 2, HUB), **single(inputs))

    kernels.BACKENDS = (TORCH,)
    assert_agree(ours, evaluate(blended(by, 2, HUB), **inputs))


@pytest.mark.parametrize("cut", [1, 2, 3, 4, 7, 30])
def test_the_pieces_of_rows_hold_every_edge_once(cut: int, monkeypatch: pytest.MonkeyPatch):
    """The rule of `programs`, in plain Python: rows are cut before every edge whose number is a multiple of `CUT`."""
    monkeypatch.setattr(module, "CUT", cut)
    pointer, n = torch.tensor([0, 0, 3, 3, 4, 12, 12, 19, 20, 20]), 9

    owner = module._owners(pointer, 20).tolist()

    expected = [max(row for row in range(n) if pointer[row] <= edge) for edge in range(cut, 20, cut)]
    assert owner == expected


# Repeatability, and nothing to wait for


def test_reruns_are_bit_identical(interpreted: Triton):
    """Every sum has one order, which the graph alone sets."""
    inputs = single(blended_inputs(6, (16, 32), 18, 5, HUB))

    once, again = (evaluate(blended("target", 2, HUB), **inputs) for _ in range(2))

    assert all(once[name].equal(again[name]) for name in once)


def meta_operations(backend: Any) -> None:
    """Call every operation on tensors without values, of which none can be read."""

    def empty(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.empty(*shape, dtype=dtype, device="meta")

    n, m, d, k = 50, 700, 8, 5
    numbers_of_edges = empty(m, dtype=torch.long)
    y, weight = empty(n, d), empty(k, d, d)
    layered = Activations(empty(m, 3), None, [empty(4, 3), empty(k, 4)], [empty(4), empty(k)])
    for a in (layered, Activations(empty(m, k)), Activations(None, numbers_of_edges)):
        rows = Rows(empty(n + 1, dtype=torch.long), numbers_of_edges, numbers_of_edges)
        layers = [[empty(*layer.shape) for layer in group] for group in (a.weights, a.biases)]
        backend.gather(rows, a, weight, y)
        hidden = None if a.hidden is None else empty(*a.hidden.shape)
        backend.spread(rows, a, weight, y, y, Gradients(y, hidden, weight, *layers))
    runs = Runs(empty(4, dtype=torch.long), numbers_of_edges, numbers_of_edges, empty(m))
    for each in (runs, replace(runs, scale=None)):
        backend.products(each, empty(3, each.channels, d, d), y, n)
        backend.outer_sums(each, y, y)


def test_no_operation_reads_a_value_back():
    """A GPU would have to finish before the next operation is launched; here, a tensor without values raises."""

    class Silent(Triton):
        def launch(self, *arguments: Any, **named: Any) -> None: ...

    meta_operations(Silent(("meta",)))
    meta_operations(TORCH)


# The choice of the backend


def test_gpus_are_served_in_single_and_half_precision():
    """By device and precision alone; where Triton is missing, torch serves as before."""

    class Signal:  # no GPU is needed to ask
        def __init__(self, device: str, dtype: torch.dtype) -> None:
            self.device, self.dtype = torch.device(device), dtype

    found, missing = Triton(), Triton()
    found.installed, missing.installed = True, False

    dtypes = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
    served = [dtype for dtype in dtypes if found.serves(Signal("cuda:1", dtype))]

    assert served == [torch.float32, torch.float16, torch.bfloat16]
    assert not found.serves(Signal("cpu", torch.float32))
    assert not missing.serves(Signal("cuda", torch.float32))
    assert kernels.BACKENDS == (CPP, TRITON, TORCH)


@pytest.mark.parametrize(("setting", "precision"), [("highest", "tf32x3"), ("high", "tf32"), ("medium", "tf32")])
def test_products_are_as_precise_as_torch_is_told(setting: str, precision: str):
    """torch.set_float32_matmul_precision allows tf32; three of its products are as good as one in single precision."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(setting)
    try:
        assert module._precision() == precision
    finally:
        torch.set_float32_matmul_precision(before)


@pytest.mark.parametrize("kind", ["dense with bias", "one-hot", "layers"])
@pytest.mark.parametrize("by", ["target", "source"])
def test_the_operators_are_well_behaved(kind: str, by: str, interpreted: Triton):
    """torch.library.opcheck: schema, autograd registration, fake tensors, and tracing with symbolic sizes."""
    arguments = test_operators.arguments_of(test_operators.GRAPH, kind, by, torch.float32)
    received = numbers(4, test_operators.D_OUT).float()

    torch.library.opcheck(torch.ops.edgecond.blend_backward, (received, *arguments, True, True, True, True))
    for tensor in [arguments[0], arguments[1], arguments[3], *arguments[4], *arguments[5]]:
        if tensor is not None:
            tensor.requires_grad_()
    torch.library.opcheck(torch.ops.edgecond.blend, (*arguments, 4))


def test_a_compiled_convolution_gives_the_same_numbers(interpreted: Triton):
    inputs = single(blended_inputs(6, (16,), 8, 5))

    plain = evaluate(blended("target", 1), **inputs)
    compiled = evaluate(torch.compile(blended("target", 1), backend="aot_eager", fullgraph=True), **inputs)

    assert all(plain[name].equal(compiled[name]) for name in plain)
