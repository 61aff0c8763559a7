"""The digits of scikit-learn become clouds that suit the MNIST network."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from edgecond.data.datasets import load


def test_every_digit_is_tested_in_exactly_one_fold():
    """The images of all 1,797 digits, rebuilt from the clouds, are those of scikit-learn as a set."""
    tests = [load("digits", fold)[1] for fold in range(5)]

    images = np.concatenate([np.stack([cloud.signal[:, 0].numpy() * 16 for cloud, _ in part]) for part in tests])
    expected = load_digits().data
    assert images.shape == (1797, 64)
    assert sorted(map(tuple, images.astype(int))) == sorted(map(tuple, expected.astype(int)))


def test_training_and_test_digits_are_stratified():
    """Arithmetic: the test set has a fifth of each class, rounded up or down."""
    for fold in range(5):
        train, test = load("digits", fold)
        assert len(train) + len(test) == 1797
        counts = train.ys.bincount() + test.ys.bincount()
        assert ((test.ys.bincount() - counts / 5).abs() < 1).all()


def test_the_position_of_a_pixel_is_its_column_and_row():
    """Scikit-learn's image of the first digit, a 0; x is the column and y the row, with a spacing of 2."""
    image = torch.tensor(load_digits().images[0] / 16)
    _, test = load("digits", 0)
    cloud, y = test[0]

    columns, rows = (cloud.positions[:, axis].long() // 2 for axis in (0, 1))
    assert y == 0
    torch.testing.assert_close(cloud.signal[:, 0].double(), image[rows, columns])
    assert cloud.positions.amax(0).tolist() == [14, 14, 0]


@pytest.mark.parametrize(("spacing", "neighbours"), [(2.0, 9), (3.5, 1)])
def test_the_first_radius_of_the_mnist_network_includes_diagonal_neighbours(spacing: float, neighbours: int):
    """Section 4.4: ρ = 2.9 gives eight neighbours and the pixel itself; at the size of MNIST's images, itself alone."""
    cloud = load("digits", spacing=spacing)[0].clouds[0]

    within = (torch.cdist(cloud.positions, cloud.positions) <= 2.9).sum(1)
    assert int(within[27]) == neighbours  # row 3, column 3


def test_sparse_digits_have_no_black_pixels():
    _, test = load("digits", 1, sparse=True)

    assert all(bool((cloud.signal > 0).all()) for cloud, _ in test)


def test_the_same_digits_have_the_same_digest():
    assert load("digits", 0)[0].digest == load("digits", 3)[1].digest
