"""The numbers of each task on the page are those of its metrics, and the worst predictions are drawn."""

import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from edgecond.report import write
from edgecond.report.contents import Contents
from tests.report.conftest import EPOCHS, of_graphs
from tests.report.reading import read

AROUND = ["Metrics", "Training", "Explanations", "Map", "Pyramid", "Filters", "Settings"]


@pytest.fixture(scope="module")
def page(request):
    run = request.getfixturevalue(request.param)
    return run, read(write(run.directory, None, run.test)), np.mean(run.model.outputs_per_view(run.test), axis=0)


def molecules_in(seen):
    """Captions of the molecules on a page."""
    return [text for figure, text in zip(seen.figures, seen.captions, strict=True) if "svg" in figure]


@pytest.mark.parametrize("page", ["regression"], indirect=True)
def test_the_predictions_for_some_molecules_are_explained(page):
    """The explained output is the prediction, in the unit of the target."""
    run, seen, outputs = page

    explained = [text for text in molecules_in(seen) if "at the baseline" in text]

    numbers = [int(number) for number in np.linspace(0, len(outputs) - 1, 4)]
    names = [run.test.smiles[run.test.numbers[number]] for number in numbers]
    for text, name, number in zip(explained, names, numbers, strict=True):
        assert text.startswith(f"{name}: prediction of logS {outputs[number, 0]:.3g}, ")


@pytest.mark.parametrize("page", ["molecules"], indirect=True)
def test_wrongly_predicted_molecules_are_drawn_with_their_smiles(page):
    run, seen, _ = page
    drawn = [text for text in molecules_in(seen) if "at the baseline" not in text]

    assert len(drawn) > 0
    for caption in drawn:
        match = re.fullmatch(r"(.*), predicted as (.*) with probability .*% \((.*)\)\.", caption)
        truth, predicted, smiles = match.groups()
        assert {truth, predicted} == {"odd", "<b>even</b>"}
        number = run.test.smiles.index(smiles)
        assert run.model.classes[run.test.graphs.ys[number]] == truth  # the SMILES has one class in all rows


@pytest.mark.parametrize("page", ["multilabel"], indirect=True)
def test_each_label_has_its_own_roc_auc(page):
    run, seen, outputs = page
    y = run.test.ys.numpy()

    assert sorted(seen.headings[1:]) == sorted([*AROUND, "Labels", "Mistakes", "Uncertainty"])
    for label, name in enumerate(run.model.classes):
        known = ~np.isnan(y[:, label])
        expected = roc_auc_score(y[known, label], outputs[known, label])
        row = seen.row(name)
        assert row[0] == f"{expected:.4g}"
        assert row[-2:] == [str(int((y[known, label] == value).sum())) for value in (1, 0)]


@pytest.mark.parametrize("page", ["multilabel"], indirect=True)
def test_wrong_labels_are_shown_by_falling_probability(page):
    run, seen, outputs = page
    y = run.test.ys.numpy()
    probability = np.where(outputs > 0.5, outputs, 1 - outputs)  # of the prediction
    wrong = sorted(probability[~np.isnan(y) & ((outputs > 0.5) != (y > 0.5))], reverse=True)

    pattern = r"predicted as (?:yes|no) with probability ([\d.]+)"
    shown = [float(number) for text in seen.captions for number in re.findall(pattern, text)]

    np.testing.assert_allclose(shown, 100 * np.array(wrong[:6]), atol=0.006)


@pytest.mark.parametrize("page", ["regression"], indirect=True)
def test_predictions_are_plotted_over_the_truth_with_their_error(page):
    run, seen, outputs = page
    y = run.test.ys.numpy()[:, 0]
    rmse = f"{np.sqrt(np.mean((outputs[:, 0] - y) ** 2)):.4g}"

    points = seen.figure(f"logS, predictions over the truth: root mean squared error {rmse}.")["data"][1]

    np.testing.assert_allclose(points["x"], y, rtol=1e-3)
    np.testing.assert_allclose(points["y"], outputs[:, 0], rtol=1e-3)
    assert seen.row("logS")[0] == rmse == seen.named["Root mean squared error"]
    assert sorted(seen.headings[1:]) == sorted([*AROUND, "Targets", "Errors"])


@pytest.mark.parametrize("page", ["regression"], indirect=True)
def test_the_largest_errors_are_drawn_in_falling_order(page):
    run, seen, outputs = page
    y = run.test.ys.numpy()[:, 0]
    worst = np.argsort(-np.abs(outputs[:, 0] - y))[:6]

    drawn = [text for text in molecules_in(seen) if "at the baseline" not in text]

    names = [run.test.smiles[run.test.numbers[number]] for number in worst]
    assert drawn == [
        f"logS: {y[number]:.4g}, predicted {outputs[number, 0]:.4g} ({name})."
        for number, name in zip(worst, names, strict=True)
    ]


@pytest.mark.parametrize("page", ["molecules", "multilabel", "regression"], indirect=True)
def test_the_map_has_a_point_for_each_test_example_and_a_ring_around_each_mistake(page):
    run, seen, outputs = page
    y, task = run.test.ys.numpy(), run.model.task
    wrong = {
        "classification": lambda: outputs.argmax(1) != y,
        "multilabel": lambda: (~np.isnan(y) & ((outputs > 0.5) != (y > 0.5))).any(1),
        "regression": lambda: np.abs(outputs - y)[:, 0] > task.scale[0],
    }[task.name]()

    figure = seen.figure(f"Map of the test set: {wrong.sum()} of {len(y)} examples have a ring.")

    rings = [trace for trace in figure["data"] if trace["marker"].get("symbol") == "circle-open"]
    points = [trace for trace in figure["data"] if trace not in rings]
    assert sum(len(trace["x"]) for trace in points) == len(y)
    assert sum(len(trace["x"]) for trace in rings) == wrong.sum()


def test_an_unknown_target_is_neither_an_error_nor_a_point(regression):
    """Blanks in a table become NaN, which has no error."""
    test = regression.test
    blank = np.full_like(test.targets, np.nan)
    text = Contents(regression.model, EPOCHS, replace(test, targets=blank)).html()

    assert "There are none." in text
    assert "predictions over the truth" not in text


def test_graphs_other_than_molecules_are_drawn_as_vertices_and_lines(cache, tmp_path):
    """Any graphs may have numbers as targets; the curve is that of the squared error."""
    targets = np.arange(6.0)[:, None]
    run = of_graphs(tmp_path, "C(4)-MP-C(5)-GAP-FC(1)", targets, task="regression")

    page = read(write(run.directory, None, run.test))

    assert sum("(graph " in caption for caption in page.captions) == 6
    assert not any("svg" in figure for figure in page.figures)
    assert page.figure("Mean squared error in each epoch")["data"][0]["y"] == [0.25, 0.5]


def test_a_report_on_a_calibrated_model_has_a_reliability_diagram_and_its_coverage(clouds):
    """The section of the task, with the coverage that was asked for beside that on the test set."""
    model = clouds.model.calibrated(clouds.test)
    page = Contents(model, EPOCHS, clouds.test).html()

    assert "<h2>Uncertainty</h2>" in page
    assert "expected calibration error" in page
    assert "On the test set" in page
