"""Dropout by the gaps between zeros is dropout."""

import math

import pytest
import torch

from edgecond.nn.dropout import Dropout, dropout_mask


@pytest.mark.parametrize("p", [0.05, 0.2, 0.5, 0.9])
def test_elements_are_dropped_independently_with_the_given_probability(p: float):
    """Binomial: of n elements, and of n pairs at distance 1 or 48, a share p and p^2 within five deviations."""
    torch.manual_seed(0)
    dropped = dropout_mask((20_000, 48), p, torch.float).view(-1) == 0
    n = len(dropped)

    assert abs(int(dropped.sum()) - p * n) < 5 * math.sqrt(n * p * (1 - p))
    for distance in (1, 48):
        pairs = int((dropped[distance:] & dropped[:-distance]).sum())
        assert abs(pairs - p**2 * n) < 5 * math.sqrt(3 * n * p**2)


def test_the_first_and_the_last_element_are_dropped_as_often_as_others():
    torch.manual_seed(0)
    dropped = torch.stack([dropout_mask((7,), 0.3, torch.float) == 0 for _ in range(4000)]).double().mean(0)

    torch.testing.assert_close(dropped, torch.full((7,), 0.3).double(), atol=5 * math.sqrt(0.21 / 4000), rtol=0)


def test_what_remains_is_scaled_so_that_the_mean_stays():
    """By hand: 1 / (1 - 0.2) = 1.25; all is zero for p = 1, and nothing for p = 0 or in evaluation."""
    x = torch.ones(50, 4)

    assert Dropout(0.2)(x).unique().tolist() == [0, 1.25]
    assert Dropout(1.0)(x).unique().tolist() == [0]
    assert Dropout(0.0)(x) is x
    assert Dropout(0.2).eval()(x) is x


def test_the_gradient_is_zero_where_the_signal_was_dropped():
    x = torch.randn(50, 4, requires_grad=True)
    out = Dropout(0.5)(x)

    out.sum().backward()

    torch.testing.assert_close(x.grad, torch.where(out == 0, 0.0, 2.0))


def test_the_gradient_has_a_gradient():
    """Dropout is linear: as torch checks it, with the same zeros whenever they are drawn."""
    x = torch.randn(6, 4, dtype=torch.double, requires_grad=True)

    def dropped(x: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(0)
        return Dropout(0.5)(x)

    assert torch.autograd.gradcheck(dropped, x)
    assert torch.autograd.gradgradcheck(dropped, x)


def test_the_mask_has_the_zeros_of_the_layer():
    """Which processes that train as one rely on."""
    torch.manual_seed(1)
    dropped = Dropout(0.3)(torch.ones(30, 5))
    torch.manual_seed(1)

    assert dropout_mask((30, 5), 0.3, torch.float).equal(dropped)


def test_a_seed_draws_the_same_mask_again_and_an_empty_signal_needs_none():
    torch.manual_seed(3)
    one = Dropout(0.5)(torch.ones(9, 9))
    torch.manual_seed(3)

    assert Dropout(0.5)(torch.ones(9, 9)).equal(one)
    assert Dropout(0.5)(torch.ones(0, 9)).shape == (0, 9)
