"""How well probabilities and spreads fit the errors: temperatures, reliability diagrams and error-retention curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from edgecond.nn.tasks.conformal import CoverageError, limit, Scores
from edgecond.nn.tasks.findings import Curves, Finding, Part, percent, Table

FEWEST = 30
"""Examples from which a temperature is fitted, at least: of fewer it would be mostly chance."""
WARMEST = 20.0
"""Largest temperature, and the reciprocal of the smallest."""
BINS = 10
"""Intervals of probability in a reliability diagram."""
LEVELS = (0.5, 0.8, 0.9, 0.95)
"""Coverages that a report compares with the test set."""


class Reliability(NamedTuple):
    """Mean probability, share that is true, and number of predictions in each interval that has any."""

    probability: Float[np.ndarray, " bins"]
    share: Float[np.ndarray, " bins"]
    counts: Float[np.ndarray, " bins"]

    @property
    def error(self) -> float:
        """Expected calibration error: the mean of |probability - share|, weighted by the counts (Guo et al. 2017)."""
        return float((self.counts / self.counts.sum()) @ np.abs(self.probability - self.share))

    @property
    def chance(self) -> float:
        r"""The expected calibration error of probabilities $p$ that are exactly right, on as many predictions.

        The share of $n$ predictions that is true then deviates from $p$ by chance alone, on average by

        $$\frac{E|X - np|}{n} = \frac{2 v (1 - p)}{n} \binom{n}{v} p^v (1 - p)^{n - v},
        \quad v = \lfloor np \rfloor + 1$$

        for binomial $X$ (De Moivre 1730), here with the mean probability of each interval.
        """
        from scipy.special import gammaln, xlog1py, xlogy

        n, p = self.counts, self.probability
        v = np.floor(n * p) + 1
        possible = v <= n  # where p is 1, nothing deviates
        n, p, v = n[possible], p[possible], v[possible]
        binomial = gammaln(n + 1) - gammaln(v + 1) - gammaln(n - v + 1) + xlogy(v, p) + xlog1py(n - v, -p)
        return float((2 * v * (1 - p) * np.exp(binomial)).sum() / self.counts.sum())


def reliability(probability: Float[np.ndarray, " n"], true: Bool[np.ndarray, " n"]) -> Reliability:
    """Return how often predictions of similar probability are true, in intervals of equal width."""
    bins = np.minimum((probability * BINS).astype(int), BINS - 1)
    count, total, hits = (np.bincount(bins, weights, BINS) for weights in (None, probability, true.astype(float)))
    held = count > 0
    return Reliability(total[held] / count[held], hits[held] / count[held], count[held].astype(float))


def fitted_temperature(loss: Callable[[float], float]) -> float:
    """Return the temperature with the least loss, between 1 / `WARMEST` and `WARMEST`."""
    from scipy.optimize import minimize_scalar

    most = np.log(WARMEST)
    return float(np.exp(minimize_scalar(lambda t: loss(float(np.exp(t))), bounds=(-most, most), method="bounded").x))


def retention(errors: Float[np.ndarray, " n"], uncertainty: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Return the mean error of the example with the least uncertainty, of the two with the least, and so on."""
    ranked = errors[np.argsort(uncertainty, kind="stable")]
    return np.cumsum(ranked) / np.arange(1, len(ranked) + 1)


class Judged(NamedTuple):
    """Predictions beside the truth, one after the other.

    Attributes:
        errors: Error of each prediction: 1 for a wrong class, or a distance.
        spread: Spread of each over the networks of an ensemble.
        probability: Probability of each, where it has one.
        true: Whether what has this probability is true.
    """

    errors: Float[np.ndarray, " n"]
    spread: Float[np.ndarray, " n"] | None
    probability: Float[np.ndarray, " n"] | None = None
    true: Bool[np.ndarray, " n"] | None = None

    def metrics(self) -> dict[str, float]:
        """Return the expected calibration error, and how much lower the mean error is in the order of the spread."""
        found: dict[str, float] = {}
        if self.probability is not None and self.true is not None:
            judged = reliability(self.probability, self.true)
            found |= {"calibration_error": judged.error, "calibration_error_by_chance": judged.chance}
        if self.spread is not None:
            found["retention_gain"] = retention_gain(self.errors, self.spread)
        return found

    def parts(self) -> list[Part]:
        """Return what a report draws of them: a reliability diagram, and an error-retention curve."""
        drawn: list[Part] = []
        if self.probability is not None and self.true is not None:
            drawn.append(reliability_curve(reliability(self.probability, self.true)))
        if self.spread is not None:
            drawn.append(retention_curve(self.errors, self.spread, "Error"))
        return drawn


def retention_gain(errors: Float[np.ndarray, " n"], uncertainty: Float[np.ndarray, " n"]) -> float:
    """Return by what share the mean of `retention` is below the mean error, which a random order would give."""
    return 1 - float(retention(errors, uncertainty).mean() / errors.mean()) if errors.any() else 0.0


# What a report shows


def uncertainty_section(parts: Sequence[Part], tempered: bool) -> Finding:
    """Return the section of a report on how sure a model may be."""
    lead = "How often predictions are true, beside how probable they are, and how far errors are bounded." + (
        " Probabilities are calibrated: a calibration set gave their temperature." if tempered else ""
    )
    return Finding("Uncertainty", lead, tuple(parts))


def reliability_curve(found: Reliability) -> Curves:
    """Draw a reliability diagram."""
    caption = (
        f"Share of true predictions over their probability: expected calibration error {percent(found.error)} %, and "
        f"{percent(found.chance)} % for probabilities that are exactly right, by chance alone. On the dotted line, the "
        "two are equal."
    )
    lines = (("predictions", found.probability, found.share),)
    return Curves(lines, "probability", "share that is true", caption, diagonal=True)


def retention_curve(errors: Float[np.ndarray, " n"], uncertainty: Float[np.ndarray, " n"], name: str) -> Curves:
    """Draw the mean error of the examples with the least spread over their share, beside the best order."""
    share = np.arange(1, len(errors) + 1) / len(errors)
    ours, best = retention(errors, uncertainty), retention(errors, errors)
    caption = (
        f"{name} of the test examples with the least spread over their share: "
        f"{percent(retention_gain(errors, uncertainty))} % lower on average than in random order, which gives a level "
        "line."
    )
    return Curves((("by spread", share, ours), ("by true error", share, best)), "share of examples", name, caption)


def coverage_table(
    names: Sequence[str],
    scores: Scores,
    found: Sequence[Float[np.ndarray, " n"]],
    size: Callable[[int, float], str],
    header: str,
) -> Table:
    """Return how many scores of a test set keep within their bounds, at several levels.

    Args:
        names: Name of each target, or of all classes together.
        scores: Scores of the calibration set.
        found: Scores of the test set.
        size: Returns the mean size of intervals or sets from the number of the target and the bound.
        header: What the size is.
    """
    rows = []
    for number, (name, known, new) in enumerate(zip(names, scores, found, strict=True)):
        for level in LEVELS:
            try:
                bound = limit(known, level)
            except CoverageError:  # the calibration set is too small
                continue
            covered = percent(float((new <= bound).mean())) if len(new) else "-"
            rows.append((name, f"{100 * level:g} %", f"{covered} %", size(number, bound)))
    return Table(("Target", "Asked for", "On the test set", header), tuple(rows))
