"""An ensemble predicts the mean of its networks, and is calibrated by examples that none of them has seen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgecond import EdgeCondRegressor
from edgecond.data import datasets
from edgecond.errors import DataError, RecipeError
from edgecond.nn import evaluation
from edgecond.nn.tasks.conformal import CoverageError
from edgecond.notation import Architecture
from edgecond.runs import ensemble, run, user_data
from edgecond.runs.model import Model
from edgecond.runs.prediction import predicted, Wanted
from edgecond.runs.recipe import find, Recipe, with_settings
from edgecond.runs.run import Interrupted
from tests.sentences import mentions, refused

MEMBERS = 3


def recipe(**changes: Any) -> Recipe:
    settings = {"network": Architecture("C(4)-GAP-FC(6)"), "options": {"train": 60, "test": 12, "points": 16}}
    small = find("synthetic/ecc").model_copy(update=settings)
    return with_settings(small, {"train.epochs": 1, "train.batch_size": 12, **changes})


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, run.Trained]:
    directory = tmp_path_factory.mktemp("ensemble")
    options = {"directory": directory, "seed": 5, "compared": True}
    return directory, ensemble.train(recipe(ensemble=MEMBERS, calibration=0.5), **options)


def test_the_outputs_are_the_mean_of_those_of_the_members_and_the_spread_their_deviation(
    trained: tuple[Path, run.Trained],
):
    """Lakshminarayanan et al. 2017; each member is a model file of its own, without the temperature."""
    directory, result = trained
    members = [Model.load(directory / f"member{k}") for k in range(MEMBERS)]
    each = np.stack([member.outputs(result.test) for member in members])
    plain = replace(result.model, task=replace(result.model.task, temperature=()))

    outputs, spread = plain.outputs_and_spread(result.test)

    assert [member.about["seed"] for member in members] == [5, 6, 7]
    np.testing.assert_allclose(outputs, each.mean(0), atol=1e-12)
    np.testing.assert_allclose(spread, each.std(0, ddof=1), atol=1e-12)
    assert spread.max() > 0


def test_a_temperature_leaves_the_predicted_class(trained: tuple[Path, run.Trained]):
    model, test = trained[1].model, trained[1].test

    assert model.task.temperature != ()
    np.testing.assert_array_equal(model.outputs(test).argmax(1), model.outputs_per_view(test)[0].argmax(1))


def test_the_metrics_of_a_calibrated_model_take_one_pass_over_its_test_set(
    trained: tuple[Path, run.Trained], monkeypatch: pytest.MonkeyPatch
):
    """Predicting is all of their cost, and each view of each example is needed once."""
    model, passes, predict_all = trained[1].model, [], evaluation.predict_all
    monkeypatch.setattr(evaluation, "predict_all", lambda *args: passes.append(args) or predict_all(*args))

    metrics = trained[1].metrics()

    assert len(passes) == model.views()
    assert {"accuracy", "coverage", "train_accuracy"} <= metrics.keys()
    assert {name: metrics[name] for name in model.evaluate(trained[1].test)} == model.evaluate(trained[1].test)


def test_an_ensemble_predicts_the_same_after_saving_and_loading(trained: tuple[Path, run.Trained]):
    directory, result = trained
    model = Model.load(directory)

    for ours, theirs in zip(
        model.outputs_and_spread(result.test), result.model.outputs_and_spread(result.test), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(model.distances(result.test), result.model.distances(result.test))
    assert model.uncertainty.limits(0.9, ["class"]) == result.model.uncertainty.limits(0.9, ["class"])
    assert model.about["calibrated"] == 30


def test_a_training_example_is_at_distance_zero(trained: tuple[Path, run.Trained]):
    """The calibration set is the half that was held out; of the other, the model keeps every embedding."""
    model = Model.load(trained[0])
    examples, _ = datasets.load("synthetic", **model.recipe.options)
    kept, held = ensemble.held_out(examples, 0.5, 5)

    np.testing.assert_allclose(model.distances(kept), 0, atol=1e-4)
    assert (model.distances(held) > 1e-3).all()


def test_a_stopped_ensemble_goes_on_to_the_same_bits(tmp_path: Path):
    """A run is resumed after any step, and so are the members of an ensemble."""
    wanted, steps = recipe(ensemble=2), []

    def stop(step: Any, batches: int, epochs: int) -> bool:
        steps.append(step)
        return len(steps) < 7  # of five steps each

    with pytest.raises(Interrupted, match="member1"):
        ensemble.train(wanted, directory=tmp_path / "stopped", observe=stop)
    resumed = ensemble.train(wanted, directory=tmp_path / "stopped").model
    whole = ensemble.train(wanted, directory=None).model

    for ours, theirs in zip(resumed.networks, whole.networks, strict=True):
        for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
            np.testing.assert_array_equal(one.detach(), other.detach())


def test_a_model_without_a_calibration_set_has_neither_intervals_nor_distances():
    model = ensemble.train(recipe(), directory=None).model

    assert model.members == ()
    with mentions("calibration set", "trained without", "--calibration", kind=CoverageError):
        model.uncertainty.limits(0.9, ["class"])
    with mentions("distance to the training set", "has none", kind=DataError):
        Wanted(model, applicability=True)


def test_a_run_of_one_network_refuses_a_recipe_of_several():
    """Its model file would name more networks than it holds."""
    with mentions("one network", "ensemble of 2", "ensemble.train", kind=RecipeError):
        run.train(recipe(ensemble=2), directory=None)


def test_a_calibration_set_needs_a_prediction_for_each_example():
    segmentation = find("scenes/ecc").model_copy(update={"calibration": 0.1})

    with mentions("calibration", "0.1 for segmentation", kind=RecipeError):
        ensemble.train(segmentation, directory=None)


def test_points_have_no_intervals_and_no_calibration_set(tmp_path: Path):
    """Both are refused in the same words, and before a training starts; there is no advice to calibrate."""
    for number in range(5):
        rows = np.random.default_rng(number).random((30, 4)).round(2)
        rows[:, 3] = rows[:, 0] > 0.5
        np.savetxt(tmp_path / f"{number}.csv", rows, delimiter=",", header="x,y,z,label", comments="")
    dataset = user_data.read(tmp_path, vertices="label")
    model = Model.new(dataset.recipe, dataset.train, 0)

    with refused("coverage is for tasks with a prediction for each example: got 0.9 for segmentation. Leave it out."):
        Wanted(model, coverage=0.9)
    sentence = "calibration is for tasks with a prediction for each example: got 0.2 for segmentation. Leave it out."
    with refused(sentence):
        user_data.read(tmp_path, vertices="label", settings={"calibration": 0.2})


def test_a_calibration_set_has_an_example():
    examples, _ = datasets.load("synthetic", train=6, test=6, points=16)

    with mentions("at least one example", "0.01 of 6", kind=RecipeError):
        ensemble.held_out(examples, 0.01, 0)


# User data


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Chains of carbon with a group, whose number of atoms is to be predicted, in series of five."""
    monkeypatch.setenv("EDGECOND_CACHE", str(tmp_path / "cache"))
    pytest.importorskip("rdkit")
    rows = [
        (f"{'C' * n}{end}", n + k, f"s{n}") for n in range(1, 13) for k, end in enumerate(["", "O", "N", "F", "Cl"])
    ]
    text = "".join(f"{smiles},{size},{series}\n" for smiles, size, series in rows)
    (tmp_path / "chains.csv").write_text("smiles,size,series\n" + text)
    return tmp_path / "chains.csv"


READ = {"target": ("size",), "numbers": True, "settings": {"calibration": 0.25}}


def test_the_calibration_set_is_held_out_of_the_training_set(table: Path):
    dataset = user_data.read(table, **READ)

    assert [len(dataset.train), len(dataset.calibration), len(dataset.test)] == [36, 12, 12]
    parts = [set(part.numbers.tolist()) for part in (dataset.train, dataset.calibration, dataset.test)]
    assert len(set.union(*parts)) == 60
    assert any("12 of the first calibrate the model" in note for note in dataset.notes)


def test_groups_stay_whole_in_the_calibration_set(table: Path):
    """Where the test set has series of its own, so has the calibration set: else its errors would be too small."""
    dataset = user_data.read(table, group="series", **READ)

    series = [set((part.numbers // 5).tolist()) for part in (dataset.train, dataset.calibration, dataset.test)]
    assert not series[0] & series[1]
    assert not series[0] & series[2]
    assert not series[1] & series[2]


def test_an_ensemble_on_user_data_is_calibrated_unless_asked_otherwise(table: Path):
    asked = {"target": ("size",), "numbers": True}

    default = user_data.read(table, settings={"ensemble": 2}, **asked)
    without = user_data.read(table, settings={"ensemble": 2, "calibration": 0}, **asked)

    assert (default.recipe.calibration, len(default.calibration)) == (0.1, 5)
    assert without.calibration is None


def test_too_small_a_share_for_a_calibration_set_is_refused(table: Path):
    """48 examples are in the training set, and a hundredth of them is less than one."""
    with mentions("some of the 48 training examples", "0.01 has 0", kind=DataError):
        user_data.read(table, target=("size",), numbers=True, settings={"calibration": 0.01})


def test_rows_in_memory_get_what_predict_writes(table: Path):
    """Intervals are around the prediction, and wider for more coverage."""
    settings = {"calibration": 0.25, "ensemble": 2, "network": "C(4)-GAP-FC(1)", "train.epochs": 1}
    dataset = user_data.read(table, **READ | {"settings": settings})
    parts = (dataset.train, dataset.test)
    model = ensemble.train(dataset.recipe, directory=None, parts=parts, calibration=dataset.calibration).model
    texts = ["CCO", "CCCCCCC"]

    half, most = (predicted(model, texts, coverage=coverage) for coverage in (0.5, 0.9))

    for one, other, number in zip(half, most, model.predict(texts)[:, 0], strict=True):
        assert list(one) == ["size", "spread", "lower", "upper"]
        assert one["size"] == pytest.approx(number, abs=1e-5)
        assert other["lower"] <= one["lower"] <= number <= one["upper"] <= other["upper"]


def test_an_estimator_takes_an_ensemble_from_its_settings(tmp_path: Path):
    """The settings of a recipe are those of an estimator, too."""
    pytest.importorskip("rdkit")
    texts = ["C" * n for n in range(1, 13)]
    estimator = EdgeCondRegressor(
        network="C(4)-GAP-FC(1)", epochs=1, random_state=0, settings={"ensemble": 2, "calibration": 0.25}
    ).fit(texts, np.arange(12.0))
    estimator.save(tmp_path / "model.safetensors")

    loaded = EdgeCondRegressor.load(tmp_path / "model.safetensors")

    assert len(loaded.model_.networks) == 2
    np.testing.assert_array_equal(loaded.predict(texts), estimator.predict(texts))
