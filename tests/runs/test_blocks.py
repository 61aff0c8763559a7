"""Every change to a block of JSON in a checkpoint, a log or an estimator's file is read, or refused in a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from edgecond import EdgeCondClassifier, EdgeCondRegressor
from edgecond.errors import CheckpointError, EdgecondError
from edgecond.nn.checkpoint import load_checkpoint, save_checkpoint
from edgecond.notation import Architecture
from edgecond.report import history
from edgecond.runs.recipe import find
from edgecond.runs.run import train
from edgecond.runs.source import Source
from edgecond.runs.train import Train
from tests.model_readers import SOURCE

VALUES: list[Any] = [None, True, -1, 0, 1.5, 10**30, float("nan"), "", "x" * 300, [], [1], {}, {"a": 1}]
RECIPE = find("synthetic/ecc").model_copy(
    update={
        "network": Architecture("C(4)-GAP-FC(6)"),  # small: it is built for every change
        "options": {"train": 12, "test": 6, "points": 32},
        "train": Train(epochs=2, batch_size=6, learning_rate=0.05),
    }
)


def places(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value in some JSON."""
    if path:
        yield path
    pairs = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in pairs:
        yield from places(value, (*path, key))


def mutations(content: Any) -> Iterator[tuple[str, Any]]:
    """Yield copies of some JSON, each with one value replaced, removed or added, and what was done."""
    for *path, last in places(content):
        for value in [*VALUES, mutations]:
            changed = deepcopy(content)
            parent = changed
            for key in path:
                parent = parent[key]
            if value is mutations:
                del parent[last]
            else:
                parent[last] = value
            yield f"{'.'.join(map(str, (*path, last)))} = {str(value)[:20]}", changed
    yield "one more", {**content, "another": 1}


def escapes(content: Any, use: Callable[[Any], object]) -> list[str]:
    """Return the changes that raise anything but an error of ours, of one line."""
    escaped = []
    for change, changed in mutations(content):
        try:
            use(changed)
        except EdgecondError as error:
            if "\n" in str(error) or len(str(error)) > 1500:
                escaped.append(f"{change}: {error}")
        except Exception as error:
            escaped.append(f"{change}: {error!r}")
    return escaped


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The checkpoint of a run that has ended."""
    directory = tmp_path_factory.mktemp("run")
    train(RECIPE, directory=directory)
    return load_checkpoint(directory / "checkpoint.safetensors")


def resumed(directory: Path, tensors: dict[str, Tensor], about: dict[str, Any]) -> object:
    save_checkpoint(directory / "checkpoint.safetensors", tensors, about)
    return train(RECIPE, directory=directory)


def test_every_change_to_a_checkpoint_is_read_or_refused(tmp_path: Path, stopped):
    """But for the recipe in it, which `Recipe` validates."""
    tensors, about = stopped
    recipe = about["settings"]["recipe"]

    def use(changed: Any) -> object:
        if isinstance(settings := changed.get("settings"), dict) and settings.get("recipe") == {"kept": 0}:
            settings["recipe"] = recipe
        return resumed(tmp_path, tensors, changed)

    content = {**about, "settings": {**about["settings"], "recipe": {"kept": 0}}}

    assert not escapes(content, use)


@pytest.mark.parametrize(
    "position",
    [{"epoch": 2, "batch": 1}, {"epoch": 1, "batch": 10**6}, {"epoch": 10**6}, {"epoch": 1}, {"seed": 7}],
    ids=str,
)
def test_a_position_that_does_not_follow_the_history_is_refused(tmp_path: Path, stopped, position: dict[str, int]):
    """It would end the training of a network that has not been trained."""
    tensors, about = stopped

    with pytest.raises(CheckpointError, match="--restart"):
        resumed(tmp_path, tensors, {**about, "position": about["position"] | position})


def test_a_position_at_the_end_without_history_is_refused(tmp_path: Path, stopped):
    tensors, about = stopped

    with pytest.raises(CheckpointError, match=r"must follow the 0 epochs of its history.*found epoch 2.*--restart"):
        resumed(tmp_path, tensors, {**about, "history": []})


@pytest.mark.parametrize("change", ["shape", "type", "infinite", "missing", "surplus"])
@pytest.mark.parametrize("part", ["network.", "momentum."])
def test_tensors_of_another_network_or_optimizer_are_refused(tmp_path: Path, stopped, change: str, part: str):
    """Torch's fused optimizers read the state as far as the parameter is long."""
    tensors, about = stopped
    name = next(name for name in tensors if name.startswith(part) and tensors[name].dim() == 2)
    changed = {
        "shape": {**tensors, name: tensors[name][:1].contiguous()},
        "type": {**tensors, name: tensors[name].double()},
        "infinite": {**tensors, name: tensors[name] / 0},
        "missing": {key: value for key, value in tensors.items() if key != name},
        "surplus": {**tensors, f"{part}more": torch.zeros(1)},
    }[change]
    if (part, change) == ("momentum.", "missing"):
        return  # a parameter that has had no gradient yet

    with pytest.raises(CheckpointError, match=r"must|missing|no weights|not one of"):
        resumed(tmp_path, changed, about)


def test_every_change_to_a_log_is_read_or_refused(tmp_path: Path, stopped):
    _, about = stopped

    def use(changed: Any) -> object:
        epochs = changed.get("epochs")
        lines = epochs if isinstance(epochs, list) else [epochs]
        (tmp_path / "log.jsonl").write_text("".join(json.dumps(epoch) + "\n" for epoch in lines))
        return history(tmp_path)

    assert not escapes({"epochs": about["history"]}, use)


def test_every_change_to_the_source_of_a_run_is_read_or_refused(tmp_path: Path):
    def use(changed: Any) -> object:
        (tmp_path / "data.json").write_text(json.dumps(changed))
        return Source.load(tmp_path)

    assert not escapes(SOURCE, use)


@pytest.mark.parametrize("change", [{"folds": True}, {"path": "a\0b"}, {"columns": {"x": 1}}], ids=str)
def test_a_source_of_other_types_is_refused(tmp_path: Path, change: dict[str, Any]):
    (tmp_path / "data.json").write_text(json.dumps(SOURCE | change))

    with pytest.raises(EdgecondError, match=next(iter(change))):
        Source.load(tmp_path)


def test_a_source_that_is_nested_too_deeply_is_refused(tmp_path: Path):
    (tmp_path / "data.json").write_text("[" * 100_000)

    with pytest.raises(EdgecondError, match="there is none that can be read"):
        Source.load(tmp_path)


ROWS = [np.random.default_rng(i).normal(size=(9, 3)) for i in range(6)]
WHOLE = ("params", "form", "targets", "history")
ESTIMATORS = {  # with the parts of the block to change: estimators of a class differ in their targets alone
    "classes": (EdgeCondClassifier, ["a", "b", "a", "b", "a", "b"], WHOLE),
    "numbers of classes": (EdgeCondClassifier, [3, 1, 3, 1, 3, 1], ("targets",)),
    "labels": (EdgeCondClassifier, [[0, 1], [1, 0], [1, 1], [0, 0], [0, 1], [1, 0]], ("targets",)),
    "one number": (EdgeCondRegressor, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], WHOLE),
}


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "y", "parts"), ESTIMATORS.values(), ids=ESTIMATORS)
def test_every_change_to_the_block_of_an_estimator_is_read_or_refused(
    tmp_path: Path, kind: Any, y: list[Any], parts: tuple[str, ...]
):
    file = tmp_path / "model.safetensors"
    settings, network = {"train.betas": [0.9, 0.99]}, f"C(4)-GAP-FC({1 if kind is EdgeCondRegressor else 2})"
    kind(epochs=1, batch_size=6, random_state=0, network=network, settings=settings).fit(ROWS, np.array(y)).save(file)
    tensors, about = load_checkpoint(file)
    whole = about["model"]["estimator"]
    assert whole.keys() == set(WHOLE)
    kept = {name: value for name, value in whole.items() if name not in parts}

    def use(changed: Any) -> object:
        save_checkpoint(file, tensors, {"model": about["model"] | {"estimator": kept | changed}})
        return kind.load(file)

    use(whole)
    assert not escapes({name: whole[name] for name in parts}, use)


@pytest.mark.parametrize("dtype", ["<U1000000000", "S9", "M8[s]", "i4,i4", "<i8", "nothing", "V8"])
def test_the_type_of_classes_must_hold_them(tmp_path: Path, dtype: str):
    """A text of 10^9 characters would take 4 GB for each class."""
    file = tmp_path / "model.safetensors"
    EdgeCondClassifier(epochs=1, batch_size=6).fit(ROWS, np.array(["a", "b"] * 3)).save(file)
    tensors, about = load_checkpoint(file)
    about["model"]["estimator"]["targets"]["dtype"] = dtype
    save_checkpoint(file, tensors, about)

    with pytest.raises(CheckpointError, match="type of its classes must be one that holds them"):
        EdgeCondClassifier.load(file)
