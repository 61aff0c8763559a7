"""The layers of a filter network F, whatever module it is: the last, those before it, their parameters and purity."""

from __future__ import annotations

from jaxtyping import Float
from torch import nn, Tensor

from edgecond.nn.convolution.operators import Layers

_RANDOM = (nn.modules.dropout._DropoutNd, nn.RReLU)
_NORMS = nn.modules.batchnorm._BatchNorm
_ROW_BY_ROW = (
    *(nn.Sequential, nn.Identity, nn.Flatten, nn.Linear, nn.Embedding, nn.LayerNorm, nn.RMSNorm, nn.GroupNorm, _NORMS),
    *(nn.ReLU, nn.LeakyReLU, nn.PReLU, nn.ReLU6, nn.RReLU, nn.ELU, nn.SELU, nn.CELU, nn.GELU, nn.SiLU, nn.Mish),
    *(nn.Sigmoid, nn.Tanh, nn.Softplus, nn.Softsign, nn.LogSigmoid, nn.Hardtanh, nn.Hardsigmoid, nn.Hardswish),
    *(nn.Tanhshrink, nn.Hardshrink, nn.Softshrink, nn.Threshold),
    *(nn.Dropout, nn.Dropout1d, nn.AlphaDropout, nn.FeatureAlphaDropout),
)
_FORWARDS = frozenset(known.forward for known in _ROW_BY_ROW)


def reset(network: nn.Module) -> None:
    """Draw the parameters of a network again, each module by its own `reset_parameters`, as PyG does."""
    own = getattr(network, "reset_parameters", None)
    if own is not None:
        own()
    else:
        for child in network.children():
            reset(child)


def parameters(network: nn.Module) -> tuple[Tensor, ...]:
    """Return the parameters of a network, in a replica of DataParallel too, where `parameters()` has none."""
    parts = network.modules()
    found = [p for part in parts for p in getattr(part, "_former_parameters", part._parameters).values()]
    return tuple({id(p): p for p in found if p is not None}.values())


def flat(network: nn.Module) -> list[nn.Module]:
    """Return the layers of nested sequences, in order."""
    if isinstance(network, nn.Sequential) and type(network).forward is nn.Sequential.forward and not hooked(network):
        return [layer for part in network for layer in flat(part)]
    return [network]


def last_linear(network: nn.Module) -> nn.Linear | None:
    """Return the last layer of a network if it is linear."""
    last = flat(network)[-1] if flat(network) else None
    linear = isinstance(last, nn.Linear) and type(last).forward is nn.Linear.forward and not hooked(last)
    return last if linear else None  # type: ignore[return-value]


def hooked(layer: nn.Module) -> bool:
    """Return whether calling the layer runs more than its `forward`: the older weight norm is a hook."""
    return bool(layer._forward_hooks or layer._forward_pre_hooks)


def hidden(network: nn.Module, labels: Float[Tensor, "e s"]) -> Float[Tensor, "e k"]:
    """Return the activations that enter the last layer of F."""
    for layer in flat(network)[:-1]:
        labels = layer(labels)
    return labels


def perceptron(network: nn.Module) -> Layers | None:
    """Return weights and biases of the layers before the last, if they are linear with bias, each with a ReLU."""
    layers = flat(network)[:-1]
    linear = [layer for layer in layers[::2] if type(layer) is nn.Linear and layer.bias is not None]
    relu = [layer for layer in layers[1::2] if type(layer) is nn.ReLU]
    paired = len(linear) == len(relu) and len(linear) + len(relu) == len(layers)
    if not linear or not paired or any(hooked(layer) for layer in layers):
        return None
    return [layer.weight for layer in linear], [layer.bias for layer in linear]


def pure(network: nn.Module) -> bool:
    """Return whether F, in its present mode, may be evaluated on parts of the labels, and twice.

    It may if each label is mapped by itself, to the same numbers every time. That is known of torch's own layers alone:
    any other module may mix labels, as a norm over all of them does, or draw random numbers. A module of which it is
    true may have an attribute `row_by_row = True`.
    """
    return all(_is_pure(part) for part in network.modules())


def _is_pure(part: nn.Module) -> bool:
    if hooked(part) or (part.training and isinstance(part, (*_RANDOM, _NORMS))):
        return False
    if isinstance(part, _NORMS) and part.running_mean is None:  # it has the statistics of the labels in every mode
        return False
    return getattr(part, "row_by_row", False) or type(part).forward in _FORWARDS
