"""Replacement of every `NNConv` of a PyG model by the `ECConv` that computes the same (Section 3.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from torch import nn

from edgecond.nn.layers import ECConv


@dataclass(frozen=True)
class Swapped:
    """What `swap` did.

    Attributes:
        replaced: Names of the layers that are `ECConv` now.
        kept: For each name of a layer that is still `NNConv`, the reason.
    """

    replaced: tuple[str, ...]
    kept: dict[str, str]

    def __str__(self) -> str:
        lines = [f"{len(self.replaced)} replaced" + "".join(f"\n  {name}" for name in self.replaced)]
        if self.kept:
            lines += [f"{len(self.kept)} kept", *(f"  {name}: {reason}" for name, reason in self.kept.items())]
        return "\n".join(lines)


def swap(model: nn.Module, **options: Any) -> Swapped:
    """Replace every `NNConv` of a model in place by the `ECConv` that computes the same, and report what was replaced.

    A layer that occurs twice stays one layer, and layers that share their filter network still share it. The new layers
    have copies of the parameters: build the optimizer after the swap, because an older one holds the parameters of the
    layers that are gone.

    Args:
        model: A model with `NNConv` anywhere inside, such as in a `ModuleList`, a `HeteroConv` or what `to_hetero`
            returns.
        options: Other arguments of `ECConv`, such as `low_memory=True`.
    """
    try:
        from torch_geometric.nn import NNConv
    except ImportError:
        raise ImportError("PyTorch Geometric is not installed: pip install edgecond[pyg].") from None
    if isinstance(model, NNConv):
        raise ValueError("a model that is itself an NNConv cannot be replaced in place: use ECConv.from_nnconv(model).")
    layers = {name: layer for name, layer in model.named_modules(remove_duplicate=False) if isinstance(layer, NNConv)}
    tied = _tied(model, layers)
    convs: dict[nn.Module, ECConv] = {}
    filters: dict[tuple[Any, ...], nn.Module] = {}
    replaced, kept = dict[str, ECConv](), dict[str, str]()
    for name, layer in layers.items():
        if layer in tied:
            kept[name] = f"it shares parameters with {tied[layer]}, and a copy would not."
            continue
        if layer not in convs:
            try:
                conv = ECConv.from_nnconv(layer, **options)
            except ValueError as error:
                kept[name] = str(error)
                continue
            conv.filters = filters.setdefault(_filters_of(layer), conv.filters)
            convs[layer] = conv
        replaced[name] = convs[layer]
    for name, conv in replaced.items():  # all or, after an error, none
        parent, _, attribute = name.rpartition(".")
        model.get_submodule(parent)._modules[attribute] = conv
    return Swapped(tuple(replaced), kept)


def _tied(model: nn.Module, layers: dict[str, Any]) -> dict[nn.Module, str]:
    """Return the layers with a parameter that is also one of something else in the model, and the name of that."""
    owners: dict[int, dict[Any, str]] = {}  # of each parameter; layers with the same filter network are one owner of it
    for name, part in model.named_modules(remove_duplicate=False):
        if not any(f"{name}.".startswith(f"{inside}.") for inside in layers):
            for parameter in part.parameters(recurse=False):
                owners.setdefault(id(parameter), {})[part] = name or type(part).__name__
    for name, layer in layers.items():
        for owner, parameter in _parameters(layer):
            owners.setdefault(id(parameter), {}).setdefault(owner, name)
    tied = {}
    for layer in layers.values():
        for owner, parameter in _parameters(layer):
            others = [name for other, name in owners[id(parameter)].items() if other != owner]
            if others:
                tied[layer] = others[0]
    return tied


def _parameters(layer: Any) -> Iterator[tuple[Any, nn.Parameter]]:
    """Yield each parameter of a layer with its owner: the layer, or its filter network at these widths."""
    of_filters = {id(parameter) for parameter in layer.nn.parameters()} if isinstance(layer.nn, nn.Module) else set()
    for parameter in layer.parameters():
        yield _filters_of(layer) if id(parameter) in of_filters else layer, parameter


def _filters_of(layer: Any) -> tuple[Any, ...]:
    return id(layer.nn), layer.in_channels_l, layer.out_channels
