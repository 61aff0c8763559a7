"""Clouds are augmented for training and rotated for views; one-hot labels need their offsets."""

from __future__ import annotations

import pytest
import torch

from edgecond.data.points import labelled
from edgecond.data.preparation import CloudPreparation, SampleSettings
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
