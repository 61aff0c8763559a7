"""The interface of the exact algorithms for Equation 1: what they are given, what they cost, and how they run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from edgecond.graph import Graph
from edgecond.graph.transforms import abstract
from edgecond.nn.convolution.operators import Layers

SCRATCH = 1 << 20  # bytes that one thread of the kernels works in

# Effort of a multiply-add relative to one in a large matrix product, measured on one core with AVX2.
BLEND = 1.5  # on runs of a few edges
SCATTERED = 2.0  # the same, added to vertices in no order


@dataclass(frozen=True, eq=False)
class Filters:
    """A filter network $F$ as the algorithms use it.

    Attributes:
        theta: Maps labels to filters, `(e, s)` to `(e, d_out, d_in)`.
        d_out: Width of the output.
        parameters: The tensors that `theta` depends on.
        hidden: Maps labels to the activations that enter the last layer, if that layer is linear.
        weight: The matrices of the last layer; one more than `hidden` is wide if it has a bias.
        width: $k$, the width of `hidden`.
        hidden_parameters: The tensors that `hidden` depends on.
        layers: Weights and biases of the layers before the last, if they are linear maps with ReLUs.
        diagonal: Filters are one weight per channel, `(e, d_out)`.
        pure: Whether F may be evaluated on parts of the labels, and twice.
    """

    theta: Callable[[Tensor], Tensor]
    d_out: int
    parameters: Sequence[Tensor]
    hidden: Callable[[Tensor], Tensor] | None = None
    weight: Float[Tensor, "k d_out d_in"] | None = None
    width: int | None = None
    hidden_parameters: Sequence[Tensor] = ()
    layers: Layers | None = None
    diagonal: bool = False
    pure: bool = True

    def in_parts(self, labels: Tensor) -> bool:
        """Whether to evaluate F block by block: if it is pure, and not while a program is traced or transformed."""
        return self.pure and not abstract(labels)

    def piecewise_linear(self, s: int) -> bool:
        """Return whether F is piecewise linear in labels of width `s`, with pieces that are easy to find."""
        return s == 1 and self.layers is not None and len(self.layers[0]) == 1


@dataclass(frozen=True)
class Plan:
    """One way to compute a convolution.

    Attributes:
        algorithm: Name of the algorithm.
        by: What the edges are grouped by: "target", "source" or "label".
        multiply_adds: Multiply-adds of one forward pass, without the hidden layers of F, which cost the same in all
            plans. For `piecewise`, an upper bound: as if there were labels in every piece.
        bytes: Memory beyond input and output, counted in the same way.
        effort: Multiply-adds weighted by how fast they run; the plan with the least effort is picked.
    """

    algorithm: str
    by: str
    multiply_adds: int
    bytes: int
    effort: float

    def __str__(self) -> str:
        return (
            f"{self.algorithm} by {self.by}: {self.multiply_adds / 1e6:.1f} million multiply-adds, "
            f"{self.bytes / 2**20:.1f} MiB beyond input and output"
        )


@dataclass(frozen=True)
class Sizes:
    """The numbers that the cost of a convolution depends on; see `plan`."""

    n: int
    m: int
    d_in: int
    d_out: int
    k: int | None
    u: int | None
    num_sources: int
    fused: bool
    scalar: bool
    low_memory: bool
    itemsize: int

    @property
    def theta(self) -> int:
        """Number of elements of a filter."""
        return self.d_in * self.d_out

    @property
    def passing(self) -> int:
        """Numbers that pass through memory if signals are gathered, and messages written, edge by edge."""
        return self.m * (self.d_in + self.d_out)

    def plan(
        self, algorithm: str, by: str, *, product: int, blend: int, numbers: int, scale: float = 1.0, moved: int = 0
    ) -> Plan:
        """Build a plan.

        Args:
            algorithm: Name of the algorithm.
            by: Its form.
            product: Multiply-adds in large matrix products.
            blend: Other multiply-adds.
            numbers: Numbers that are kept beyond input and output.
            scale: Effort of one of the other multiply-adds.
            moved: Effort of moving data.
        """
        effort = product + scale * blend + moved
        return Plan(algorithm, by, product + blend, numbers * self.itemsize + SCRATCH, effort)


class Algorithm(ABC):
    """One exact way to compute Equation 1.

    Attributes:
        name: The name by which it is asked for.
        needs: What must hold for it to apply, as the end of the sentence "NAME needs ...".
        traced: Rank among the algorithms that are picked where sizes or numbers are unknown, as in torch.compile,
            torch.export and torch.func: the first that applies is run. None for an algorithm that cannot be traced.
    """

    name: str
    needs: str
    traced: int | None = None

    @abstractmethod
    def applies(self, graph: Graph, filters: Filters) -> bool:
        """Return whether the algorithm can compute this convolution."""

    @abstractmethod
    def cost(self, sizes: Sizes) -> Iterable[Plan]:
        """Return a plan for each form of the algorithm that can be picked for these sizes."""

    @abstractmethod
    def run(
        self,
        x: Float[Tensor, "n d_in"],
        graph: Graph,
        filters: Filters,
        reduce: str,
        *,
        by: str | None,
        low_memory: bool,
    ) -> Float[Tensor, "n d_out"]:
        """Compute the convolution; see `convolve`."""
