"""Bounds from a calibration set hold as often as the theory of split conformal prediction says."""

import numpy as np
import pytest

from edgecond.nn.tasks.conformal import condensed, CoverageError, limit, MOST
from tests.sentences import mentions


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("n", [19, 50, 99])
def test_a_new_score_keeps_the_bound_as_often_as_was_asked_for(n: int, coverage: float):
    """Vovk et al. 2005: coverage is in [1 - alpha, 1 - alpha + 1/(n + 1)] over calibration sets and new examples.

    The score of rank r among n uniform ones has mean r / (n + 1); 40,000 draws estimate the mean to 0.0002 per
    standard deviation of at most 0.12.
    """
    draws = np.sort(np.random.default_rng(0).random((40_000, n)), axis=1)

    covered = float(np.mean([limit(scores, coverage) for scores in draws]))  # uniform: the bound is its probability

    assert coverage - 0.002 <= covered <= coverage + 1 / (n + 1) + 0.002


@pytest.mark.parametrize(("n", "coverage", "rank"), [(99, 0.9, 90), (9, 0.9, 9), (100, 0.9, 91), (999, 0.999, 999)])
def test_the_rank_of_the_bound_is_the_one_of_the_formula(n: int, coverage: float, rank: int):
    """ceil((n + 1) coverage) by hand; 0.9 in binary is a little more than nine tenths, and must not count as more."""
    assert limit(np.arange(1.0, n + 1), coverage) == rank


@pytest.mark.parametrize("n", [1000, 1500, 20_000])
def test_the_kept_quantiles_of_many_scores_bound_as_well(n: int):
    """By hand: of uniform scores, the j-th of 999 has a mean of at least j / 1000, and less than 1 / (n + 1) more."""
    ranks = condensed(np.random.default_rng(0).permutation(n) + 1.0)

    shares = ranks / (n + 1)
    expected = np.arange(1, MOST + 1) / (MOST + 1)
    assert (shares >= expected - 1e-12).all()
    assert (shares < expected + 1 / (n + 1)).all()


def test_few_scores_are_kept_in_order():
    np.testing.assert_array_equal(condensed(np.array([3.0, 1.0, 2.0])), [1, 2, 3])


def test_a_coverage_beyond_the_calibration_set_is_refused():
    """Of n scores, the largest bounds a new one with probability n / (n + 1): 19 are needed for 0.95."""
    assert limit(np.arange(19.0), 0.95) == 18
    with mentions("0.95", "at least 19 calibration examples of logS", "has 18", "--calibration", kind=CoverageError):
        limit(np.arange(18.0), 0.95, "logS")


@pytest.mark.parametrize("coverage", [0.0, 1.0, -1.0, 90.0, float("nan")])
def test_a_coverage_is_a_probability(coverage: float):
    with mentions("between 0 and 1", kind=CoverageError):
        limit(np.arange(9.0), coverage)
