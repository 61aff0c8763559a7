"""Numbers of edges and vertices out of range are refused in a sentence, before any memory is read at them."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn, Tensor

from edgecond import ECConv, FilterNetwork, Graph
from edgecond.graph import Labels, Rows
from edgecond.nn import kernels
from edgecond.nn.convolution.per_label import per_label
from edgecond.nn.kernels import Activations, Gradients, Runs
from tests.nn.convolution.zoo import numbers

FAR = 1 << 40  # beyond every allocation, so that an unchecked read would end the process
POINTER, COLUMN, INDEX = [0, 2, 3, 5], [0, 2, 1, 0, 2], [0, 1, 0, 1, 1]  # three vertices, five edges, two labels
N, M, U, S = 3, 5, 2, 4

POINTERS = {
    "beyond the edges": [0, 2, 3, 6],
    "before the last edge": [0, 2, 3, 4],
    "from another edge": [1, 2, 3, 5],
    "negative": [0, -FAR, 3, 5],
    "descending": [0, 3, 2, 5],
    "far": [0, FAR, 3, 5],
    "overflowing": [0, 2**63 - 1, -(2**63), 5],
}
VERTICES = {"one too many": N, "negative": -1, "far": FAR, "far before": -FAR, "least": -(2**63), "most": 2**63 - 1}
bad_pointer = pytest.mark.parametrize("pointer", POINTERS.values(), ids=POINTERS)
bad_number = pytest.mark.parametrize("number", VERTICES.values(), ids=VERTICES)


def tensor(values: list[int], place: int | None = None, number: int = 0) -> Tensor:
    """The values as a tensor, one of them replaced."""
    made = torch.tensor(values)
    if place is not None:
        made[place] = number
    return made


def gather(rows: Rows, index: Tensor | None = None) -> None:
    a = Activations(numbers(M, U)) if index is None else Activations(None, index)
    kernels.gather(rows, a, numbers(U, 3, 2), numbers(N, 2))


def spread(rows: Rows, index: Tensor | None = None) -> None:
    a = Activations(numbers(M, U)) if index is None else Activations(None, index)
    to = Gradients(numbers(N, 2), weight=numbers(U, 3, 2))
    kernels.spread(rows, a, numbers(U, 3, 2), numbers(N, 3), numbers(N, 2), to)


def products(runs: Runs) -> None:
    kernels.products(runs, numbers(len(runs.pointer) - 1, 1, 3, 2), numbers(N, 2), N)


def outer_sums(runs: Runs) -> None:
    kernels.outer_sums(runs, numbers(N, 3), numbers(N, 2))


rowwise = pytest.mark.parametrize("operation", [gather, spread])
runwise = pytest.mark.parametrize("operation", [products, outer_sums])


@rowwise
@bad_pointer
def test_rows_need_a_pointer_from_0_to_the_number_of_edges(operation: Callable, pointer: list[int], engine: str):
    with pytest.raises(ValueError, match=r"pointer .* ascend from 0 to .* 5: .*Graph\.from_edges"):
        operation(Rows(tensor(pointer), tensor(COLUMN)))


@rowwise
@bad_number
@pytest.mark.parametrize("place", [0, 2, 4])
def test_rows_refuse_vertices_out_of_range(operation: Callable, number: int, place: int, engine: str):
    with pytest.raises(ValueError, match=rf"vertices of edges .* from 0 to 2: found {number} at position {place}\."):
        operation(Rows(tensor(POINTER), tensor(COLUMN, place, number)))


@rowwise
@pytest.mark.parametrize("number", [M, -1, FAR])
def test_rows_refuse_numbers_of_edges_out_of_range(operation: Callable, number: int, engine: str):
    with pytest.raises(ValueError, match=rf"numbers of edges must be from 0 to 4: found {number} "):
        operation(Rows(tensor(POINTER), tensor(COLUMN), tensor([0, 1, 2, 3, 4], 3, number)))


@rowwise
@pytest.mark.parametrize("number", [U, -1, FAR])
def test_rows_refuse_an_index_of_labels_out_of_range(operation: Callable, number: int, engine: str):
    with pytest.raises(ValueError, match=rf"index of labels must be from 0 to 1: found {number} "):
        operation(Rows(tensor(POINTER), tensor(COLUMN)), tensor(INDEX, 1, number))


@runwise
@bad_pointer
def test_runs_need_a_pointer_from_0_to_the_number_of_edges(operation: Callable, pointer: list[int], engine: str):
    with pytest.raises(ValueError, match=r"pointer .* ascend from 0 to .* 5: .*Graph\.from_edges"):
        operation(Runs(tensor(pointer), tensor(COLUMN), tensor(COLUMN)))


@runwise
@bad_number
@pytest.mark.parametrize("end", ["source", "target"])
def test_runs_refuse_vertices_out_of_range(operation: Callable, end: str, number: int, engine: str):
    runs = replace(Runs(tensor(POINTER), tensor(COLUMN), tensor(COLUMN)), **{end: tensor(COLUMN, 1, number)})

    with pytest.raises(ValueError, match=rf"{end}s of edges must be from 0 to 2: found {number} at position 1\."):
        operation(runs)


RESULTS: dict[str, dict[str, Any]] = {
    "fewer rows": {"out": numbers(N - 1, 2)},
    "another precision": {"out": numbers(N, 2).float()},
    "column by column": {"out": numbers(2, N).T},
    "fewer activations": {"hidden": numbers(M - 1, S)},
    "activations column by column": {"hidden": numbers(S, M).T},
    "another weight": {"weight": numbers(U, 2, 3)},
    "fewer layers": {"weights": [], "biases": []},
    "fewer biases": {"biases": []},
    "another layer": {"weights": [numbers(S, U)]},
    "another bias": {"biases": [numbers(U + 1)]},
    "another device": {"out": torch.empty(N, 2, dtype=torch.double, device="meta")},
}


@pytest.mark.parametrize("change", RESULTS.values(), ids=RESULTS)
def test_spread_refuses_to_write_tensors_that_do_not_fit(change: dict[str, Any], engine: str):
    """The C++ backend is given their addresses."""
    a = Activations(numbers(M, S), None, [numbers(U, S)], [numbers(U)])
    fitting: dict[str, Any] = {
        "out": numbers(N, 2),
        "hidden": numbers(M, S),
        "weight": numbers(U, 3, 2),
        "weights": [numbers(U, S)],
        "biases": [numbers(U)],
    }

    def call(**to: Any) -> None:
        rows = Rows(tensor(POINTER), tensor(COLUMN))
        kernels.spread(rows, a, numbers(U, 3, 2), numbers(N, 3), numbers(N, 2), Gradients(**to))

    call(**fitting)
    with pytest.raises(ValueError, match=r"gradients? (must|of)"):
        call(**fitting | change)


def test_one_hot_activations_have_no_gradient(engine: str):
    rows, one_hot = Rows(tensor(POINTER), tensor(COLUMN)), Activations(None, tensor(INDEX))
    to = Gradients(hidden=numbers(M, U))

    with pytest.raises(ValueError, match="a gradient must be"):
        kernels.spread(rows, one_hot, numbers(U, 3, 2), numbers(N, 3), numbers(N, 2), to)


# The operators, called directly


def operator(**changes: Any) -> Tensor:
    given: dict[str, Any] = {
        "x": numbers(N, 2),
        "hidden": numbers(M, U),
        "index": None,
        "weight": numbers(U, 3, 2),
        "weights": [],
        "biases": [],
        "pointer": tensor(POINTER),
        "column": tensor(COLUMN),
        "edge": None,
    } | changes
    gradient, by_source = given.pop("gradient", None), given["edge"] is not None
    if gradient is None:
        return torch.ops.edgecond.blend(*given.values(), by_source, N)
    return torch.ops.edgecond.blend_backward(gradient, *given.values(), by_source, True, True, True, False)


CHANGES: dict[str, dict[str, Any]] = {
    "pointer": {"pointer": tensor(POINTER, 2, FAR)},
    "empty pointer": {"pointer": torch.tensor([], dtype=torch.long)},
    "pointer of floats": {"pointer": torch.zeros(4).double()},
    "column": {"column": tensor(COLUMN, 4, N)},
    "column of int32": {"column": tensor(COLUMN).int()},
    "column of two dimensions": {"column": tensor(COLUMN)[:, None]},
    "column of fewer edges": {"column": tensor(COLUMN)[:4]},
    "edge": {"edge": tensor([0, 1, 2, 3, M])},
    "fewer edges": {"edge": tensor([0, 1])},
    "edge of int32": {"edge": tensor([0, 1, 2, 3, 4]).int()},
    "index": {"hidden": None, "index": tensor(INDEX, 0, FAR)},
    "index and activations": {"index": tensor(INDEX, 0, FAR)},
    "no index": {"hidden": None},
    "fewer activations": {"hidden": numbers(M - 1, U)},
    "activations of three dimensions": {"hidden": numbers(M, U, 1)},
    "layers without labels": {
        "hidden": None,
        "index": tensor(INDEX),
        "weights": [numbers(2, 2)],
        "biases": [numbers(2)],
    },
    "a layer without bias": {"weights": [numbers(2, 2)]},
    "a layer of one dimension": {"weights": [numbers(2)], "biases": [numbers(2)]},
    "signal": {"x": numbers(N - 1, 2)},
    "signal of one dimension": {"x": numbers(N)},
    "weight of two dimensions": {"weight": numbers(U, 3)},
    "weight of halves": {"weight": numbers(U, 3, 2).half()},
    "weight of complex numbers": {"weight": numbers(U, 3, 2).to(torch.complex64)},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("backward", [False, True])
def test_operators_refuse_arguments_that_do_not_fit(change: dict[str, Any], backward: bool, engine: str):
    """`torch.ops.edgecond` can be called by anyone."""
    gradient = {"gradient": numbers(N, 3)} if backward else {}

    operator(**gradient)
    with pytest.raises((ValueError, IndexError, RuntimeError), match=r"must|need|fit|expected|Unhandled"):
        operator(**gradient, **change)


@pytest.mark.parametrize("shape", [(N - 1, 3), (N, 2), (0, 3)])
@pytest.mark.parametrize("edge", [None, tensor([0, 1, 2, 3, 4])])
def test_gradients_of_another_shape_are_refused(shape: tuple[int, int], edge: Tensor | None, engine: str):
    with pytest.raises(ValueError, match=r"do not fit|must be from 0"):
        operator(gradient=numbers(*shape), edge=edge)


@pytest.mark.parametrize("name", ["hidden", "weight", "pointer", "column"])
@pytest.mark.parametrize("backward", [False, True])
def test_operators_refuse_tensors_of_two_devices(name: str, backward: bool):
    """If one is on the meta device, torch asks for the shape of the result, and would pass on memory as it was."""
    given = {"hidden": numbers(M, U), "weight": numbers(U, 3, 2), "pointer": tensor(POINTER), "column": tensor(COLUMN)}
    gradient = {"gradient": numbers(N, 3)} if backward else {}

    with pytest.raises((ValueError, RuntimeError), match="one device: got cpu and meta"):
        operator(**gradient, **{name: given[name].to("meta")})


@pytest.mark.parametrize("vertices", [N - 1, N + 1, 0, -1, 1 << 60])
@pytest.mark.parametrize("edge", [None, tensor([0, 1, 2, 3, 4])])
def test_a_number_of_vertices_that_the_edges_do_not_have_is_refused(vertices: int, edge: Tensor | None, engine: str):
    """A compiled program trusts it as the number of rows of the result."""
    arguments = (numbers(N, 2), numbers(M, U), None, numbers(U, 3, 2), [], [], tensor(POINTER), tensor(COLUMN), edge)
    by_source = edge is not None
    if by_source and vertices == N + 1:  # the last vertex has no edge
        assert torch.ops.edgecond.blend(*arguments, by_source, vertices).shape == (N + 1, 3)
        return
    with pytest.raises((ValueError, RuntimeError), match=r"must|negative|overflow|memory|invalid"):
        torch.ops.edgecond.blend(*arguments, by_source, vertices)


def test_the_gradient_of_an_edge_that_is_not_listed_is_zero(engine: str):
    """Edge 4 is missing and edge 0 is listed twice: memory as it was must not be returned. Large blocks of memory are
    reused, with what was in them."""
    for _ in range(20):
        torch.full((M, U), torch.nan).double()
        _, for_hidden, _ = operator(gradient=numbers(N, 3), edge=tensor([0, 1, 2, 3, 0]))
        assert for_hidden[4].tolist() == [0, 0]


# Graphs that nobody checked


def graph(labels: str = "per edge") -> Graph:
    source, target = tensor(COLUMN), tensor([0, 0, 1, 2, 2])
    rows = Labels(numbers(M, S)) if labels == "per edge" else Labels(numbers(U, S), tensor(INDEX))
    return Graph.from_edges(source, target, rows, num_vertices=N)


def changed_in_place(name: str, number: int, labels: str, place: int = 1) -> Graph:
    made = graph(labels)
    index = made.labels.index if name == "index" else getattr(made, name)
    index[place] = number
    return made


def built_bare(name: str, number: int, labels: str) -> Graph:
    made = changed_in_place(name, number, labels)
    return Graph(made.source, made.target, made.pointer, made.labels, made.sizes)


def loaded(name: str, number: int, labels: str) -> Graph:
    file = io.BytesIO()
    torch.save(changed_in_place(name, number, labels), file)
    file.seek(0)
    made = torch.load(file, weights_only=True)
    assert isinstance(made, Graph)
    return made


every_way = pytest.mark.parametrize("way", [changed_in_place, built_bare, loaded])


@every_way
@pytest.mark.parametrize("name", ["source", "target", "pointer", "index"])
@pytest.mark.parametrize("algorithm", [None, "factored", "per_label", "per_edge", "low memory"])
@pytest.mark.parametrize("number", [FAR, -FAR])
def test_a_layer_refuses_graphs_with_numbers_out_of_range(way, name: str, algorithm: str | None, number: int):
    """Every algorithm does, in its forward pass or, if it does not use these numbers there, in its backward pass."""
    labels = "index" if name == "index" or algorithm == "per_label" else "per edge"
    low = algorithm == "low memory"
    conv = ECConv(2, 3, FilterNetwork((S, 5), 2, 3), low_memory=low, algorithm=None if low else algorithm).double()
    x = numbers(N, 2).requires_grad_()
    unused = name == ("pointer" if algorithm == "per_edge" else "target")

    if unused:
        conv(x, way(name, number, labels)).sum().backward()
        return
    with pytest.raises((ValueError, IndexError, RuntimeError), match=r"must|out of (bounds|range)"):
        conv(x, way(name, number, labels)).sum().backward()


@pytest.mark.parametrize("last", [nn.Linear(5, 6, bias=False), nn.Sequential(nn.Linear(5, 6), nn.Tanh())])
@pytest.mark.parametrize("place", [0, 1, 4])
@pytest.mark.parametrize("number", [N, -1, FAR, -FAR])
@pytest.mark.parametrize("name", ["source", "target"])
def test_blocks_of_edges_refuse_graphs_with_numbers_out_of_range(last: nn.Module, place: int, number: int, name: str):
    """Nothing is allocated for the range of targets of a block before it is known to be one of the graph."""
    conv = ECConv(2, 3, nn.Sequential(nn.Linear(S, 5), nn.Tanh(), last), low_memory=True).double()

    with pytest.raises((ValueError, IndexError, RuntimeError), match=r"must|out of (bounds|range)"):
        conv(numbers(N, 2), changed_in_place(name, number, "per edge", place))


@pytest.mark.parametrize("by", ["target", "source", "label"])
@pytest.mark.parametrize("name", ["source", "pointer", "target", "index"])
def test_every_form_refuses_graphs_with_numbers_out_of_range(by: str, name: str, engine: str):
    x, theta = numbers(N, 2).requires_grad_(), numbers(U, 3, 2)
    if (by, name) in {("target", "target"), ("source", "pointer"), ("label", "pointer")}:
        return  # not used
    with pytest.raises((ValueError, IndexError, RuntimeError), match=r"must|out of (bounds|range)"):
        per_label(x, changed_in_place(name, FAR, "index"), theta, "sum", by=by).sum().backward()


@every_way
def test_a_compiled_layer_refuses_graphs_with_numbers_out_of_range(way):
    """While it is traced, no number can be read: the operator checks them when it runs."""
    conv = ECConv(2, 3, FilterNetwork((S, 5), 2, 3)).double()
    compiled = torch.compile(conv, backend="aot_eager", fullgraph=True)
    x = numbers(N, 2)
    torch.testing.assert_close(compiled(x, graph()), conv(x, graph()))

    with pytest.raises(ValueError, match=f"must be from 0 to 2: found {FAR}"):
        compiled(x, way("source", FAR, "per edge"))
