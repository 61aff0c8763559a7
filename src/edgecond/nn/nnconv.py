"""The parts of PyG's `NNConv` as `ECConv` takes them; a layer that computes something else is refused."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, TYPE_CHECKING

import torch
from torch import nn, Tensor

from edgecond.nn.convolution.aggregation import find_pyg
from edgecond.nn.inspection import hooked, last_linear

if TYPE_CHECKING:
    from torch_geometric.nn import MLP, NNConv


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
    """Return a copy of a filter network of PyG, with filters of (d_in, d_out) transposed to (d_out, d_in).

    Its last layer is seen inside an `MLP` of PyG too.
    """
    try:
        network = deepcopy(network)
    except RuntimeError as error:
        raise ValueError(
            "a filter network must be copied, and torch cannot copy this one: the older weight norm and spectral norm "
            "are the usual cause. Use those of torch.nn.utils.parametrizations."
        ) from error
    network = _in_sequence(network)
    last = last_linear(network)
    # The weight of a parametrised layer, as with spectral norm, cannot be transposed in place.
    if type(last) is not nn.Linear or last.out_features != d_in * d_out:
        return _Transposed(network, d_in, d_out)
    with torch.no_grad():
        for parameter in last.parameters():
            columns = parameter.view(d_in, d_out, -1).transpose(0, 1).reshape(parameter.shape)
            parameter.copy_(columns)
    return network


def _in_sequence(network: Any) -> nn.Module:
    """Return a network with the `MLP`s and `Linear`s of PyG in it as the layers of torch that they run."""
    from torch_geometric.nn import BatchNorm, Linear, MLP

    if hooked(network):
        return network
    if type(network) is nn.Sequential:
        for name, part in network.named_children():
            network._modules[name] = _in_sequence(part)
    elif type(network) is Linear:
        linear = nn.Linear(network.in_channels, network.out_channels, device="meta")  # which draws no numbers
        linear.weight, linear.bias, linear.training = network.weight, network.bias, network.training
        return linear
    elif type(network) is BatchNorm and not network.allow_single_element:
        return network.module
    elif type(network) is MLP and isinstance(network.act, nn.Module | None):
        return nn.Sequential(*map(_in_sequence, _layers(network))).train(network.training)
    return network


def _layers(network: MLP) -> Iterator[nn.Module]:
    """Yield the layers of an `MLP` of PyG in the order of its `forward`."""
    for number, linear in enumerate(network.lins):
        yield linear
        if number < len(network.norms):
            after = [network.norms[number], network.act]
            for layer in reversed(after) if network.act_first else after:
                if layer is not None and type(layer) is not nn.Identity:
                    yield layer
        if network.dropout[number]:
            yield nn.Dropout(network.dropout[number])
