"""The kind of data and the samples that a recipe asks for."""

from edgecond.runs.recipe import find
from edgecond.runs.sampling import kind_for, sample_settings


def test_the_input_graph_of_a_recipe_decides_between_clouds_and_graphs():
    assert [kind_for(find(row)).name for row in ("sydney/ecc", "nci1/ecc")] == ["clouds", "graphs"]


def test_resolution_radius_and_augmentation_are_those_of_the_recipe():
    """Section 4.1: a grid of 10 cm and neighbours within 20 cm; general graphs have neither."""
    sydney, nci1 = (sample_settings(find(row)) for row in ("sydney/ecc", "nci1/ecc"))

    assert (sydney.resolution, sydney.radius, nci1.resolution, nci1.radius) == (0.1, 0.2, None, None)
    assert sydney.augment["rotate"]
    assert nci1.augment == {}
