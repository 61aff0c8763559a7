"""A bag of vertex labels: a baseline that is blind to edges (Errica et al., ICLR 2020)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from edgecond.data.graphs import GraphExamples
from edgecond.data.preparation import no_progress, Progress, SampleSettings
from edgecond.nn.tasks import Task
from edgecond.runs.baselines.base import Baseline, Predictor
from edgecond.runs.baselines.columns import fit_columns
from edgecond.runs.baselines.svm import C, EPSILON, PARTS


class Bag(Baseline):
    """The sum of the signal over the vertices, standardised, and a support vector machine with a Gaussian kernel.

    The sum of one-hot labels counts them; attributes are added up too where a row has them. C is chosen by
    cross-validation within the training set, and the width of the kernel is scikit-learn's `scale`.
    """

    name: ClassVar[str] = "bag"
    title: ClassVar[str] = "bag of vertex labels, SVM"
    needs: ClassVar[str] = "graph"

    @property
    def settings(self) -> dict[str, Any]:
        return {"kernel": "rbf", "C": list(C), "parts": PARTS}

    def fit(
        self,
        examples: GraphExamples,
        task: Task,
        seed: int,
        *,
        settings: SampleSettings,
        progress: Progress = no_progress,
    ) -> Predictor:
        from sklearn.compose import TransformedTargetRegressor
        from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        from sklearn.svm import SVC, SVR

        def make() -> Any:
            folds = StratifiedKFold if task.has_classes else KFold
            machine = SVC() if task.has_classes else SVR(epsilon=EPSILON)
            grid = {f"{type(machine).__name__.lower()}__C": list(C)}
            splits = folds(PARTS, shuffle=True, random_state=seed)
            search = GridSearchCV(make_pipeline(StandardScaler(), machine), grid, cv=splits)
            return search if task.has_classes else TransformedTargetRegressor(search, transformer=StandardScaler())

        predict = fit_columns(
            sums(examples, settings.attributes), examples.ys.numpy(), len(examples.classes), task, make
        )
        return lambda new: predict(sums(new, settings.attributes))


def sums(examples: GraphExamples, attributes: bool) -> Float[Array, "graphs d0"]:
    """Return the sum of the signal over the vertices of each graph."""
    graphs = examples.subset
    signal = graphs.signal(attributes=attributes).numpy().astype(np.float64)
    total = np.zeros((len(graphs), signal.shape[1]))
    np.add.at(total, graphs.membership, signal)
    return total
