"""The parts of PyG's `NNConv` as `ECConv` takes them; a layer that computes something else is refused."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

import torch
from torch import nn, Tensor

from edgecond.nn.convolution.aggregation import find_pyg
from edgecond.nn.inspection import hooked, last_linear

if TYPE_CHECKING:
    from torch_geometric.nn import NNConv


def reduce_of(layer: NNConv) -> str:
    """Return the name of our aggregation; raise an error if the layer computes something that ECConv does not."""
    from torch_geometric.nn import NNConv

    if not isinstance(layer, NNConv):
        raise ValueError(f"from_nnconv takes an NNConv of PyG: got {type(layer).__name__}.")
    methods = ("forward", "message", "aggregate", "update", "message_and_aggregate", "edge_update")
    changed = [name for name in methods if getattr(type(layer), name) is not getattr(NNConv, name)]
    if changed:
        raise ValueError(f"ECConv computes what NNConv computes: {type(layer).__name__} has its own {changed[0]}.")
    if layer.flow != "source_to_target":
        raise ValueError(f"ECConv aggregates over the edges into a vertex: this NNConv has flow={layer.flow!r}.")
    aggregation = layer.aggr_module
    if getattr(getattr(aggregation, "var_aggr", None), "semi_grad", False):
        raise ValueError("ECConv has the whole gradient of a standard deviation: this NNConv has semi_grad=True.")
    if any(isinstance(parameter, nn.UninitializedParameter) for parameter in layer.parameters()):
        raise ValueError("the widths of this NNConv are not known yet: call it once, then convert it.")
    own = [hooks for name, hooks in vars(layer).items() if name.endswith("_hooks")]
    if any(own) or (layer.root_weight and hooked(layer.lin)):
        raise ValueError("ECConv does not run the hooks of an NNConv: remove the hooks of this one first.")
    if not isinstance(layer.nn, nn.Module):
        raise ValueError(f"a filter network must be a torch module: this NNConv has a {type(layer.nn).__name__}.")
    kind = type(aggregation).__name__
    return find_pyg(kind.removesuffix("Aggregation").lower() if aggregation is not None else "None").name


class _Transposed(nn.Module):
    """A filter network whose filters are laid out column by column, with its output transposed."""

    row_by_row = True  # as far as the network itself is

    def __init__(self, network: nn.Module, d_in: int, d_out: int) -> None:
        super().__init__()
        self.network, self.d_in, self.d_out = network, d_in, d_out

    def forward(self, labels: Tensor) -> Tensor:
        return self.network(labels).view(-1, self.d_in, self.d_out).transpose(1, 2).flatten(1)


def filters_of(network: nn.Module, d_in: int, d_out: int) -> nn.Module:
    """Return a copy of a filter network of PyG, with filters of (d_in, d_out) transposed to (d_out, d_in)."""
    try:
        network = deepcopy(network)
    except RuntimeError as error:
        raise ValueError(
            "a filter network must be copied, and torch cannot copy this one: the older weight norm and spectral norm "
            "are the usual cause. Use those of torch.nn.utils.parametrizations."
        ) from error
    last = last_linear(network)
    # The weight of a parametrised layer, as with spectral norm, cannot be transposed in place.
    if type(last) is not nn.Linear or last.out_features != d_in * d_out:
        return _Transposed(network, d_in, d_out)
    with torch.no_grad():
        for parameter in last.parameters():
            columns = parameter.view(d_in, d_out, -1).transpose(0, 1).reshape(parameter.shape)
            parameter.copy_(columns)
    return network
