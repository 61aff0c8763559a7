"""Drawings of clouds, graphs and their pyramids: in space where there is depth, in the plane otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array

from edgecond.data.graphs import Graphs
from edgecond.data.kinds.pictures import GraphPicture, MoleculePicture, Picture
from edgecond.data.pyramid import Level, Levels
from edgecond.graph import Cloud, Mesh, Pyramid
from edgecond.report.figures import (
    ACCENT,
    evenly,
    Figure,
    GREY,
    margin,
    numbers,
    Panel,
    plain,
    POINTS,
    shade,
    SHADES,
    Shades,
    SIGNAL,
)
from edgecond.report.figures import Picture as Svg
from edgecond.report.layout import nearby, spread, undirected
from edgecond.report.molecules import molecule

LINES = 3_000
"""Largest number of edges of a level that are drawn, chosen evenly."""
FACES = 5_000
"""Largest number of faces of a mesh that are drawn; a mesh with more is drawn as its vertices."""
VERTICES = 300
"""Largest number of vertices of a graph that are drawn: those around the vertex of the highest degree."""
NAMED = 60
"""Largest number of vertices that are drawn with their labels."""

DASHED = {
    "solid": "solid",
    "dash": "dashed",
    "dot": "dotted",
    "dashdot": "dash-dotted",
    "longdash": "in long dashes",
    "longdashdot": "in long dashes and dots",
}
DASHES = tuple(DASHED)
"""The line style of each edge label, by its number; they repeat after the last."""
COLOURS = (
    "#4e9bd6",
    "#f0883e",
    "#4cae6d",
    "#d9534f",
    "#a184d6",
    "#b8865b",
    "#e377c2",
    "#9aa0a6",
    "#c9b93a",
    "#35b5c4",
)


def drawn(picture: Picture, caption: str, shades: Shades | None = None) -> Panel | Svg:
    """Draw an example, in the colours of attributions if there are any."""
    match picture:
        case Cloud():
            return Panel(cloud(picture, shades), caption)
        case MoleculePicture():
            return Svg(molecule(picture.smiles, shades), caption)
        case GraphPicture():
            return Panel(graph(picture.graphs, picture.number, shades), caption)


def draws_edges(picture: Picture) -> bool:
    """Return whether the drawing of an example shows its edges."""
    return not isinstance(picture, Cloud)


def legend(picture: Picture) -> str:
    """Return how to read the drawing of an example."""
    match picture:
        case Mesh():
            return "Meshes can be rotated."
        case Cloud():
            return "Colour is the signal, or the height where that is constant; clouds with depth can be rotated."
        case MoleculePicture():
            return "Atoms without a symbol are carbon."
        case GraphPicture():
            return _graph_legend(picture.graphs.edge_values.tolist())


def levels(pyramid: Levels | Pyramid) -> list[Panel]:
    """Draw the levels of a pyramid, of a cloud or of a general graph."""
    return cloud_levels(pyramid) if isinstance(pyramid, Levels) else graph_levels(pyramid)


def cloud(cloud: Cloud, shades: Shades | None = None) -> Figure:
    """Draw the points of a cloud, coloured by attribution or signal, or the faces of a mesh with depth."""
    if isinstance(cloud, Mesh) and len(cloud.faces) <= FACES and np.ptp(cloud.positions[:, 2].numpy()) > 0:
        return _plot([_faces(cloud, shades)])
    chosen = evenly(len(cloud), POINTS)
    signal = cloud.signal.numpy()[:, :1] if shades is None else shades.units[:, None]
    points = _points(cloud.positions.numpy()[chosen], signal[chosen])
    if shades is not None:
        points["marker"] |= _SHADED | {"color": numbers(shades.units[chosen])}
    return _plot([points])


def cloud_levels(levels: Levels) -> list[Panel]:
    """Draw the points and edges of each level of a cloud's pyramid (Section 3.4)."""
    found = []
    for h, level in enumerate(levels.levels):
        points, chosen = level.positions.numpy(), evenly(len(level.positions), POINTS)
        start, end = _ends(level)
        drawn = evenly(len(start), LINES)
        signal = levels.x.numpy()[chosen, :1] if h == 0 else np.zeros((len(chosen), 0))
        caption = f"Level {h}: {_count(len(points), 'point', most=POINTS)} and {_count(len(start), 'edge', most=LINES)}"
        if level.centroids is not None:
            caption += ", all of them to the centroid"
        found.append(Panel(_plot([_lines(start[drawn], end[drawn]), _points(points[chosen], signal)]), f"{caption}."))
    return found


def graph(graphs: Graphs, number: int, shades: Shades | None = None) -> Figure:
    """Draw a graph as vertices, coloured by attribution or label, and lines, dashed by edge label."""
    one = graphs[number]
    kept = nearby(one.n, one.source, one.target, VERTICES)
    place = np.full(one.n, -1)
    place[kept] = np.arange(len(kept))
    inside = (place[one.source] >= 0) & (place[one.target] >= 0)
    source, target = place[one.source[inside]], place[one.target[inside]]
    at = spread(len(kept), source, target)
    once = undirected(source, target)
    labels = one.edge_labels[inside][once]
    traces = [
        _lines(at[source[once][labels == label]], at[target[once][labels == label]], DASHES[label % len(DASHES)])
        for label in np.unique(labels)
    ]
    named = [str(value) for value in graphs.vertex_values] or [""]
    vertices = _vertices(at, one.vertex_labels[kept], named)
    if shades is not None:
        vertices["marker"] |= _SHADED | {"color": numbers(shades.units[kept])}
        for i, j in zip(source[once].tolist(), target[once].tolist(), strict=True):
            pair = sorted((int(kept[i]), int(kept[j])))
            traces.append(_shaded_line(at[i], at[j], shades.edges.get((pair[0], pair[1]), 0.0)))
    return _plot([*traces, vertices])


def graph_levels(pyramid: Pyramid) -> list[Panel]:
    """Draw the levels of a graph's pyramid, with the layout of the first level (Section 3.5).

    A vertex of a coarser level is at the mean of the vertices that pool into it.
    """
    first = pyramid.graphs[0]
    at = spread(first.num_vertices, first.source.numpy(), first.target.numpy())
    found = []
    for h, level in enumerate(pyramid.graphs):
        if h:
            pool_map, n = pyramid.pool_maps[h - 1].numpy(), level.num_vertices
            share = np.bincount(pool_map, minlength=n)[:, None]
            at = np.stack([np.bincount(pool_map, column, minlength=n) for column in at.T], 1) / np.maximum(share, 1)
        source, target = level.source.numpy(), level.target.numpy()
        every = undirected(source, target)
        once = every[evenly(len(every), LINES)]
        weights = level.labels.per_edge(level.labels.values).numpy()[once, 0] if h else np.ones(len(once))
        strong = weights > np.median(weights) if len(weights) else np.zeros(0, bool)
        lines = [
            _lines(at[source[once[part]]], at[target[once[part]]], width=width)
            for part, width in ((~strong, 1.0), (strong, 3.0))
        ]
        caption = f"Level {h}: {_count(len(at), 'vertex', 'vertices')} and {_count(len(every), 'edge', most=LINES)}."
        found.append(Panel(_plot([*lines, _vertices(at, np.zeros(len(at), int), [""])]), caption))
    return found


def _graph_legend(edge_values: Sequence[object]) -> str:
    lines = [f"{label} {DASHED[dash]}" for label, dash in zip(edge_values, cycle(DASHES), strict=False)]
    edges = f" Edge labels: {', '.join(lines)}." if lines else ""
    return f"The colour of a vertex is its label, and so is the number on it.{edges}"


def _ends(level: Level) -> tuple[Float[Array, "e 3"], Float[Array, "e 3"]]:
    """Return the positions of both ends of each edge of a level."""
    source, target, points = level.source.numpy(), level.target.numpy(), level.positions.numpy()
    if level.centroids is not None:
        return points[source], level.centroids.numpy()[target]
    once = undirected(source, target)
    return points[source[once]], points[target[once]]


def _points(at: Float[Array, "n 3"], signal: Float[Array, "n d"]) -> dict[str, Any]:
    """Draw points, coloured by the signal, or by height where the signal is constant."""
    flat = np.ptp(at[:, 2]) == 0
    by = signal[:, 0] if signal.size and np.ptp(signal) > 0 else at[:, 2]
    colour = {"color": numbers(by), "colorscale": SIGNAL} if np.ptp(by) > 0 else {"color": ACCENT}
    wide = 110 if flat else 36  # Plotly draws larger points in space
    marker = colour | {"size": round(float(np.clip(wide / np.sqrt(len(at)), wide / 50, wide / 8)), 1)}
    return _coordinates(at) | {"mode": "markers", "marker": marker, "hoverinfo": "skip"}


_SHADED = {"colorscale": [[place / 2, colour] for place, colour in enumerate(SHADES)], "cmin": -1, "cmax": 1}


def _shaded_line(start: Float[Array, " c"], end: Float[Array, " c"], value: float) -> dict[str, Any]:
    """Draw an edge in the colour of its attribution, wider where that is larger."""
    line = _lines(start[None], end[None], width=1.5 + 3 * abs(value))
    return line | {"line": line["line"] | {"color": shade(value)}}


def _faces(mesh: Mesh, shades: Shades | None = None) -> dict[str, Any]:
    corners: dict[str, Any] = dict(zip("ijk", mesh.faces.T.tolist(), strict=True))
    if shades is not None:
        corners |= _SHADED | {"intensity": numbers(shades.units), "showscale": False}
    return (
        _coordinates(mesh.positions.numpy())
        | corners
        | {
            "type": "mesh3d",
            "color": ACCENT,
            "flatshading": True,
            "hoverinfo": "skip",
        }
    )


def _lines(
    start: Float[Array, "e c"], end: Float[Array, "e c"], dash: str = "solid", width: float = 1.5
) -> dict[str, Any]:
    """Draw a line for each edge, with a gap after it."""
    gaps = np.full_like(start, np.nan, dtype=float)
    at = np.stack([start, end, gaps], 1).reshape(-1, start.shape[1])
    return _coordinates(at) | {
        "mode": "lines",
        "line": {"color": GREY, "width": width, "dash": dash},
        "hoverinfo": "skip",
    }


def _vertices(at: Float[Array, "n 2"], labels: Int[Array, " n"], named: Sequence[str]) -> dict[str, Any]:
    few = len(at) <= NAMED and any(named)
    colours = [COLOURS[label % len(COLOURS)] for label in labels.tolist()]
    size = 15 if few else round(float(np.clip(90 / np.sqrt(len(at)), 4, 12)), 1)
    return _coordinates(at) | {
        "mode": "markers+text" if few else "markers",
        "text": [plain(named[label]) for label in labels.tolist()],
        "textfont": {"size": 9, "color": "#111"},
        "hoverinfo": "text" if any(named) else "skip",
        "marker": {"size": size, "color": colours, "line": {"width": 0}},
    }


def _coordinates(at: Float[Array, "n c"]) -> dict[str, Any]:
    """Return coordinates as a trace: in space, or in the plane if there are two of them."""
    kind = "scatter3d" if at.shape[1] == 3 else "scatter"
    return {"type": kind, **{axis: numbers(column) for axis, column in zip("xyz", at.T, strict=False)}}


def _plot(traces: Sequence[dict[str, Any]]) -> Figure:
    """Plot traces without axes and with equal scales; in the plane, from above, if they have no depth."""
    sides = [_extent(traces, axis) for axis in "xyz"]
    if not sides[2]:
        flat = [{name: part for name, part in trace.items() if name != "z"} | {"type": "scatter"} for trace in traces]
        hidden = {"visible": False, "automargin": False}
        axes = {"xaxis": hidden | {"constrain": "domain"}, "yaxis": hidden | {"scaleanchor": "x"}}
        return {"data": flat, "layout": {**axes, "showlegend": False, "margin": margin(4)}}
    # All drawings have the same diagonal. With Plotly's own choice, slim ones leave the picture.
    across = float(np.linalg.norm(sides))
    ratio = {axis: round(1.7 * max(side / across, 0.01), 4) for axis, side in zip("xyz", sides, strict=True)}
    scene = {f"{axis}axis": {"visible": False} for axis in "xyz"} | {"aspectmode": "manual", "aspectratio": ratio}
    return {"data": list(traces), "layout": {"scene": scene, "showlegend": False, "margin": margin(0)}}


def _extent(traces: Sequence[dict[str, Any]], axis: str) -> float:
    """Return the extent of all traces along an axis; zero where they have no such axis."""
    values = [value for trace in traces for value in trace.get(axis, ()) if value is not None]
    return max(values) - min(values) if values else 0.0


def _count(number: int, one: str, many: str = "", most: int | None = None) -> str:
    drawn = f" ({most:,} drawn)" if most is not None and number > most else ""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}{drawn}"
