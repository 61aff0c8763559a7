"""Answers and quantities on the page are those of the metrics, and what is most wrong is drawn."""

import re

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from edgecond.data.graphs import GraphExamples
from edgecond.report import write
from edgecond.report.contents import Contents
from tests.report.conftest import EPOCHS, of_graphs
from tests.report.reading import read

AROUND = ["Figures", "Learning", "Pyramid", "Filters", "How it was made"]


@pytest.fixture(scope="module")
def page(request):
    run = request.getfixturevalue(request.param)
    return run, read(write(run.directory, None, run.test)), np.mean(run.model.outputs_per_view(run.test), axis=0)


@pytest.mark.parametrize("page", ["molecules"], indirect=True)
def test_molecules_that_are_taken_for_another_class_are_drawn_with_their_smiles(page):
    run, seen, _ = page
    drawn = [said for figure, said in zip(seen.figures, seen.captions, strict=True) if "svg" in figure]

    assert len(drawn) > 0
    for caption in drawn:
        truth, taken, smiles = re.fullmatch(r"(.*), taken for (.*) with probability .*% \((.*)\)\.", caption).groups()
        assert {truth, taken} == {"odd", "<b>even</b>"}
        number = run.test.smiles.index(smiles)
        assert run.model.classes[run.test.graphs.ys[number]] == truth  # the SMILES has one class in all rows


@pytest.mark.parametrize("page", ["multilabel"], indirect=True)
def test_each_question_has_its_own_area_under_the_curve(page):
    run, seen, outputs = page
    y = run.test.ys.numpy()

    assert sorted(seen.headings[1:]) == sorted([*AROUND, "Questions", "Mistakes"])
    for question, name in enumerate(run.model.classes):
        known = ~np.isnan(y[:, question])
        expected = roc_auc_score(y[known, question], outputs[known, question])
        row = seen.row(name)
        assert row[0] == f"{expected:.4g}"
        assert row[-2:] == [str(int((y[known, question] == answer).sum())) for answer in (1, 0)]


@pytest.mark.parametrize("page", ["multilabel"], indirect=True)
def test_wrong_answers_are_shown_from_the_surest_on(page):
    run, seen, outputs = page
    y = run.test.ys.numpy()
    given = np.where(outputs > 0.5, outputs, 1 - outputs)  # probability of the answer that is given
    wrong = sorted(given[~np.isnan(y) & ((outputs > 0.5) != (y > 0.5))], reverse=True)

    shown = [float(found) for said in seen.captions for found in re.findall(r"answered .* probability ([\d.]+)", said)]

    np.testing.assert_allclose(shown, 100 * np.array(wrong[:6]), atol=0.006)


@pytest.mark.parametrize("page", ["regression"], indirect=True)
def test_predictions_stand_over_the_truth_with_their_error(page):
    run, seen, outputs = page
    y = run.test.ys.numpy()[:, 0]
    rmse = f"{np.sqrt(np.mean((outputs[:, 0] - y) ** 2)):.4g}"

    points = seen.figure(f"logS as predicted over the truth: root mean squared error {rmse}.")["data"][1]

    np.testing.assert_allclose(points["x"], y, rtol=1e-3)
    np.testing.assert_allclose(points["y"], outputs[:, 0], rtol=1e-3)
    assert seen.row("logS")[0] == rmse == seen.named["Root mean squared error"]
    assert sorted(seen.headings[1:]) == sorted([*AROUND, "Quantities", "Largest errors"])


@pytest.mark.parametrize("page", ["regression"], indirect=True)
def test_the_largest_errors_are_drawn_from_the_worst_on(page):
    run, seen, outputs = page
    y = run.test.ys.numpy()[:, 0]
    worst = np.argsort(-np.abs(outputs[:, 0] - y))[:6]

    drawn = [said for figure, said in zip(seen.figures, seen.captions, strict=True) if "svg" in figure]

    names = [run.test.smiles[run.test.numbers[number]] for number in worst]
    assert drawn == [
        f"logS is {y[number]:.4g}, predicted {outputs[number, 0]:.4g} ({name})."
        for number, name in zip(worst, names, strict=True)
    ]


def test_an_unknown_quantity_is_neither_an_error_nor_a_point(regression):
    """Blanks in a table become NaN, of which nothing can be told."""
    test = regression.test
    blank = np.full_like(test.targets, np.nan)
    text = Contents(
        regression.model, EPOCHS, GraphExamples(test.graphs, test.numbers, blank, test.outcomes, test.smiles)
    ).html()

    assert "There are none." in text
    assert "predicted over the truth" not in text


def test_graphs_that_are_no_molecules_are_drawn_by_their_vertices(cache, tmp_path):
    """A table of numbers may come with any graphs; the curve is of the squared error."""
    targets = np.arange(6.0)[:, None]
    run = of_graphs(tmp_path, "C(4)-MP-C(5)-GAP-FC(1)", targets, task="regression")

    page = read(write(run.directory, None, run.test))

    assert sum("(graph " in caption for caption in page.captions) == 6
    assert not any("svg" in figure for figure in page.figures)
    assert page.figure("Mean squared error in each epoch")["data"][0]["y"] == [0.25, 0.5]
