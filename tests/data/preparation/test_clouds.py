"""Clouds are augmented for training and rotated for views; one-hot labels need their offsets."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from edgecond.data.points import labelled
from edgecond.data.preparation import CloudPreparation, SampleSettings
from edgecond.data.shape import SHARES
from edgecond.graph import Cloud
from edgecond.notation import Architecture

SETTINGS = SampleSettings(
    "shapes", Architecture("C(4)-MP(2,4)-C(4)-GAP-FC(2)"), "cartesian", resolution=1.0, radius=1.5
)


def grid() -> Cloud:
    side = torch.arange(4.0)
    positions = torch.cartesian_prod(side, side, torch.zeros(1))
    return Cloud(positions, torch.ones(len(positions), 1))


EXAMPLES = labelled([grid(), grid()], torch.tensor([0, 1]), ["a", "b"])


def test_views_are_rotations_about_the_up_axis():
    """Half a turn of a square grid is the grid; the offsets of its edges are the same set."""
    preparation = CloudPreparation.fit(SETTINGS, EXAMPLES)

    first, half = (preparation.view(EXAMPLES, number, 2).sample([0], 0) for number in (0, 1))

    sorted_labels = [
        sample.pyramid.graphs[0].labels.values.double().round(decimals=4).unique(dim=0) for sample in (first, half)
    ]
    torch.testing.assert_close(*sorted_labels)


def test_vectors_turn_with_the_points_where_the_settings_name_them():
    """A quarter turn takes the normal (1, 0) to (0, 1); models of before, whose settings name none, keep columns."""
    cloud = Cloud(grid().positions, torch.tensor([[5.0, 1, 0]]).repeat(16, 1))
    examples = labelled([cloud, cloud], torch.tensor([0, 1]), ["a", "b"])
    options = {"columns": ["intensity", "nx", "ny"]}
    plain = replace(SETTINGS, options=options, augment={"rotate": True, "scale": 1.5, "mirror": 0, "drop": 0})
    turning = replace(plain, options=options | {"vectors": [["nx", "ny"]]})

    before, after = (CloudPreparation.fit(settings, examples) for settings in (plain, turning))

    for preparation, expected in (before, [5.0, 1, 0]), (after, [5.0, 0, 1]):
        x = preparation.view(examples, 1, 4).sample([0], 0).x
        torch.testing.assert_close(x, torch.tensor([expected]).repeat(len(x), 1), atol=1e-6, rtol=0)
        assert preparation.turned(cloud, 1, 4).signal[0].round().tolist() == expected
    x = after.training(examples, 0).sample([0], 0).x
    assert x[0, 1] != 1
    torch.testing.assert_close(x[:, 1:].norm(dim=1), torch.ones(len(x)))


def test_training_clouds_are_augmented_only_where_the_settings_say_so():
    plain = CloudPreparation.fit(SETTINGS, EXAMPLES).training(EXAMPLES, 0)

    torch.testing.assert_close(plain.sample([0], 0).x, plain.sample([0], 1).x)
    assert plain.augment is None


def test_the_offsets_of_one_hot_labels_are_restored_from_the_file():
    """A grid with a radius of 1.5 has 9 offsets at its first level, the point itself among them."""
    settings = SampleSettings("grid", Architecture("C(4)-GAP-FC(2)"), "one-hot", resolution=1.0, radius=1.5)
    preparation = CloudPreparation.fit(settings, EXAMPLES)

    restored = CloudPreparation.restore(settings, dict(preparation.tensors))

    assert len(preparation.tensors["offsets.0"]) == 9
    assert torch.equal(restored.tensors["offsets.0"], preparation.tensors["offsets.0"])
    with pytest.raises(ValueError, match="one-hot labels need a table of offsets"):
        CloudPreparation.restore(settings, {})


def sized(side: float) -> Cloud:
    cloud = grid()
    return Cloud(cloud.positions * side, cloud.signal)


SIZES = labelled([sized(1.0), sized(3.0)], torch.tensor([0, 1]), ["small", "large"])
WITH_SHAPES = replace(SETTINGS, shape=True)


def test_the_features_of_clouds_are_their_standardised_shapes():
    """By hand: of two clouds, each length is one standard deviation below or above the mean; nothing else differs."""
    preparation = CloudPreparation.fit(WITH_SHAPES, SIZES)

    features = preparation.view(SIZES, 0, 1).sample([0, 1], 0).features

    lengths = [*(f"principal deviation {n}" for n in (2, 3)), *(f"horizontal deviation {n}" for n in (1, 2))]
    assert preparation.feature_names == (*lengths, *(f"distance {share} %" for share in SHARES))
    torch.testing.assert_close(features, torch.tensor([[-1.0], [1.0]]).expand(2, 9))
    assert CloudPreparation.fit(SETTINGS, SIZES).view(SIZES, 0, 1).sample([0], 0).features is None


def test_the_units_of_shapes_are_restored_from_the_file_and_kept_by_a_start():
    preparation = CloudPreparation.fit(WITH_SHAPES, SIZES)
    others = labelled([sized(1.0), sized(9.0)], torch.tensor([0, 1]), ["small", "large"])

    restored = CloudPreparation.restore(WITH_SHAPES, {}, preparation.encoding)
    continued = CloudPreparation.fit(WITH_SHAPES, others, start=preparation)

    for each in (restored, continued):
        features = each.view(SIZES, 0, 1).sample([1], 0).features
        torch.testing.assert_close(features, torch.ones(1, 9))
