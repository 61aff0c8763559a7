"""Model files of older versions load, and a damaged, edited or foreign file is an error of one sentence.

Files of every format that was ever published are in tests/fixtures, and every later version must load them.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import struct
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from typer.testing import CliRunner

from edgecond.cli import app
from edgecond.data.datasets import synthetic
from edgecond.errors import CheckpointError
from edgecond.nn.checkpoint import KEY
from edgecond.runs.model import FILE, Model

DATA = Path(__file__).parents[1] / "fixtures"
CLOUDS, GRAPHS = DATA / "clouds-1.safetensors", DATA / "graphs-1.safetensors"

Change = Callable[[dict[str, Any], dict[str, torch.Tensor]], object]


def parts(path: Path) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    with safe_open(path, "pt") as file:
        return json.loads(file.metadata()[KEY]), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def edited(source: Path, target: Path, change: Change) -> Path:
    """Write the file with other JSON or other tensors in it."""
    about, tensors = parts(source)
    change(about, tensors)
    save_file(tensors, target, {KEY: json.dumps(about)})
    return target


def recipe(**changes: Any) -> Change:
    return lambda about, _: about["model"]["recipe"].update(changes)


def about(**changes: Any) -> Change:
    return lambda content, _: content["model"].update(changes)


def one_hot(offsets: torch.Tensor | None) -> Change:
    def change(about: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
        about["model"]["recipe"]["labels"] = "one-hot"
        tensors.update({} if offsets is None else {"offsets.0": offsets, "offsets.1": offsets.clone()})

    return change


def sentence_of(path: Path) -> str:
    """Return the message of the error for a file: it names the file, and has no stack trace of torch."""
    with pytest.raises(CheckpointError) as refusal:
        Model.load(path)
    sentence = str(refusal.value)
    assert str(path) in sentence
    assert "frame #" not in sentence
    return sentence


@pytest.mark.parametrize("path", [CLOUDS, GRAPHS], ids=lambda path: path.stem)
def test_a_file_of_format_1_loads_with_all_of_its_weights(path: Path):
    about, tensors = parts(path)

    model = Model.load(path)

    assert model.classes == tuple(about["model"]["classes"])
    assert model.about["versions"]["edgecond"] == "0.1.0"
    weights = model.network.state_dict()
    assert weights.keys() == {name.removeprefix("network.") for name in tensors}
    assert all(torch.equal(weights[name], tensors[f"network.{name}"]) for name in weights)
    assert all(parameter.requires_grad for parameter in model.network.parameters())


def test_a_file_of_format_1_predicts_probabilities_of_shapes():
    """Probabilities sum to one on its test set."""
    model = Model.load(CLOUDS)
    _, test = synthetic.load(**model.recipe.options)

    (scores,) = model.outputs_per_view(test)

    assert scores.shape == (6, 6)
    np.testing.assert_allclose(scores.sum(1), 1, rtol=1e-6)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda about, _: about.update(version=7), "version 1: .*'7'. .*newer edgecond.*upgrade"),
        (lambda about, _: about.update(version=-3), "version 1: .*'-3'.$"),
        (lambda about, _: about.update(version="x" * 10**6), "'x{60}'.$"),
        (lambda about, _: about.pop("model"), "checkpoint of a run"),
        (lambda about, _: about.update(model=[1, 2]), "should be a valid dictionary"),
        (lambda about, _: about["model"].pop("classes"), "classes: Field required"),
        (lambda about, _: about["model"].pop("recipe"), "recipe: Field required"),
        (lambda about, _: about["model"].pop("seed"), "seed: Field required"),
        (about(classes=["a"]), "6 outputs, and 1 have a name"),
        (about(classes=6), "classes: Input should be a valid tuple"),
        (about(classes=[{}] * 6), "classes.0: Input should be a valid string"),
        (about(widths=[2, [6, 6]]), r"conv.filters.2.weight must be \(8, 4\) of torch.float32: the file has \(4, 4\)"),
        (about(widths=[1]), "widths.1: Field required"),
        (about(widths="ab"), "widths: Input should be a valid tuple"),
        (about(widths=[1e999, [6, 6]]), "widths.0: Input should be a finite number"),
        (about(widths=[0, [6, 6]]), "widths.0: Input should be greater than 0"),
        (about(widths=[1, [6, 6, 6]]), "a width at each of the 2 levels"),
        (about(objective={"weights": [1.0]}), "weights .* each of 6 outputs of classification: found 1"),
        (about(objective={"os.system": [1.0]}), "classification are weights, temperature: found os.system"),
        (about(objective=[1.0]), "objective: Input should be a valid dictionary"),
        (about(objective={"weights": [float("nan")] * 6}), "objective.weights.0: Input should be a finite number"),
        (
            recipe(task="os.system"),
            "task must be one of classification, .*: got 'os.system'",
        ),
        (recipe(task="quantities"), "regression are mean, scale, spread: found weights"),
        (recipe(dataset="folder", options={"columns": 5}), "must be a list of names"),
        (recipe(dataset="folder", options={"columns": ["nx"], "vectors": [["nx", "ny"]]}), "pairs of its columns"),
        (recipe(dataset="folder", options={"columns": ["nx"], "vectors": "nx"}), "pairs of its columns"),
        (recipe(labels="os.system"), "labelling .*one of cartesian.*'os.system'"),
        (recipe(network="X(3)"), "C, MP, AP, .*'X'"),
        (recipe(network=["C", 3]), "network: Input should be an instance of Architecture"),
        (recipe(network="C(4)-MP-C(6)-GMP-FC(6)"), "needs a resolution and a radius: got MP"),
        (recipe(network="C(4)-MP(0.5,1)-C(6)-V-FC(6)"), "classification must predict for each graph"),
        (recipe(network="C(4)-MP(0.5,1)-C(6)-GMP"), "no outputs, and 6 have a name"),
        (recipe(network="C(4)-MP(0.5,1)-C(6)-GMP-FC(6)-FC(6)"), "has weights .*, which are missing"),
        (recipe(hidden=[4, -1]), "hidden.1: Input should be greater than 0"),
        (recipe(hidden=[5]), r"must be \(5, 6\) of torch.float32: the file has \(4, 6\)"),
        (recipe(input={"resolution": 0.1, "radius": float("inf")}), "input.radius: Input should be a finite number"),
        (recipe(input={"resolution": "1/0", "radius": 1}), "input.resolution: a fraction is of"),
        (recipe(sparsifications=10**9), "sparsifications: Input should be less than or equal to 1000"),
        (recipe(surprise=1), "surprise: Extra inputs are not permitted"),
        (lambda _, tensors: tensors.pop("network.layers.0.conv.bias"), "weights layers.0.conv.bias, which are missing"),
        (lambda _, t: t.update({"network.more": torch.zeros(1)}), "no weights more, and the file has"),
        (lambda _, t: t.update(more=torch.zeros(1)), "the tensor 'more', which nothing uses"),
        (
            lambda _, t: t.update({"network.layers.0.conv.bias": torch.zeros(4).half()}),
            r"must be \(4,\) of torch.float32: the file has \(4,\) of torch.float16",
        ),
        (
            lambda _, t: t.update({"network.layers.0.conv.bias": torch.tensor([0, float("nan"), 0, 0])}),
            "must be finite, and those of network.layers.0.conv.bias are not all: the training diverged",
        ),
        (one_hot(None), "one-hot labels need a table of offsets"),
        (one_hot(torch.zeros(5, 2)), "one-hot labels need a table of offsets"),
        (one_hot(torch.zeros(0, 3)), "one-hot labels need a table of offsets"),
    ],
)
def test_an_inconsistent_file_is_an_error_that_names_what_is_wrong(tmp_path: Path, change: Change, sentence: str):
    assert re.search(sentence, sentence_of(edited(CLOUDS, tmp_path / "edited.safetensors", change)))


@pytest.mark.parametrize("values", [[3, 2, 1], [1.5, 2.5], [[1, 2], [3, 4]], [1, 1]])
def test_values_of_labels_must_ascend(tmp_path: Path, values: list[Any]):
    def change(_: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
        tensors.update(vertex_values=torch.tensor(values), edge_values=torch.arange(3))

    path = edited(GRAPHS, tmp_path / "edited.safetensors", change)

    assert "vertex_values must be whole numbers that ascend" in sentence_of(path)


@pytest.mark.parametrize(
    "network",
    [
        "-".join(["C(4)"] * 100_000) + "-GMP-FC(6)",
        "C(1000000)-MP(0.5,1)-C(1000000)-GMP-FC(6)",  # 1e12 filters of 4 numbers
        "C(4)-MP(0.5,1)-C(99999999999999999999)-GMP-FC(6)",
        "-".join(["C(4)"] * 990) + "-MP(0.5,1)-C(6)-GMP-FC(6)",
    ],
)
def test_a_network_larger_than_its_file_is_an_error_before_memory_is_allocated(tmp_path: Path, network: str):
    """The file holds a kilobyte of weights, whatever network its JSON names."""
    path = edited(CLOUDS, tmp_path / "edited.safetensors", recipe(network=network))
    tracemalloc.start()
    try:
        sentence_of(path)
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


LARGE = {
    "many hidden layers": recipe(hidden=[1] * 20_000),
    "wide hidden layers": recipe(hidden=[10**9, 10**9]),
    "many poolings": lambda content, _: content["model"].update(
        recipe=content["model"]["recipe"]
        | {"network": "C(2)" + "".join(f"-MP({h + 1},{h + 1})" for h in range(1500)) + "-GAP-FC(2)"},
        widths=[1, [3] * 1501],
    ),
    "a wide signal": about(widths=[10**9, [10**9, 10**9]]),
}


def test_large_networks_in_small_files_are_refused_within_two_gibibytes(tmp_path: Path):
    """A network needs about the memory that its file takes: more is refused before it is allocated."""
    files = [str(edited(CLOUDS, tmp_path / f"{name}.safetensors", change)) for name, change in LARGE.items()]
    code = """
import resource, sys, time
from edgecond.errors import CheckpointError
from edgecond.runs.model import Model

resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
for file in sys.argv[1:]:
    start = time.monotonic()
    try:
        Model.load(file)
    except CheckpointError as error:
        print(error)
    assert time.monotonic() - start < 5, file
"""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code, *files], capture_output=True, text=True, env=environment)

    assert done.returncode == 0, done.stderr
    assert [file for file in files if file not in done.stdout] == []


@pytest.mark.parametrize("path", [CLOUDS, GRAPHS], ids=lambda path: path.stem)
def test_a_file_cut_anywhere_is_an_error(tmp_path: Path, path: Path):
    whole, cut = path.read_bytes(), tmp_path / "cut.safetensors"
    for length in [*range(16), *range(16, len(whole), 97), len(whole) - 1]:
        cut.write_bytes(whole[:length])
        assert "it cannot be read" in sentence_of(cut)


def trap_for(tmp_path: Path) -> object:
    class Trap:
        def __reduce__(self) -> tuple[Any, tuple[str]]:
            return os.mkdir, (str(tmp_path / "sprung"),)

    return Trap()


def pickled(path: Path, trap: object) -> None:
    path.write_bytes(pickle.dumps(trap))


def saved_by_torch(path: Path, trap: object) -> None:
    torch.save({"weights": torch.zeros(3), "trap": trap}, path)


def long_header(path: Path, trap: object) -> None:
    path.write_bytes(struct.pack("<Q", 2**40) + CLOUDS.read_bytes()[8:])


def header_beyond_the_file(path: Path, trap: object) -> None:
    path.write_bytes(struct.pack("<Q", 90_000_000) + CLOUDS.read_bytes()[8:])


def nested_json(path: Path, trap: object) -> None:
    save_file({"a": torch.zeros(1)}, path, {KEY: "[" * 100_000})


def pickle_in_a_header(path: Path, trap: object) -> None:
    save_file({"a": torch.zeros(1)}, path, {KEY: pickle.dumps(trap, 0).decode("latin-1")})


def empty(path: Path, trap: object) -> None:
    path.write_bytes(b"")


def directory(path: Path, trap: object) -> None:
    path.mkdir()


def nothing(path: Path, trap: object) -> None:
    pass


FOREIGN = [
    pickled,
    saved_by_torch,
    long_header,
    header_beyond_the_file,
    nested_json,
    pickle_in_a_header,
    empty,
    directory,
    nothing,
]


@pytest.mark.parametrize("make", FOREIGN)
def test_a_foreign_file_is_an_error_and_nothing_in_it_is_executed(tmp_path: Path, make: Callable):
    path = tmp_path / "model.safetensors"
    make(path, trap_for(tmp_path))

    assert re.search("it cannot be read|there is none", sentence_of(path))
    assert not (tmp_path / "sprung").exists()


def verbs(run: Path, model: Path) -> list[list[str]]:
    return [
        ["evaluate", str(model)],
        ["predict", str(model), str(run)],
        ["report", str(run)],
        ["export", str(model), "--to", "torch"],
    ]


@pytest.mark.parametrize("make", [*FOREIGN, recipe(network="X(3)"), about(widths=[1])])
@pytest.mark.parametrize("verb", range(4))
def test_every_verb_prints_one_sentence_about_a_wrong_model_and_exits_with_2(tmp_path: Path, make: Callable, verb: int):
    path = tmp_path / FILE
    (tmp_path / "log.jsonl").write_text('{"epoch": 1, "loss": 1.0, "rate": 0.1}\n')
    make(path, trap_for(tmp_path)) if make in FOREIGN else edited(CLOUDS, path, make)

    result = CliRunner().invoke(app, verbs(tmp_path, path)[verb])

    assert result.exit_code == 2
    assert isinstance(result.exception, SystemExit)
    assert result.stderr.startswith(str(path if path.exists() else tmp_path))
    assert result.stdout == ""
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("verb", [0, 2])
@pytest.mark.parametrize(
    "change",
    [
        recipe(dataset="digits"),
        recipe(dataset="nci1"),
        recipe(options={"points": "many"}),
        recipe(labels="distance"),
    ],
)
def test_a_model_whose_data_have_other_widths_is_an_error_with_status_2(tmp_path: Path, change: Change, verb: int):
    """The file is consistent, but the data set or the labels that it names do not fit its weights."""
    path = edited(CLOUDS, tmp_path / FILE, change)
    (tmp_path / "log.jsonl").write_text('{"epoch": 1, "loss": 1.0, "rate": 0.1}\n')

    result = CliRunner().invoke(app, verbs(tmp_path, path)[verb])

    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)


def test_an_export_to_an_unwritable_path_fails_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def work(*_: object) -> None:
        raise AssertionError("the work has begun")

    monkeypatch.setattr("edgecond.export._program", work)
    (tmp_path / "taken").write_text("")
    for place in (tmp_path / "taken" / "m.pt2", tmp_path):
        result = CliRunner().invoke(app, ["export", str(CLOUDS), "--to", "torch", "--out", str(place)])

        assert result.exit_code == 2
        assert result.stderr.startswith(str(place))
        assert "name another directory" in result.stderr


def test_a_failed_export_leaves_the_previous_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def work(*_: object) -> None:
        raise RuntimeError("out of luck")

    monkeypatch.setattr("edgecond.export._program", work)
    (tmp_path / "m.pt2").write_text("before")

    CliRunner().invoke(app, ["export", str(CLOUDS), "--to", "torch", "--out", str(tmp_path / "m.pt2")])

    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("m.pt2", "before")]


def test_a_model_file_predicts_without_the_directory_of_its_run(tmp_path: Path):
    path = Path(shutil.copy(CLOUDS, tmp_path / "anything"))
    cloud = tmp_path / "cloud.npy"
    np.save(cloud, np.random.default_rng(0).random((50, 4), np.float32))

    result = CliRunner().invoke(app, ["predict", str(path), str(cloud)])

    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("file,class,probability\n")
