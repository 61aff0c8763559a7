"""Explanations as drawings: atoms, bonds, points and vertices in the colours of their attributions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from edgecond.files import atomic_file
from edgecond.nn.tasks.base import prediction_columns
from edgecond.report import drawings
from edgecond.report.figures import Panel, Picture, Shades
from edgecond.report.page import cards, figures, page, section, table
from edgecond.runs.explanation import Explanation
from edgecond.runs.model import Model

SHOWN = 24
"""Examples on a page, at most."""
STRONGEST = 4
"""Elements in a row of the table."""
LEGEND = (
    "Red adds to the output and blue takes from it. The colour is strongest for the largest attribution of an example."
)


def write(path: Path, model: Model, explanations: Sequence[Explanation]) -> None:
    """Write a page with drawings of some explanations, and the elements with the largest attributions."""
    recipe, worst = model.recipe, max(each.error for each in explanations)
    lead = f"Which {model.kind.unit}s and {model.kind.link}s made the predictions of {recipe.network}."
    facts = cards([("Examples", str(len(explanations))), ("Largest error of a sum", f"{100 * worst:.2g} %")])
    how = (
        "Integrated gradients: signal, edge labels and features fade in from zero, and attributions add up to the "
        f"difference of outputs, which is the {model.task.explains}. {_CAVEAT}"
    )
    sections = [
        section("Attributions", LEGEND, figures(panels(explanations))),
        section("Largest attributions", "", strongest(model, explanations)),
        section("Completeness", how, facts, sums(explanations)),
    ]
    with atomic_file(path) as file:
        file.write(page(f"{recipe.name}, explained", lead, sections).encode())


_CAVEAT = (
    "They say what the network has used, not what is true: a network may be right for the wrong reasons, and what two "
    "inputs say together is divided between them."
)


def panels(explanations: Sequence[Explanation]) -> list[Panel | Picture]:
    """Draw the examples."""
    return [drawings.drawn(each.description.picture, caption(each), shades(each)) for each in explanations]


def caption(explanation: Explanation) -> str:
    """Return what was predicted and is explained."""
    name = name_of(explanation)
    own = prediction_columns([explanation.target])
    others = {what: value for what, value in explanation.prediction.items() if what not in own}
    predicted = ", ".join(f"{what} {value}" for what, value in others.items())
    about = f"{explanation.meaning} of {explanation.target} {explanation.output:.3g}"
    baseline = f"{explanation.baseline:.3g} at the baseline"
    return f"{f'{name}: ' if name else ''}{f'{predicted}; ' if predicted else ''}{about}, {baseline}."


def name_of(explanation: Explanation) -> str:
    """Return the name of an example, or its file."""
    return explanation.description.name or str(explanation.place.get("file", ""))


def shades(explanation: Explanation) -> Shades:
    """Return attributions relative to the largest one: where no edges are drawn, those of the region of each unit."""
    edges = [links for links in explanation.links if links.level == 0 and links.view == 0]
    beside = drawings.draws_edges(explanation.description.picture)
    around = explanation.total if explanation.region is None else explanation.region
    units = explanation.attribution if beside else around
    largest = float(
        max([1e-30, *np.abs(units), *(np.abs(part.attribution).max(initial=0) for part in edges if beside)])
    )
    pairs = {
        (min(i, j), max(i, j)): value / largest
        for part in edges
        for i, j, value in zip(part.one.tolist(), part.other.tolist(), part.attribution.tolist(), strict=True)
    }
    return Shades(units / largest, pairs if beside else {})


def strongest(model: Model, explanations: Sequence[Explanation]) -> str:
    """Return a table of the elements with the largest attributions of each example."""
    rows = []
    for number, each in enumerate(explanations):
        found = [
            row for row in each.rows(model.kind.unit, model.kind.link) if row["element"] not in ("baseline", "rest")
        ]
        found.sort(key=lambda row: -abs(row["attribution"]))
        cells = [_element(row) for row in found[:STRONGEST]]
        rows.append((name_of(each) or str(number + 1), *cells, *[""] * (STRONGEST - len(cells))))
    return table(("Example", *map(str, range(1, STRONGEST + 1))), rows)


def sums(explanations: Sequence[Explanation]) -> str:
    """Return a table of outputs, baselines and the sums of attributions."""
    headers = ("Example", "Explained", "Output", "Baseline", "Sum of attributions", "Error", "Steps")
    rows = [
        (
            name_of(each) or str(number + 1),
            each.target,
            f"{each.output:.4g}",
            f"{each.baseline:.4g}",
            f"{each.output - each.baseline - each.rest:.4g}",
            f"{100 * each.error:.2g} %",
            str(each.steps),
        )
        for number, each in enumerate(explanations)
    ]
    return table(headers, rows)


def _element(row: dict[str, object]) -> str:
    ends = f"{row['index']}-{row['other']}" if "other" in row else str(row.get("index", ""))
    level = f"at level {row['level']}" if row.get("level") else ""  # 0 is that of the input
    words = (row["element"], row.get("name", ""), ends, level, f"{row['attribution']:+.3g}")
    return " ".join(str(word) for word in words if word != "")
