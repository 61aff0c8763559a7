"""A card has what the file of a model has: data, metrics, use, limits, licence and training."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from edgecond.errors import CheckpointError
from edgecond.nn.tasks import Classification, Regression
from edgecond.runs.blocks import Facts
from edgecond.runs.card import card, header
from edgecond.runs.card import tested as kept
from edgecond.runs.model import Model
from edgecond.runs.recipe import find

MODEL = Path(__file__).parents[1] / "fixtures" / "clouds-1.safetensors"
SECTIONS = ["Data", "Metrics", "Intended use", "Limits", "Licence", "How it was trained"]


def made(task=Classification(), classes=("a", "b"), **about):  # noqa: B008 (immutable)
    return card(find("plus/nci1"), task, classes, {"seed": 3, **about}, kind="graphs", parameters=1234)


def test_any_model_has_a_card_with_all_sections():
    text = Model.load(MODEL).card()

    assert [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")] == SECTIONS
    assert "It was not tested" in text


def test_metrics_are_written_as_the_task_writes_them():
    """Shares in per cent, errors in the unit of the target."""
    shares = made(tested=kept(50, "d", {"accuracy": 0.5, "accuracy_scores": 0.625, "f1_legacy": 0.1}))
    errors = made(Regression((0.0,), (1.0,)), ("logS",), tested=kept(9, "d", {"rmse": 0.25, "r2": float("nan")}))

    assert "On 50 examples" in shares
    assert "| Accuracy | 50.00 |" in shares
    assert "| Accuracy, mean scores of all views | 62.50 |" in shares
    assert "legacy" not in shares
    assert "| Root mean squared error | 0.25 |" in errors
    assert "R²" not in errors  # which is not a number here


def test_what_people_state_is_on_the_card():
    facts = Facts(title="Title", data="Source.", licence="Free.", use="Use.", limits="Limit.", record="results/x.json")
    text = made(card=facts.model_dump())

    assert text.startswith("# Title\n")
    for statement in ("Source.", "Free.", "Use.", "Limit.", "`results/x.json`"):
        assert statement in text


def test_names_of_a_file_are_text_whatever_they_contain():
    text = made(classes=("<script>`|", "b\n# c"), versions={"<b>": "[x](y)"})

    assert "`<script>'|`, `b # c`" in text  # code, in which nothing is read as Markdown or HTML
    assert "&lt;b&gt; \\[x\\](y)" in text


def test_the_header_is_for_hubs():
    text = header({"card": Facts(spdx="MIT").model_dump()}, "clouds", Classification())

    assert text.splitlines()[:3] == ["---", "library_name: edgecond", "license: mit"]
    with pytest.raises(ValidationError):
        Facts(spdx="MIT\ninjected: yes")


@pytest.mark.parametrize("block", [{"tested": 3}, {"tested": {"metrics": {"f1": "a"}}}, {"card": {"title": 3}}])
def test_a_file_with_another_test_or_other_facts_is_refused(block, tmp_path: Path):
    model = Model.load(MODEL)
    replace(model, about=model.about | block).save(tmp_path / "model")

    with pytest.raises(CheckpointError, match="must be a model that fits together"):
        Model.load(tmp_path / "model")


def test_metrics_stay_in_the_file(tmp_path: Path):
    model = Model.load(MODEL)
    replace(model, about=model.about | {"tested": kept(7, "d", {"accuracy": 0.5})}).save(tmp_path / "model")

    again = Model.load(tmp_path / "model")

    assert "On 7 examples" in again.card()
    assert again.card() == Model.load(tmp_path / "model").card()
