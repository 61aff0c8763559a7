"""Estimators in the manner of scikit-learn: they fit, predict, search, cross-validate, pickle and save."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import joblib
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_val_score, GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags

from edgecond import Architecture, EdgeCondClassifier, EdgeCondRegressor
from edgecond.cli import app
from edgecond.data import points
from edgecond.data.folder import point_spacing
from edgecond.data.preparation import GraphPreparation
from edgecond.errors import CheckpointError
from edgecond.runs import run as experiment
from edgecond.runs import user_data
from edgecond.runs.recipe import changed
from tests.estimator.data import arrays, KINDS, LENGTHS, molecules, rings_and_paths, shapes, SMALL, small, SMILES
from tests.sentences import refused

# Learning


def test_probabilities_sum_to_one_and_the_largest_names_the_class_in_its_own_type(data):
    X, y = data

    found = small().fit(X, y)
    probabilities, predicted = found.predict_proba(X), found.predict(X)

    assert found.classes_.tolist() == sorted(set(y.tolist()))
    assert predicted.dtype == y.dtype
    np.testing.assert_allclose(probabilities.sum(1), 1, atol=1e-6)
    np.testing.assert_array_equal(predicted, found.classes_[probabilities.argmax(1)])
    assert found.score(X, y) == np.mean(predicted == y)
    assert [epoch["epoch"] for epoch in found.history_] == [1, 2]


def test_oxygen_tells_alcohols_from_alkanes():
    """The signal of a vertex names its element, so one convolution suffices."""
    found = small(epochs=40, batch_size=10, settings={"sparsifications": 1}).fit(SMILES, KINDS)

    assert found.predict(["CCCCCCCCCCCCCC", "CC(C)CO"]).tolist() == ["alkane", "alcohol"]


def test_it_is_what_a_run_of_the_same_recipe_and_seed_learns(tmp_path: Path):
    """The other route: `experiment.train` in a directory, on examples of the same clouds."""
    X, y = shapes()
    examples = points.labelled(X, torch.from_numpy(y), ("0", "1"))
    derived = for_clouds("clouds", examples, point_spacing(X), dataset="folder")
    recipe = changed(of_length(derived, 2), {"network": SMALL})
    model = experiment.train(recipe, seed=5, directory=tmp_path, parts=(examples, examples)).model

    found = small(random_state=5).fit(X, y)

    np.testing.assert_array_equal(found.predict_proba(X), model.outputs_per_view(examples)[0])


def test_graphs_too_are_learned_as_in_a_run(tmp_path: Path):
    """Without a coarse level nothing is drawn for the graphs, and the two routes are the same."""
    X, y = rings_and_paths()
    found = small(random_state=5).fit(X, y)
    examples = found._form.examples(X, y.astype(int), ("no", "yes"))

    model = experiment.train(found.recipe_, seed=5, directory=tmp_path, parts=(examples, examples)).model

    np.testing.assert_array_equal(found.predict_proba(X), np.mean(model.outputs_per_view(examples), axis=0))


def test_settings_are_derived_as_the_command_line_derives_them(tmp_path: Path):
    table = tmp_path / "molecules.csv"
    table.write_text("smiles,length\n" + "".join(f"{s},{n + 0.5}\n" for s, n in zip(SMILES, LENGTHS, strict=True)))
    other = user_data.read(table, target=["length"], epochs=1).recipe

    found = EdgeCondRegressor(epochs=1, random_state=0).fit(SMILES, LENGTHS)

    assert found.recipe_ == other.model_copy(update={"name": "molecules"})


def test_a_network_may_be_given_as_text_or_as_an_architecture():
    one, other = (small(network=network).fit(SMILES, KINDS) for network in (SMALL, Architecture(SMALL)))

    np.testing.assert_array_equal(one.predict_proba(SMILES), other.predict_proba(SMILES))


def test_a_clone_learns_the_same_and_another_seed_something_else(data):
    X, y = data
    one = small().fit(X, y)

    again, other = clone(one).fit(X, y), clone(one).set_params(random_state=1).fit(X, y)

    np.testing.assert_array_equal(one.predict_proba(X), again.predict_proba(X))
    assert not np.array_equal(one.predict_proba(X), other.predict_proba(X))


def test_rows_are_predicted_alike_in_any_order_and_any_company():
    """scikit-learn asks it of every estimator; the draws for a graph must not depend on its place in X."""
    X = [f"{'C' * n}1{'C' * n}C({'C' * n}O)CC1" for n in range(2, 10)]
    found = molecules().fit(SMILES, KINDS)
    expected = found.predict_proba(X)

    backwards, alone = found.predict_proba(X[::-1])[::-1], [found.predict_proba([x])[0] for x in X]

    np.testing.assert_allclose(backwards, expected, rtol=1e-5)
    np.testing.assert_allclose(alone, expected, rtol=1e-5)


def test_pyramids_of_rows_in_memory_leave_nothing_in_the_cache(cache: Path, tmp_path: Path):
    found = molecules().fit(SMILES, KINDS)
    found.save(tmp_path / "model.safetensors")

    EdgeCondClassifier.load(tmp_path / "model.safetensors").predict(SMILES)

    assert not cache.exists()


def test_looks_are_averaged_orientations():
    """Section 4.2: several orientations of each cloud; that of the first is the cloud itself."""
    X, y = arrays()
    found = small(views=3).fit(X, y)

    each = [found.model_.scores(found._form.unknown(X), 3)[look] for look in range(3)]

    np.testing.assert_allclose(found.predict_proba(X), sum(each) / 3)
    assert not np.array_equal(each[0], each[1])


def test_balanced_classes_weigh_as_scikit_learn_says():
    """n / (classes * count): of 15 and 5 rows 20 / 30 and 20 / 10."""
    y = np.repeat(["many", "few"], [15, 5])

    balanced, equal, derived = (
        small(epochs=1, class_weight=how).fit(SMILES, y).model_.objective.weights for how in ("balanced", None, "auto")
    )

    np.testing.assert_allclose(balanced, [2, 2 / 3])
    assert equal == ()
    assert derived == ()  # three times as many are not yet too many


# Quantities


def test_quantities_come_back_in_their_shape_and_near_their_mean():
    """Numbers around 1000 are predicted around 1000 after a step or two: they are learned in deviations."""
    one = EdgeCondRegressor(network="C(4)-GAP-FC(1)", epochs=1, random_state=0).fit(SMILES, 1000 + LENGTHS)
    column = clone(one).fit(SMILES, 1000 + LENGTHS[:, None])
    table = clone(one).set_params(network=SMALL).fit(SMILES, np.stack([LENGTHS, -LENGTHS], 1))

    assert one.predict(SMILES).shape == (20,)
    assert column.predict(SMILES).shape == (20, 1)
    assert table.predict(SMILES).shape == (20, 2)
    assert (abs(one.predict(SMILES) - 1000) < 100).all()


def test_a_regressor_learns_the_size_of_clouds():
    X, _ = arrays()
    y = np.linspace(1, 3, len(X))
    X = [scale * array for scale, array in zip(y, X, strict=True)]
    found = EdgeCondRegressor(network="C(8)-GAP-FC(1)", epochs=40, batch_size=6, learning_rate=0.03, random_state=0)
    found.set_params(settings={"augment.scale": 1.0})

    assert found.fit(X, y).score(X, y) > 0.5


def test_what_is_unknown_is_neither_learned_nor_scored():
    y = np.stack([LENGTHS, -LENGTHS], 1)
    y[::2, 1] = np.nan
    found = EdgeCondRegressor(network=SMALL, epochs=1, random_state=0).fit(SMILES, y)

    predicted = found.predict(SMILES)

    expected = r2_score(y[:, 0], predicted[:, 0]), r2_score(y[1::2, 1], predicted[1::2, 1])
    assert found.score(SMILES, y) == pytest.approx(np.mean(expected))
    known = np.stack([LENGTHS, -LENGTHS], 1)
    assert found.score(SMILES, known) == pytest.approx(r2_score(known, predicted))
    known[:, 1] = np.nan
    assert found.score(SMILES, known) == pytest.approx(r2_score(LENGTHS, predicted[:, 0]))
    with refused("y must have a column for each of 2 that were learned: it has 1."):
        found.score(SMILES, LENGTHS)


# Tools of scikit-learn


def test_it_can_be_cross_validated():
    scores = cross_val_score(small(epochs=1), SMILES, KINDS, cv=2)

    assert scores.shape == (2,)
    assert ((scores >= 0) & (scores <= 1)).all()


def test_a_grid_search_sets_epochs_and_rate():
    X, y = rings_and_paths()
    search = GridSearchCV(
        small(), {"epochs": np.array([1, 2]), "learning_rate": [0.01, 0.1]}, cv=2, error_score="raise"
    )

    search.fit(X, y)

    assert len(search.cv_results_["mean_test_score"]) == 4
    assert search.best_estimator_.recipe_.train.epochs == search.best_params_["epochs"]
    assert search.predict(X).dtype == bool


def test_it_ends_a_pipeline_and_takes_a_column():
    """A step before it may return a column of objects, (n, 1)."""
    upper = FunctionTransformer(lambda X: np.array([smiles.upper() for smiles in X], object)[:, None])

    found = make_pipeline(upper, small()).fit([smiles.lower() for smiles in SMILES], KINDS)

    np.testing.assert_array_equal(found.predict(["cco"]), small().fit(SMILES, KINDS).predict(["CCO"]))


def test_a_fitted_one_is_pickled_and_stays_the_same(data, tmp_path: Path):
    X, y = data
    found = small().fit(X, y)
    joblib.dump(found, tmp_path / "found.joblib")

    for again in (joblib.load(tmp_path / "found.joblib"), pickle.loads(pickle.dumps(found))):
        np.testing.assert_array_equal(again.predict_proba(X), found.predict_proba(X))


def test_tags_tell_what_it_takes():
    classifier, regressor = get_tags(EdgeCondClassifier()), get_tags(EdgeCondRegressor())

    assert not classifier.input_tags.two_d_array
    assert classifier.input_tags.string
    assert classifier.target_tags.required
    assert (classifier.estimator_type, regressor.estimator_type) == ("classifier", "regressor")
    assert regressor.target_tags.multi_output


# Files


def test_a_file_brings_back_predictions_classes_and_parameters(data, tmp_path: Path):
    X, y = data
    found = small(batch_size=np.int64(7)).fit(X, y)

    found.save(tmp_path / "model.safetensors")
    again = EdgeCondClassifier.load(tmp_path / "model.safetensors")

    np.testing.assert_array_equal(again.predict_proba(X), found.predict_proba(X))
    assert again.classes_.dtype == found.classes_.dtype
    assert again.get_params() == found.get_params()
    assert again.history_ == found.history_
    assert getattr(again, "n_features_in_", None) == getattr(found, "n_features_in_", None)


def test_a_file_of_quantities_brings_back_their_shape(tmp_path: Path):
    found = EdgeCondRegressor(network="C(4)-GAP-FC(1)", epochs=1, random_state=0).fit(SMILES, LENGTHS)
    found.save(tmp_path / "model.safetensors")

    again = EdgeCondRegressor.load(tmp_path / "model.safetensors")

    np.testing.assert_array_equal(again.predict(SMILES), found.predict(SMILES))
    with refused(
        f"{tmp_path / 'model.safetensors'} must be a model of classes or answers for EdgeCondClassifier: it is one of "
        "quantities.",
        CheckpointError,
    ):
        EdgeCondClassifier.load(tmp_path / "model.safetensors")


def test_the_command_line_and_the_estimator_read_each_others_models(tmp_path: Path):
    from typer.testing import CliRunner

    table, run = tmp_path / "molecules.csv", tmp_path / "run"
    table.write_text("smiles,kind\n" + "".join(f"{s},{kind}\n" for s, kind in zip(SMILES, KINDS, strict=True)))
    words = ["train", str(table), "--target", "kind", "--epochs", "1", "--out", str(run), "--set", f"network={SMALL}"]
    assert CliRunner().invoke(app, words).exit_code == 0

    predicted = EdgeCondClassifier.load(run).predict(SMILES)
    EdgeCondClassifier.load(run).save(tmp_path / "model.safetensors")
    told = CliRunner().invoke(app, ["predict", str(tmp_path / "model.safetensors"), str(table)])

    assert [line.split(",")[3] for line in told.stdout.splitlines()[1:]] == predicted.tolist()


def test_a_model_that_no_estimator_has_saved_is_read_if_it_tells_enough(tmp_path: Path):
    """Of clouds and graphs it does; of graphs an older one does not say which labels it has learned."""
    path, (X, y) = tmp_path / "model.safetensors", arrays()
    clouds, graphs = small().fit(X, y), small().fit(*rings_and_paths())

    clouds.model_.save(path)
    np.testing.assert_array_equal(EdgeCondClassifier.load(path).predict_proba(X), clouds.predict_proba(X))

    graphs.model_.save(path)
    X, _ = rings_and_paths()
    np.testing.assert_array_equal(EdgeCondClassifier.load(path).predict_proba(X), graphs.predict_proba(X))

    replace(graphs.model_, preparation=GraphPreparation(graphs.recipe_)).save(path)
    with refused(
        "a model must say which labels of graphs it has learned: graphs is of an older edgecond, and does not. "
        "Train it again.",
        CheckpointError,
    ):
        EdgeCondClassifier.load(path)

    replace(clouds.model_, recipe=changed(clouds.recipe_, {"input.edges": "mesh"})).save(path)
    with refused(
        "an estimator takes no meshes: clouds is a model of them, for `edgecond predict`.",
        CheckpointError,
    ):
        EdgeCondClassifier.load(path)
