"""The epoch of a model is the best on its validation set, and a run ends when none was better for long enough."""

import pytest
import torch

from edgecond.data import datasets
from edgecond.errors import RecipeError
from edgecond.nn.network import Network
from edgecond.nn.schedules import Steps
from edgecond.nn.tasks import find
from edgecond.nn.training import Training
from edgecond.runs.model import Model
from edgecond.runs.recipe import with_settings
from edgecond.runs.run import Interrupted, train
from edgecond.runs.selection import Selection
from tests.runs.test_run import log, recipe, Watch

__all__ = ["recipe"]  # a fixture


def selection(values, task="classification", patience=None):
    """The choice among epochs with these metrics; the first weight of the network is the number of the epoch."""
    network = Network("C(2)-GAP-FC(2)", 1, 1, hidden=())
    fitted = find(task).fit(torch.tensor([[0.0], [1.0]]) if task == "regression" else torch.tensor([0, 1]), 1)
    metrics = iter(values)
    chosen = Selection(lambda: next(metrics), Training(network, Steps(9, 0.1)), patience)
    chosen.training.task = fitted
    for epoch in range(1, len(values) + 1):
        with torch.no_grad():
            next(network.parameters()).fill_(epoch)
        chosen.end_epoch(epoch)
    return chosen


@pytest.mark.parametrize(
    ("values", "task", "best"),
    [([0.5, 0.9, 0.7], "classification", 2), ([0.5, 0.9, 0.7], "regression", 1), ([0.5, 0.5], "classification", 2)],
)
def test_the_best_epoch_is_that_of_the_best_metric_and_of_equals_the_last(values, task, best):
    """Errors are better when they are lower."""
    chosen = selection(values, task)

    assert chosen.best.epoch == best
    assert float(next(iter(chosen.weights.values())).flatten()[0]) == best


def test_a_metric_that_is_not_defined_is_never_the_best():
    assert selection([float("nan"), 0.1]).best.epoch == 2
    assert selection([float("nan")]).best is None


def test_patience_counts_the_epochs_after_the_best():
    chosen = selection([0.9, 0.1, 0.2], patience=2)

    assert [chosen.exhausted(epochs) for epochs in (1, 2, 3)] == [False, False, True]
    assert not selection([0.9, 0.1, 0.2]).exhausted(3)


def parts(recipe):
    """Training, validation and test set."""
    rest, test = datasets.load(recipe.dataset, 0, **recipe.options)
    return rest.take(range(16, len(rest))), rest.take(range(16)), test


@pytest.mark.parametrize("stop", [None, (2, 1)])
def test_a_run_keeps_the_weights_of_its_best_epoch_though_it_was_stopped(recipe, tmp_path, stop):
    """The model has the metric of the best epoch in the log: it is evaluated again on the same set."""
    examples, validation, test = parts(recipe)
    recipe = with_settings(recipe, {"train.ema": 0.9, "orientations": 1})
    options = {"parts": (examples, test), "validation": validation}
    if stop is not None:
        with pytest.raises(Interrupted):
            train(recipe, directory=tmp_path, observe=Watch(stop), **options)

    trained = train(recipe, directory=tmp_path, **options)

    found = [epoch["validation_accuracy"] for epoch in log(tmp_path)]
    assert trained.model.evaluate(validation)["accuracy"] == max(found)
    assert trained.model.about["epochs"] == len(found) - found[::-1].index(max(found))


def test_a_run_ends_when_its_patience_does_and_is_not_begun_again(recipe, tmp_path, monkeypatch):
    """The second epoch is the best of six, and two worse ones follow."""
    examples, validation, test = parts(recipe)
    recipe = with_settings(recipe, {"train.patience": 2})
    accuracies = iter([0.5, 0.6, 0.1, 0.2])
    monkeypatch.setattr(Model, "evaluate", lambda *_, **__: {"accuracy": next(accuracies)})

    trained = [train(recipe, directory=tmp_path, parts=(examples, test), validation=validation) for _ in range(2)]

    assert [len(each.history) for each in trained] == [4, 4]
    assert [each.model.about["epochs"] for each in trained] == [2, 2]


def test_patience_without_a_validation_set_is_refused(recipe, tmp_path):
    with pytest.raises(RecipeError, match="needs a validation set"):
        train(with_settings(recipe, {"train.patience": 3}), directory=tmp_path)


def test_smoothed_labels_of_numbers_are_refused(tmp_path):
    from edgecond.runs.user_data import read

    file = tmp_path / "m.csv"
    file.write_text("smiles,y\n" + "".join(f"{'C' * n}O,{n}.5\n" for n in range(1, 31)))
    dataset = read(file, target=["y"], settings={"train.label_smoothing": 0.1})

    with pytest.raises(RecipeError, match="for tasks with classes"):
        train(dataset.recipe, directory=None, parts=(dataset.train, dataset.test))
