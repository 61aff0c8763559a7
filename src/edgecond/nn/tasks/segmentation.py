"""One class of several for each vertex, or for each point of a cloud."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool
from numpy.typing import NDArray
from torch import Tensor

from edgecond.nn.tasks.base import Task
from edgecond.nn.tasks.classification import Classes, Classification, confusion
from edgecond.nn.tasks.combinations import Outputs, Views
from edgecond.nn.tasks.findings import Finding


@dataclass(frozen=True)
class Segmentation(Classification):
    """Predict one class of several for each vertex. A class of -1 is unknown.

    Attributes:
        weights: Weight of each class in the loss; none for equal weights.
        temperature: None: vertices are not calibrated.
    """

    name: ClassVar[str] = "segmentation"
    metrics: ClassVar[Mapping[str, str]] = {
        "accuracy": "Accuracy",
        "class_accuracy": "Mean class accuracy",
        "mean_iou": "Mean intersection over union",
    }
    per_vertex: ClassVar[bool] = True
    calibrates: ClassVar[bool] = False
    meaning: ClassVar[str] = (
        "score of each class for each vertex of level 0; the softmax of the scores is the probability"
    )
    unit: ClassVar[str] = "vertices"

    @classmethod
    def strata(cls, ys: NDArray[Any]) -> NDArray[np.int64] | None:
        return None

    @classmethod
    def check_targets(cls, ys: Tensor, names: Sequence[str]) -> None:
        """Do nothing: whoever reads a column of classes has counted them."""

    def evaluate(self, y: Classes, views: Views, *, average: bool = True) -> dict[str, float]:
        r"""Return the metrics over the vertices whose class is known, of the mean probabilities over views.

        Returns:
            `accuracy`: share of right predictions; `class_accuracy`: its mean over the classes that occur; `mean_iou`:
            the mean of $|T_c \cap P_c| / |T_c \cup P_c|$ over the classes $c$ that occur or are predicted, where $T_c$
            are the vertices of that class and $P_c$ those predicted as it.
        """
        probabilities = np.mean(views, axis=0)
        table = confusion(y, probabilities.argmax(1), probabilities.shape[1]).astype(float)
        hits, true, predicted = table.diagonal(), table.sum(1), table.sum(0)
        if not true.any():
            return dict.fromkeys(self.metrics, float("nan"))
        union = true + predicted - hits
        return {
            "accuracy": float(hits.sum() / true.sum()),
            "class_accuracy": float((hits[true > 0] / true[true > 0]).mean()),
            "mean_iou": float((hits[union > 0] / union[union > 0]).mean()),
        }

    def explained_rows(self, outputs: Outputs, target: int) -> Bool[np.ndarray, " n"]:
        """Return the vertices that are predicted as a class; all if none is."""
        chosen = self.decide(outputs) == target
        return chosen if chosen.any() else ~chosen

    def headline(
        self, metrics: Mapping[str, float], training: Mapping[str, float], views: int, extra: Sequence[str] = ()
    ) -> Finding:
        return Task.headline(self, metrics, training, views, extra)

    def findings(self, names: Sequence[str], y: Classes, views: Views) -> list[Finding]:
        return self._classes(names, y, views)
