"""The pages and the help of the command line use one word for one thing: the field's, as CONTRIBUTING asks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from edgecond.cli import app
from tests.documents import PAGES, ROOT

TEXTS = sorted([*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "SECURITY.md"])
VERBS = sorted(command.name or command.callback.__name__ for command in app.registered_commands)
WIDE = {"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}

WORDS = {
    "predicted as": r"\btaken for\b|\btakes? (?:it|them) for\b",
    "prediction": r"\bthe answers? of (?:the|a) network\b|\bsurest\b",
    "views": r"\blooks\b|--looks\b",
    "metrics": r"\bfigures\b|\bfigure\b(?= \|)|\bthe figure of\b",
    "training set, test set": r"\bto learn from\b|\bkept from (?:it|them)\b|\b(?:test|training|validation) part\b",
    "resume, restart": r"\btak(?:e|es|en|ing) up\b|\bbegins? (?:again|anew)\b|\banew\b|\bgoes on\b",
    "user data, your data": r"\bone's own\b|\b(?:of )?your own\b",
    "cpp backend": r"\bnative(?:ly)?\b",
    "torch backend": r"\btwins?\b",
    "random seed": r"\bof everything random\b",
    "learning rate": r"(?<!learning )(?<!learning-)\brate\b|`rate`|\btrain\.rate\b",
    "batch size": r"\bbatches of \d+\b(?! examples)|(?-i:`batch`)|\btrain\.batch\b",
    "names of tasks": r"\b(?:predicts|learns?|task) \W?(?:classes|answers|quantities|vertices)\b|\bquantit(?:y|ies)\b",
    "multilabel": r"\banswers? of yes\b|\bseveral questions\b|\byes or no\b",
    "probabilities": r"--every\b",
    "prints, has": r"\b(?:is|are) told\b|\btells? (?:of|what|whether|the|how)\b|\bknows of\b|\bas told\b",
    "scikit-learn estimator": r"\bin the manner of\b",
}
"""Words of the field, and patterns of the words that they replace; capitals do not matter."""

FORMER = re.compile(r"\(before: [^)]*\)")  # the changelog names what was renamed


def prose(text: str) -> str:
    """Return a text on one line, without former names."""
    return re.sub(r"\s+", " ", FORMER.sub("", text))


def misnamed(text: str) -> list[str]:
    """Return the surroundings of the words of a text that the field has another word for."""
    plain = prose(text)
    return [
        f"{plain[max(0, match.start() - 40) : match.end() + 20]!r}: say {word}"
        for word, pattern in WORDS.items()
        for match in re.finditer(pattern, plain, re.IGNORECASE)
    ]


def help_of(*verb: str) -> str:
    """Return the help of a verb, or of the command."""
    done = CliRunner().invoke(app, [*verb, "--help"], env=WIDE)
    assert done.exit_code == 0, done.output
    return done.output


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", TEXTS, ids=name)
def test_a_page_uses_the_words_of_the_field(page: Path):
    """CONTRIBUTING: where the paper has no name for a thing, use the one that PyTorch users know."""
    assert misnamed(page.read_text("utf-8")) == []


@pytest.mark.parametrize("verb", [(), *((verb,) for verb in VERBS)], ids=" ".join)
def test_the_help_of_a_verb_uses_the_words_of_the_field(verb: tuple[str, ...]):
    assert misnamed(help_of(*verb).replace("│", " ")) == []


@pytest.mark.parametrize("verb", [(), *((verb,) for verb in VERBS)], ids=" ".join)
def test_every_line_of_a_help_can_be_understood_by_itself(verb: tuple[str, ...]):
    """A flag has no type to show, and an explanation is not the end of a sentence that the name begins."""
    lines = help_of(*verb).splitlines()

    assert [line for line in lines if "<bool>" in line or re.search(r"\s{2,}Of\s", line)] == []


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("which classes are taken for which", "predicted as"),
        ("accuracy over four looks", "views"),
        ("the figures of the test", "metrics"),
        ("64 to learn from, 16 to test", "training set, test set"),
        ("`--anew` begins again", "resume, restart"),
        ("data of one's own", "user data, your data"),
        ("a torch twin takes over", "torch backend"),
        ("Of everything random.", "random seed"),
        ("50 epochs, batches of 64, rate 0.03", "learning rate"),
        ("50 epochs, batches of 64, rate 0.03", "batch size"),
        ("edgecond predict MODEL new --every", "probabilities"),
        ("networks answer several questions", "multilabel"),
    ],
)
def test_a_former_word_is_noticed(text: str, word: str):
    """The words are those that the pages had before."""
    assert any(found.endswith(f"say {word}") for found in misnamed(text))


@pytest.mark.parametrize(
    "text",
    [
        "the learning\nrate drops twice",
        "a figure shows the filters",
        "EDGECOND_NATIVE=0 turns the kernels off",
        "20 batches of 32 examples",
        "every epoch visits all five",
    ],
)
def test_a_word_in_its_ordinary_sense_is_right(text: str):
    assert misnamed(text) == []
