"""Curves, confusion matrices and images as figures for Plotly: plain values, without Plotly itself."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array

Figure = dict[str, Any]  # "data" and "layout", as in JSON

ACCENT = "#3b82c4"
"""Default colour; visible on white and on black."""
GREY = "#8a8f98"
"""Colour of lines."""
SIGNAL = [[0, "#9aa7bd"], [1, "#e4572e"]]
"""Colours from the smallest value to the largest; visible on white and on black."""
SHADES = ("#2166ac", "#9aa0a6", "#d6322e")
"""Colours of attributions of -1, 0 and 1; visible on white and on black."""
POINTS = 2_000
"""Largest number of points that are drawn, chosen evenly."""
COUNTED = 20
"""Largest number of classes whose counts fit into the cells of a confusion matrix."""


@dataclass(frozen=True, eq=False)
class Shades:
    """Attributions to draw, from -1 to 1.

    Attributes:
        units: Of each atom, point or vertex.
        edges: Of each edge by its ends, the lower first.
    """

    units: Float[Array, " u"]
    edges: Mapping[tuple[int, int], float]


@dataclass(frozen=True)
class Panel:
    """A figure, a caption, and the ratio of width to height."""

    figure: Figure
    caption: str
    ratio: float = 1.0


@dataclass(frozen=True)
class Picture:
    """An SVG drawing in the colour of the text around it, and a caption."""

    svg: str
    caption: str


def curve(history: Sequence[Mapping[str, float]], name: str) -> Figure:
    """Draw a metric over the epochs: shares in per cent, learning rates that drop by powers of ten on a log scale."""
    values = [epoch[name] for epoch in history]
    share, steps = name == "accuracy", name == "learning_rate"
    vertical: dict[str, Any] = {"automargin": True, "rangemode": "tozero", "nticks": 6}
    if share:
        vertical |= {"range": [0, 1.02], "tickformat": ".0%"}
    if steps and max(values) >= 10 * min(values) > 0:
        vertical |= {"type": "log", "nticks": 4}
    line = {
        "type": "scatter",
        "mode": "lines+markers" if len(history) <= 60 else "lines",
        "x": [epoch["epoch"] for epoch in history],
        "y": values,
        "line": {"color": ACCENT, "shape": "hv" if steps else "linear"},
        "hovertemplate": f"epoch %{{x}}: {'%{y:.1%}' if share else '%{y:.4g}'}<extra></extra>",
    }
    horizontal = {"title": {"text": "epoch"}, "tickformat": "d", "automargin": True}
    if len(history) <= 10:
        horizontal["dtick"] = 1
    return {"data": [line], "layout": {"xaxis": horizontal, "yaxis": vertical, "margin": margin(8)}}


def confusion(table: Int[Array, "classes classes"], classes: Sequence[str]) -> Figure:
    """Draw a confusion matrix; the colour of a cell is its share of the true class."""
    places, names = list(range(len(classes))), [plain(name) for name in classes]
    cells = {
        "type": "heatmap",
        "z": numbers(table / np.maximum(1, table.sum(1, keepdims=True))),
        "customdata": table.tolist(),
        "text": [[str(count or "") for count in row] for row in table.tolist()],
        "texttemplate": "%{text}" if len(classes) <= COUNTED else "",
        "hovertemplate": "%{y} predicted as %{x}: %{customdata}<extra></extra>",
        "colorscale": "Cividis",
        "zmin": 0,
        "zmax": 1,
        "textfont": {"size": 12},
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
    }
    axis = {"tickvals": places, "ticktext": names, "automargin": True, "showgrid": False, "zeroline": False}
    return {
        "data": [cells],
        "layout": {
            "xaxis": axis | {"title": {"text": "predicted"}, "constrain": "domain"},
            "yaxis": axis | {"title": {"text": "true"}, "autorange": "reversed", "scaleanchor": "x"},
            "margin": margin(8),
        },
    }


def scatter(truth: Float[Array, " n"], predicted: Float[Array, " n"], names: Sequence[str]) -> Figure:
    """Draw predictions over the truth, and the line on which the two are equal."""
    chosen = evenly(len(truth), POINTS)
    ends = [float(end) for end in (min(truth.min(), predicted.min()), max(truth.max(), predicted.max()))]
    same = {"type": "scatter", "mode": "lines", "x": ends, "y": ends, "line": {"color": GREY, "dash": "dot"}}
    points = {
        "type": "scatter",
        "mode": "markers",
        "x": numbers(truth[chosen]),
        "y": numbers(predicted[chosen]),
        "text": [plain(names[number]) for number in chosen.tolist()],
        "marker": {"color": ACCENT, "size": 6, "opacity": 0.6},
        "hovertemplate": "%{text}: true %{x}, predicted %{y}<extra></extra>",
    }
    axis = {"automargin": True, "nticks": 6}
    return {
        "data": [same | {"hoverinfo": "skip"}, points],
        "layout": {
            "xaxis": axis | {"title": {"text": "true"}, "constrain": "domain"},
            "yaxis": axis | {"title": {"text": "predicted"}, "scaleanchor": "x", "constrain": "domain"},
            "showlegend": False,
            "margin": margin(8),
        },
    }


def lines(
    named: Sequence[tuple[str, Float[Array, " n"], Float[Array, " n"]]], horizontal: str, vertical: str, diagonal: bool
) -> Figure:
    """Draw lines over a common axis from zero, the first in colour; on the diagonal, both coordinates are equal."""
    traces = [
        {
            "type": "scatter",
            "mode": "lines+markers" if len(x) <= 60 else "lines",
            "name": name,
            "x": numbers(x[(chosen := evenly(len(x), POINTS))]),
            "y": numbers(y[chosen]),
            "line": {"color": GREY if number else ACCENT},
            "hovertemplate": f"{plain(name)}: %{{x}}, %{{y}}<extra></extra>",
        }
        for number, (name, x, y) in enumerate(named)
    ]
    same = {"type": "scatter", "mode": "lines", "x": [0, 1], "y": [0, 1], "line": {"color": GREY, "dash": "dot"}}
    axis = {"automargin": True, "rangemode": "tozero", "nticks": 6}
    return {
        "data": [*([same | {"hoverinfo": "skip"}] if diagonal else []), *traces],
        "layout": {
            "xaxis": axis | {"title": {"text": plain(horizontal)}},
            "yaxis": axis | {"title": {"text": plain(vertical, 40)}},
            "showlegend": False,
            "margin": margin(8),
        },
    }


def images(
    stack: Float[Array, "count rows columns"],
    names: Sequence[str],
    horizontal: Sequence[Any],
    vertical: Sequence[Any],
    limit: float,
    hover: str,
) -> Figure:
    """Draw small images side by side, positive values in red and negative ones in blue; NaN stays empty.

    Args:
        stack: The images.
        names: Title of each image.
        horizontal: Coordinate of each column.
        vertical: Coordinate of each row, from below.
        limit: The value of the darkest red.
        hover: Template of the text for a pixel.
    """
    columns = math.ceil(math.sqrt(len(stack)))
    rows = math.ceil(len(stack) / columns)
    traces, layout = [], {"margin": margin(4), "coloraxis": _diverging(limit)}
    above = []
    for number, (image, name) in enumerate(zip(stack, names, strict=True)):
        row, column = divmod(number, columns)
        end = str(number + 1) if number else ""
        hidden = {"showticklabels": False, "showgrid": False, "zeroline": False, "ticks": ""}
        left, top = column / columns, 1 - row / rows
        layout[f"xaxis{end}"] = hidden | {
            "domain": [left + 0.03 / columns, left + 0.97 / columns],
            "anchor": f"y{end}",
            "constrain": "domain",
        }
        layout[f"yaxis{end}"] = hidden | {
            "domain": [max(0.0, top - 0.98 / rows), top - 0.16 / rows],
            "anchor": f"x{end}",
            "scaleanchor": f"x{end}",
            "constrain": "domain",
        }
        pixels = {"type": "heatmap", "x": list(horizontal), "y": list(vertical), "z": numbers(image)}
        axes = {"xaxis": f"x{end}", "yaxis": f"y{end}", "coloraxis": "coloraxis"}
        traces.append(pixels | axes | {"hovertemplate": f"{hover}<extra></extra>"})
        above.append(
            {
                "text": plain(name),
                "x": left + 0.5 / columns,
                "y": top - 0.15 / rows,
                "xref": "paper",
                "yref": "paper",
                "xanchor": "center",
                "yanchor": "bottom",
                "showarrow": False,
                "font": {"size": 10},
            }
        )
    return {"data": traces, "layout": layout | {"annotations": above}}


def matrix(values: Float[Array, "d_out d_in"], limit: float) -> Figure:
    """Draw a filter as an image, on the scale of `images`."""
    cells = {"type": "heatmap", "z": numbers(values), "coloraxis": "coloraxis"}
    plainly = {"automargin": True, "showgrid": False, "zeroline": False, "nticks": 8}
    return {
        "data": [cells | {"hovertemplate": "input %{x}, output %{y}: %{z}<extra></extra>"}],
        "layout": {
            "xaxis": plainly | {"title": {"text": "input channel"}},
            "yaxis": plainly | {"title": {"text": "output channel"}, "autorange": "reversed"},
            "coloraxis": _diverging(limit, bar=False),
            "margin": margin(8),
        },
    }


def shade(value: float) -> str:
    """Return the colour of an attribution from -1 to 1."""
    share = min(abs(value), 1.0)
    ends = [[int(colour[place : place + 2], 16) for place in (1, 3, 5)] for colour in (SHADES[1], SHADES[-(value > 0)])]
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in zip(*ends, strict=True))


def plain(text: str, most: int = 24) -> str:
    """Escape text for Plotly, which reads angle brackets as HTML, and cut long text."""
    return html.escape(text if len(text) <= most else f"{text[: most - 1]}…")


def numbers(values: Array) -> list[Any]:
    """Round numbers to four digits; none in place of NaN and infinities."""
    if values.ndim > 1:
        return [numbers(row) for row in values]
    return [float(f"{value:.4g}") if math.isfinite(value) else None for value in values.tolist()]


def evenly(count: int, most: int) -> Int[Array, " chosen"]:
    """Return the indices of all items, or of `most` of them, evenly spaced."""
    return np.arange(count) if count <= most else np.linspace(0, count - 1, most).astype(int)


def margin(width: int) -> dict[str, int]:
    """Return the same margin for all sides."""
    return dict.fromkeys("lrtb", width)


def _diverging(limit: float, *, bar: bool = True) -> dict[str, Any]:
    scale = {"colorscale": [[0, "#2166ac"], [0.5, "#f2f2f2"], [1, "#b2182b"]], "cmin": -limit, "cmax": limit}
    if not bar:
        return scale | {"showscale": False}
    below = {"orientation": "h", "thickness": 8, "y": 0, "yanchor": "top", "len": 0.6, "nticks": 5, "outlinewidth": 0}
    return scale | {"colorbar": below}
