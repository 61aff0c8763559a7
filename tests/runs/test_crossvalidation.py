"""Folds are summed up by mean and standard deviation, and written as tables that other programs read."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from edgecond.runs.crossvalidation import fold_directory, FoldResult, METRICS, PREDICTIONS, summarise, write

NAN = float("nan")
HEADER = ["file", "fold", "truth", "class"]
RESULTS = [
    FoldResult(0, 2, {"accuracy": 0.5, "r2": NAN}, HEADER, [{"file": "a", "fold": 0, "truth": "=x", "class": "y"}] * 2),
    FoldResult(1, 1, {"accuracy": 1.0, "r2": 0.5}, HEADER, [{"file": "b", "fold": 1, "truth": "y", "class": "y"}]),
]


def test_the_spread_is_the_standard_deviation_of_a_sample():
    """By hand: 0.5 and 1 have the mean 0.75 and the standard deviation sqrt(2) * 0.25."""
    means, spreads = summarise(RESULTS)

    assert (means["accuracy"], round(spreads["accuracy"], 6)) == (0.75, 0.353553)


def test_predictions_are_safe_in_a_spreadsheet_and_metrics_are_json(tmp_path: Path):
    """A text that begins with = gets an apostrophe (OWASP), and JSON has no NaN (RFC 8259)."""
    write(tmp_path, RESULTS)

    rows = list(csv.DictReader((tmp_path / PREDICTIONS).open()))
    metrics = json.loads((tmp_path / METRICS).read_text(), parse_constant=lambda name: 1 / 0)
    assert [row["truth"] for row in rows] == ["'=x", "'=x", "y"]
    assert metrics["folds"][0] == {"fold": 0, "examples": 2, "accuracy": 0.5, "r2": None}
    assert metrics["mean"] == {"accuracy": 0.75, "r2": None}


def test_each_fold_has_a_directory():
    assert fold_directory(Path("run"), 3) == Path("run/fold3")
