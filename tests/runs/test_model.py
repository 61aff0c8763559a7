"""Models predict the same after saving and loading; damaged files are in test_model_files.py."""

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
from tests.sentences import mentions


@pytest.fixture(params=["synthetic/ecc", "digits/ecc", "one-hot"])
def model_and_test(request):
    """Models of clouds, of images, and of images with one-hot labels, whose file holds the offsets."""
    recipe = find("digits/ecc" if request.param == "one-hot" else request.param)
    if request.param == "one-hot":
        recipe = recipe.model_copy(update={"labels": "one-hot", "hidden": ()})
    train, test = datasets.load(recipe.dataset)
    return Model.new(recipe, train, 0), test.take(range(12))


def test_a_model_predicts_the_same_after_saving_and_loading(model_and_test, tmp_path):
    model, test = model_and_test
    expected = model.outputs_per_view(test)[0]

    model.save(tmp_path / "model.safetensors")
    restored = Model.load(tmp_path)

    assert restored.classes == test.classes
    np.testing.assert_array_equal(restored.outputs_per_view(test)[0], expected)


def test_views_are_rotated_clouds():
    recipe = find("synthetic/ecc").model_copy(update={"labels": "irz-all"})
    train, test = datasets.load("synthetic", train=6, test=6, points=100)
    model = Model.new(recipe, train, 0)

    views = model.outputs_per_view(test, views=3)

    assert len(views) == 3
    assert not np.array_equal(views[0], views[1])  # the grid is not rotated with the cloud
    np.testing.assert_allclose([view.sum(1) for view in views], 1)


def test_a_seed_determines_the_parameters_and_the_global_random_state_is_untouched():
    train, _ = datasets.load("synthetic", train=6, test=6, points=50)
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)

    one, two, other = (Model.new(find("synthetic/ecc"), train, seed).network.state_dict() for seed in (4, 4, 5))

    assert all(torch.equal(one[name], two[name]) for name in one)
    assert any(not torch.equal(one[name], other[name]) for name in one)
    assert torch.equal(torch.rand(1), expected)


def test_a_model_file_holds_seed_data_digest_recipe_and_versions(tmp_path):
    train, _ = datasets.load("synthetic", train=6, test=6, points=50)
    Model.new(find("synthetic/ecc"), train, 9).save(tmp_path / "model.safetensors")

    about = load_checkpoint(tmp_path / "model.safetensors")[1]["model"]

    assert about["seed"] == 9
    assert about["data"] == train.digest
    assert about["recipe"]["network"] == str(find("synthetic/ecc").network)
    assert about["versions"]["torch"] == torch.__version__


def test_a_network_must_have_an_output_for_each_class():
    train, _ = datasets.load("synthetic", train=6, test=6, points=50)
    recipe = find("synthetic/ecc").model_copy(update={"network": Architecture("C(4)-GAP-FC(5)")})

    with mentions("sphere, cube, cylinder, cone, torus, plane", "C(4)-GAP-FC(5) has 5", "FC(6).", kind=RecipeError):
        Model.new(recipe, train, 0)


@pytest.mark.parametrize(
    ("row", "network", "facts"),
    [
        ("synthetic/ecc", "C(4)-V-FC(6)", ["classification", "each graph", "GAP or GMP", "C(4)-V-FC(6)"]),
        ("scenes/ecc", "C(4)-GAP-FC(2)", ["segmentation", "each vertex", "V", "C(4)-GAP-FC(2)"]),
    ],
)
def test_a_network_must_predict_for_what_the_task_is_about(row, network, facts):
    """V is for segmentation and global pooling for the other tasks."""
    recipe = find(row).model_copy(update={"network": Architecture(network)})
    train, _ = datasets.load(recipe.dataset, train=6, test=6)

    with mentions(*facts, kind=RecipeError):
        Model.new(recipe, train, 0)


@pytest.fixture
def graphs(tmp_path, monkeypatch):
    monkeypatch.setenv("EDGECOND_CACHE", str(tmp_path / "cache"))
    recipe = find("nci1/ecc").model_copy(update={"network": Architecture("C(4)-MP-C(5)-GAP-FC(2)")})
    examples = GraphExamples(random_graphs([9, 12, 1, 20, 7, 15]), np.arange(6))
    return Model.new(recipe, examples, 0), examples


def test_a_model_of_graphs_predicts_the_same_after_saving_and_loading(graphs, tmp_path):
    """There are five views, one for each sparsification."""
    model, examples = graphs
    expected = model.outputs_per_view(examples)

    model.save(tmp_path / "model.safetensors")
    restored = Model.load(tmp_path)

    assert (restored.widths, restored.classes) == ((4, (4, 1)), ("0", "1"))
    assert len(expected) == 5
    np.testing.assert_array_equal(restored.outputs_per_view(examples), expected)
    assert not np.array_equal(expected[0], expected[1])


def test_a_model_of_graphs_is_trained_on_all_sparsifications_and_keeps_their_digest(graphs):
    model, examples = graphs

    batches = model.batches(examples, seed=0)

    assert len(batches.source) == 30
    assert model.about["pyramids"] == batches.source.pyramids.digest


def test_a_graph_has_no_more_views_than_sparsifications(graphs):
    model, examples = graphs
    with mentions("nci1/ecc", "at most 5 views", "got 6", "fewer views", kind=DataError):
        model.outputs_per_view(examples, views=6)


def test_rows_in_memory_are_predicted_as_the_same_examples():
    """Clouds have one view by default."""
    train, test = datasets.load("synthetic", train=6, test=6, points=50)
    model = Model.new(find("synthetic/ecc"), train, 0)
    arrays = [torch.cat([cloud.positions, cloud.signal], dim=1).numpy() for cloud in test.clouds]

    np.testing.assert_array_equal(model.predict(arrays), model.outputs(test, 1))
    np.testing.assert_array_equal(model.predict(list(test.clouds), views=2), model.outputs(test, 2))


@pytest.mark.parametrize(
    ("X", "facts"),
    [
        (["CCO"], ["clouds", "row 0", "molecules"]),
        ([], ["empty"]),
        (np.zeros((5, 4)), ["row 0", "shape (4,)"]),
        ([np.ones((5, 3))], ["row 0", "4 columns", "3"]),
    ],
)
def test_rows_unlike_those_of_the_training_set_are_errors(X, facts):
    train, _ = datasets.load("synthetic", train=6, test=6, points=50)

    with mentions(*facts):
        Model.new(find("synthetic/ecc"), train, 0).predict(X)


@pytest.mark.parametrize("views", [0, -1])
def test_at_least_one_view_is_needed(views: int):
    train, test = datasets.load("synthetic", train=6, test=6, points=16)

    with mentions("at least one view", f"got {views}", kind=DataError):
        Model.new(find("synthetic/ecc"), train, 0).predict(list(test.clouds), views=views)


def test_more_views_than_a_thousand_are_refused():
    """A file may ask for any number of them."""
    train, test = datasets.load("synthetic", train=6, test=6, points=50)

    with mentions("synthetic/ecc has at most 1000 views of an example", "got 1001", "fewer", kind=DataError):
        Model.new(find("synthetic/ecc"), train, 0).outputs(test, 1001)
