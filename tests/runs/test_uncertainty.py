"""What a model file holds of a calibration set is restored, or refused in a sentence."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from edgecond.nn.applicability import Applicability
from edgecond.nn.tasks import Classification
from edgecond.nn.tasks.multilabel import Multilabel
from edgecond.nn.tasks.segmentation import Segmentation
from edgecond.runs.uncertainty import Uncertainty
from tests.sentences import mentions


def test_tensors_are_restored():
    held = Uncertainty((np.arange(3.0), np.zeros(0)), Applicability(np.eye(4, dtype=np.float32)))

    restored = Uncertainty.restore(held.tensors, Multilabel(), ["toxic", "soluble"], 4)

    for ours, theirs in zip(restored.scores, held.scores, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(restored.applicability.embeddings, np.eye(4))


def test_the_limits_are_those_of_each_target():
    """By hand: of 0, ..., 8 the largest is needed for 0.9, and of 0, ..., 18 the 18th."""
    held = Uncertainty((np.arange(9.0), np.arange(19.0)))

    assert held.limits(0.9, ["a", "b"]) == [8, 17]


def test_the_coverage_on_a_test_set_is_the_share_of_scores_within_the_limits():
    """By hand: of scores 1 to 99, half are at most 50; the test set has 60 of them and 40 above all."""
    held = Uncertainty((np.arange(1.0, 100),))

    sentence = held.coverage([np.concatenate([np.arange(1.0, 61), np.full(40, 1000.0)])])

    assert "50.00 % for 50 %, 60.00 % for 80 %" in sentence


@pytest.mark.parametrize(
    ("tensors", "facts"),
    [
        ({"calibration.1": torch.zeros(3).double()}, ["must have 1 tensors of calibration scores", "found 1"]),
        ({f"calibration.{k}": torch.zeros(3).double() for k in range(2)}, ["must have 1 tensors", "found 2"]),
        ({"calibration.0": torch.zeros(3)}, ["torch.float64", "(3,) of torch.float32"]),
        ({"calibration.0": torch.zeros(3).bfloat16()}, ["torch.float64", "(3,) of torch.bfloat16"]),
        ({"calibration.0": torch.zeros(3, 1).double()}, ["a list", "(3, 1)"]),
        ({"calibration.0": torch.zeros(1000).double()}, ["at most 999", "(1000,)"]),
        ({"calibration.0": torch.tensor([1.0, 0.5]).double()}, ["ascend"]),
        ({"calibration.0": torch.tensor([-1.0, 0.5]).double()}, ["ascend from 0"]),
        ({"embeddings": torch.zeros(3, 5)}, ["rows of 4 numbers", "(3, 5)"]),
        ({"embeddings": torch.zeros(1, 4)}, ["2 to 1000 rows", "(1, 4)"]),
        ({"embeddings": torch.zeros(1001, 4)}, ["2 to 1000 rows", "(1001, 4)"]),
        ({"embeddings": torch.zeros(3, 4).half()}, ["torch.float32", "torch.float16"]),
        ({"embeddings": torch.zeros(4)}, ["rows of 4", "(4,)"]),
    ],
)
def test_tensors_that_do_not_fit_are_refused(tensors: dict[str, torch.Tensor], facts: list[str]):
    with mentions(*facts, kind=ValueError):
        Uncertainty.restore(tensors, Classification(), ["a", "b"], 4)


def test_vertices_have_no_calibration():
    """Those of one graph are too much alike to be exchangeable."""
    for name, tensor in (("calibration.0", torch.zeros(3).double()), ("embeddings", torch.zeros(3, 4))):
        with mentions(name.partition(".")[0], kind=ValueError):
            Uncertainty.restore({name: tensor}, Segmentation(), ["a", "b"], 4)
