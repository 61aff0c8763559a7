"""The transforms of torch.func, forward-mode and second derivatives, and tensors without numbers go through ECConv.

The expected values are those of torch.autograd and of loops over the examples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import nn, Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.utils import _pytree as pytree

from edgecond import ECConv, FilterNetwork, Graph, Labels
from tests.nn.layers.zoo import D_IN, D_OUT, M, N, random_edges, S

close = torch.testing.assert_close


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(torch.float32)


def perceptron(**options) -> ECConv:
    return ECConv(D_IN, D_OUT, FilterNetwork((S, 8), D_IN, D_OUT), **options)


def smooth(**options) -> ECConv:
    return ECConv(D_IN, D_OUT, nn.Sequential(nn.Linear(S, 8), nn.Tanh(), nn.Linear(8, D_IN * D_OUT)), **options)


def graph_of(labels: str) -> Graph:
    (source, target), values = random_edges()
    return Graph.from_edges(source, target, LABELS[labels](values), num_vertices=N)


LABELS: dict[str, Callable[[Tensor], Labels | Tensor]] = {
    "per edge": lambda values: values,
    "indexed": lambda values: Labels(values[:3], torch.arange(M) % 3),
    "scalar": lambda values: values[:, :1],
}
LAYERS: dict[str, tuple[Callable[..., ECConv], str]] = {  # one for each way to compute Equation 1
    "factored": (perceptron, "per edge"),
    "factored by activations": (smooth, "per edge"),
    "per label": (perceptron, "indexed"),
    "piecewise": (lambda **o: ECConv(D_IN, D_OUT, FilterNetwork((1, 8), D_IN, D_OUT), **o), "scalar"),
    "per edge": (
        lambda **o: ECConv(D_IN, D_OUT, nn.Sequential(nn.Linear(S, D_IN * D_OUT), nn.Tanh()), **o),
        "per edge",
    ),
    "low memory": (lambda **o: smooth(low_memory=True, **o), "per edge"),
    "diagonal": (
        lambda **o: ECConv(D_IN, D_IN, FilterNetwork((S,), D_IN, D_IN, diagonal=True), diagonal=True, **o),
        "per edge",
    ),
}
every_layer = pytest.mark.parametrize("name", LAYERS)
every_aggregation = pytest.mark.parametrize("reduce", ["mean", "sum", "max", "std"])


def case(name: str, reduce: str) -> tuple[ECConv, Graph, Tensor]:
    build, labels = LAYERS[name]
    return build(reduce=reduce), graph_of(labels), torch.randn(N, D_IN)


@every_layer
@every_aggregation
def test_torch_func_differentiates_layers_as_autograd_does(name: str, reduce: str):
    """torch.func.grad of functional_call against torch.autograd.grad, for all parameters and the signal."""
    conv, graph, x = case(name, reduce)
    parameters = dict(conv.named_parameters())

    def loss(parameters: dict[str, Tensor], x: Tensor) -> Tensor:
        return torch.func.functional_call(conv, parameters, (x, graph)).square().sum()

    ours, ours_x = torch.func.grad(loss, argnums=(0, 1))(parameters, x)

    leaf = x.clone().requires_grad_()
    expected = torch.autograd.grad(conv(leaf, graph).square().sum(), [*parameters.values(), leaf])
    close([*ours.values(), ours_x], list(expected))


@every_layer
@every_aggregation
def test_vmap_over_signals_is_a_loop_over_signals(name: str, reduce: str):
    conv, graph, _ = case(name, reduce)
    signals = torch.randn(4, N, D_IN)

    close(torch.func.vmap(lambda x: conv(x, graph))(signals), torch.stack([conv(x, graph) for x in signals]))


@every_layer
def test_vmap_over_parameters_is_an_ensemble(name: str):
    """As in torch's tutorial on model ensembling."""
    build, labels = LAYERS[name]
    layers, graph, x = [build() for _ in range(3)], graph_of(labels), torch.randn(N, D_IN)
    parameters, _ = torch.func.stack_module_state(layers)

    ours = torch.func.vmap(lambda each: torch.func.functional_call(layers[0], each, (x, graph)))(parameters)

    close(ours, torch.stack([layer(x, graph) for layer in layers]))


@every_layer
def test_vmap_of_grad_gives_gradients_per_example(name: str):
    conv, graph, _ = case(name, "mean")
    signals, parameters = torch.randn(3, N, D_IN), dict(conv.named_parameters())

    def loss(parameters: dict[str, Tensor], x: Tensor) -> Tensor:
        return torch.func.functional_call(conv, parameters, (x, graph)).square().sum()

    ours = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(parameters, signals)

    for position, x in enumerate(signals):
        expected = torch.autograd.grad(conv(x, graph).square().sum(), list(parameters.values()))
        close([gradient[position] for gradient in ours.values()], list(expected))


@pytest.mark.filterwarnings("ignore:torch.searchsorted")  # torch repeats an argument under vmap, and advises against it
def test_vmap_over_edges_and_labels_is_a_loop_over_graphs():
    """With `edge_index`, the graph is made inside the transformed layer."""
    conv, x = perceptron(), torch.randn(N, D_IN)
    edges, labels = zip(*(random_edges() for _ in range(3)), strict=True)

    ours = torch.func.vmap(lambda ends, rows: conv(x, ends, rows))(torch.stack(edges), torch.stack(labels))

    close(ours, torch.stack([conv(x, *each) for each in zip(edges, labels, strict=True)]))


@every_layer
@every_aggregation
def test_forward_mode_derivatives_are_those_of_the_backward_pass(name: str, reduce: str):
    """J v by torch.func.jvp and by dual numbers, against rows of J by torch.autograd. An operator without a rule for
    tangents would return zeros."""
    conv, graph, x = case(name, reduce)
    direction = torch.randn(N, D_IN)
    expected = torch.autograd.functional.jacobian(lambda x: conv(x, graph), x).flatten(2) @ direction.flatten()

    _, ours = torch.func.jvp(lambda x: conv(x, graph), (x,), (direction,))
    with forward_ad.dual_level():
        by_dual_numbers = forward_ad.unpack_dual(conv(forward_ad.make_dual(x, direction), graph)).tangent

    close(ours, expected)
    close(by_dual_numbers, expected)


@every_layer
def test_second_derivatives_are_finite_differences_of_the_first(name: str):
    """torch.func.hessian, times a direction, against a central difference of gradients."""
    conv, graph, x = case(name, "sum")
    direction, step = torch.randn(N, D_IN), 1e-5

    def value(x: Tensor) -> Tensor:
        return conv(x, graph).pow(3).sum()

    def gradient(x: Tensor) -> Tensor:
        leaf = x.clone().requires_grad_()
        return torch.autograd.grad(value(leaf), leaf)[0]

    ours = torch.func.hessian(value)(x).flatten(2) @ direction.flatten()

    expected = (gradient(x + step * direction) - gradient(x - step * direction)) / (2 * step)
    close(ours, expected, rtol=1e-6, atol=1e-6 * float(expected.abs().max()))


def test_a_compiled_transform_agrees():
    torch._dynamo.reset()
    conv, graph, x = case("factored", "mean")

    def loss(x: Tensor) -> Tensor:
        return conv(x, graph).square().sum()

    compiled = torch.compile(torch.func.grad(loss), backend="aot_eager", fullgraph=True)

    leaf = x.clone().requires_grad_()
    close(compiled(x), *torch.autograd.grad(loss(leaf), leaf))


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("number", [N, -1, 1 << 40, -(1 << 40)])
def test_transformed_layers_refuse_vertices_out_of_range(place: int, number: int):
    """While a layer is transformed, its numbers are not read: torch's own operations check them."""
    conv, x, (edges, labels) = perceptron(), torch.randn(N, D_IN), random_edges()
    edges[place, 3] = number

    for transform in (
        lambda f: torch.func.grad(lambda x: f(x).sum())(x),
        lambda f: torch.func.vmap(f)(torch.stack([x, x])),
        lambda f: torch.func.jvp(f, (x,), (x,)),
    ):
        with pytest.raises((IndexError, RuntimeError), match=r"out of (range|bounds)"):
            transform(lambda x: conv(x, edges, labels))


def test_a_transform_leaves_nothing_behind_in_a_graph():
    """A graph keeps its edges sorted by source and by label; tensors of a transform are dead after it."""
    graph, theta = graph_of("indexed"), torch.randn(N, D_IN)

    def function(x: Tensor) -> Tensor:
        pointer, source, target = graph.by_label
        return (x[source] + x[target] + x[graph.by_source.column]).sum() + pointer.sum()

    torch.func.grad(function)(theta)

    assert graph.by_source.pointer.data_ptr()
    assert all(part.data_ptr() for part in graph.by_label)


# Tensors without numbers


def without_numbers(value, move: Callable[[Tensor], Tensor]):
    return pytree.tree_map(lambda leaf: move(leaf) if isinstance(leaf, Tensor) else leaf, value)


@every_layer
@every_aggregation
def test_tensors_of_the_meta_device_give_shapes_and_gradients_without_numbers(name: str, reduce: str):
    """The shape of Equation 1: one row per vertex, d_out wide; gradients have the shape of the parameters."""
    conv, graph, x = case(name, reduce)
    conv = conv.to("meta")

    out = conv(x.to("meta"), graph.to("meta"))
    out.sum().backward()

    assert out.is_meta
    assert out.shape == (N, D_IN if name == "diagonal" else D_OUT)
    assert all(parameter.grad.shape == parameter.shape for parameter in conv.parameters())


@every_layer
def test_fake_tensors_give_shapes_and_gradients_without_numbers(name: str):
    """As memory estimators use them; `edge_index` as well as graphs."""
    build, labels = LAYERS[name]
    with FakeTensorMode(allow_non_fake_inputs=False) as mode:
        conv = build()
    x, graph = without_numbers((torch.randn(N, D_IN), graph_of(labels)), mode.from_tensor)

    with mode:
        out = conv(x, graph)
        out.sum().backward()
        again = conv(x, torch.stack([graph.source, graph.target]), graph.labels.per_edge(graph.labels.values))

    assert out.shape == again.shape == (N, D_IN if name == "diagonal" else D_OUT)
    assert all(parameter.grad.shape == parameter.shape for parameter in conv.parameters())


@pytest.mark.parametrize("algorithm", ["piecewise", "reference"])
def test_an_algorithm_that_reads_numbers_is_refused_where_there_are_none(algorithm: str):
    build, labels = LAYERS["piecewise"]
    conv, graph, x = build(algorithm=algorithm), graph_of(labels), torch.randn(N, D_IN)

    for call in (
        lambda: torch.func.vmap(lambda x: conv(x, graph))(x[None]),
        lambda: conv.to("meta")(x.to("meta"), graph.to("meta")),
    ):
        with pytest.raises(ValueError, match=f"{algorithm} reads the numbers of labels, .* Let the plan pick"):
            call()


@pytest.mark.parametrize("name", ["per edge", "low memory"])
def test_a_second_derivative_of_blocks_by_autograd_is_refused(name: str):
    """Nothing of the size of the edges is kept, so there is nothing to differentiate again."""
    conv, graph, x = case(name, "mean")
    leaf = x.requires_grad_()

    with pytest.raises(RuntimeError, match=r"block by block has no second derivative \(create_graph=True\)"):
        torch.autograd.grad(conv(leaf, graph).sum(), leaf, create_graph=True)
