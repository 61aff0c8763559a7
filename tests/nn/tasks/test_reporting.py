"""Metrics are printed and tabulated by their names, and those of some data sets only for these."""

from __future__ import annotations

from edgecond.nn.tasks import Classification
from edgecond.nn.tasks.findings import Cards
from edgecond.nn.tasks.regression import Regression

REGRESSION = Regression((0.0,), (1.0,))


def test_metrics_are_written_with_four_digits():
    assert Regression.written({"rmse": 1 / 3, "mae": 12345.0}) == "rmse 0.3333, mae 1.234e+04"


def test_a_report_begins_with_the_metrics_by_the_names_that_people_read():
    finding = REGRESSION.headline({"rmse": 0.5, "r2": 0.25}, {}, 1)

    assert finding.parts == (Cards((("Root mean squared error", "0.5"), ("R²", "0.25"))),)


def test_a_special_metric_is_shown_only_for_a_data_set_that_names_it():
    """F1 as in the authors' code is one, and so it is where views are combined."""
    metrics = {"accuracy": 0.5, "f1_legacy": 0.25, "f1_legacy_votes": 0.75}

    assert Classification().shown(metrics) == {"accuracy": 0.5}
    assert Classification().shown(metrics, ["f1_legacy"]) == metrics


def test_a_model_is_compared_by_its_mean_scores_and_by_what_all_others_have():
    """Of the other method one view is known, and neither its F1 nor its class accuracy."""
    metrics = {"accuracy": 0.5, "accuracy_scores": 0.75, "f1": 0.5, "class_accuracy": 0.5}

    table = Classification().comparison(metrics, {"Forest": {"accuracy": 0.625}})

    assert (table.headers, table.rows) == (("", "This model", "Forest"), (("Accuracy", "0.75", "0.625"),))
