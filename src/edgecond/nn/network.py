"""Networks built from the paper's notation: convolutions, poolings and fully connected layers (Section 3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import torch
from jaxtyping import Float
from torch import nn, Tensor

from edgecond.graph import Pyramid
from edgecond.nn.dropout import Dropout
from edgecond.nn.layers import ECConv, FilterNetwork
from edgecond.nn.pooling import (
    AveragePooling,
    GlobalAveragePooling,
    GlobalMaxPooling,
    MaxPooling,
    Unpooling,
)
from edgecond.notation import AP, Architecture, C, D, FC, GAP, GlobalPooling, GMP, MP, Parametric, Pooling, V

_POOLINGS: dict[type, type[nn.Module]] = {
    MP: MaxPooling,
    AP: AveragePooling,
    GAP: GlobalAveragePooling,
    GMP: GlobalMaxPooling,
}


class Convolution(nn.Module):
    """C(c): edge-conditioned convolution, batch normalisation, ReLU, and dropout (Sections 4.1 and 4.3)."""

    def __init__(self, conv: ECConv, dropout: float) -> None:
        super().__init__()
        self.conv, self.norm, self.dropout = conv, nn.BatchNorm1d(conv.d_out), Dropout(dropout)

    def forward(self, x: Tensor, pyramid: Pyramid, level: int, skips: Sequence[Tensor] = ()) -> Tensor:
        return self.dropout(torch.relu(self.norm(self.conv(x, pyramid.graphs[level]))))


class RowWise(nn.ModuleList):
    """Modules that map every row of the signal by itself: FC(c) with what follows it, and D(p)."""

    def forward(self, x: Tensor, pyramid: Pyramid, level: int, skips: Sequence[Tensor] = ()) -> Tensor:
        for module in self:
            x = module(x)
        return x


class Network(nn.Module):
    """A network that classifies graphs, or with V their vertices, built from the paper's notation.

    Each C is followed by batch normalisation, ReLU and dropout; each FC but the last by batch normalisation and ReLU,
    as in the authors' code. If there is no global pooling before the first FC, the last convolution is strided: the
    last graph of the pyramid has one target per sample (MNIST, Section 4.4).

    Args:
        architecture: The notation, "C(16)-C(32)-MP(0.25,0.5)-...-FC(14)".
        d0: Width of the input signal $X^0$.
        s: Width of the edge labels; one per level if it differs (categorical at first, scalar after Kron reduction).
        hidden: Hidden widths of the filter networks, `(16, 32)` for FC(16)-FC(32); empty for a single layer.
        identity: Whether convolutions have identity connections (ECC-resnet); a strided convolution has none.
        degree_factor: Whether to learn a normalisation by degree (ECC-Z).
        dropout: Probability of dropout after each convolution.
        low_memory: Whether to keep nothing of the size of the edges; see `ECConv`.
        features: Width of the features of each sample, which enter the first FC beside the globally pooled signal.
    """

    def __init__(
        self,
        architecture: Architecture | str,
        d0: int,
        s: int | Sequence[int],
        *,
        hidden: Sequence[int] = (16, 32),
        identity: bool = False,
        degree_factor: bool = False,
        dropout: float = 0.0,
        low_memory: bool = False,
        features: int = 0,
    ) -> None:
        super().__init__()
        self.architecture = Architecture(architecture) if isinstance(architecture, str) else architecture
        label_widths = [s] * self.architecture.resolutions if isinstance(s, int) else list(s)
        if len(label_widths) != self.architecture.resolutions:
            raise ValueError(
                f"s must be one width, or a width at each of the {self.architecture.resolutions} levels: "
                f"got {label_widths}."
            )
        last = {kind: self._last(kind) for kind in (C, FC)}
        self.features, self._head = features, self._positions(FC)[:1] if features else []
        if features and (self.architecture.per_vertex or not self._head):
            raise ValueError(
                "features are for networks that predict for whole graphs, by FC after a global pooling: "
                f"got {self.architecture}. Leave them out."
            )
        self.layers = nn.ModuleList()
        self._frozen = 0
        width, skipped = d0, 0  # skipped: total width of the signals that unpooling adds to the last one
        for position, (layer, level) in enumerate(zip(self.architecture, self.architecture.levels, strict=True)):
            match layer:
                case C(d_out):
                    strided = self.architecture.strided and position == last[C]
                    conv = ECConv(
                        width,
                        d_out,
                        FilterNetwork([label_widths[level], *hidden], width, d_out),
                        identity=identity and not strided,
                        degree_factor=degree_factor,
                        low_memory=low_memory,
                    )
                    self.layers.append(Convolution(conv, dropout))
                    width = d_out
                case FC(d_out):
                    linear = nn.Linear(width + features * (position in self._head), d_out)
                    after = [] if position == last[FC] else [nn.BatchNorm1d(d_out), nn.ReLU()]
                    self.layers.append(RowWise([linear, *after]))
                    width = d_out
                case D(p):
                    self.layers.append(RowWise([Dropout(p)]))
                case Pooling() | GlobalPooling():
                    skipped += width  # no V follows a global pooling
                    self.layers.append(_POOLINGS[type(layer)]())
                case V():
                    self.layers.append(Unpooling())
                    width += skipped

    def freeze(self, count: int) -> None:
        """Freeze the first `count` layers with weights, C and FC: a training changes neither weights nor statistics."""
        parametric = self._positions(Parametric)
        if not 0 <= count < len(parametric):
            raise ValueError(
                f"a network can be frozen up to the layer before the last: {self.architecture} has {len(parametric)} "
                f"layers with weights, got {count}."
            )
        self._frozen = parametric[count - 1] + 1 if count else 0
        for position, layer in enumerate(self.layers):
            layer.requires_grad_(position >= self._frozen)
        self.train(self.training)

    def train(self, mode: bool = True) -> Self:
        """Set the mode; frozen layers predict in either."""
        super().train(mode)
        for layer in self.layers[: self._frozen]:
            layer.eval()
        return self

    def forward(
        self, x: Float[Tensor, "n d0"], pyramid: Pyramid, features: Float[Tensor, "b f"] | None = None
    ) -> Float[Tensor, "b classes"]:
        """Return the scores of the classes for each sample of a batch; with V, for each vertex of level 0."""
        return self._signal(x, pyramid, features, len(self.layers))

    def embed(
        self, x: Float[Tensor, "n d0"], pyramid: Pyramid, features: Float[Tensor, "b f"] | None = None
    ) -> Float[Tensor, "b d"]:
        """Return the signal before the last FC: the embedding of each sample, or of each vertex."""
        return self._signal(x, pyramid, features, self._last(FC))

    @property
    def embedding_width(self) -> int:
        """Width of the signal before the last FC."""
        last = self._last(FC)
        return int(self.layers[last][0].in_features) - self.features * (last in self._head)  # type: ignore[index]

    def _signal(self, x: Tensor, pyramid: Pyramid, features: Tensor | None, count: int) -> Tensor:
        """Return the signal after the first `count` layers."""
        if len(pyramid) != self.architecture.resolutions:
            raise ValueError(
                f"this network needs a pyramid of {self.architecture.resolutions} levels: got {len(pyramid)} levels."
            )
        width = 0 if features is None else features.shape[1]
        if width != self.features:
            raise ValueError(
                f"this network needs {self.features or 'no'} features of each sample: got {width or 'none'}."
            )
        skips: tuple[Tensor, ...] = ()  # the last signal of each level so far
        for position, (layer, level) in enumerate(zip(self.layers[:count], self.architecture.levels, strict=False)):
            if features is not None and position in self._head:
                x = torch.cat([x, features.to(x.dtype)], 1)
            skips = (*skips[:level], x)
            x = layer(x, pyramid, level, skips)
        return x

    def _positions(self, kind: type) -> list[int]:
        return [position for position, layer in enumerate(self.architecture) if isinstance(layer, kind)]

    def _last(self, kind: type) -> int:
        return self._positions(kind)[-1] if self._positions(kind) else -1
