"""Sums, means and maxima over segments of rows agree with loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from edgecond.graph.segment import segment_max, segment_mean, segment_sum

FUNCTIONS: dict[Callable[..., Tensor], Callable[..., np.ndarray]] = {
    segment_sum: np.sum,
    segment_mean: np.mean,
    segment_max: np.max,
}
every = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)


def by_loop(function: Callable[..., Tensor], values: np.ndarray, index: list[int], count: int) -> np.ndarray:
    out = np.zeros((count, *values.shape[1:]))
    for i in set(index):
        out[i] = FUNCTIONS[function](values[np.array(index) == i], axis=0)
    return out


@every
@settings(deadline=None, max_examples=50)
@given(
    index=st.lists(st.integers(0, 4), max_size=12),
    more=st.integers(0, 3),
    shape=st.sampled_from([(), (1,), (3,), (2, 3)]),
)
def test_a_segment_has_the_value_of_a_loop_over_its_rows(
    function: Callable[..., Tensor], index: list[int], more: int, shape: tuple[int, ...]
):
    """NumPy, one segment at a time; rows in any order, segments empty or not, values of any shape."""
    values = np.random.default_rng(len(index)).normal(size=(len(index), *shape))
    count = max(index, default=-1) + 1 + more

    ours = function(torch.from_numpy(values), torch.tensor(index, dtype=torch.long), count)

    np.testing.assert_allclose(ours.numpy(), by_loop(function, values, index, count), atol=1e-14)


@every
def test_a_segment_without_rows_is_zero(function: Callable[..., Tensor]):
    """A coarse vertex to which no point is nearest does occur; its signal is 0, never -inf or NaN."""
    out = function(torch.full((2, 3), -5.0), torch.tensor([0, 2]), 4)

    assert out[[1, 3]].equal(torch.zeros(2, 3))
    assert out[[0, 2]].equal(torch.full((2, 3), -5.0))


@every
def test_no_rows_at_all_give_zeros(function: Callable[..., Tensor]):
    """Every segment of an empty signal is empty; and there may be none."""
    assert function(torch.empty(0, 3), torch.empty(0, dtype=torch.long), 2).equal(torch.zeros(2, 3))
    assert function(torch.empty(0, 3), torch.empty(0, dtype=torch.long), 0).shape == (0, 3)


@every
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_a_segment_keeps_the_precision_of_its_rows(function: Callable[..., Tensor], dtype: torch.dtype):
    """By hand: -2 and -4 sum to -6, with mean -3 and maximum -2; small integers are exact in every precision."""
    out = function(torch.tensor([-2, -4], dtype=dtype)[:, None], torch.tensor([0, 0]), 1)

    assert out.dtype == dtype
    assert out.item() == {segment_sum: -6, segment_mean: -3, segment_max: -2}[function]


@every
def test_the_gradient_of_a_segment_is_its_numerical_derivative(function: Callable[..., Tensor]):
    """torch's gradcheck: finite differences, with an empty segment among the others."""
    values = torch.randn(6, 2, generator=torch.Generator().manual_seed(0)).double().requires_grad_()
    index = torch.tensor([3, 0, 3, 1, 0, 3])

    assert torch.autograd.gradcheck(lambda v: function(v, index, 5), values)
    assert torch.autograd.gradgradcheck(lambda v: function(v, index, 5), values)


def test_equal_maxima_share_the_gradient():
    """By hand: two of three rows attain the maximum, and each moves half of it."""
    values = torch.tensor([[7.0], [7.0], [1.0]], requires_grad=True)

    segment_max(values, torch.tensor([0, 0, 0]), 1).backward()

    assert values.grad is not None
    assert values.grad.tolist() == [[0.5], [0.5], [0.0]]


def test_a_negative_maximum_is_not_replaced_by_zero():
    """Zero stands for an empty segment only."""
    values = torch.tensor([[-1.0], [-3.0]], requires_grad=True)

    out = segment_max(values, torch.tensor([0, 0]), 2)
    out.sum().backward()

    assert out.tolist() == [[-1.0], [0.0]]
    assert values.grad is not None
    assert values.grad.tolist() == [[1.0], [0.0]]
