"""A model card: what a model is for, what it was trained on, how well it did and what it needs, as Markdown."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

from edgecond.nn.tasks import Task
from edgecond.nn.tasks.combinations import SCORES, split_name, VOTES
from edgecond.runs.blocks import Facts, Tested
from edgecond.runs.recipe import Recipe

SHOWN = 60
"""Names of classes or targets on a card, at most."""
UNKNOWN = "Not stated."
_VIEWS = {SCORES: ", mean scores of all views", VOTES: ", votes of all views", "": ""}


def tested(examples: int, digest: str, metrics: Mapping[str, float]) -> dict[str, Any]:
    """Return what a model file holds of a test: the number of examples, the digest of the data, and finite metrics."""
    finite = {name: float(value) for name, value in metrics.items() if math.isfinite(value)}
    return Tested(examples=examples, data=digest, metrics=finite).model_dump()


def card(
    recipe: Recipe, task: Task, classes: Sequence[str], about: Mapping[str, Any], *, kind: str, parameters: int
) -> str:
    """Return the card of a model, from what its file holds. Names are shown as text, whatever they contain.

    Args:
        recipe: Its settings.
        task: What it predicts.
        classes: Name of each class or target.
        about: How it was trained and tested: seed, epochs, digest of the data, versions, metrics, and facts for people.
        kind: Kind of data that it takes.
        parameters: Number of its parameters.
    """
    facts = Facts.model_validate(about.get("card", {}))
    sections = {
        "Data": [facts.data or f"{_code(recipe.dataset)}, read as {kind}.", *_digest(about)],
        "Metrics": _metrics(about.get("tested"), task),
        "Intended use": [facts.use or UNKNOWN],
        "Limits": [facts.limits or UNKNOWN, *_calibration(about)],
        "Licence": [facts.licence or UNKNOWN],
        "How it was trained": _training(recipe, about, facts),
    }
    title = facts.title or recipe.name
    names = ", ".join(map(_code, classes[:SHOWN])) + (" and more" if len(classes) > SHOWN else "")
    what = f"It takes {kind} and predicts by {task.name}: {names}."
    lead = f"A network of edge-conditioned convolutions, {_code(str(recipe.network))}, with {parameters:,} parameters."
    parts = [f"# {_text(title)}", f"{lead} {what}"]
    for name, lines in sections.items():
        parts += [f"## {name}", *filter(None, lines)]
    return "\n\n".join([*parts, _use(facts)]) + "\n"


def header(about: Mapping[str, Any], kind: str, task: Task) -> str:
    """Return the metadata that hubs read at the beginning of a card, as YAML."""
    facts = Facts.model_validate(about.get("card", {}))
    lines = ["---", "library_name: edgecond", *([f"license: {facts.spdx.lower()}"] if facts.spdx else [])]
    tags = ["edge-conditioned-convolution", *(word.replace(" ", "-") for word in (kind, task.name))]
    return "\n".join([*lines, "tags:", *(f"- {tag}" for tag in tags), "---", "", ""])


def _digest(about: Mapping[str, Any]) -> list[str]:
    return [f"Digest of the data: {_code(str(about.get('data', '')))}."] if about.get("data") else []


def _metrics(content: Any, task: Task) -> list[str]:
    if content is None:
        return ["It was not tested, or its metrics were not kept: `edgecond evaluate` measures them."]
    found = Tested.model_validate(content)
    values = {name: task.written({name: value}).rpartition(" ")[2] for name, value in task.shown(found.metrics).items()}
    rows = [f"| {_title(task, name)} | {value} |" for name, value in values.items()]
    count = f"On {found.examples:,} examples of a test set that it was not trained on."
    return [count, "\n".join(["| metric | value |", "|---|---:|", *rows])]


def _title(task: Task, name: str) -> str:
    """Return the name of a metric as people read it."""
    metric, combination = split_name(name)
    return _text(task.metrics.get(metric, metric)) + _VIEWS[combination]


def _calibration(about: Mapping[str, Any]) -> list[str]:
    count = about.get("calibrated")
    if not isinstance(count, int) or count < 1:
        return []
    return [f"{count:,} examples calibrate its probabilities or intervals: `edgecond predict --coverage 0.9`."]


def _training(recipe: Recipe, about: Mapping[str, Any], facts: Facts) -> list[str]:
    versions = about.get("versions")
    used = ", ".join(f"{_text(k)} {_text(v)}" for k, v in versions.items()) if isinstance(versions, dict) else ""
    settings = "; ".join(recipe.train.description.splitlines())
    return [
        facts.training,
        f"{settings}. Seed {_text(about.get('seed'))}, fold {_text(about.get('fold'))}; the model has the weights of "
        f"epoch {_text(about.get('epochs'))}.",
        f"Record of the test: {_code(facts.record)}." if facts.record else "",
        f"Versions: {used}." if used else "",
    ]


def _use(facts: Facts) -> str:
    name = facts.name or "MODEL"
    return f"```sh\nedgecond predict {name} FILES\nedgecond embed {name} FILES --out vectors.npy\n```"


def _text(value: Any) -> str:
    """Return text of a model file as plain text of Markdown."""
    plain = html.escape(" ".join(str(value).split()), quote=False)
    return "".join(f"\\{letter}" if letter in "\\`*_[]|#" else letter for letter in plain)


def _code(value: str) -> str:
    """Return text as code."""
    return f"`{' '.join(value.split()).replace('`', chr(39))}`"
