"""What a model file holds beside its networks: scores that bound errors, and embeddings of training examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from torch import from_numpy, Tensor

from edgecond.errors import DataError
from edgecond.nn.applicability import Applicability
from edgecond.nn.applicability import MOST as MOST_EMBEDDINGS
from edgecond.nn.tasks import Task
from edgecond.nn.tasks.conformal import CoverageError, limit, MOST, Scores
from edgecond.nn.tasks.findings import percent
from edgecond.nn.tasks.uncertainty import LEVELS

SCORES, EMBEDDINGS = "calibration.", "embeddings"  # names of tensors


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """How sure the predictions of a model are.

    Attributes:
        scores: Nonconformity scores of a calibration set, which bound the errors of new examples; empty without one.
        applicability: Embeddings of training examples, which new ones are compared with.
    """

    scores: Scores = ()
    applicability: Applicability | None = None

    def limits(self, coverage: float, names: Sequence[str]) -> list[float]:
        """Return the bound of nonconformity for each target, which new examples keep with a probability."""
        if not self.scores:
            raise CoverageError(
                "intervals and sets need a calibration set, which this model was trained without. Train it again with "
                "--calibration 0.1."
            )
        return [limit(scores, coverage, name) for scores, name in zip(self.scores, names, strict=True)]

    @property
    def reference(self) -> Applicability:
        """The training examples that new ones are compared with."""
        if self.applicability is None:
            raise DataError(
                "the distance to the training set needs a model with embeddings of it: this one has none. `edgecond "
                "train` keeps some for your data, where each example has a prediction."
            )
        return self.applicability

    def coverage(self, found: Sequence[Float[np.ndarray, " n"]]) -> str:
        """Return a sentence on how often intervals or sets hold the truth, from the scores of a test set."""
        shares = []
        for level in LEVELS:
            with suppress(CoverageError):  # the calibration set is too small
                limits = self.limits(level, [""] * len(self.scores))
                inside = np.concatenate([new <= bound for new, bound in zip(found, limits, strict=True)])
                shares.append(f"{percent(inside.mean())} % for {100 * level:g} %")
        return f"coverage of intervals or sets: {', '.join(shares) or 'unknown, as the calibration set is too small'}"

    @property
    def tensors(self) -> dict[str, Tensor]:
        """The tensors of a model file."""
        found = {f"{SCORES}{number}": from_numpy(scores) for number, scores in enumerate(self.scores)}
        if self.applicability is not None:
            found[EMBEDDINGS] = from_numpy(self.applicability.embeddings)
        return found

    @staticmethod
    def restore(tensors: Mapping[str, Tensor], task: Task, names: Sequence[str], width: int) -> Uncertainty:
        """Return what the tensors of a file hold; raise a `ValueError` if they do not fit.

        Args:
            tensors: Tensors by name, all of them finite.
            task: What the model predicts.
            names: Name of each output.
            width: Width of the signal before the last layer of the network.
        """
        targets = task.targets(names) if task.calibrates else []
        found = [name for name in tensors if name.startswith(SCORES)]
        expected = [f"{SCORES}{number}" for number in range(len(targets))]
        if found and sorted(found) != sorted(expected):
            raise ValueError(
                f"{task.name} must have {len(targets)} tensors of calibration scores, or none: found {len(found)}."
            )
        scores = tuple(_scores(name, tensors[name]) for name in expected if name in tensors)
        embeddings = tensors.get(EMBEDDINGS)
        return Uncertainty(scores, None if embeddings is None else _applicability(embeddings, task, width))


def _scores(name: str, tensor: Tensor) -> np.ndarray:
    """Return scores, which are not negative and ascend."""
    scores = tensor.numpy() if str(tensor.dtype) == "torch.float64" else np.zeros(0, bool)
    if scores.dtype != np.float64 or scores.ndim != 1 or len(scores) > MOST:
        raise ValueError(
            f"{name} must be a list of at most {MOST} numbers of torch.float64: found {tuple(tensor.shape)} of "
            f"{tensor.dtype}."
        )
    if (scores < 0).any() or (np.diff(scores) < 0).any():
        raise ValueError(f"{name} must be scores that ascend from 0: they do not.")
    return scores


def _applicability(tensor: Tensor, task: Task, width: int) -> Applicability:
    shape, kind = tuple(tensor.shape), str(tensor.dtype)
    fits = len(shape) == 2 and 2 <= shape[0] <= MOST_EMBEDDINGS and shape[1] == width and not task.per_vertex
    if not fits or kind != "torch.float32":
        raise ValueError(
            f"{EMBEDDINGS} must be 2 to {MOST_EMBEDDINGS} rows of {width} numbers of torch.float32, for a prediction "
            f"for each example: found {shape} of {kind}."
        )
    return Applicability(tensor.numpy())
