"""Split conformal prediction: the scores of a calibration set bound those of new examples (Vovk et al. 2005)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from jaxtyping import Float

from edgecond.errors import EdgecondError

Scores = tuple[Float[np.ndarray, " q"], ...]
"""The nonconformity scores of a calibration set in ascending order, for each target, or once for all classes."""

MOST = 999
"""Scores that a model keeps of a target, at most: coverage is asked for in steps of a thousandth."""


class CoverageError(EdgecondError, ValueError):
    """A coverage that the calibration set of a model is too small for."""


def condensed(scores: Float[np.ndarray, " n"]) -> Float[np.ndarray, " q"]:
    r"""Sort scores; of more than `MOST`, keep as many quantiles.

    The $j$-th of $q$ that are kept is that of rank $\lceil j (n + 1) / (q + 1) \rceil$. It bounds the score of a new
    example with probability $j / (q + 1)$ at least, as the $j$-th of only $q$ scores would.
    """
    ordered, n = np.sort(scores), len(scores)
    if n <= MOST:
        return ordered
    ranks = -(-np.arange(1, MOST + 1) * (n + 1) // (MOST + 1))
    return ordered[ranks - 1]


def limit(scores: Float[np.ndarray, " q"], coverage: float, name: str = "") -> float:
    r"""Return the bound that a new score keeps with a probability of `coverage` at least.

    It is the score of rank $\lceil (n + 1) \cdot \text{coverage} \rceil$ of $n$. Where scores are exchangeable and
    without ties, the probability is at most $1 / (n + 1)$ higher.

    Args:
        scores: The scores of the calibration set, ascending.
        coverage: The probability, between 0 and 1.
        name: Name of the target, for messages.
    """
    if not 0 < coverage < 1:
        raise CoverageError(f"coverage must be between 0 and 1, as 0.9: got {coverage:g}.")
    share = Fraction(coverage).limit_denominator(10**6)  # 0.9 is not quite nine tenths in binary
    rank = -((-(len(scores) + 1) * share) // 1)
    if rank > len(scores):
        needed = -((-share / (1 - share)) // 1)
        of = f" of {name}" if name else ""
        raise CoverageError(
            f"a coverage of {coverage:g} needs at least {needed} calibration examples{of}: the model has "
            f"{len(scores)}. Ask for less, or train with a larger --calibration."
        )
    return float(scores[int(rank) - 1])
