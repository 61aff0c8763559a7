"""A run is trained in a directory of its own, and resumed only as the same run."""

import json

import pytest
import torch
from safetensors.torch import save_file

from edgecond.data import datasets
from edgecond.errors import CheckpointError
from edgecond.nn import checkpoint
from edgecond.nn.checkpoint import load_checkpoint, save_checkpoint
from edgecond.runs.model import Model
from edgecond.runs.recipe import read, with_epochs, with_settings
from edgecond.runs.run import Interrupted, train

RECIPE = """
[base]
dataset = "synthetic"
network = "C(8)-MP(0.5,1)-C(8)-GMP-FC(8)-D(0.2)-FC(6)"
input = { resolution = 0.2, radius = 0.5 }
train = { epochs = 6, batch_size = 16, learning_rate = 0.05, drops = [4] }
augment = { rotate = true, drop = 0.1 }
orientations = 2
[rows.ecc]
paper = [{ table = 1, row = "ECC", f1 = 0.9 }]
options = { train = 48, test = 24, points = 60 }
"""


@pytest.fixture
def recipe():
    return read(RECIPE, "synthetic.toml")["synthetic/ecc"]


class Watch(list):
    """An observer that lists the steps, and stops the run after one of them."""

    def __init__(self, stop: tuple[int, int] | None = None):
        self.stop = stop

    def __call__(self, step, batches, epochs):
        self.append(step)
        return (step.epoch, step.batch) != self.stop


def log(directory):
    return [json.loads(line) for line in (directory / "log.jsonl").read_text().splitlines()]


def test_the_network_learns_shapes(recipe, tmp_path):
    """Six shapes: a random guess is right one time in six."""
    assert train(recipe, directory=tmp_path, epochs=25).metrics()["accuracy"] > 0.4


def test_the_log_has_a_line_for_each_epoch_that_has_ended(recipe, tmp_path):
    lines = []

    def observe(step, batches, epochs):
        lines.append(len(log(tmp_path)))
        return True

    trained = train(recipe, directory=tmp_path, epochs=2, observe=observe)

    assert lines == [0, 0, 1, 1, 1, 2]  # three batches in an epoch
    assert log(tmp_path) == trained.history
    assert [epoch["epoch"] for epoch in trained.history] == [1, 2]


def test_the_metrics_of_an_epoch_cover_all_its_steps_though_it_was_stopped(recipe, tmp_path):
    """Means over the 48 examples of an epoch, by hand; the second epoch is stopped after two batches of three."""
    steps, rest = Watch(stop=(1, 1)), Watch()
    with pytest.raises(Interrupted):
        train(recipe, directory=tmp_path, epochs=2, observe=steps)  # the learning rate drops after 4 of 6: 1 of 2
    train(recipe, directory=tmp_path, epochs=2, observe=rest)

    assert [len(steps), len(rest)] == [5, 1]
    for epoch in log(tmp_path):
        own = [step for step in steps + rest if step.epoch + 1 == epoch["epoch"]]
        assert epoch["accuracy"] == sum(step.metric for step in own) / 48
        assert epoch["loss"] == pytest.approx(sum(step.loss * step.count for step in own) / 48)
        assert epoch["learning_rate"] == pytest.approx(0.05 if epoch["epoch"] == 1 else 0.005)


def test_the_model_is_written_when_the_run_ends(recipe, tmp_path):
    with pytest.raises(Interrupted):
        train(recipe, directory=tmp_path, epochs=1, observe=Watch(stop=(0, 1)))
    assert not (tmp_path / "model.safetensors").exists()

    trained = train(recipe, directory=tmp_path, epochs=1)

    found = Model.load(tmp_path)
    assert [found.about[name] for name in ("fold", "seed", "epochs")] == [0, 0, 1]
    for name, value in trained.model.network.state_dict().items():
        assert torch.equal(found.network.state_dict()[name], value)


@pytest.mark.parametrize(
    ("change", "seed", "difference"),
    [
        ({"radius_scale": 1.2}, 0, "the recipe's radius_scale"),
        ({"radius_scale": 1.2, "hidden": (8,)}, 0, "the recipe's hidden, radius_scale"),
        ({"options": {"train": 48, "test": 24, "points": 50}}, 0, "data, recipe"),
        ({}, 1, "seed"),
    ],
)
def test_a_run_of_other_settings_is_refused_and_left_as_it_is(recipe, tmp_path, change, seed, difference):
    train(recipe, directory=tmp_path, epochs=1)
    before = (tmp_path / "checkpoint.safetensors").read_bytes()

    with pytest.raises(CheckpointError, match=rf"it differs in {difference}\. .* --restart"):
        train(recipe.model_copy(update=change), seed=seed, directory=tmp_path, epochs=1)

    assert (tmp_path / "checkpoint.safetensors").read_bytes() == before
    assert len(log(tmp_path)) == 1


def test_a_checkpoint_with_fewer_settings_of_other_names_is_resumed(recipe, tmp_path):
    """As the first version wrote it, which kept the epochs of the row and not those that were asked for."""
    whole = train(recipe, directory=tmp_path / "whole", epochs=2)
    train(recipe, directory=tmp_path / "old", epochs=1)
    tensors, about = load_checkpoint(tmp_path / "old" / "checkpoint.safetensors")
    former = {"epochs": 6, "batch": 16, "rate": 0.05, "drops": [4], "weight_decay": 5e-4}
    about["settings"]["recipe"]["train"] = former
    save_checkpoint(tmp_path / "old" / "checkpoint.safetensors", tensors, about)

    assert train(recipe, directory=tmp_path / "old", epochs=2).history[-1]["loss"] == whole.history[-1]["loss"]
    with pytest.raises(CheckpointError, match="it differs in the recipe's train"):
        train(with_settings(recipe, {"train.momentum": 0.5}), directory=tmp_path / "old", epochs=2)


def test_a_checkpoint_without_a_recipe_is_refused(recipe, tmp_path):
    train(recipe, directory=tmp_path, epochs=1)
    tensors, about = load_checkpoint(tmp_path / "checkpoint.safetensors")
    del about["settings"]["recipe"]
    save_checkpoint(tmp_path / "checkpoint.safetensors", tensors, about)

    with pytest.raises(CheckpointError, match="it differs in recipe"):
        train(recipe, directory=tmp_path, epochs=1)


@pytest.mark.parametrize("drops", ["later", {}])
def test_a_checkpoint_whose_schedule_cannot_be_read_is_refused(recipe, tmp_path, drops):
    train(recipe, directory=tmp_path, epochs=1)
    tensors, about = load_checkpoint(tmp_path / "checkpoint.safetensors")
    about["settings"]["recipe"]["train"]["drops"] = drops
    save_checkpoint(tmp_path / "checkpoint.safetensors", tensors, about)

    with pytest.raises(CheckpointError, match="it differs in the schedule"):
        train(recipe, directory=tmp_path, epochs=1)


def test_momentum_and_weight_decay_are_those_of_the_recipe(recipe, tmp_path):
    """The first step is w - rate (g + decay w): two runs that differ in decay alone are rate decay w apart."""
    steps = {}
    for decay in (0.0, 0.25):
        given = with_settings(recipe, {"train.momentum": 0.0, "train.weight_decay": decay})
        with pytest.raises(Interrupted):
            train(given, directory=tmp_path / str(decay), observe=Watch(stop=(0, 0)))
        steps[decay], _ = load_checkpoint(tmp_path / str(decay) / "checkpoint.safetensors")

    first = Model.new(recipe, datasets.load("synthetic", **recipe.options)[0], 0).network
    for name, w in first.named_parameters():
        apart = steps[0.0][f"network.{name}"] - steps[0.25][f"network.{name}"]
        torch.testing.assert_close(apart, 0.05 * 0.25 * w.detach(), rtol=1e-3, atol=1e-6)
    assert not [name for name in steps[0.0] if name.startswith("momentum.")]


def test_a_restart_ignores_whatever_the_directory_holds(recipe, tmp_path):
    train(recipe, directory=tmp_path, epochs=2)
    (tmp_path / "checkpoint.safetensors").write_bytes(b"nonsense")
    other, steps = recipe.model_copy(update={"radius_scale": 1.2}), Watch()

    train(other, directory=tmp_path, epochs=1, restart=True, observe=steps)

    assert [(step.epoch, step.batch) for step in steps] == [(0, 0), (0, 1), (0, 2)]
    assert len(log(tmp_path)) == 1
    assert load_checkpoint(tmp_path / "checkpoint.safetensors")[1]["settings"]["recipe"]["radius_scale"] == 1.2


@pytest.mark.parametrize("stop", [(1, 0), (1, 2)])
def test_fewer_epochs_than_were_begun_are_refused(recipe, tmp_path, stop):
    """Within the second epoch or at its end, more than one epoch has begun."""
    with pytest.raises(Interrupted):
        train(recipe, directory=tmp_path, observe=Watch(stop))

    with pytest.raises(CheckpointError, match=r"at most 1 epochs: it has begun epoch 2\. .* --restart"):
        train(recipe, directory=tmp_path, epochs=1)


@pytest.mark.parametrize(
    ("epochs", "rates"), [(1, [0.05]), (2, [0.05, 0.005]), (3, [0.05, 0.05, 0.005]), (4, [0.05, 0.05, 0.05, 0.005])]
)
def test_each_learning_rate_keeps_its_share_of_fewer_epochs(recipe, epochs, rates):
    """Two thirds of six epochs are at 0.05, so two thirds of others are, rounded; a single epoch is too."""
    history = train(recipe, directory=None, epochs=epochs).history

    assert [epoch["learning_rate"] for epoch in history] == pytest.approx(rates)


def test_a_run_is_resumed_with_more_epochs_while_its_learning_rates_stay_the_same(recipe, tmp_path):
    """Two epochs of three, before the drop after the second; of four epochs it comes after the third."""
    whole = train(recipe, directory=None, epochs=4)
    with pytest.raises(Interrupted):
        train(recipe, directory=tmp_path, epochs=3, observe=Watch(stop=(1, 2)))
    steps = Watch()

    trained = train(recipe, directory=tmp_path, epochs=4, observe=steps)

    assert [(step.epoch, step.batch) for step in steps] == [(epoch, batch) for epoch in (2, 3) for batch in range(3)]
    assert [epoch["loss"] for epoch in trained.history] == [epoch["loss"] for epoch in whole.history]


@pytest.mark.parametrize("change", [{"train.epochs": 6}, {"train.schedule": "cosine"}, {"train.learning_rate": 0.04}])
def test_a_run_is_not_resumed_with_learning_rates_that_it_did_not_have(recipe, tmp_path, change):
    """Three epochs have their drop after the second, and six after the fourth."""
    three = with_epochs(recipe, 3)
    train(three, directory=tmp_path)
    other = with_settings(three, change)

    with pytest.raises(CheckpointError) as refusal:
        train(other, directory=tmp_path)

    sentence = str(refusal.value)
    assert "learning rates so far" in sentence
    assert "it has begun epoch 3 with learning rate 0.05, divided by 10 after epoch 2" in sentence
    assert f"{other.train.epochs} epochs have {other.train.make_schedule().description}" in sentence
    assert "--restart" in sentence


def test_what_is_not_the_checkpoint_of_a_run_is_refused(recipe, tmp_path):
    path = tmp_path / "checkpoint.safetensors"
    save_file({}, path, {checkpoint.KEY: json.dumps({"version": checkpoint.VERSION, "settings": {}, "history": []})})

    with pytest.raises(CheckpointError, match=rf"{path} .* it lacks seconds, sums, position\. .* --restart"):
        train(recipe, directory=tmp_path, epochs=1)


def test_a_run_without_a_directory_trains_the_same_network_and_writes_nothing(recipe, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kept = train(recipe, epochs=2, directory=tmp_path / "run")
    (written,) = tmp_path.iterdir()

    found = train(recipe, epochs=2, directory=None)

    assert list(tmp_path.iterdir()) == [written]
    assert [epoch["loss"] for epoch in found.history] == [epoch["loss"] for epoch in kept.history]
    for one, other in zip(found.model.network.parameters(), kept.model.network.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)
