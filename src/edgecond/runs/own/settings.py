"""Settings that fit people's own data: the paper's networks and schedules, in the units of the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgecond.data.examples import Examples, PointExamples
from edgecond.data.graphs import GraphExamples
from edgecond.notation import Architecture, GlobalPooling, Layer, Pooling
from edgecond.runs.recipe import find, Input, Recipe, Train

CLOUDS = "modelnet10/ecc"
"""The row whose network clouds have, with its lengths in units of the spacing of points (Section 4.2)."""
GRAPHS = "nci1/ecc"
"""The row whose settings general graphs have (Section 4.3)."""
STEPS, BATCH = 4000, 32
"""Training on clouds takes about so many steps of so many clouds, if the paper's 50 to 250 epochs allow it."""
POINTS = 2**15
"""Where points are classified, a batch has about so many, and at least one cloud."""
QUANTITIES_RATE = 0.03
"""Squared errors are not bounded as other losses are, and need a lower rate."""
UNBALANCED = 3.0
"""Classes count equally if the most frequent occurs this many times as often as the rarest."""


def for_clouds(
    name: str, examples: Examples | PointExamples, spacing: float, task: str = "classification", **about: Any
) -> Recipe:
    """What to train on clouds; where points are classified, with V in place of global pooling.

    Args:
        name: Of the recipe.
        examples: All that there are.
        spacing: How far points are apart, which takes the place of the row's resolution.
        task: Of `Recipe`, for whole clouds.
        about: What else the recipe says.
    """
    row = find(CLOUDS)
    assert row.input is not None
    unit, ys = spacing / row.input.resolution, examples.ys.numpy()
    per_vertex = isinstance(examples, PointExamples)
    task = "segmentation" if per_vertex else task
    batch = int(np.clip(POINTS * len(examples) // len(ys), 1, BATCH)) if per_vertex else BATCH
    epochs = int(np.clip(STEPS * batch // len(examples), 50, 250))
    return _like(
        row,
        name=name,
        task=task,
        network=_network(row.network, len(examples.classes), unit, per_vertex),
        input=Input(resolution=row.input.resolution * unit, radius=row.input.radius * unit),
        balanced=task in ("classification", "segmentation") and _unbalanced(ys[ys >= 0]),
        train=Train(
            epochs=epochs,
            batch_size=batch,
            learning_rate=_rate(row, task),
            drops=(int(0.6 * epochs), int(0.9 * epochs)),
        ),
        orientations=1,
        **about,
    )


def for_graphs(name: str, examples: GraphExamples, task: str = "classification", *, dataset: str) -> Recipe:
    """What to train on general graphs.

    Args:
        name: Of the recipe.
        examples: All that there are.
        task: Of `Recipe`.
        dataset: What kind they are of. Attributes are put into units, but for the zeros and ones of "smiles".
    """
    row, graphs, ys = find(GRAPHS), examples.graphs, examples.ys.numpy()
    return _like(
        row,
        name=name,
        task=task,
        network=_network(row.network, len(examples.classes), per_vertex=task == "segmentation"),
        balanced=task in ("classification", "segmentation") and _unbalanced(ys[ys >= 0]),
        attributes=graphs.vertex_attributes.shape[1] + graphs.edge_attributes.shape[1] > 0,
        train=row.train.model_copy(update={"learning_rate": _rate(row, task)}),
        dataset=dataset,
        standardised=dataset != "smiles",
    )


def _rate(row: Recipe, task: str) -> float:
    return QUANTITIES_RATE if task == "regression" else row.train.learning_rate


def _like(row: Recipe, **changes: Any) -> Recipe:
    """A recipe that differs from a row of the paper in what is named, and claims none of its numbers."""
    return row.model_copy(update={"paper": (), "folds": 1, "options": {}, **changes})


def _network(network: Architecture, outputs: int, unit: float = 1.0, per_vertex: bool = False) -> Architecture:
    """The same with other lengths and another number of outputs; V instead of global pooling for those of vertices."""

    def written(layer: Layer) -> str:
        match layer:
            case Pooling(float(resolution), float(radius)):
                return f"{type(layer).__name__}({resolution * unit:.3g},{radius * unit:.3g})"
            case GlobalPooling() if per_vertex:
                return "V"
        return str(layer)

    *layers, _ = network
    return Architecture("-".join([*map(written, layers), f"FC({outputs})"]))


def _unbalanced(ys: np.ndarray) -> bool:
    counts = np.bincount(ys)
    return bool(counts.max() > UNBALANCED * counts[counts > 0].min())
