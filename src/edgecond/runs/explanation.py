"""Explanations: which atoms, bonds, points, edges and features made a prediction, and how much each of them adds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from edgecond.data.kinds import Batch, ReadOptions
from edgecond.data.kinds.elements import Elements
from edgecond.data.kinds.pictures import Description
from edgecond.errors import DataError, did_you_mean
from edgecond.files import path_text
from edgecond.graph import Graph, Sample
from edgecond.nn.attribution import integrated_gradients, MOST, occlusion, Parts, Score
from edgecond.nn.tasks import Outputs, Task
from edgecond.runs.model import Model

Row = dict[str, Any]
Report = Callable[[str], None]
Progress = Callable[[int, int | None], None]


class TargetError(DataError):
    """There is no such class, target or vertex to explain."""


@dataclass(frozen=True)
class Wanted:
    """What is explained, and how.

    Attributes:
        target: Name of the class or target; by default the predicted class, the most probable label or the first
            target, whichever a task has.
        vertex: Where vertices or points have predictions: the one whose prediction is explained, instead of all those
            that are predicted as the class.
        views: Number of views whose outputs are averaged; those of the recipe by default.
        occlusion: Whether to hide each atom, point or vertex in turn, too, and measure how much the output falls.
        steps: Number of steps of an integral, at most.
    """

    target: str | None = None
    vertex: int | None = None
    views: int | None = None
    occlusion: bool = False
    steps: int = MOST


@dataclass(frozen=True, eq=False)
class Links:
    """The edges of a level in one view; both directions of an edge are one.

    Attributes:
        view: Number of the view.
        level: The level.
        one: Vertex at one end of each edge, numbered from 0 at its level.
        other: Vertex at the other end; a vertex has an edge to itself at coarser levels.
        columns: What describes each edge.
        attribution: How much its label adds to the output.
    """

    view: int
    level: int
    one: Int[np.ndarray, " e"]
    other: Int[np.ndarray, " e"]
    columns: Mapping[str, Sequence[Any]]
    attribution: Float[np.ndarray, " e"]


@dataclass(frozen=True, eq=False)
class Explanation:
    """The attributions of an example, which add up to the difference between its output and that of the baseline.

    Attributes:
        place: Where the example is from.
        description: Its name, and what to draw of it.
        target: Name of the class or target that is explained.
        meaning: What the output is: a number in the unit of the target, or the log-odds of a class.
        prediction: The prediction, by the names of its columns; empty where there is one for each vertex.
        output: The output.
        baseline: The output for a signal, labels and features of zero.
        steps: Number of steps of the integral.
        columns: What describes each unit: atom, point or vertex.
        attribution: How much the signal of each unit and the label of its edge to itself add to the output.
        total: The same with what the labels of its edges add, and an even share of what coarser levels add.
        region: The sum of the totals around each unit; none where units have no positions.
        occlusion: How much the output falls without a unit and its edges; none if that was not asked for.
        links: The edges.
        features: How much each feature beside the graph adds.
    """

    place: Row
    description: Description
    target: str
    meaning: str
    prediction: Row
    output: float
    baseline: float
    steps: int
    columns: Mapping[str, Sequence[Any]]
    attribution: Float[np.ndarray, " u"]
    total: Float[np.ndarray, " u"]
    region: Float[np.ndarray, " u"] | None
    occlusion: Float[np.ndarray, " u"] | None
    links: tuple[Links, ...]
    features: Mapping[str, float]

    @property
    def rest(self) -> float:
        """What is missing in the sum of attributions: the error of the integral."""
        return self.output - self.baseline - float(self.total.sum()) - sum(self.features.values())

    @property
    def error(self) -> float:
        """The rest as a share of the difference of outputs."""
        return abs(self.rest) / max(abs(self.output - self.baseline), 1e-30)

    def __str__(self) -> str:
        return (
            f"{self.meaning} of {self.target} {self.output:.4g}, of the baseline {self.baseline:.4g}; attributions add "
            f"up to the difference within {100 * self.error:.2g} % ({self.steps} steps)"
        )

    def rows(self, unit: str, link: str) -> Iterator[Row]:
        """Yield a row for each element. The sum over all rows is the output, for `attribution` and for `total`.

        Args:
            unit: Name of a unit.
            link: Name of an edge.
        """
        same = self.place | {"target": self.target}
        for index, (attribution, total) in enumerate(zip(self.attribution.tolist(), self.total.tolist(), strict=True)):
            details = {name: values[index] for name, values in self.columns.items()}
            row = same | {"element": unit, "index": index} | details
            others = {"region": self.region, "occlusion": self.occlusion}
            row |= {name: _rounded(float(values[index])) for name, values in others.items() if values is not None}
            yield row | {"attribution": _rounded(attribution), "total": _rounded(total)}
        for links in self.links:
            ends = zip(links.one.tolist(), links.other.tolist(), links.attribution.tolist(), strict=True)
            for number, (one, other, attribution) in enumerate(ends):
                details = {name: values[number] for name, values in links.columns.items()}
                where = {"view": links.view, "level": links.level, "index": one, "other": other}
                yield same | {"element": link} | where | details | {"attribution": _rounded(attribution)}
        whole = [("feature", name, value) for name, value in self.features.items()]
        for element, name, value in (*whole, ("baseline", "", self.baseline), ("rest", "", self.rest)):
            yield same | {"element": element, "name": name, "attribution": _rounded(value), "total": _rounded(value)}


def columns(model: Model, wanted: Wanted = Wanted()) -> list[str]:  # noqa: B008 (immutable)
    """Return the names of the columns of `Explanation.rows`, in order."""
    views = ["view"] if model.views(wanted.views) > 1 else []
    levels = ["level"] if len(model.widths[1]) > 1 else []
    name = [] if "name" in model.kind.element_columns or not model.preparation.features else ["name"]
    details = [*model.kind.element_columns, *name]
    regions = ["region"] if model.kind.regions else []
    last = ["attribution", "total", *regions, *(["occlusion"] if wanted.occlusion else [])]
    return [*model.kind.place, "target", "element", *views, *levels, "index", "other", *details, *last]


def explain(model: Model, X: Any, *, features: Any = None, **options: Any) -> list[Explanation]:
    """Return explanations of the predictions for rows in memory.

    Args:
        model: A trained model.
        X: The rows; see `Model.predict`.
        features: Columns beside the rows; see `Model.predict`.
        options: What is explained; see `Wanted`.
    """
    examples = model.rows(X, features)
    return list(explained(model, examples, range(len(examples)), Wanted(**options)))


def explanations(
    model: Model,
    files: Sequence[Path],
    wanted: Wanted = Wanted(),  # noqa: B008 (immutable)
    *,
    smiles: str | None = None,
    chosen: Callable[[Row], bool] = lambda place: True,
    report: Report,
    progress: Progress = lambda done, total: None,
) -> Iterator[Explanation]:
    """Yield an explanation of the prediction for each example in some files, in their order.

    Args:
        model: A trained model.
        files: The files; see `edgecond.runs.prediction.predictions`.
        wanted: What is explained.
        smiles: Column of the SMILES in a table.
        chosen: Whether the example at a place is to be explained; all are by default.
        report: Called with a sentence about what cannot be read.
        progress: Called with the number of examples done and, where it is known, of all.
    """
    total: list[int] = []
    done, model = 0, model.transient()
    for shard in model.kind.shards(model.learned, files, ReadOptions(smiles=smiles), report, total.append):
        for batch in model.kind.read_shard(model.learned, shard, report):
            for number in range(len(batch)):
                if chosen(batch.places[number]):
                    yield from _of_batch(model, batch, number, wanted, report)
                done += 1
                progress(done, total[0] if total else None)


def explained(model: Model, examples: Any, numbers: Sequence[int], wanted: Wanted) -> Iterator[Explanation]:
    """Yield explanations of the predictions for some of the examples."""
    model, views = model.transient(), model.views(wanted.views)
    for number in numbers:
        one = examples.take([number])
        outputs = model.outputs(one, views)
        if not np.isfinite(outputs).all():
            raise DataError("an explanation needs finite outputs: the numbers of this example are too large.")
        target = _target(model, wanted.target, outputs)
        rows = model.task.explained_rows(outputs, target) if wanted.vertex is None else _one_row(model, wanted, outputs)
        score = _score(model.task, target, rows)
        samples = [model.preparation.view(one, view, views).sample([0], 0) for view in range(views)]
        elements = [model.kind.elements(one, 0, model.preparation, view, views) for view in range(views)]
        found = integrated_gradients(model.networks, samples, score, most=wanted.steps)
        parts = list(zip(samples, elements, found.views, strict=True))
        hidden = [_hidden(each, len(sample.x)) for sample, each, _ in parts] if wanted.occlusion else []
        names = model.preparation.feature_names
        features = np.sum([view.features.numpy() for view in found.views], axis=0)
        total = np.sum([each.shared(_total(sample, view, each.offsets)) for sample, each, view in parts], axis=0)
        yield Explanation(
            place={},
            description=model.kind.describe(one, 0),
            target=model.classes[target],
            meaning=model.task.explains,
            prediction={} if model.task.per_vertex else model.task.row(model.classes, outputs[0]),
            output=found.output,
            baseline=found.baseline,
            steps=found.steps,
            columns=elements[0].columns,
            attribution=np.sum([each.shared(_own(sample, view)) for sample, each, view in parts], axis=0),
            total=total,
            region=elements[0].around(total),
            occlusion=occlusion(model.networks, samples, score, hidden) if wanted.occlusion else None,
            links=tuple(links for view, part in enumerate(parts) for links in _links(view, *part)),
            features={
                name: float(sum(value for each, value in zip(names, features, strict=True) if each == name))
                for name in dict.fromkeys(names)
            },
        )


def _of_batch(model: Model, batch: Batch, number: int, wanted: Wanted, report: Report) -> Iterator[Explanation]:
    """Explain an example of a batch; report it if no graph can be made of it."""
    place = batch.places[number] | {"file": path_text(batch.places[number]["file"])}
    try:
        for explanation in explained(model, batch.examples, [number], wanted):
            yield replace(explanation, place=place)
    except TargetError:
        raise
    except ValueError as error:
        report(f"{' '.join(map(str, place.values()))} cannot be explained: {error}")


def _target(model: Model, name: str | None, outputs: Outputs) -> int:
    if name is None:
        return model.task.explained_target(outputs)
    if name not in model.classes:
        raise TargetError(
            f"an explanation is for a class or target of {model.recipe.name}: it has no {name[:60]!r}."
            f"{did_you_mean(name, model.classes)}"
        )
    return model.classes.index(name)


def _one_row(model: Model, wanted: Wanted, outputs: Outputs) -> Bool[np.ndarray, " n"]:
    if not model.task.per_vertex:
        raise TargetError(f"--vertex is for models that predict for vertices: {model.recipe.name} does not.")
    if not 0 <= (wanted.vertex or 0) < len(outputs):
        raise TargetError(f"--vertex must be from 0 to {len(outputs) - 1} for this example: got {wanted.vertex}.")
    return np.arange(len(outputs)) == wanted.vertex


def _score(task: Task, target: int, rows: Bool[np.ndarray, " r"]) -> Score:
    """Return the mean of what a task explains over some rows of each copy."""
    chosen = torch.from_numpy(np.flatnonzero(rows))

    def score(scores: Float[Tensor, "v k r t"]) -> Float[Tensor, " k"]:
        return task.explained(scores.flatten(1, 2), target).view(*scores.shape[1:3])[:, chosen].mean(1)

    return score


def _hidden(elements: Elements, n: int) -> Bool[Tensor, "u n"]:
    """Return the vertices that stand for each unit."""
    hidden = torch.zeros(elements.count, n, dtype=torch.bool)
    hidden[torch.from_numpy(elements.unit), torch.from_numpy(elements.vertex)] = True
    return hidden


def _own(sample: Sample, parts: Parts) -> Float[np.ndarray, " n"]:
    """Return what the signal of each vertex adds, and the label of its edge to itself."""
    graph, edges = sample.pyramid.graphs[0], parts.edges[0].numpy()
    loops = _loops(graph)
    return parts.vertices.numpy() + np.bincount(graph.source.numpy()[loops], edges[loops], minlength=len(sample.x))


def _total(sample: Sample, parts: Parts, offsets: bool) -> Float[np.ndarray, " n"]:
    """Return what each vertex adds with its share of each of its edges and of what coarser vertices add."""
    graphs, pool_maps = sample.pyramid.graphs, [each.numpy() for each in sample.pyramid.pool_maps]
    found = np.zeros(graphs[-1].num_sources)
    for level in reversed(range(len(graphs))):
        if level < len(pool_maps):
            pooled = np.bincount(pool_maps[level], minlength=len(found))
            shares = (found / np.maximum(pooled, 1))[pool_maps[level]]
            found = shares + found[pooled == 0].sum() / len(shares)  # nothing was pooled into such a vertex
        found = found + _ends(graphs[level], parts.edges[level].numpy(), offsets)
    return found + parts.vertices.numpy()


def _ends(graph: Graph, values: Float[np.ndarray, " m"], offsets: bool) -> Float[np.ndarray, " n"]:
    """Give the number of each edge to its ends; the centroid of a strided level takes none.

    An offset is what the target sees, where the signal is that of the source. Other labels belong to both ends alike.
    """
    source, target = graph.source.numpy(), graph.target.numpy()
    strided = graph.source_membership is not None
    ends = [source] if strided else [target] if offsets else [source, target]
    return np.sum([np.bincount(end, values / len(ends), minlength=graph.num_sources) for end in ends], axis=0)


def _links(view: int, sample: Sample, elements: Elements, parts: Parts) -> Iterator[Links]:
    """Yield the edges of each level, both directions as one; the loops of level 0 belong to its vertices."""
    for level, (graph, values) in enumerate(zip(sample.pyramid.graphs, parts.edges, strict=True)):
        kept = ~_loops(graph) if level == 0 else np.ones(graph.num_edges, bool)
        source, target = graph.source.numpy()[kept], graph.target.numpy()[kept]
        if graph.source_membership is None:
            source, target = np.minimum(source, target), np.maximum(source, target)
        (one, other), number = np.unique(np.stack([source, target]), axis=1, return_inverse=True)
        sums = np.bincount(number.ravel(), values.numpy()[kept], minlength=len(one))
        yield Links(view, level, one, other, elements.edge_columns(sample.pyramid, level, one, other), sums)


def _loops(graph: Graph) -> Bool[np.ndarray, " m"]:
    if graph.source_membership is not None:
        return np.zeros(graph.num_edges, bool)
    return (graph.source == graph.target).numpy()


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")
