"""Weights of one network for another: known input columns and outputs keep theirs, and new ones are as they were drawn.

Both networks have the same layers, but may differ in the width of the signal, of the labels and of the features beside
the graph, and in the outputs of the last FC.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn, Tensor

from edgecond.nn.network import Convolution, Network, RowWise
from edgecond.notation import FC, Parametric

Places = Sequence[int | None]
"""For each column of a network its number in the other network; none if it is new."""


@dataclass(frozen=True)
class Columns:
    """Where the inputs and outputs of a network are in another one.

    Attributes:
        signal: Columns of the input signal.
        labels: Columns of the edge labels at each level.
        features: Columns beside the graph.
        outputs: Outputs.
    """

    signal: Places
    labels: Sequence[Places]
    features: Places
    outputs: Places


def places(names: Sequence[str], before: Sequence[str]) -> list[int | None]:
    """Return where names were before.

    >>> places(["C", "N", "Br"], ["N", "C"])
    [1, 0, None]
    """
    known = {name: number for number, name in enumerate(before)}
    return [known.get(name) for name in names]


@torch.no_grad()
def transfer(network: Network, start: Network, columns: Columns) -> list[int]:
    """Give a network the weights of another one, and return the positions of the layers in which something is new.

    Args:
        network: A network whose weights are drawn.
        start: The other network, whose layers differ in the last width at most.
        columns: Where the columns of the first are in the other.
    """
    if network.architecture[:-1] != start.architecture[:-1] or not isinstance(start.architecture[-1], FC):
        raise ValueError(
            f"the networks must differ in their last FC alone: {start.architecture}, {network.architecture}."
        )
    parametric = [number for number, layer in enumerate(network.architecture) if isinstance(layer, Parametric)]
    rows = [number for number in parametric if isinstance(network.architecture[number], FC)]
    pairs = zip(network.layers, start.layers, network.architecture.levels, strict=True)
    new = []
    for position, (layer, before, level) in enumerate(pairs):
        first = columns.signal if position == parametric[0] else None
        if isinstance(layer, Convolution) and isinstance(before, Convolution):
            complete = _convolution(layer, before, first, columns.labels[level])
        elif position in rows and isinstance(layer, RowWise) and isinstance(before, RowWise):
            features = columns.features if position == rows[0] else ()
            begin = int(before[0].in_features) - start.features  # type: ignore[arg-type]
            outputs = columns.outputs if position == rows[-1] else None
            complete = _row_wise(layer, before, first, features, begin, outputs)
        else:
            continue
        if not complete:
            new.append(position)
    return new


def _convolution(layer: Convolution, before: Convolution, signal: Places | None, labels: Places) -> bool:
    """Copy the weights of C; return whether nothing in it is new."""
    conv, old = layer.conv, before.conv
    d_in = list(range(conv.d_in)) if signal is None else signal
    linear, old_linear = (
        [part for part in each.filters.children() if isinstance(part, nn.Linear)] for each in (conv, old)
    )
    complete = None not in d_in and None not in labels
    for number, (part, source) in enumerate(zip(linear, old_linear, strict=True)):
        inputs = labels if number == 0 else list(range(part.in_features))
        if number == len(linear) - 1:  # filters row by row
            shape = (conv.d_out, conv.d_in, part.in_features), (old.d_out, old.d_in, source.in_features)
            _copy(part.weight.view(shape[0]), source.weight.view(shape[1]), None, d_in, inputs)
        else:
            _copy(part.weight, source.weight, None, inputs)
        if part.bias is not None:
            part.bias.copy_(source.bias)
    if conv.bias is not None and old.bias is not None:
        conv.bias.copy_(old.bias)
    if isinstance(conv.identity, nn.Linear) and isinstance(old.identity, nn.Linear):
        _copy(conv.identity.weight, old.identity.weight, None, d_in)
    elif type(conv.identity) is not type(old.identity):  # a map of the signal where its width is another
        complete = False
    if conv.degree_factor is not None and old.degree_factor is not None:
        conv.degree_factor.load_state_dict(old.degree_factor.state_dict())
    layer.norm.load_state_dict(before.norm.state_dict())
    return complete


def _row_wise(
    layer: RowWise, before: RowWise, signal: Places | None, features: Places, begin: int, outputs: Places | None
) -> bool:
    """Copy the weights of FC, whose features begin at column `begin` in the other; return whether nothing is new."""
    linear, old = layer[0], before[0]
    assert isinstance(linear, nn.Linear)
    assert isinstance(old, nn.Linear)
    width = linear.in_features - len(features)
    inputs = [*(range(width) if signal is None else signal)]
    inputs += [None if place is None else begin + place for place in features]
    _copy(linear.weight, old.weight, outputs, inputs)
    _copy(linear.bias, old.bias, outputs)
    for part, source in list(zip(layer, before, strict=True))[1:]:
        part.load_state_dict(source.state_dict())
    return None not in inputs and None not in (outputs or ())


def _copy(into: Tensor, source: Tensor, *by_dimension: Places | None) -> None:
    """Copy the elements whose places are known in each dimension; all of a dimension that has none to choose by."""
    numbers, old = [], []
    for dimension, places in enumerate(by_dimension):
        pairs = enumerate(range(into.shape[dimension]) if places is None else places)
        known = [(number, place) for number, place in pairs if place is not None]
        numbers.append(torch.tensor([number for number, _ in known], dtype=torch.long))
        old.append(torch.tensor([place for _, place in known], dtype=torch.long))
    into[torch.meshgrid(*numbers, indexing="ij")] = source[torch.meshgrid(*old, indexing="ij")]
