"""A model file alone tells classes apart; what is no such file is the matter of test_model_files.py."""

import numpy as np
import pytest
import torch

from edgecond.data import datasets
from edgecond.data.graphs import GraphExamples
from edgecond.errors import DataError, RecipeError
from edgecond.nn.checkpoint import load_checkpoint
from edgecond.notation import Architecture
from edgecond.runs.model import Model
from edgecond.runs.recipe import find
from tests.pyramids import random_graphs
from tests.sentences import refused


@pytest.fixture(params=["synthetic/ecc", "digits/ecc", "one-hot"])
def model_and_test(request):
    """Models of clouds, of images, and one that carries offsets."""
    recipe = find("digits/ecc" if request.param == "one-hot" else request.param)
    if request.param == "one-hot":
        recipe = recipe.model_copy(update={"labels": "one-hot", "hidden": ()})
    train, test = datasets.load(recipe.dataset)
    return Model.new(recipe, train, 0), test.take(range(12))


def test_a_model_that_was_saved_and_read_gives_the_same_scores(model_and_test, tmp_path):
    model, test = model_and_test
    expected = model.outputs_per_view(test)[0]

    model.save(tmp_path / "model.safetensors")
    found = Model.load(tmp_path)

    assert found.classes == test.classes
    np.testing.assert_array_equal(found.outputs_per_view(test)[0], expected)


def test_looks_are_the_clouds_turned(tmp_path):
    recipe = find("synthetic/ecc").model_copy(update={"labels": "irz-all"})
    train, test = datasets.load("synthetic", train=6, test=6, points=100)
    model = Model.new(recipe, train, 0)

    views = model.outputs_per_view(test, views=3)

    assert len(views) == 3
    assert not np.array_equal(views[0], views[1])  # the grid does not turn with the cloud
    np.testing.assert_allclose([view.sum(1) for view in views], 1)


def test_a_seed_draws_the_parameters_and_leaves_the_global_state_alone():
    train, _ = datasets.load("synthetic", train=6, test=6, points=50)
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)

    one, two, other = (Model.new(find("synthetic/ecc"), train, seed).network.state_dict() for seed in (4, 4, 5))

    assert all(torch.equal(one[name], two[name]) for name in one)
    assert any(not torch.equal(one[name], other[name]) for name in one)
    assert torch.equal(torch.rand(1), expected)


def test_a_model_says_how_it_was_made(tmp_path):
    train, _ = datasets.load("synthetic", train=6, test=6, points=50)
    Model.new(find("synthetic/ecc"), train, 9).save(tmp_path / "model.safetensors")

    about = load_checkpoint(tmp_path / "model.safetensors")[1]["model"]

    assert about["seed"] == 9
    assert about["data"] == train.digest
    assert about["recipe"]["network"] == str(find("synthetic/ecc").network)
    assert about["versions"]["torch"] == torch.__version__


def test_a_network_without_an_output_for_each_class_is_refused():
    train, _ = datasets.load("synthetic", train=6, test=6, points=50)
    recipe = find("synthetic/ecc").model_copy(update={"network": Architecture("C(4)-GAP-FC(5)")})

    with refused(
        "a network must end with an output for each of sphere, cube, cylinder, cone, torus, plane: "
        "C(4)-GAP-FC(5) has 5. End it with FC(6).",
        RecipeError,
    ):
        Model.new(recipe, train, 0)


@pytest.fixture
def graphs(tmp_path, monkeypatch):
    monkeypatch.setenv("EDGECOND_CACHE", str(tmp_path / "cache"))
    recipe = find("nci1/ecc").model_copy(update={"network": Architecture("C(4)-MP-C(5)-GAP-FC(2)")})
    examples = GraphExamples(random_graphs([9, 12, 1, 20, 7, 15]), np.arange(6))
    return Model.new(recipe, examples, 0), examples


def test_a_model_of_graphs_that_was_saved_and_read_gives_the_same_scores(graphs, tmp_path):
    """Five views: one for each sparsification."""
    model, examples = graphs
    expected = model.outputs_per_view(examples)

    model.save(tmp_path / "model.safetensors")
    found = Model.load(tmp_path)

    assert (found.widths, found.classes) == ((4, (4, 1)), ("0", "1"))
    assert len(expected) == 5
    np.testing.assert_array_equal(found.outputs_per_view(examples), expected)
    assert not np.array_equal(expected[0], expected[1])


def test_a_model_of_graphs_learns_from_all_sparsifications_and_knows_their_digest(graphs):
    model, examples = graphs

    batches = model.batches(examples, seed=0)

    assert len(batches.source) == 30
    assert model.about["pyramids"] == batches.source.pyramids.digest


def test_a_graph_has_no_more_looks_than_sparsifications(graphs):
    model, examples = graphs
    with refused(
        "a graph has 5 sparsifications to look at in nci1/ecc: got 6 views. Ask for at most as many.", DataError
    ):
        model.outputs_per_view(examples, views=6)
