"""One or more numbers for each vertex or point: field values, as graph neural operators predict them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from edgecond.nn.tasks.regression import Regression


@dataclass(frozen=True)
class VertexRegression(Regression):
    """Predict one or more numbers for each vertex: squared error, in standard deviations of the training set.

    Attributes:
        mean: Mean of each number over the vertices of the training set.
        scale: Standard deviation of each number over the vertices of the training set.
        spread: None: vertices are not calibrated.
    """

    name: ClassVar[str] = "vertex-regression"
    per_vertex: ClassVar[bool] = True
    calibrates: ClassVar[bool] = False
    meaning: ClassVar[str] = (
        "each number for each vertex of level 0, less its mean and divided by its scale, which the objective holds"
    )
