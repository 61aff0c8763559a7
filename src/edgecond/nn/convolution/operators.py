r"""The factored sum as a torch operator, with derivatives of every order, for eager mode, compile and export.

$$\text{blend}(x, a, W)_i = \sum_{(j,i)} \sum_c a_{ji,c} W_c\, x_j$$

The activations $a_{ji}$ are given, or one-hot, or computed from the labels by the hidden layers of $F$ inside the
operator. The backward pass computes activations and blends again instead of storing them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from edgecond.graph import Graph, Rows
from edgecond.graph.segment import segment_sum
from edgecond.graph.transforms import transformed
from edgecond.nn import kernels
from edgecond.nn.kernels import activate, Activations, Gradients

Layers = tuple[Sequence[Tensor], Sequence[Tensor]]  # weights and biases


def check_signal(x: Tensor, graph: Graph) -> None:
    """Check the shape of the signal: the kernels read it at the sources without checking."""
    if x.dim() != 2 or x.shape[0] != graph.num_sources:
        raise ValueError(
            f"the signal must have one row per source vertex: got {tuple(x.shape)} for {graph.num_sources} vertices."
        )


def blend(
    x: Tensor,
    graph: Graph,
    weight: Tensor,
    hidden: Tensor | None = None,
    index: Tensor | None = None,
    layers: Layers = ((), ()),
    *,
    by: str,
    row: Tensor | None = None,
) -> Tensor:
    """Compute the factored sum of a graph, by target (blend first) or by source (multiply first).

    Args:
        x: Signal on the source vertices.
        graph: The edges.
        weight: One matrix per channel of the activations, `(c, d_out, d_in)`.
        hidden: Activations of each edge; labels of each edge if there are layers.
        index: For one-hot activations, in place of `hidden`: the channel of each edge.
        layers: Weights and biases of the hidden layers of F.
        by: "target" or "source".
        row: Row of `hidden` of each edge, for a `hidden` without gradient; by default the number of the edge.
    """
    check_signal(x, graph)
    if by not in ("target", "source"):
        raise ValueError(f"the form must be 'target' or 'source': got {by!r}.")
    given = [x, weight, *layers[0], *layers[1]] if hidden is None else [x, weight, hidden, *layers[0], *layers[1]]
    dtype = given[0].dtype
    for tensor in given:  # a half from autocast is computed in the wider type
        dtype = torch.promote_types(dtype, tensor.dtype)
    weights, biases = ([layer.to(dtype) for layer in group] for group in layers)
    x, hidden, weight = x.to(dtype), None if hidden is None else hidden.to(dtype), weight.to(dtype)
    if transformed():
        with torch.autocast(x.device.type, enabled=False):
            source, target, n = graph.source, graph.target, graph.num_vertices
            return _by_torch(x, hidden, index, weight, weights, biases, source, target, row, n)
    rows = graph.by_source if by == "source" else graph.by_target
    edge = rows.edge if row is None or rows.edge is None else row.index_select(0, rows.edge)
    return _blend(
        x,
        hidden,
        index,
        weight,
        weights,
        biases,
        rows.pointer,
        rows.column,
        row if edge is None else edge,
        by == "source",
        graph.num_vertices,
    )


@torch.library.custom_op("edgecond::blend", mutates_args=())
def _blend(
    x: Tensor,
    hidden: Tensor | None,
    index: Tensor | None,
    weight: Tensor,
    weights: Sequence[Tensor],
    biases: Sequence[Tensor],
    pointer: Tensor,
    column: Tensor,
    edge: Tensor | None,
    by_source: bool,
    vertices: int,
) -> Tensor:
    """Sum over rows that are targets, or over rows that are sources; `edge` is the row of activations of each edge."""
    rows, a = Rows(pointer, column, edge), Activations(hidden, index, weights, biases)
    if not by_source:
        if vertices != len(pointer) - 1:
            raise ValueError(f"the pointer must have one number more than the {vertices} vertices: got {len(pointer)}.")
        return kernels.gather(rows, a, weight, x)
    out = x.new_zeros(vertices, weight.shape[1])
    kernels.spread(rows, a, weight.transpose(1, 2), x, out, Gradients(out))
    return out


def _check_devices(x: Tensor, *others: Any) -> None:
    """Check that all tensors are on one device: with one of them on the meta device, torch asks for shapes alone."""
    for each in others:
        for tensor in each if isinstance(each, Sequence) else (each,):
            if isinstance(tensor, Tensor) and tensor.device != x.device:
                raise ValueError(
                    f"signal, graph and parameters must be on one device: got {x.device} and {tensor.device}."
                )


@_blend.register_fake
def _(x: Tensor, hidden: Tensor | None, index: Tensor | None, weight: Tensor, *rest: Any) -> Tensor:
    *_, vertices = rest
    _check_devices(x, hidden, index, weight, *rest)
    return x.new_empty(vertices, weight.shape[1])


@torch.library.custom_op("edgecond::blend_backward", mutates_args=())
def _blend_backward(
    gradient: Tensor,
    x: Tensor,
    hidden: Tensor | None,
    index: Tensor | None,
    weight: Tensor,
    weights: Sequence[Tensor],
    biases: Sequence[Tensor],
    pointer: Tensor,
    column: Tensor,
    edge: Tensor | None,
    by_source: bool,
    needs_x: bool,
    needs_hidden: bool,
    needs_weight: bool,
    needs_layers: bool,
) -> list[Tensor]:
    """Return the gradients of x, hidden, weight, weights and biases; an empty tensor for one that is not needed."""
    rows, a = Rows(pointer, column, edge), Activations(hidden, index, weights, biases)
    layers = needs_layers or (needs_hidden and len(weights) > 0)  # the gradient of the labels passes through the layers
    to = Gradients(
        torch.zeros_like(x, memory_format=torch.contiguous_format) if needs_x and not by_source else None,
        # Zeros where edges may be missing from the numbers of edges: memory as it was must not be returned.
        (torch.empty_like if edge is None else torch.zeros_like)(hidden, memory_format=torch.contiguous_format)
        if needs_hidden and hidden is not None
        else None,
        torch.empty_like(weight, memory_format=torch.contiguous_format) if needs_weight else None,
        [torch.empty_like(layer, memory_format=torch.contiguous_format) for layer in weights] if layers else [],
        [torch.empty_like(bias) for bias in biases] if layers else [],
    )
    for_x, for_weight = to.out, to.weight
    if not by_source:
        kernels.spread(rows, a, weight, gradient, x, to)
    else:
        turned = weight.transpose(1, 2)
        for_x = kernels.gather(rows, a, turned, gradient) if needs_x else None
        to.weight = None if for_weight is None else for_weight.transpose(1, 2)
        kernels.spread(rows, a, turned, x, gradient, to)
    gradients = [for_x, to.hidden, for_weight, *to.weights, *to.biases]
    return [x.new_empty(0) if tensor is None else tensor for tensor in gradients]


@_blend_backward.register_fake
def _(
    gradient: Tensor,
    x: Tensor,
    hidden: Tensor | None,
    index: Tensor | None,
    weight: Tensor,
    weights: Sequence[Tensor],
    biases: Sequence[Tensor],
    *rest: Any,
) -> list[Tensor]:
    *_, needs_x, needs_hidden, needs_weight, needs_layers = rest
    _check_devices(x, gradient, hidden, index, weight, weights, biases, *rest)
    layers = needs_layers or (needs_hidden and len(weights) > 0)
    return [
        x.new_empty(x.shape if needs_x else 0),
        x.new_empty(hidden.shape if needs_hidden and hidden is not None else 0),
        x.new_empty(weight.shape if needs_weight else 0),
        *[layer.new_empty(layer.shape) for layer in (*weights, *biases) if layers],
    ]


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, hidden, index, weight, weights, biases, pointer, column, edge, by_source, _ = inputs
    ctx.layers, ctx.by_source = len(weights), by_source
    ctx.save_for_backward(x, hidden, index, weight, pointer, column, edge, *weights, *biases)


def _gradients(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
    x, hidden, index, weight, pointer, column, edge, *layers = ctx.saved_tensors
    weights, biases = layers[: ctx.layers], layers[ctx.layers :]
    needs_x, needs_hidden, _, needs_weight = ctx.needs_input_grad[:4]
    needs_layers = any(layer.requires_grad for layer in layers)
    if torch.is_grad_enabled():  # create_graph=True
        gradients = _differentiable(
            gradient, x, hidden, index, weight, weights, biases, pointer, column, edge, ctx.by_source
        )
    else:
        gradients = _blend_backward(
            gradient,
            x,
            hidden,
            index,
            weight,
            weights,
            biases,
            pointer,
            column,
            edge,
            ctx.by_source,
            needs_x,
            needs_hidden,
            needs_weight,
            needs_layers,
        )
    by_layer = [gradients[3 + i] if layers[i].requires_grad else None for i in range(len(layers))]
    return (
        gradients[0] if needs_x else None,
        gradients[1] if needs_hidden else None,
        None,
        gradients[2] if needs_weight else None,
        by_layer[: ctx.layers],
        by_layer[ctx.layers :],
        *[None] * 5,
    )


_blend.register_autograd(_gradients, setup_context=_keep)


def _differentiable(
    gradient: Tensor,
    x: Tensor,
    hidden: Tensor | None,
    index: Tensor | None,
    weight: Tensor,
    weights: Sequence[Tensor],
    biases: Sequence[Tensor],
    pointer: Tensor,
    column: Tensor,
    edge: Tensor | None,
    by_source: bool,
) -> list[Tensor | None]:
    """Return the same gradients from operations that autograd can differentiate again, in $O(m k d_{in})$ memory."""
    # Aliases: if one input depends on another, the path between them must not be counted twice.
    inputs = [None if t is None else t.view_as(t) for t in (x, hidden, weight, *weights, *biases)]
    x, hidden, weight = inputs[:3]  # type: ignore[assignment]
    layers = [layer for layer in inputs[3:] if layer is not None]
    row = Rows(pointer, column, edge).row
    source, target = (row, column) if by_source else (column, row)
    weights, biases = layers[: len(weights)], layers[len(weights) :]
    out = _by_torch(x, hidden, index, weight, weights, biases, source, target, edge, len(gradient))
    wanted = [tensor for tensor in inputs if tensor is not None and tensor.requires_grad]
    gradients = iter(torch.autograd.grad(out, wanted, gradient, create_graph=True))
    return [next(gradients) if tensor is not None and tensor.requires_grad else None for tensor in inputs]


def _by_torch(
    x: Tensor,
    hidden: Tensor | None,
    index: Tensor | None,
    weight: Tensor,
    weights: Sequence[Tensor],
    biases: Sequence[Tensor],
    source: Tensor,
    target: Tensor,
    edge: Tensor | None,
    vertices: int,
) -> Tensor:
    """Compute the sum from operations that torch can differentiate and transform, in $O(m k d_{in})$ memory."""
    if hidden is None:
        assert index is not None
        activations = torch.eye(len(weight), dtype=x.dtype, device=x.device).index_select(0, index)
    else:
        activations = activate(hidden, weights, biases)[-1]
    if len(weight) > activations.shape[1]:
        activations = torch.cat([activations, activations.new_ones(len(activations), 1)], 1)
    activations = activations if edge is None else activations[edge]
    outer = activations[:, :, None] * x.index_select(0, source)[:, None, :]
    return torch.einsum("nci,coi->no", segment_sum(outer, target, vertices), weight)
