"""The page of a run says what evaluation, log and model say, and shows text as text."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from edgecond.cli import app
from edgecond.errors import CheckpointError
from edgecond.nn import evaluation
from edgecond.report import ReportError, write
from edgecond.report.contents import Contents
from tests.report.conftest import EPOCHS, made
from tests.report.reading import read
from tests.sentences import refused

SECTIONS = ["Figures", "Learning", "Confusion", "Classes", "Mistakes", "Pyramid", "Filters", "How it was made"]


@pytest.fixture(scope="module", params=["clouds", "images", "graphs"])
def run(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def page(run):
    return read(write(run.directory, None, run.test))


def test_a_page_has_all_sections_and_a_sentence_for_every_figure(run, page):
    assert page.headings == [run.model.recipe.name, *SECTIONS]
    assert len(page.captions) == len(page.figures) > 6
    assert all(caption.endswith(".") for caption in page.captions)
    labels = [value for tag, name, value in page.attributes if (tag, name) == ("div", "aria-label")]
    assert labels == page.captions


def test_the_figures_are_those_of_the_metrics(run, page):
    """Of one view: the mean over orientations of a cloud, the first sparsification of a graph."""
    expected = evaluation.metrics(
        run.test.ys.numpy(), run.model.outputs_per_view(run.test)[0].argmax(1), len(run.model.classes)
    )

    names = {"Accuracy": "accuracy", "Weighted F1": "f1", "Mean accuracy of classes": "class_accuracy"}
    for shown, name in names.items():
        assert page.named[shown] == f"{100 * expected[name]:.2f} %"
    assert page.named["Accuracy while learning"] == "50.00 %"


def test_votes_and_scores_stand_beside_one_look_where_there_are_several(graphs):
    page = read(write(graphs.directory, None, graphs.test))
    views, y = graphs.model.outputs_per_view(graphs.test), graphs.test.ys.numpy()

    accuracies = [views[0].argmax(1), evaluation.vote(views), evaluation.average_scores(views)]

    assert page.row("In per cent") == ["One view", "Votes of 5", "Scores of 5"]
    assert page.row("Accuracy") == [f"{100 * (found == y).mean():.2f}" for found in accuracies]


def test_precision_recall_and_f1_of_a_class_come_of_its_row_and_column(run, page):
    table = np.array(page.figure("Test examples by true class")["data"][0]["customdata"])

    np.testing.assert_array_equal(table.sum(1), np.bincount(run.test.ys, minlength=len(table)))
    for number, name in enumerate(run.model.classes):
        hits, taken, true = table[number, number], table[:, number].sum(), table[number].sum()
        precision, recall, f1 = hits / max(taken, 1), hits / max(true, 1), 2 * hits / max(taken + true, 1)
        expected = [f"{100 * share:.2f}" for share in (precision, recall, f1)]
        assert page.row(name) == [*expected, str(true)]


def test_the_curves_are_those_of_the_log(page):
    for name, shown in {"loss": "Loss", "accuracy": "Accuracy", "learning_rate": "Learning rate"}.items():
        line = page.figure(f"{shown} in each epoch")["data"][0]
        assert line["x"] == [1, 2]
        assert line["y"] == [epoch[name] for epoch in EPOCHS]


def test_mistakes_are_shown_from_the_surest_on(run, page):
    scores, y = np.mean(run.model.outputs_per_view(run.test), axis=0), run.test.ys.numpy()
    predicted = evaluation.vote(run.model.outputs_per_view(run.test))
    sure = sorted((scores[i, predicted[i]] for i in range(len(y)) if predicted[i] != y[i]), reverse=True)

    shown = [caption for caption in page.captions if "taken for" in caption and "probability" in caption]

    assert len(shown) == min(6, len(sure))
    for caption, probability in zip(shown, sure, strict=False):
        assert f"with probability {100 * probability:.2f}\N{NO-BREAK SPACE}%" in caption


def test_without_a_mistake_the_page_says_so(clouds):
    right = torch.from_numpy(evaluation.vote(clouds.model.outputs_per_view(clouds.test)))

    text = Contents(clouds.model, EPOCHS, replace(clouds.test, ys=right)).html()

    assert "There are none: every test example was told right." in text


def test_a_page_tells_how_to_make_the_run_again(run, page):
    name = run.model.recipe.name
    assert page.named["again"] == f"edgecond train {name} --epochs 2 --fold 0 --seed 0"
    assert page.named["data"] == run.test.digest
    assert page.named["network"] == str(run.model.recipe.network)
    assert f"torch {torch.__version__}" in page.named["versions"]
    assert page.leads[0] == f"{run.model.recipe.network} after 2 epochs on {run.test.name}."


def test_a_page_says_when_the_data_are_other_than_those_that_were_learned(clouds):
    text = Contents(clouds.model, EPOCHS, replace(clouds.test, digest="other")).html()

    assert "The data that were tested have another digest." in text


def test_a_page_is_one_file_with_plotly_once_and_no_address_to_ask(page):
    assert [script.count("plotly.js v") for script in page.scripts] == [1, 0]
    assert not [
        value for _, name, value in page.attributes if name in ("src", "href") and not value.startswith("data:")
    ]


def test_names_of_classes_are_text_whatever_they_contain(clouds, tmp_path):
    evil = "</script><script>alert(1)</script>"
    test = replace(clouds.test, classes=(evil, *clouds.test.classes[1:]), names=[evil] * len(clouds.test))
    run = made(tmp_path, clouds.model.recipe, test, test)

    path = write(run.directory, None, test)

    page = read(path)
    assert len(page.scripts) == 2
    assert page.row(evil)[-1] == "3"
    assert page.figure("Test examples by true class")["data"][0]["type"] == "heatmap"
    assert "<script>alert" not in path.read_text("utf-8")


def test_the_file_is_named_or_beside_the_model_and_the_same_each_time(clouds, tmp_path):
    one, other = write(clouds.directory), write(clouds.directory, tmp_path / "new" / "page.html")

    assert one == clouds.directory / "report.html"
    assert one.read_bytes() == other.read_bytes()


def test_the_command_writes_the_page_and_says_where(clouds, tmp_path):
    written = CliRunner().invoke(app, ["report", str(clouds.directory), "--out", str(tmp_path / "page.html")])
    missing = CliRunner().invoke(app, ["report", str(tmp_path / "nowhere")])

    assert written.output == f"The report is in {tmp_path / 'page.html'}.\n"
    assert read(tmp_path / "page.html").headings[0] == "synthetic/ecc"
    assert (missing.exit_code, missing.output.count("\n")) == (2, 1)


def test_without_plotly_the_extra_is_named(clouds, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.offline", None)

    with refused("a report needs Plotly, which is not installed. Run `pip install 'edgecond[report]'`.", ReportError):
        write(clouds.directory)


def test_without_a_log_the_directory_to_name_is_told(clouds, tmp_path):
    clouds.model.save(tmp_path / "model.safetensors")

    with refused(
        f"a run has a log of its epochs, {tmp_path}/log.jsonl: there is none. "
        "Name the directory that `edgecond train` wrote to.",
        ReportError,
    ):
        write(tmp_path)


@pytest.mark.parametrize("log", ["", "[]\n", '{"epoch": 1}\n'])
def test_a_log_must_tell_of_an_epoch(clouds, tmp_path, log):
    clouds.model.save(tmp_path / "model.safetensors")
    (tmp_path / "log.jsonl").write_text(log)

    sentence = f"{tmp_path}/log.jsonl must give epoch, loss and learning rate of at least one epoch, and of each."
    with refused(sentence, ReportError):
        write(tmp_path)


def test_a_log_must_be_json(clouds, tmp_path):
    clouds.model.save(tmp_path / "model.safetensors")
    (tmp_path / "log.jsonl").write_text("epoch 1")

    with pytest.raises(ReportError, match="must be a line of JSON for each epoch: it cannot be read"):
        write(tmp_path)


def test_a_run_that_is_not_there_is_answered_by_a_sentence(tmp_path):
    with refused(
        f"{tmp_path / 'nowhere'} must be a model file, or the directory of a run with its model in model.safetensors: "
        "there is none. `edgecond train` makes one.",
        CheckpointError,
    ):
        write(tmp_path / "nowhere")
