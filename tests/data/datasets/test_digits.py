"""Scikit-learn's digits as clouds that the MNIST network can see."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from edgecond.data.datasets import load


def test_every_digit_is_tested_in_exactly_one_fold():
    """1,797 digits; the images are put back together from the clouds and compared with scikit-learn's as a set."""
    tests = [load("digits", fold)[1] for fold in range(5)]

    found = np.concatenate([np.stack([cloud.signal[:, 0].numpy() * 16 for cloud, _ in part]) for part in tests])
    expected = load_digits().data
    assert found.shape == (1797, 64)
    assert sorted(map(tuple, found.astype(int))) == sorted(map(tuple, expected.astype(int)))


def test_training_and_test_digits_are_stratified():
    """A fifth of each class, rounded, is tested."""
    for fold in range(5):
        train, test = load("digits", fold)
        assert len(train) + len(test) == 1797
        counts = train.ys.bincount() + test.ys.bincount()
        assert ((test.ys.bincount() - counts / 5).abs() < 1).all()


def test_pixels_keep_their_places():
    """The first digit is a 0, and its image that of scikit-learn; y counts rows and x columns, two units apart."""
    image = torch.tensor(load_digits().images[0] / 16)
    _, test = load("digits", 0)
    cloud, y = test[0]

    columns, rows = (cloud.positions[:, axis].long() // 2 for axis in (0, 1))
    assert y == 0
    torch.testing.assert_close(cloud.signal[:, 0].double(), image[rows, columns])
    assert cloud.positions.amax(0).tolist() == [14, 14, 0]


@pytest.mark.parametrize(("spacing", "neighbours"), [(2.0, 9), (3.5, 1)])
def test_the_first_radius_of_the_mnist_network_reaches_the_diagonal(spacing: float, neighbours: int):
    """Section 4.4: ρ = 2.9. Eight neighbours and the pixel itself; at the size of MNIST's images, itself alone."""
    cloud = load("digits", spacing=spacing)[0].clouds[0]

    within = (torch.cdist(cloud.positions, cloud.positions) <= 2.9).sum(1)
    assert int(within[27]) == neighbours  # row 3, column 3


def test_sparse_digits_have_no_black_pixels():
    _, test = load("digits", 1, sparse=True)

    assert all(bool((cloud.signal > 0).all()) for cloud, _ in test)


def test_the_same_digits_have_the_same_digest():
    assert load("digits", 0)[0].digest == load("digits", 3)[1].digest
