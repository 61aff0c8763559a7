"""The page of a study shows every trial, the default and the best settings."""

from __future__ import annotations

import pytest

from edgecond.data.kinds import Range
from edgecond.report.page import ReportError
from edgecond.report.study import Contents, write
from edgecond.runs.recipe import find
from edgecond.runs.trials import best, Outcome
from edgecond.runs.tuning import Problem
from tests.report.reading import Page
from tests.sentences import mentions

SPACE = {"hidden": ([16], [16, 32]), "train.learning_rate": Range(0.001, 0.1, log=True)}


def outcome(number: int, value: float | None, hidden: list[int], **options) -> Outcome:
    curve = {50: 0.5} if value is None else {50: value / 2, 100: value}
    return Outcome(number, {"hidden": hidden, "train.learning_rate": 0.01}, value, curve, **options)


class Searched:
    """A study that has ended."""

    problem = Problem(find("synthetic/ecc"), SPACE, [(range(8), range(4))], "")
    trials = (
        outcome(0, 0.7, [16, 32], is_default=True),
        outcome(1, None, [16]),
        outcome(2, 0.9, [16]),
        Outcome(3, {"hidden": [16], "train.learning_rate": 0.1}, None, {}, "the loss is <b>infinite</b>"),
    )

    def __init__(self, directory):
        self.directory = directory

    def outcomes(self):
        return list(self.trials)

    def best(self):
        return best(self.trials, self.problem.task)


@pytest.fixture
def read(tmp_path) -> Page:
    pytest.importorskip("plotly")
    page = Page()
    page.feed(write(Searched(tmp_path)).read_text("utf-8"))
    page.close()
    return page


def test_the_page_begins_with_the_best_and_the_default(read: Page):
    assert read.named["Accuracy, best"] == "0.9"
    assert read.named["Accuracy, default"] == "0.7"
    assert (read.named["Trials"], read.named["Ended early"]) == ("4", "1")
    assert ["hidden", "[16, 32]", "[16]"] in read.rows


def test_every_trial_has_a_row_with_its_result(read: Page):
    results = [row[1] for row in read.rows if row[0] in "0123"]

    assert results == ["0.7", "ended after 50 %", "0.9", "failed"]


def test_trials_that_ended_early_have_a_curve_and_no_point(tmp_path):
    """The last metric of a trial that ended early is not the metric of a training."""
    searched = Searched(tmp_path)
    contents = Contents(searched, searched.outcomes(), searched.best())

    progress, curves = contents._progress(), contents._curves()

    line, points = progress["data"]
    assert (points["x"], points["y"]) == ([0, 2], [0.7, 0.9])
    assert line["y"] == [0.7, 0.9]
    assert points["marker"]["symbol"] == ["diamond", "circle"]
    assert len(curves["data"]) == 4


def test_the_absence_of_plotly_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "plotly.offline", None)

    with mentions("Plotly", "edgecond[report]", kind=ReportError):
        write(Searched(tmp_path))

    assert not list(tmp_path.iterdir())
