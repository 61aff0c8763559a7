r"""The cost model: which of the exact algorithms to run, with its multiply-adds and bytes, before anything runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from edgecond.nn.convolution.per_edge import chunk_size

BLOCK = 1 << 14  # edges per block of the low-memory mode: their activations stay in the cache
_SCRATCH = 1 << 20  # what one thread of the kernels works in

# Effort of a multiply-add relative to one in a large matrix product, measured on one core with AVX2.
_BLEND = 1.5  # on runs of a few edges
_SCATTERED = 2.0  # the same, added to vertices in no order
_FORMED = 8.0  # per element of a filter that is formed, read, and formed again
_PIECES = 0.25  # the share of the pieces of F in which there are labels: 10 to 20 of 65 on NCI1
# The same for every number of signals and messages that pass through memory, sorted by label or by piece of F.
_BY_LABEL = 4
_BY_PIECE = 10


@dataclass(frozen=True)
class Plan:
    """One way to compute a convolution.

    Attributes:
        algorithm: "factored", "piecewise", "per_label" or "per_edge".
        by: What the edges are grouped by: "target", "source" or "label".
        multiply_adds: Of one forward pass, without the hidden layers of F (they are the same for all); by pieces, as if
            there were labels in each.
        bytes: Memory beyond input and output, likewise.
        effort: Multiply-adds weighted by how fast they run: what is compared.
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


def plan(
    *,
    n: int,
    m: int,
    d_in: int,
    d_out: int,
    k: int | None,
    u: int | None = None,
    num_sources: int | None = None,
    fused: bool = False,
    scalar: bool = False,
    low_memory: bool = False,
    itemsize: int = 4,
) -> Plan:
    """The algorithm with the least effort for a convolution of the given size.

    Args:
        n: Vertices (targets).
        m: Edges.
        d_in: Width of the input signal.
        d_out: Width of the output signal.
        k: Width of what enters the last layer of F if that is linear; none for any other F.
        u: Distinct labels if they are categorical; none if every edge has a label of its own.
        num_sources: Source vertices if they are not the targets.
        fused: Whether the kernels compute the hidden layers of F where they need them, so that nothing is stored.
        scalar: Whether labels are single numbers, in which F is linear between at most k turns.
        low_memory: Only algorithms that keep nothing of the size of the edges.
        itemsize: Bytes of a number.
    """
    found = candidates(n, m, d_in, d_out, k, u, num_sources, fused, scalar, low_memory, itemsize)
    return min(found, key=lambda candidate: candidate.effort)


@lru_cache(maxsize=4096)
def candidates(
    n: int,
    m: int,
    d_in: int,
    d_out: int,
    k: int | None,
    u: int | None,
    num_sources: int | None = None,
    fused: bool = False,
    scalar: bool = False,
    low_memory: bool = False,
    itemsize: int = 4,
) -> tuple[Plan, ...]:
    """Every way to compute the convolution, with its cost (see the table in the design of the operator)."""
    n_src = n if num_sources is None else num_sources
    theta = d_in * d_out
    found = []

    def add(
        algorithm: str, by: str, product: int, blend: int, numbers: int, scale: float = 1.0, moved: int = 0
    ) -> None:
        effort = product + scale * blend + moved
        found.append(Plan(algorithm, by, product + blend, numbers * itemsize + _SCRATCH, effort))

    formed = (u if u is not None else m) * (k or 1) * theta  # what the last layer of F costs if filters are formed
    chunk = min(m, chunk_size(d_in, d_out))
    add("per_edge", "target", m * (k or 1) * theta, m * theta, 3 * chunk * theta, _FORMED)
    if k is not None:
        hidden = 0 if fused else k * (min(m, BLOCK) if low_memory else m)
        add("factored", "target", n * k * theta, m * k * d_in, hidden + k * theta, _BLEND)
        if fused or not low_memory:
            add("factored", "source", n_src * k * theta, m * k * d_out, hidden + k * theta, _SCATTERED)
    # Gathered signals, messages and their sorted copy pass through memory.
    passing = m * (d_in + d_out)
    if k is not None and scalar and not low_memory:
        pieces = min(m, k + 1)
        filters = 2 * pieces * theta
        moved = _BY_PIECE * passing
        add("piecewise", "label", 2 * m * theta, k * filters, filters + 2 * passing, _PIECES, moved)
    if u is not None:
        add("per_label", "target", formed + n * u * theta, m * d_in, 2 * u * theta, _BLEND)
        add("per_label", "source", formed + n_src * u * theta, m * d_out, 2 * u * theta, _SCATTERED)
        if not low_memory:
            add("per_label", "label", formed + m * theta, 0, u * theta + 2 * passing, moved=_BY_LABEL * passing)
    return tuple(found)
