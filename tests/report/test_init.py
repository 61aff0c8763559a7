"""The page of a run has the numbers of evaluation, log and model, and shows text as text."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from edgecond.cli import app
from edgecond.errors import CheckpointError
from edgecond.nn.tasks.classification import average_scores, class_metrics, vote
from edgecond.report import ReportError, write
from edgecond.report.contents import Contents
from tests.report.conftest import EPOCHS, made
from tests.report.reading import read
from tests.sentences import mentions

SECTIONS = ["Metrics", "Training", "Confusion", "Classes", "Mistakes", "Uncertainty", "Explanations", "Map", "Pyramid"]
SECTIONS += ["Filters", "Settings"]


@pytest.fixture(scope="module", params=["clouds", "images", "graphs"])
def run(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def page(run):
    return read(write(run.directory, None, run.test))


def test_a_page_has_all_sections_and_a_caption_for_every_figure(run, page):
    assert page.headings == [run.model.recipe.name, *SECTIONS]
    assert len(page.captions) == len(page.figures) > 6
    assert all(caption.endswith(".") for caption in page.captions)
    labels = [value for tag, name, value in page.attributes if (tag, name) == ("div", "aria-label")]
    assert labels == page.captions


def test_the_metrics_are_those_of_the_model(run, page):
    """Metrics of one view: the mean over orientations of a cloud, the first sparsification of a graph."""
    expected = class_metrics(
        run.test.ys.numpy(), run.model.outputs_per_view(run.test)[0].argmax(1), len(run.model.classes)
    )

    names = {"Accuracy": "accuracy", "Weighted F1": "f1", "Mean class accuracy": "class_accuracy"}
    for shown, name in names.items():
        assert page.named[shown] == f"{100 * expected[name]:.2f} %"
    assert page.named["Training accuracy"] == "50.00 %"
    assert f"{len(run.test):,} test examples" in " ".join(page.leads)


def test_votes_and_mean_scores_are_beside_one_view_where_there_are_several(graphs):
    page = read(write(graphs.directory, None, graphs.test))
    views, y = graphs.model.outputs_per_view(graphs.test), graphs.test.ys.numpy()

    predictions = [views[0].argmax(1), vote(views), average_scores(views)]

    assert page.row("In per cent") == ["One view", "Votes of 5 views", "Mean scores of 5 views"]
    assert page.row("Accuracy") == [f"{100 * (predicted == y).mean():.2f}" for predicted in predictions]


def test_precision_recall_and_f1_of_a_class_follow_from_its_row_and_column(run, page):
    table = np.array(page.figure("Test examples by class")["data"][0]["customdata"])

    np.testing.assert_array_equal(table.sum(1), np.bincount(run.test.ys, minlength=len(table)))
    for number, name in enumerate(run.model.classes):
        hits, predicted, true = table[number, number], table[:, number].sum(), table[number].sum()
        precision, recall, f1 = hits / max(predicted, 1), hits / max(true, 1), 2 * hits / max(predicted + true, 1)
        expected = [f"{100 * share:.2f}" for share in (precision, recall, f1)]
        assert page.row(name) == [*expected, str(true)]


def test_the_curves_are_those_of_the_log(page):
    for name, shown in {"loss": "Loss", "accuracy": "Accuracy", "learning_rate": "Learning rate"}.items():
        line = page.figure(f"{shown} in each epoch")["data"][0]
        assert line["x"] == [1, 2]
        assert line["y"] == [epoch[name] for epoch in EPOCHS]


def test_mistakes_are_shown_by_falling_probability(run, page):
    scores, y = np.mean(run.model.outputs_per_view(run.test), axis=0), run.test.ys.numpy()
    predicted = vote(run.model.outputs_per_view(run.test))
    wrong = sorted((scores[i, predicted[i]] for i in range(len(y)) if predicted[i] != y[i]), reverse=True)

    shown = [caption for caption in page.captions if "predicted as" in caption and "probability" in caption]

    assert len(shown) == min(6, len(wrong))
    for caption, probability in zip(shown, wrong, strict=False):
        assert f"with probability {100 * probability:.2f}\N{NO-BREAK SPACE}%" in caption


def test_a_page_without_mistakes_has_a_sentence_instead(clouds):
    right = torch.from_numpy(vote(clouds.model.outputs_per_view(clouds.test)))

    text = Contents(clouds.model, EPOCHS, replace(clouds.test, ys=right)).html()

    assert "None: all predictions on the test set are right." in text


def test_a_page_has_the_command_that_repeats_the_run(run, page):
    name = run.model.recipe.name
    assert page.named["command"] == f"edgecond train {name} --epochs 2 --fold 0 --seed 0"
    assert page.named["data"] == run.test.digest
    assert page.named["network"] == str(run.model.recipe.network)
    assert f"torch {torch.__version__}" in page.named["versions"]
    assert page.leads[0] == f"{run.model.recipe.network} after 2 epochs on {run.test.name}."


def test_a_page_has_a_note_if_the_test_data_have_another_digest(clouds):
    text = Contents(clouds.model, EPOCHS, replace(clouds.test, digest="other")).html()

    assert "another digest than the training data" in text


def test_a_page_is_one_file_with_plotly_once_and_no_external_links(page):
    assert [script.count("plotly.js v") for script in page.scripts] == [1, 0]
    assert not [
        value for _, name, value in page.attributes if name in ("src", "href") and not value.startswith("data:")
    ]


def test_names_of_classes_are_escaped(clouds, tmp_path):
    evil = "</script><script>alert(1)</script>"
    test = replace(clouds.test, classes=(evil, *clouds.test.classes[1:]), names=[evil] * len(clouds.test))
    run = made(tmp_path, clouds.model.recipe, test, test)

    path = write(run.directory, None, test)

    page = read(path)
    assert len(page.scripts) == 2
    assert page.row(evil)[-1] == "3"
    assert page.figure("Test examples by class")["data"][0]["type"] == "heatmap"
    assert "<script>alert" not in path.read_text("utf-8")


def test_the_file_is_beside_the_model_by_default_and_the_same_each_time(clouds, tmp_path):
    one, other = write(clouds.directory), write(clouds.directory, tmp_path / "new" / "page.html")

    assert one == clouds.directory / "report.html"
    assert one.read_bytes() == other.read_bytes()


def test_the_command_writes_the_page_and_prints_its_path(clouds, tmp_path):
    written = CliRunner().invoke(app, ["report", str(clouds.directory), "--out", str(tmp_path / "page.html")])
    missing = CliRunner().invoke(app, ["report", str(tmp_path / "nowhere")])

    assert written.output == f"The report is in {tmp_path / 'page.html'}.\n"
    assert read(tmp_path / "page.html").headings[0] == "synthetic/ecc"
    assert (missing.exit_code, missing.output.count("\n")) == (2, 1)


def test_the_error_without_plotly_names_the_extra(clouds, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.offline", None)

    with mentions("Plotly", "not installed", "pip install 'edgecond[report]'", kind=ReportError):
        write(clouds.directory)


def test_a_run_must_have_a_log(clouds, tmp_path):
    clouds.model.save(tmp_path / "model.safetensors")

    with mentions(f"{tmp_path}/log.jsonl", "there is none", "`edgecond train`", kind=ReportError):
        write(tmp_path)


@pytest.mark.parametrize("log", ["", "[]\n", '{"epoch": 1}\n'])
def test_a_log_must_have_an_epoch(clouds, tmp_path, log):
    clouds.model.save(tmp_path / "model.safetensors")
    (tmp_path / "log.jsonl").write_text(log)

    with mentions(f"{tmp_path}/log.jsonl", "epoch, loss and learning rate", "at least one epoch", kind=ReportError):
        write(tmp_path)


def test_a_log_must_be_json(clouds, tmp_path):
    clouds.model.save(tmp_path / "model.safetensors")
    (tmp_path / "log.jsonl").write_text("epoch 1")

    with pytest.raises(ReportError, match="must be a line of JSON for each epoch: it cannot be read"):
        write(tmp_path)


def test_a_missing_run_is_an_error(tmp_path):
    with mentions(tmp_path / "nowhere", "model.safetensors", "there is none", "`edgecond train`", kind=CheckpointError):
        write(tmp_path / "nowhere")
