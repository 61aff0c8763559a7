"""What a network learns, by the loss of its outputs: one class of several (the paper), yes or no, or quantities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import nn, Tensor


class Measured(NamedTuple):
    """Sums over the examples of a batch: the loss is `losses / weight`, what people watch is `figure / known`.

    Both are 0 / 0 where nothing is known. Sums of the shares that processes have are the sums of the whole.
    """

    losses: Tensor
    weight: Tensor
    figure: Tensor
    known: Tensor


@dataclass(frozen=True)
class OneClass:
    """One class of several, of graphs or of vertices: cross-entropy (Section 4). A class of -1 is unknown.

    Attributes:
        weights: Of each class in the loss; none for equal ones.
    """

    weights: tuple[float, ...] = ()
    figure: ClassVar[str] = "accuracy"

    def measure(self, scores: Tensor, y: Tensor) -> Measured:
        weights = scores.new_tensor(self.weights) if self.weights else None
        losses = nn.functional.cross_entropy(scores, y, weights, ignore_index=-1, reduction="sum")
        known = y[y >= 0]
        count = scores.new_tensor(len(known))
        weight = count if weights is None else weights[known].sum()
        return Measured(losses, weight, (scores.argmax(1) == y).sum(), count)

    def outputs(self, scores: Tensor) -> Tensor:
        """Probabilities of the classes, which sum to one."""
        return scores.softmax(1)


@dataclass(frozen=True)
class YesOrNo:
    """Several questions about each example, of which some may have no answer: binary cross-entropy of the others."""

    figure: ClassVar[str] = "accuracy"

    def measure(self, scores: Tensor, y: Tensor) -> Measured:
        known = ~y.isnan()
        answers, given = scores[known], y[known].to(scores.dtype)
        losses = nn.functional.binary_cross_entropy_with_logits(answers, given, reduction="sum")
        count = known.sum().to(scores.dtype)
        return Measured(losses, count, ((answers > 0) == (given > 0.5)).sum(), count)

    def outputs(self, scores: Tensor) -> Tensor:
        """The probability of yes for each question."""
        return scores.sigmoid()


@dataclass(frozen=True)
class Quantities:
    """Quantities of each example, of which some may be unknown: squared error, in standard deviations.

    Attributes:
        mean: Of each quantity over the training examples.
        scale: Standard deviation, likewise.
    """

    mean: tuple[float, ...]
    scale: tuple[float, ...]
    figure: ClassVar[str] = "mse"

    def measure(self, scores: Tensor, y: Tensor) -> Measured:
        known, scale = ~y.isnan(), scores.new_tensor(self.scale).expand_as(scores)
        errors = (self.outputs(scores) - y.to(scores.dtype))[known]
        losses = (errors / scale[known]).square().sum()
        count = known.sum().to(scores.dtype)
        return Measured(losses, count, errors.detach().square().sum(), count)

    def outputs(self, scores: Tensor) -> Tensor:
        """The quantities in their own units."""
        return scores.new_tensor(self.mean) + scores.new_tensor(self.scale) * scores


Objective = OneClass | YesOrNo | Quantities
ONE_CLASS = OneClass()
"""That of the paper."""


def balanced(ys: Tensor, classes: int) -> OneClass:
    """One class of several, where the classes together count equally, however rare they are."""
    known = ys[ys >= 0]
    counts = torch.bincount(known, minlength=classes).clamp(min=1)
    return OneClass(tuple((len(known) / (classes * counts)).tolist()))


def standardised(ys: Tensor) -> Quantities:
    """Quantities in units of the mean and the deviation of what is known of them."""
    mean = ys.nanmean(0)
    scale = (ys - mean).square().nanmean(0).sqrt()
    scale = torch.where((scale > 0) & scale.isfinite(), scale, 1.0)
    return Quantities(tuple(mean.nan_to_num().tolist()), tuple(scale.tolist()))
