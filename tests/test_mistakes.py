"""Every mistake on the command line is answered by one sentence and status 2, never by a traceback."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import Result
from safetensors.torch import save_file
from typer.testing import CliRunner

from edgecond.cli import app
from tests.data.datasets import tiny

SMALL = ["--folds", "3", "--fold", "0", "--epochs", "1", "--set", "network=C(4)-GAP-FC(2)"]
ALCOHOLS = ["C" * (n + 1) + "O" for n in range(12)]


def edgecond(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def sentence_of(result: Result) -> str:
    """Return the one line that a command prints before it exits with status 2."""
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1, result.stderr
    return result.stderr.strip()


def has(sentence: str, *facts: object) -> bool:
    """Return whether a sentence has these facts, in this order: a name, a value, the next step."""
    return bool(re.search("(?s)" + ".*".join(re.escape(str(fact)) for fact in facts), sentence))


def write_clouds(path: Path, *classes: str, count: int = 6) -> None:
    rng = np.random.default_rng(0)
    for name in classes:
        (path / name).mkdir(parents=True)
        for number in range(count):
            np.save(path / name / f"{number}.npy", rng.random((20, 3), np.float32))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Clouds, a table of molecules and batches of graphs, in a directory of their own."""
    place = tmp_path_factory.mktemp("data")
    write_clouds(place / "shapes", "ball", "box")
    write_clouds(place / "few", "ball", "box", count=2)
    write_clouds(place / "three", "ball", "box", "cone")
    rows = [f"{smiles},{len(smiles) / 7},{'ab'[n % 2]},same" for n, smiles in enumerate(ALCOHOLS)]
    (place / "molecules.csv").write_text("smiles,logS,kind,alike\n" + "\n".join(rows) + "\n")
    (place / "notes.txt").write_text("none")
    tiny.pairs(place / "unknown.safetensors", 12)
    tiny.pairs(place / "alike.safetensors", 12, y=torch.full((12,), 5))
    return place


@pytest.fixture(autouse=True)
def beside_the_data(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGECOND_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(data)


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        (["unknown.safetensors"], ["unknown.safetensors", "y", "target of each graph", "none"]),
        (["alike.safetensors"], ["alike.safetensors", "two classes", "the class 5."]),
        (["molecules.csv", "--target", "alike"], ["molecules.csv", "two classes", "the class same."]),
        (
            ["molecules.csv", "--target", "logS", "--scaffold"],
            ["molecules.csv", "training set", "test set", "0 and 12", "another split"],
        ),
        (["notes.txt"], ["notes.txt", "folder", ".csv, .zip or .safetensors", "Save a table as CSV", "sub-folder"]),
        (["few"], ["5 folds", "5 examples of each class", "found 2 of ball", "fewer folds"]),
        (["molecules.csv", "--target", "logS", "--folds", "13"], ["13 folds", "13 examples: found 12", "fewer folds"]),
        (["shapes", "--target", "logS"], ["--target", "molecules", "shapes holds clouds", "Leave it out"]),
        (["shapes", "--scaffold"], ["scaffold", "molecules", "shapes holds clouds", "Leave it out"]),
        (["shapes", "--folds", "3", "--fold", "3"], ["from 0 to 2", "got 3"]),
    ],
)
def test_data_that_cannot_be_trained_on_are_an_error(words: list[str], facts: list[str]):
    assert has(sentence_of(edgecond("train", *words)), *facts)


@pytest.mark.parametrize(
    ("setting", "facts"),
    [
        ("task=regression", ["task follows from the data", "'regression'", "Leave it out"]),
        ("dataset=mnist", ["dataset follows from the data", "'mnist'", "Leave it out"]),
        (
            "labels=given",
            [
                "shapes",
                "one of cartesian+spherical, cartesian, spherical, irz-all, irz-cylindrical, irz-spherical, distance, "
                "none, released, one-hot: got 'given'.",
            ],
        ),
        ("network=C(4)-MP-GAP-FC(2)", ["shapes", "resolution and a radius: got MP.", "MP(0.25,0.5)"]),
        ("train.learning_rate=fast", ["shapes", "train.learning_rate", "valid number", "got 'fast'"]),
        ("hidden=16", ["shapes", "hidden", "valid tuple: got 16."]),
        ("input.edges=mesh", ["needs meshes: got a cloud", "Read the files as meshes."]),
    ],
)
def test_a_setting_that_does_not_fit_is_an_error(setting: str, facts: list[str], tmp_path: Path):
    result = edgecond("train", "shapes", *SMALL, "--set", setting, "--out", tmp_path / "run")

    assert has(sentence_of(result), *facts)


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        (["molecules.csv", "--set", "input={resolution=1,radius=2}"], ["input", "molecules", "given", "clouds"]),
        (["molecules.csv", "--set", "options={name=1}"], ["options follow from the data", "Leave them out"]),
        (["synthetic", "--set", "options={name=1}"], ["synthetic has no option 'name'", "points"]),
        (["synthetic", "--set", "options={fold=1}"], ["synthetic has no option 'fold'", "points"]),
    ],
)
def test_a_setting_that_is_not_for_these_data_is_an_error(words: list[str], facts: list[str], tmp_path: Path):
    target = ["--target", "kind", *SMALL] if words[0] == "molecules.csv" else []

    assert has(sentence_of(edgecond("train", *words, *target, "--out", tmp_path / "run")), *facts)


@pytest.mark.parametrize("seed", [-1, 2**32])
@pytest.mark.parametrize("verb", [["train", "molecules.csv", "--target", "kind"], ["reproduce", "synthetic/ecc"]])
def test_a_seed_that_numpy_does_not_have_is_an_error(verb: list[str], seed: int):
    """NumPy: seeds are from 0 to 2**32 - 1."""
    answer = edgecond(*verb, "--seed", seed)

    assert answer.exit_code == 2
    assert "Traceback" not in answer.output
    assert has(answer.stderr, "--seed", "0" if seed < 0 else "4294967295")


@pytest.mark.parametrize(
    ("variable", "words"),
    [
        ("EDGECOND_DATA", ["fetch", "sydney"]),
        ("EDGECOND_DATA", ["train", "sydney"]),
        (
            "EDGECOND_CACHE",
            ["train", "molecules.csv", "--target", "kind", *SMALL, "--set", "network=C(4)-MP-GAP-FC(2)"],
        ),
    ],
)
def test_the_home_directory_of_nobody_is_an_error(
    variable: str, words: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv(variable, "~nobody-has-this-name/data")
    out = ["--out", tmp_path / "run"] if words[0] == "train" else []

    sentence = sentence_of(edgecond(*words, *out))

    assert has(sentence, variable, "~nobody-has-this-name/data", f"Set {variable}")


@pytest.mark.parametrize("verb", ["predict", "evaluate", "report", "export"])
@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "directory"])
def test_a_pipe_or_a_directory_as_a_model_is_an_error(
    verb: str, inside: bool, make: Callable[[Path], None], tmp_path: Path
):
    """Reading a pipe that nobody writes to would wait forever."""
    model = tmp_path / "model.safetensors"
    make(model)

    result = edgecond(verb, tmp_path if inside else model, *(["shapes"] if verb == "predict" else []))

    assert has(sentence_of(result), *MODEL)


def test_a_learning_rate_at_which_the_last_step_diverges_is_an_error(tmp_path: Path):
    """There is one epoch of one batch, so no later loss can show it."""
    words = [
        "molecules.csv",
        "--target",
        "logS",
        "--epochs",
        1,
        "--set",
        "train.learning_rate=1e30",
        "--out",
        tmp_path / "run",
    ]

    assert has(sentence_of(edgecond("train", *words)), "finite", "3 of 3 examples", "lower learning rate")


def test_the_first_wrong_character_of_a_network_is_marked():
    """The mark is below that character, and nothing follows it."""
    answer = edgecond("train", "shapes", "--folds", 3, "--fold", 0, "--set", "network=C(4)-GAP-hello")

    assert answer.exit_code == 2
    assert has(answer.stderr, "shapes", "network", "C, MP, AP, GAP, GMP, V, FC, D", "'hello' at character 10")
    assert answer.stderr.endswith("\n  C(4)-GAP-hello\n           ^\n")


def test_a_stray_point_in_a_training_cloud_is_an_error(tmp_path: Path):
    write_clouds(tmp_path / "shapes", "ball", "box")
    for path in (tmp_path / "shapes").glob("*/*.npy"):
        np.save(path, np.load(path) * np.where(np.arange(20) == 7, 1e30, 1)[:, None].astype(np.float32))

    answer = edgecond("train", tmp_path / "shapes", *SMALL, "--set", "input.resolution=0.1", "--out", tmp_path / "run")

    assert has(sentence_of(answer), "below 1e+18", "Remove stray points", "check the units")


@pytest.fixture(scope="module")
def runs(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on the clouds and one on the molecules."""
    place = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDGECOND_CACHE", str(place / "cache"))
        for name, words in (("shapes", []), ("molecules.csv", ["--target", "kind"])):
            result = edgecond("train", data / name, *words, *SMALL, "--out", place / name)
            assert result.exit_code == 0, result.output
    return place


@pytest.mark.parametrize("verb", ["evaluate", "report"])
@pytest.mark.parametrize(
    ("run", "other", "trained", "found"),
    [
        ("shapes", "three", "clouds (classification: ball, box)", "clouds (classification: ball, box, cone)"),
        ("molecules.csv", "shapes", "molecules (classification: a, b)", "clouds"),
    ],
)
def test_data_unlike_those_of_a_run_are_an_error(verb: str, run: str, other: str, trained: str, found: str, runs: Path):
    result = edgecond(verb, runs / run, "--data", other)

    assert has(sentence_of(result), other, runs / run, trained, f"it holds {found}.", "--data")


def test_more_views_than_a_graph_has_are_one_error(runs: Path):
    """The sparsifications of a graph are five, and the file has twelve molecules."""
    result = edgecond("predict", runs / "molecules.csv", "molecules.csv", "--views", 6)

    assert has(sentence_of(result), "1 view of", "got 6", "fewer views")


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        ("[]", ["data.json", "none"]),
        ('{"path": 3}', ["data.json", "path", "got 3"]),
        ('{"path": "shapes", "target": [3]}', ["data.json", "target", "got [3]"]),
        ('{"path": "shapes", "folds": 3, "fold": 9}', ["from 0 to 2", "got 9"]),
        ('{"path": "shapes", "folds": 3, "seed": 4294967296}', ["data.json", "seed", "4294967295", "got 4294967296"]),
    ],
)
def test_a_damaged_record_of_the_data_is_an_error(content: str, facts: list[str], runs: Path, tmp_path: Path):
    run = Path(shutil.copytree(runs / "shapes", tmp_path / "run"))
    (run / "data.json").write_text(content)

    assert has(sentence_of(edgecond("evaluate", run)), *facts)


MODEL = ["must be a model file", "directory of a run", "model.safetensors: there is none", "`edgecond train`"]


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        (["train", "nowhere.csv"], ["nowhere.csv", "data set", "`edgecond list`", "path of your data"]),
        (["train", "nic1"], ["nic1", "`edgecond list`", "Did you mean nci1"]),
        (["predict", "nowhere", "shapes"], ["nowhere", *MODEL]),
        (["report", "shapes"], ["shapes", *MODEL]),
        (["export", "unknown.safetensors"], ["unknown.safetensors must be a checkpoint of edgecond"]),
    ],
)
def test_a_name_of_nothing_is_an_error(words: list[str], facts: list[str]):
    assert has(sentence_of(edgecond(*words)), *facts)


@pytest.mark.parametrize("place", ["notes.txt/out", "/proc/out", "shapes"])
@pytest.mark.parametrize("words", [["predict", "{}", "shapes"], ["report", "{}"], ["export", "{}"]], ids=lambda w: w[0])
def test_a_path_that_cannot_be_written_is_an_error(words: list[str], place: str, runs: Path):
    sentence = sentence_of(edgecond(*(word.format(runs / "shapes") for word in words), "--out", place))

    assert sentence.startswith(f"{place} ")
    assert sentence.endswith("name another directory.")
    assert "File exists" not in sentence


@pytest.mark.parametrize(
    ("run", "file", "facts"),
    [
        ("shapes", "molecules.csv", ["molecules.csv cannot be read", "must hold numbers"]),
        ("molecules.csv", "shapes", ["shapes must be", "CSV", "a folder"]),
        ("molecules.csv", "shapes/ball/0.npy", ["shapes/ball/0.npy must be", "text"]),
        ("graphs", "molecules.csv", ["molecules.csv must be a folder or a zip file", "TU format"]),
        ("graphs", "shapes", ["shapes must hold", "TU format", "NAME_A.txt", "found 0"]),
        ("graphs", "many.safetensors", ["many.safetensors must hold edge_index, and batch or ptr", "PyG"]),
    ],
)
def test_predicting_files_of_another_kind_is_an_error_with_status_1(
    run: str, file: str, facts: list[str], runs: Path, data: Path, tmp_path: Path
):
    """There may be files beside it that can be predicted."""
    model = runs / run
    if run == "graphs":
        model = tmp_path / "run"
        pairs = tiny.pairs(tmp_path / "pairs.safetensors", 12, y=torch.arange(12) % 2)
        assert edgecond("train", pairs, *SMALL, "--out", model).exit_code == 0
    save_file({f"layer{n}": torch.zeros(1) for n in range(100)}, data / "many.safetensors")

    answer = edgecond("predict", model, file)

    assert (answer.exit_code, answer.stderr.count("\n")) == (1, 1), answer.output
    assert has(answer.stderr, *facts)
    assert len(answer.stderr) < 300
