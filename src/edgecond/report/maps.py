"""Maps of examples: their embeddings in the plane of the two principal components, coloured, with mistakes marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from edgecond.nn.tasks.findings import Marks
from edgecond.report.figures import Figure, margin, numbers, plain
from edgecond.report.page import Sign

COLOURS = ("#3b82c4", "#e4972e", "#4aa564", "#9467bd", "#8c6d5a", "#17becf", "#d48cc2", "#a3a338")
"""Colours of classes, in turn; visible on white and on black."""
SHAPES = {"circle": "\N{BLACK CIRCLE}", "square": "\N{BLACK SQUARE}", "diamond": "\N{BLACK DIAMOND}"}
SHAPES |= {"triangle-up": "\N{BLACK UP-POINTING TRIANGLE}", "cross": "\N{HEAVY GREEK CROSS}"}
"""Shapes of points, the next of which comes when the colours are used up, and letters like them."""
WRONG = "#d62728"
"""Colour of the rings around mistakes."""


def principal_plane(rows: Float[np.ndarray, "n d"]) -> tuple[Float[np.ndarray, "n 2"], Float[np.ndarray, " 2"]]:
    """Return the coordinates of rows along their two principal components, and the share of the variance of each.

    The sign of a component is that which makes its largest coordinate positive.
    """
    centred = rows - rows.mean(0)
    left, values, _ = np.linalg.svd(np.pad(centred, ((0, 0), (0, max(0, 2 - rows.shape[1])))), full_matrices=False)
    positions = left[:, :2] * values[:2]
    signs = np.sign(positions[np.abs(positions).argmax(0), [0, 1]])
    return positions * np.where(signs == 0, 1, signs), values[:2] ** 2 / max(float((values**2).sum()), 1e-300)


def drawn_map(positions: Float[np.ndarray, "n 2"], marks: Marks, names: Sequence[str]) -> Figure:
    """Draw examples as points in a plane, coloured by class or number, with rings around wrong predictions."""
    hidden = {"showticklabels": False, "zeroline": False, "automargin": True}

    def points(chosen: Any, marker: dict[str, Any], hover: str) -> Figure:
        return {
            "type": "scatter",
            "mode": "markers",
            "x": numbers(positions[chosen, 0]),
            "y": numbers(positions[chosen, 1]),
            "text": [plain(names[number]) for number in np.flatnonzero(chosen).tolist()],
            "marker": {"size": 7, "opacity": 0.8} | marker,
            "hovertemplate": f"{hover}<extra></extra>",
        }

    if marks.classes:
        traces = []
        for number, name in enumerate(marks.classes):
            shape, colour = _look(number)
            traces.append(
                points(marks.colours == number, {"color": colour, "symbol": shape}, f"%{{text}} {plain(name)}")
            )
    else:
        bar = {"title": {"text": plain(marks.title), "side": "right"}, "thickness": 8, "outlinewidth": 0}
        scale = {"color": numbers(marks.colours), "colorscale": "Viridis", "colorbar": bar}
        traces = [points(np.full(len(positions), True), scale, "%{text}: %{marker.color}")]
    ring = {"symbol": "circle-open", "size": 13, "opacity": 1, "color": WRONG, "line": {"width": 2}}
    rings = points(marks.wrong, ring, "%{text}") | {"hoverinfo": "skip"}
    return {
        "data": [*traces, rings],
        "layout": {
            "xaxis": hidden | {"title": {"text": "first component"}},
            "yaxis": hidden | {"title": {"text": "second component"}},
            "showlegend": False,
            "margin": margin(8),
        },
    }


def key_of(marks: Marks) -> list[Sign]:
    """Return what each sign on a map means: those of the classes that there are, and the ring."""
    signs = []
    for number, name in enumerate(marks.classes):
        if (marks.colours == number).any():
            shape, colour = _look(number)
            signs.append(Sign(SHAPES[shape], colour, name))
    return [*signs, Sign("\N{WHITE CIRCLE}", WRONG, marks.mistake)]


def _look(number: int) -> tuple[str, str]:
    """Return shape and colour of a class: no two of forty have both in common."""
    turn, colour = divmod(number, len(COLOURS))
    return list(SHAPES)[turn % len(SHAPES)], COLOURS[colour]
