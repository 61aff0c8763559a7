"""What a network can learn to predict: one module per task, listed here."""

from __future__ import annotations

from collections.abc import Sequence

from edgecond.errors import did_you_mean, RecipeError
from edgecond.nn.tasks.base import Loss, Task
from edgecond.nn.tasks.classification import Classification
from edgecond.nn.tasks.combinations import Outputs, Views
from edgecond.nn.tasks.multilabel import Multilabel
from edgecond.nn.tasks.regression import Regression
from edgecond.nn.tasks.segmentation import Segmentation
from edgecond.nn.tasks.vertex_regression import VertexRegression

__all__ = ["TASKS", "Classification", "Loss", "Outputs", "Task", "Views", "find", "for_targets"]

TASKS: dict[str, type[Task]] = {
    task.name: task
    for task in (
        Classification,
        Multilabel,
        Regression,
        Segmentation,
        VertexRegression,
    )
}


def find(name: str) -> type[Task]:
    """Return the task of a name."""
    if name not in TASKS:
        suggestion = did_you_mean(name, TASKS, cutoff=0.3, list_known=False)
        raise RecipeError(f"task must be one of {', '.join(TASKS)}: got {name!r}.{suggestion}")
    return TASKS[name]


def for_targets(targets: Sequence[Sequence[str]], per_vertex: bool = False) -> type[Task] | None:
    """Return the task that fits some targets, if there is one; see `Task.fits`."""
    return next((task for task in TASKS.values() if task.fits(targets, per_vertex)), None)
