"""The estimators fit, predict, search, cross-validate, pickle and save as scikit-learn's do."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import joblib
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_val_score, GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags

from edgecond import Architecture, EdgeCondClassifier, EdgeCondRegressor
from edgecond.cli import app
from edgecond.data import points
from edgecond.data.kinds import KINDS as KINDS_OF_DATA
from edgecond.data.kinds import UserData
from edgecond.data.preparation import GraphPreparation
from edgecond.errors import CheckpointError
from edgecond.nn.tasks import Classification
from edgecond.runs import run, user_data
from edgecond.runs.recipe import with_epochs, with_settings
from tests.estimator.data import arrays, KINDS, LENGTHS, molecules, rings_and_paths, shapes, SMALL, small, SMILES
from tests.sentences import mentions

# Training


def test_probabilities_sum_to_one_and_predictions_are_classes_in_their_own_type(data):
    X, y = data

    estimator = small().fit(X, y)
    probabilities, predicted = estimator.predict_proba(X), estimator.predict(X)

    assert estimator.classes_.tolist() == sorted(set(y.tolist()))
    assert predicted.dtype == y.dtype
    np.testing.assert_allclose(probabilities.sum(1), 1, atol=1e-6)
    np.testing.assert_array_equal(predicted, estimator.classes_[probabilities.argmax(1)])
    assert estimator.score(X, y) == np.mean(predicted == y)
    assert [epoch["epoch"] for epoch in estimator.history_] == [1, 2]


def test_alcohols_and_alkanes_are_classified_by_their_oxygen():
    """The signal of a vertex encodes its element, so one convolution is enough."""
    found = small(epochs=40, batch_size=10, settings={"sparsifications": 1}).fit(SMILES, KINDS)

    assert found.predict(["CCCCCCCCCCCCCC", "CC(C)CO"]).tolist() == ["alkane", "alcohol"]


def test_fitting_gives_the_network_of_a_run_with_the_same_recipe_and_seed(tmp_path: Path):
    """The other route: `run.train` in a directory, on examples of the same clouds."""
    X, y = shapes()
    examples = points.labelled(X, torch.from_numpy(y), ("0", "1"))
    data = UserData("clouds", examples, (("0", "1"),), per_vertex=False, dataset="folder")
    derived = user_data.recipe_for(KINDS_OF_DATA["clouds"], Classification, data)
    recipe = with_settings(with_epochs(derived, 2), {"network": SMALL})
    model = run.train(recipe, seed=5, directory=tmp_path, parts=(examples, examples)).model

    found = small(random_state=5).fit(X, y)

    np.testing.assert_array_equal(found.predict_proba(X), model.outputs(examples))


def test_fitting_graphs_gives_the_network_of_a_run(tmp_path: Path):
    """Without a coarse level no sparsification is random, and the two routes are the same."""
    X, y = rings_and_paths()
    found = small(random_state=5).fit(X, y)
    examples = found._reader.examples(X, y.astype(int), ("no", "yes"))

    model = run.train(found.recipe_, seed=5, directory=tmp_path, parts=(examples, examples)).model

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


def test_a_clone_gives_the_same_network_and_another_seed_another(data):
    X, y = data
    one = small().fit(X, y)

    again, other = clone(one).fit(X, y), clone(one).set_params(random_state=1).fit(X, y)

    np.testing.assert_array_equal(one.predict_proba(X), again.predict_proba(X))
    assert not np.array_equal(one.predict_proba(X), other.predict_proba(X))


def test_the_prediction_for_a_row_does_not_depend_on_other_rows():
    """scikit-learn requires it of every estimator; the pyramids of a graph must not depend on its place in X."""
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


def test_views_are_averaged_orientations():
    """Section 4.2: several orientations of each cloud, of which the first is the cloud itself."""
    X, y = arrays()
    found = small(views=3).fit(X, y)

    each = found.model_.outputs_per_view(found._reader.unlabelled(X), 3)

    np.testing.assert_allclose(found.predict_proba(X), sum(each) / 3)
    assert not np.array_equal(each[0], each[1])


def test_balanced_classes_have_the_weights_of_scikit_learn():
    """n / (classes * count): of 15 and 5 rows 20 / 30 and 20 / 10."""
    y = np.repeat(["many", "few"], [15, 5])

    balanced, equal, derived = (
        small(epochs=1, class_weight=how).fit(SMILES, y).model_.task.weights for how in ("balanced", None, "auto")
    )

    np.testing.assert_allclose(balanced, [2, 2 / 3])
    assert equal == ()
    assert derived == ()  # a class must be more than three times as frequent


def test_classes_have_the_weights_of_a_dict():
    y = np.repeat([3, 7], 10)

    fitted = small(epochs=1, class_weight={7: 2.5}).fit(SMILES, y)

    assert fitted.model_.task.weights == (1.0, 2.5)


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ("much", "class_weight must be 'auto', 'balanced', a dict or None: got 'much'"),
        ({"fow": 2}, "there is no 'fow'. Did you mean few"),
        ({"few": -1}, "greater than or equal to 0"),
        ({"few": 0, "many": 0}, "all are 0"),
    ],
)
def test_wrong_weights_of_classes_are_refused(class_weight, message):
    with pytest.raises(ValueError, match=message):
        small(epochs=1, class_weight=class_weight).fit(SMILES, np.repeat(["many", "few"], 10))


def test_rows_of_weight_0_are_not_learned_from(data: tuple[list[Any], np.ndarray]):
    """Their targets may be anything: the same network comes out."""
    rows, y = data
    weights = np.arange(len(rows)) % 3
    other = np.where(weights == 0, y[::-1], y)
    learners = [EdgeCondClassifier(epochs=2, class_weight=None, random_state=0) for _ in range(3)]

    one = learners[0].fit(rows, y, sample_weight=weights)
    two = learners[1].fit(rows, other, sample_weight=weights)

    np.testing.assert_array_equal(one.predict_proba(rows), two.predict_proba(rows))
    assert not np.array_equal(one.predict_proba(rows), learners[2].fit(rows, y).predict_proba(rows))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0] * 19, "must be a number for each of 20 examples"),
        ([1.0] * 19 + [-1.0], "that of example 19 is -1"),
        ([float("nan")] + [1.0] * 19, "that of example 0 is nan"),
        ([0.0] * 20, "must not all be 0"),
    ],
)
def test_wrong_weights_of_rows_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        small(epochs=1).fit(SMILES, np.repeat(["many", "few"], 10), sample_weight=weights)


# Regression


def test_predicted_numbers_have_the_shape_of_y_and_are_near_its_mean():
    """Numbers around 1000 are predicted around 1000 after a step or two: targets are standardised."""
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


def test_unknown_targets_are_neither_trained_on_nor_scored():
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
    with mentions("y must have 2 columns", "it has 1"):
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


def test_an_estimator_predicts_the_same_after_pickling(data, tmp_path: Path):
    X, y = data
    found = small().fit(X, y)
    joblib.dump(found, tmp_path / "found.joblib")

    for again in (joblib.load(tmp_path / "found.joblib"), pickle.loads(pickle.dumps(found))):
        np.testing.assert_array_equal(again.predict_proba(X), found.predict_proba(X))


def test_embeddings_have_a_row_for_each_example_and_a_named_column_for_each_channel():
    """scikit-learn's convention: columns are named after the class; the last layer makes the scores of them."""
    rows, numbers = SMILES, LENGTHS
    regressor = EdgeCondRegressor(network="C(4)-GAP-FC(5)-FC(1)", epochs=2, random_state=0).fit(rows, numbers)

    embeddings = regressor.transform(rows)
    three = regressor.set_output(transform="default").transform(rows[:3])

    assert embeddings.shape == (len(rows), 5)
    assert regressor.get_feature_names_out().tolist() == [f"edgecondregressor{k}" for k in range(5)]
    np.testing.assert_allclose(three, embeddings[:3], rtol=1e-5)
    last = regressor.model_.network.layers[-1][0]
    scores = embeddings @ last.weight.detach().numpy().T + last.bias.detach().numpy()
    task = regressor.model_.task
    np.testing.assert_allclose(task.mean + task.scale * scores, regressor._outputs(rows), rtol=1e-5)


def test_embeddings_feed_the_next_step_of_a_pipeline():
    pipeline = make_pipeline(small(), LogisticRegression())

    assert pipeline.fit(SMILES, KINDS).predict(SMILES).shape == KINDS.shape


def test_tags_describe_the_input_and_the_targets():
    classifier, regressor = get_tags(EdgeCondClassifier()), get_tags(EdgeCondRegressor())

    assert not classifier.input_tags.two_d_array
    assert classifier.input_tags.string
    assert classifier.target_tags.required
    assert (classifier.estimator_type, regressor.estimator_type) == ("classifier", "regressor")
    assert regressor.target_tags.multi_output


# Files


def test_loading_restores_predictions_classes_and_parameters(data, tmp_path: Path):
    X, y = data
    found = small(batch_size=np.int64(7)).fit(X, y)

    found.save(tmp_path / "model.safetensors")
    again = EdgeCondClassifier.load(tmp_path / "model.safetensors")

    np.testing.assert_array_equal(again.predict_proba(X), found.predict_proba(X))
    assert again.classes_.dtype == found.classes_.dtype
    assert again.get_params() == found.get_params()
    assert again.history_ == found.history_
    assert getattr(again, "n_features_in_", None) == getattr(found, "n_features_in_", None)


def test_a_file_with_the_former_names_of_parameters_loads(tmp_path: Path):
    """The first files called batch size, learning rate and views batch, rate and looks."""
    former = {"batch_size": "batch", "learning_rate": "rate", "views": "looks"}
    X, y = arrays()
    estimator = small(batch_size=7, learning_rate=0.02, views=2).fit(X, y)
    estimator.save(tmp_path / "model.safetensors")
    block = estimator.model_.about["estimator"]
    block["params"] = {former.get(name, name): value for name, value in block["params"].items()}
    block["history"] = [{former.get(name, name): value for name, value in epoch.items()} for epoch in block["history"]]
    estimator.model_.save(tmp_path / "former.safetensors")

    restored = EdgeCondClassifier.load(tmp_path / "former.safetensors")

    assert restored.get_params() == estimator.get_params()
    assert restored.history_ == EdgeCondClassifier.load(tmp_path / "model.safetensors").history_
    np.testing.assert_array_equal(restored.predict_proba(X), estimator.predict_proba(X))


def test_loading_a_regressor_restores_the_shape_of_y(tmp_path: Path):
    found = EdgeCondRegressor(network="C(4)-GAP-FC(1)", epochs=1, random_state=0).fit(SMILES, LENGTHS)
    found.save(tmp_path / "model.safetensors")

    again = EdgeCondRegressor.load(tmp_path / "model.safetensors")

    np.testing.assert_array_equal(again.predict(SMILES), found.predict(SMILES))
    facts = [tmp_path / "model.safetensors", "classification or multilabel", "EdgeCondClassifier", "regression"]
    with mentions(*facts, kind=CheckpointError):
        EdgeCondClassifier.load(tmp_path / "model.safetensors")


def test_the_command_line_and_the_estimator_read_each_others_models(tmp_path: Path):
    from typer.testing import CliRunner

    table, run = tmp_path / "molecules.csv", tmp_path / "run"
    table.write_text("smiles,kind\n" + "".join(f"{s},{kind}\n" for s, kind in zip(SMILES, KINDS, strict=True)))
    words = ["train", str(table), "--target", "kind", "--epochs", "1", "--out", str(run), "--set", f"network={SMALL}"]
    assert CliRunner().invoke(app, words).exit_code == 0

    predicted = EdgeCondClassifier.load(run).predict(SMILES)
    EdgeCondClassifier.load(run).save(tmp_path / "model.safetensors")
    predictions = CliRunner().invoke(app, ["predict", str(tmp_path / "model.safetensors"), str(table)])

    assert [line.split(",")[3] for line in predictions.stdout.splitlines()[1:]] == predicted.tolist()


def test_a_model_of_the_command_line_loads_if_it_holds_the_vocabulary_of_labels(tmp_path: Path):
    """Models of clouds and graphs load; the first files of graphs hold no vocabulary, and meshes are files only."""
    path, (X, y) = tmp_path / "model.safetensors", arrays()
    clouds, graphs = small().fit(X, y), small().fit(*rings_and_paths())

    clouds.model_.save(path)
    np.testing.assert_array_equal(EdgeCondClassifier.load(path).predict_proba(X), clouds.predict_proba(X))

    graphs.model_.save(path)
    X, _ = rings_and_paths()
    np.testing.assert_array_equal(EdgeCondClassifier.load(path).predict_proba(X), graphs.predict_proba(X))

    replace(graphs.model_, preparation=GraphPreparation(graphs.model_.preparation.settings)).save(path)
    with mentions(path, "vocabulary", "older edgecond", "Train it again.", kind=CheckpointError):
        EdgeCondClassifier.load(path)

    replace(clouds.model_, recipe=with_settings(clouds.recipe_, {"input.edges": "mesh"})).save(path)
    with mentions(path, "EdgeCondClassifier", "meshes", "`edgecond predict`", kind=CheckpointError):
        EdgeCondClassifier.load(path)
