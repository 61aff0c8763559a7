r"""The interface of the backends: the sums behind the exact algorithms, their arguments and the checks on them.

The factored sums read a graph row by row (`Rows`): by target, or by source for the form that multiplies first. Row $r$
has signal $z_r$, the vertex at the other end of edge $e$ has signal $y_e$, $a_e$ are the activations of the edge, and
$W_c$ the weight matrices, one per channel of $a$:

$$\text{gather: } \sum_e \sum_c a_{ec} W_c y_e \qquad
\text{spread: } \sum_c a_{ec} W_c^\top z_r, \text{ and the gradients } z_r^\top W_c\, y_e \text{ and }
\sum_r z_r \sum_e a_{ec} y_e^\top$$

Where many edges share a filter, the edges are sorted by filter instead (`Runs`): see `products` and `outer_sums`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from edgecond.graph import Rows


@dataclass(frozen=True, eq=False)
class Activations:
    r"""$a_e$ for every edge: one-hot at `index`, or a row of `hidden`, or computed from it by hidden layers of $F$.

    With `weights` and `biases`, `hidden` holds the labels and $a = \mathrm{relu}(\dots \mathrm{relu}(W_1 l + b_1))$. If
    the weight of the sum has one channel more than $a$ is wide, its last matrix gets a constant activation of 1: it is
    the bias of the last layer of $F$.
    """

    hidden: Float[Tensor, "m k"] | None
    index: Int[Tensor, " m"] | None = None
    weights: Sequence[Tensor] = ()
    biases: Sequence[Tensor] = ()


@dataclass(eq=False)
class Gradients:
    """The tensors `spread` writes; none for a result that is not needed. It adds to `out` and overwrites the rest.

    Attributes:
        out: Signal of the vertices at the other ends.
        hidden: Gradient of `Activations.hidden`.
        weight: Gradient of the weight.
        weights: Gradients of the weights of the hidden layers.
        biases: Gradients of their biases.
    """

    out: Float[Tensor, "v j"] | None = None
    hidden: Float[Tensor, "m k"] | None = None
    weight: Float[Tensor, "c r j"] | None = None
    weights: Sequence[Tensor] = ()
    biases: Sequence[Tensor] = ()

    @property
    def empty(self) -> bool:
        """Whether no result is needed."""
        return self.out is None and self.hidden is None and self.weight is None and not self.weights


@dataclass(frozen=True, eq=False)
class Runs:
    r"""Edges in runs that share a filter $M_r$, or a filter $M_{0r} + s_e M_{1r}$ that is linear in a `scale` $s_e$.

    Attributes:
        pointer: First edge of each run, and the number of edges.
        source: Vertex $j$ of each edge.
        target: Vertex $i$ of each edge.
        scale: $s_e$; none if a filter is a single matrix.
    """

    pointer: Int[Tensor, " g+1"]
    source: Int[Tensor, " m"]
    target: Int[Tensor, " m"]
    scale: Float[Tensor, " m"] | None = None

    @property
    def channels(self) -> int:
        """Number of matrices of a filter."""
        return 1 if self.scale is None else 2


class Backend(ABC):
    """One implementation of the sums. The arguments of its operations have been checked.

    Attributes:
        name: The name of its module.
        fused: Whether it computes the hidden layers of $F$ where they are needed, so that no activation is stored.
    """

    name: str
    fused: bool

    @abstractmethod
    def serves(self, signal: Tensor) -> bool:
        """Return whether the backend computes on signals of this device and precision."""

    @abstractmethod
    def gather(self, rows: Rows, a: Activations, weight: Float[Tensor, "c r j"], y: Float[Tensor, "v j"]) -> Tensor:
        """Blend the signals of the neighbours of each row, then multiply: one output per row."""

    @abstractmethod
    def spread(
        self,
        rows: Rows,
        a: Activations,
        weight: Float[Tensor, "c r j"],
        z: Float[Tensor, "n r"],
        y: Float[Tensor, "v j"],
        to: Gradients,
    ) -> None:
        """Multiply the signal of each row, then blend onto the vertices at the other ends; compute the gradients."""

    @abstractmethod
    def products(
        self, runs: Runs, matrices: Float[Tensor, "g c o i"], x: Float[Tensor, "v i"], count: int
    ) -> Float[Tensor, "n o"]:
        r"""Return $\sum_{e=(j,i)} (M_{0r} + s_e M_{1r})\, x_j$ for each of `count` targets $i$, $r$ the run of $e$."""

    @abstractmethod
    def outer_sums(self, runs: Runs, z: Float[Tensor, "n o"], x: Float[Tensor, "v i"]) -> Float[Tensor, "g c o i"]:
        r"""Return $\sum_{e=(j,i)} z_i x_j^\top$ over every run, and the same times $s_e$: the gradient of $M$."""

    @abstractmethod
    def drop_(self, tensor: Tensor, p: float, seed: int) -> Tensor:
        """Set each element of a tensor to zero with probability $0 < p < 1$, in place."""


def activate(labels: Float[Tensor, "e s"], weights: Sequence[Tensor], biases: Sequence[Tensor]) -> list[Tensor]:
    """Return the labels and the activations of each hidden layer of $F$."""
    activations = [labels]
    for weight, bias in zip(weights, biases, strict=True):
        activations.append(torch.relu(torch.nn.functional.linear(activations[-1], weight, bias)))
    return activations


def descend(a: Activations, activations: list[Tensor], gradient: Tensor, to: Gradients) -> None:
    """Propagate the gradient of the last activations to the hidden layers and the labels."""
    for position in reversed(range(len(a.weights))):
        gradient = gradient.masked_fill(activations[position + 1] <= 0, 0)  # as in torch, a NaN passes
        to.weights[position].copy_(gradient.T @ activations[position])
        to.biases[position].copy_(gradient.sum(0))
        if position or to.hidden is not None:
            gradient = gradient @ a.weights[position]
    if to.hidden is not None:
        to.hidden.copy_(gradient)


def check_rows(rows: Rows, a: Activations, weight: Tensor, z: Tensor | None, y: Tensor) -> None:
    """Check the arguments of `gather` and `spread`: backends that work on addresses trust every size and type."""
    signals = [
        ("the signal", y, 2),
        ("the weight", weight, 3),
        ("the signal of the rows", z, 2),
        ("hidden", a.hidden, 2),
    ]
    layers = [("the weight of a layer", layer, 2) for layer in a.weights] + [("its bias", b, 1) for b in a.biases]
    _check_tensors([*signals, *layers], y.dtype, y.device)
    indices = [("the pointer", rows.pointer, 1), ("the vertices of edges", rows.column, 1)]
    numbers = [("the numbers of edges", rows.edge, 1), ("the index of labels", a.index, 1)]
    _check_tensors([*indices, *numbers], torch.long, y.device)
    # Not len(), which takes twenty times as long.
    edges, count, (channels, row_width, column_width) = rows.column.shape[0], rows.pointer.shape[0], weight.shape
    if not count or (rows.edge is not None and rows.edge.shape[0] != edges):
        raise ValueError(
            f"rows need a pointer of at least one number, and one number for each of {edges} edges: "
            f"got {count} and {edges if rows.edge is None else len(rows.edge)}."
        )
    per_edge = [tensor for tensor in (a.hidden, a.index) if tensor is not None]
    if len(per_edge) != 1 or per_edge[0].shape[0] != edges:
        found = " and ".join(str(tuple(tensor.shape)) for tensor in per_edge) or "none"
        raise ValueError(
            f"either the activations or the int64 index of labels must have one row for each of {edges} edges: "
            f"got {found}."
        )
    if len(a.weights) != len(a.biases) or (a.hidden is None and a.weights):
        raise ValueError(
            "the hidden layers of F must have labels, and a weight and a bias each: "
            f"got {len(a.weights)} weights and {len(a.biases)} biases."
        )
    if a.hidden is not None:
        width = a.hidden.shape[1]
        for layer, bias in zip(a.weights, a.biases, strict=True):
            if layer.shape[1] != width or bias.shape != layer.shape[:1]:
                raise ValueError(
                    f"the next hidden layer of F must take {width} inputs and have one bias per output: "
                    f"got a weight of shape {tuple(layer.shape)} and a bias of shape {tuple(bias.shape)}."
                )
            width = layer.shape[0]
        if channels - width not in (0, 1):
            raise ValueError(
                f"the weight must have one matrix per activation, and at most one more for the bias of F: "
                f"got {channels} matrices for {width} activations."
            )
    if y.shape[1] != column_width or (z is not None and z.shape != (count - 1, row_width)):
        found = f"{tuple(y.shape)}" if z is None else f"{tuple(y.shape)} and {tuple(z.shape)}"
        raise ValueError(f"matrices of {row_width} by {column_width} do not fit signals of shape {found}.")


def check_gradients(to: Gradients, a: Activations, weight: Tensor, y: Tensor) -> None:
    """Check the tensors that `spread` writes, for the same reason."""
    through = len(to.weights) > 0 or to.hidden is not None  # a gradient of labels passes through the layers
    if not len(to.weights) == len(to.biases) == (len(a.weights) if through else 0):
        raise ValueError(
            f"the gradients of all {len(a.weights)} hidden layers of F are computed, or none, nor that of the labels: "
            f"got {len(to.weights)} weights and {len(to.biases)} biases."
        )
    pairs = [(to.out, y), (to.hidden, a.hidden), (to.weight, weight)]
    for result, of in [*pairs, *zip(to.weights, a.weights, strict=False), *zip(to.biases, a.biases, strict=False)]:
        if result is None:
            continue
        alike = of is not None and result.dtype is of.dtype and result.shape == of.shape and result.device == of.device
        if not alike or not (result is to.weight or result.is_contiguous()):
            raise ValueError(
                "a gradient must be a contiguous tensor like the one that it is the gradient of, "
                f"{None if of is None else tuple(of.shape)}: got {tuple(result.shape)} of {result.dtype}."
            )


def check_runs(runs: Runs, matrices: Tensor | None, z: Tensor | None, x: Tensor) -> None:
    """Check the arguments of `products` and `outer_sums`, for the same reason."""
    _check_tensors(
        [("the signal", x, 2), ("matrices", matrices, 4), ("the signal of the targets", z, 2)], x.dtype, x.device
    )
    _check_tensors([("the scale", runs.scale, 1)], x.dtype, x.device)
    indices = [("the pointer", runs.pointer, 1), ("the sources", runs.source, 1), ("the targets", runs.target, 1)]
    _check_tensors(indices, torch.long, x.device)
    groups = runs.pointer.shape[0] - 1
    if matrices is not None:
        expected = (groups, runs.channels, matrices.shape[2], x.shape[1])
        if tuple(matrices.shape) != expected:
            raise ValueError(
                f"the matrices must have shape {expected}, one per run and channel: got {tuple(matrices.shape)}."
            )
    lengths = {each.shape[0] for each in (runs.source, runs.target, runs.scale) if each is not None}
    if groups < 0 or len(lengths) > 1:
        raise ValueError(
            f"runs need a pointer, and one source, one target and one scale per edge: got {sorted(lengths)} of these."
        )


_ADVICE = "Build graphs with Graph.from_edges, and leave their tensors as they are."


def check_pointer(pointer: Tensor, edges: int) -> None:
    """Check on a CPU that a pointer divides the edges into rows, as the C++ kernels do by themselves."""
    if pointer.device.type != "cpu":  # reading a value makes a GPU wait
        return
    if int(pointer[0]) != 0 or int(pointer[-1]) != edges or bool((pointer[1:] < pointer[:-1]).any()):
        raise ValueError(
            f"the pointer of a graph must ascend from 0 to its number of edges, {edges}: this one does not. {_ADVICE}"
        )


def check_range(name: str, index: Tensor | None, count: int) -> None:
    """Check on a CPU that an index numbers `count` things, as the C++ kernels do by themselves."""
    if index is None or not len(index) or index.device.type != "cpu":
        return
    if int(index.min()) < 0 or int(index.max()) >= count:
        position = int(((index < 0) | (index >= count)).nonzero()[0])
        raise ValueError(
            f"{name} must be from 0 to {count - 1}: found {int(index[position])} at position {position}. {_ADVICE}"
        )


def _check_tensors(tensors: Sequence[tuple[str, Tensor | None, int]], dtype: torch.dtype, device: torch.device) -> None:
    """Check that tensors have a type, a device and their number of dimensions."""
    for name, tensor, dimensions in tensors:
        if tensor is None:
            continue
        # Types are single objects, which `is` compares in half the time.
        if tensor.dtype is not dtype or tensor.ndim != dimensions or tensor.device != device:
            raise ValueError(
                f"{name} must have {dimensions} dimensions, of {dtype} on {device}: "
                f"got {tuple(tensor.shape)} of {tensor.dtype} on {tensor.device}."
            )
