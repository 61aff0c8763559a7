"""Hidden layers of F inside the kernels give the numbers of torch's own layers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from edgecond.graph import Graph
from edgecond.nn.convolution import factored, REDUCTIONS
from tests.nn.convolution.factored.definition import bias, by, by_forming_filters, hubs, SIDES, transposed
from tests.nn.convolution.zoo import (
    assert_agree,
    engines_here,
    evaluate,
    graphs,
    numbers,
    running_on,
    ZOO,
)


def labelled_inputs(graph: Graph, d_in: int, d_out: int, widths: tuple[int, ...], bias: bool) -> dict[str, Tensor]:
    """A signal, labels, and layers of the given widths, scaled such that activations keep their size."""
    layers = {}
    for l, (fan_in, fan_out) in enumerate(pairwise(widths)):
        layers[f"weight {l}"] = (numbers(fan_out, fan_in, seed=10 + l) / fan_in**0.5).float().double()
        layers[f"bias {l}"] = numbers(fan_out, seed=20 + l)
    return {
        "x": numbers(graph.num_sources, d_in),
        "labels": numbers(graph.num_edges, widths[0], seed=1),
        "last": numbers(widths[-1] + bias, d_out, d_in, seed=2),
        **layers,
    }


def by_torch_layers(graph: Graph, reduce: str = "mean") -> Callable[..., Tensor]:
    """The definition: torch's own layers, then filters, then the reference."""

    def convolve(x: Tensor, labels: Tensor, last: Tensor, **layers: Tensor) -> Tensor:
        for l in range(len(layers) // 2):
            labels = torch.relu(torch.nn.functional.linear(labels, layers[f"weight {l}"], layers[f"bias {l}"]))
        return by_forming_filters(graph, reduce)(x, labels, last)

    return convolve


def with_layers_inside(graph: Graph, by: str, reduce: str = "mean") -> Callable[..., Tensor]:
    def convolve(x: Tensor, labels: Tensor, last: Tensor, **layers: Tensor) -> Tensor:
        count = range(len(layers) // 2)
        inside = [layers[f"weight {l}"] for l in count], [layers[f"bias {l}"] for l in count]
        return factored(x, graph, labels, last, reduce, layers=inside, by=by)

    return convolve


@cache
def expected_of_layers(
    name: str, d_in: int, d_out: int, widths: tuple[int, ...], bias: bool, reduce: str
) -> dict[str, Tensor]:
    return evaluate(by_torch_layers(ZOO[name], reduce), **labelled_inputs(ZOO[name], d_in, d_out, widths, bias))


def cast(inputs: dict[str, Tensor], dtype: torch.dtype) -> dict[str, Tensor]:
    return {name: tensor.to(dtype) for name, tensor in inputs.items()}


@by
@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("name", ZOO)
def test_hidden_layers_inside_give_the_numbers_of_torch_s_layers_on_every_graph(
    name: str, reduce: str, by: str, dtype: torch.dtype, engine: str
):
    """F = s-4-5, evaluated where its activations are needed: values and the gradients of labels and layers."""
    inputs = labelled_inputs(ZOO[name], 3, 7, (3, 4, 5), True)

    ours = evaluate(with_layers_inside(ZOO[name], by, reduce), **cast(inputs, dtype))

    assert_agree(ours, expected_of_layers(name, 3, 7, (3, 4, 5), True, reduce))


@by
@bias
@pytest.mark.parametrize(
    ("d_in", "d_out", "widths"),
    [
        (1, 1, (1, 1)),
        (16, 32, (6, 16, 32)),  # the layers of Section 4.1
        (33, 8, (2, 33)),
        (3, 64, (7, 8, 1)),
        (8, 3, (16, 7, 3, 8)),
        (7, 16, (3, 4, 5, 6, 7)),
        (5, 5, (64, 32, 64)),
        (4, 3, (2,) + (4,) * 8),  # as many layers as the kernels compute
        (4, 3, (2,) + (4,) * 9),  # more than the kernels compute
    ],
    ids=str,
)
def test_hidden_layers_inside_give_the_numbers_of_torch_s_layers_at_every_width(
    d_in: int, d_out: int, widths: tuple[int, ...], bias: bool, by: str, dtype: torch.dtype, engine: str
):
    """One to nine layers, widths that fill vector registers and that leave a remainder."""
    name = "every degree to 12"
    inputs = labelled_inputs(ZOO[name], d_in, d_out, widths, bias)

    ours = evaluate(with_layers_inside(ZOO[name], by), **cast(inputs, dtype))

    assert_agree(ours, expected_of_layers(name, d_in, d_out, widths, bias, "mean"))


@cache
def expected_of_hubs(reverse: bool) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Inputs for vertices of large degree, and the numbers to expect."""
    inputs = labelled_inputs(hubs(reverse), 2, 3, (3, 4, 5), True)
    return inputs, evaluate(by_torch_layers(hubs(reverse)), **inputs)


@by
@pytest.mark.parametrize("reverse", [False, True], ids=["receiving", "sending"])
def test_hidden_layers_inside_give_the_numbers_of_torch_s_layers_at_degrees_from_1_to_5000(
    reverse: bool, by: str, dtype: torch.dtype, engine: str
):
    """However many blocks a neighbourhood is cut into, each label passes the layers once."""
    inputs, expected = expected_of_hubs(reverse)

    ours = evaluate(with_layers_inside(hubs(reverse), by), **cast(inputs, dtype))

    assert_agree(ours, expected)


@by
@pytest.mark.parametrize("which", ["x", "labels", "last", "weight 0", "weight 1", "bias 1"])
def test_hidden_layers_may_be_views_of_other_tensors(which: str, by: str, engine: str):
    """A view has the numbers of its copy, and so have its gradients."""
    name = "every degree to 12"
    inputs = labelled_inputs(ZOO[name], 3, 7, (3, 4, 5), True)
    tensor = inputs[which]
    inputs[which] = tensor.repeat_interleave(2)[::2] if tensor.dim() == 1 else transposed(tensor)
    assert not inputs[which].is_contiguous()

    ours = evaluate(with_layers_inside(ZOO[name], by), **inputs)

    assert_agree(ours, expected_of_layers(name, 3, 7, (3, 4, 5), True, "mean"))


@by
@pytest.mark.parametrize(
    "learnt", ["x", "labels", "last", "weight 0", "bias 1", "x, last", "labels, bias 0", "last, weight 1", "x, labels"]
)
def test_frozen_layers_leave_the_gradients_of_the_others_alone(learnt: str, by: str, engine: str):
    """If one input is frozen, the gradients of the others stay the same."""
    name = "every degree to 12"
    inputs = labelled_inputs(ZOO[name], 3, 7, (3, 4, 5), True)
    expected = expected_of_layers(name, 3, 7, (3, 4, 5), True, "mean")
    names = learnt.split(", ")

    def convolve(**leaves: Tensor) -> Tensor:
        return with_layers_inside(ZOO[name], by)(**{**inputs, **leaves})

    ours = evaluate(convolve, **{key: inputs[key] for key in names})

    assert_agree(ours, {key: expected[key] for key in ["the value", *[f"the gradient of {key}" for key in names]]})


@by
def test_a_label_that_is_not_a_number_stays_one(by: str, dtype: torch.dtype, engine: str):
    """torch's ReLU passes NaN on, in both directions: a broken label shows at its target, and there only."""
    graph = ZOO["every degree to 12"]
    inputs = labelled_inputs(graph, 3, 7, (3, 4, 5), True)
    inputs["labels"][40, 1] = torch.nan

    ours = evaluate(with_layers_inside(graph, by), **cast(inputs, dtype))

    expected = evaluate(by_torch_layers(graph), **inputs)
    broken = expected["the value"].isnan().any(1)
    assert broken.nonzero().flatten().tolist() == [int(graph.target[40])]
    for key, exact in expected.items():
        torch.testing.assert_close(
            ours[key], exact.to(dtype), equal_nan=True, msg=lambda text, key=key: f"{key}: {text}"
        )


@settings(deadline=None, max_examples=30)
@given(
    graph=graphs(),
    d_in=st.integers(1, 9),
    d_out=st.integers(1, 9),
    widths=st.lists(st.integers(1, 9), min_size=2, max_size=4).map(tuple),
    bias=st.booleans(),
    reduce=st.sampled_from(REDUCTIONS),
)
def test_hidden_layers_inside_give_the_numbers_of_torch_s_layers_on_any_graph(
    graph: Graph, d_in: int, d_out: int, widths: tuple[int, ...], bias: bool, reduce: str
):
    """The same claim, for random graphs."""
    inputs = labelled_inputs(graph, d_in, d_out, widths, bias)
    expected = evaluate(by_torch_layers(graph, reduce), **inputs)

    for engine in engines_here():
        for side in SIDES:
            with running_on(engine):
                assert_agree(evaluate(with_layers_inside(graph, side, reduce), **inputs), expected)


def test_a_hidden_layer_of_the_wrong_width_is_refused(engine: str):
    """The labels have 3 numbers, and the first layer takes 2."""
    with pytest.raises(
        ValueError, match=r"must take 3 inputs .* a weight of shape \(4, 2\) and a bias of shape \(4,\)"
    ):
        factored(
            numbers(3, 3),
            ZOO["duplicate edges"],
            numbers(6, 3),
            numbers(4, 7, 3),
            layers=([numbers(4, 2)], [numbers(4)]),
        )
