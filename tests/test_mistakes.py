"""What people get wrong at first, in what they give to a command, is answered by one sentence, never by a traceback."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import Result
from safetensors.torch import save_file
from typer.testing import CliRunner

from edgecond.cli import app
from tests.data.datasets import tiny

SMALL = ["--folds", "3", "--epochs", "1", "--set", "network=C(4)-GAP-FC(2)"]
ALCOHOLS = ["C" * (n + 1) + "O" for n in range(12)]


def edgecond(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def sentence_of(result: Result) -> str:
    """The one line that a command leaves with, and the status 2."""
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1, result.stderr
    return result.stderr.strip()


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
    ("words", "sentence"),
    [
        (
            ["unknown.safetensors"],
            "unknown.safetensors must hold y, what to predict of each graph: it holds none.",
        ),
        (
            ["alike.safetensors"],
            "alike.safetensors must have two or more classes to tell apart: all examples are of the class 5.",
        ),
        (
            ["molecules.csv", "--target", "alike"],
            "molecules.csv must have two or more classes to tell apart: all examples are of the class same.",
        ),
        (
            ["molecules.csv", "--target", "logS", "--scaffold"],
            "molecules.csv must be divided into examples to learn from and examples to test: got 0 and 12. "
            "Divide it in another way.",
        ),
        (
            ["notes.txt"],
            "notes.txt must be a folder, or a .csv, .zip or .safetensors file: it is none of them. Save a table as "
            "CSV, and put clouds or meshes into a folder with a sub-folder per class.",
        ),
        (
            ["few"],
            "5 folds need at least 5 examples of each class: found 2 of ball. Ask for fewer folds, or add examples.",
        ),
        (
            ["molecules.csv", "--target", "logS", "--folds", "13"],
            "13 folds need at least 13 examples: found 12. Ask for fewer folds, or add examples.",
        ),
    ],
)
def test_data_that_cannot_be_learned_are_answered_by_a_sentence(words: list[str], sentence: str):
    assert sentence_of(edgecond("train", *words)) == sentence


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("task=answers", "task is what the data say, and no setting: got 'answers'. Leave it out, or name other data."),
        (
            "dataset=mnist",
            "dataset is what the data say, and no setting: got 'mnist'. Leave it out, or name other data.",
        ),
        (
            "labels=given",
            "the settings of shapes must hold together: a labelling must be one of cartesian+spherical, cartesian, "
            "spherical, irz-all, irz-cylindrical, irz-spherical, distance, none, one-hot: got 'given'.",
        ),
        (
            "network=C(4)-MP-GAP-FC(2)",
            "the settings of shapes must hold together: a pooling layer for point clouds needs a resolution and a "
            "radius: got MP. Write it as in MP(0.25,0.5).",
        ),
        (
            "train.learning_rate=fast",
            "the settings of shapes must hold together: train.learning_rate: Input should be a valid number, "
            "unable to parse string as a number: got 'fast'.",
        ),
        ("hidden=16", "the settings of shapes must hold together: hidden: Input should be a valid tuple: got 16."),
        (
            "input.edges=mesh",
            "a mesh pyramid needs meshes: got a cloud, which has no edges. Read the files as meshes.",
        ),
    ],
)
def test_a_setting_that_cannot_be_is_answered_by_a_sentence(setting: str, sentence: str, tmp_path: Path):
    answer = edgecond("train", "shapes", *SMALL, "--set", setting, "--out", tmp_path / "run")

    assert sentence_of(answer) == sentence


def test_a_rate_at_which_the_last_step_diverges_is_answered_by_a_sentence(tmp_path: Path):
    """One epoch of one batch: no later loss tells of it."""
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

    assert sentence_of(edgecond("train", *words)) == (
        "a network must give finite numbers: this one does not for 3 of 3 examples. "
        "A lower learning rate is the usual cure; look for very large numbers in the data otherwise."
    )


def test_a_network_that_cannot_be_read_is_pointed_at():
    """The mark is below the first letter that is wrong, and nothing stands after it."""
    answer = edgecond("train", "shapes", "--folds", 3, "--set", "network=C(4)-GAP-hello")

    assert answer.exit_code == 2
    assert answer.stderr == (
        "the settings of shapes must hold together: network: a layer is one of C, MP, AP, GAP, GMP, V, FC, D: found "
        "'hello' at character 10.\n  C(4)-GAP-hello\n           ^\n"
    )


def test_a_stray_point_in_a_cloud_to_learn_from_is_answered_by_a_sentence(tmp_path: Path):
    write_clouds(tmp_path / "shapes", "ball", "box")
    for path in (tmp_path / "shapes").glob("*/*.npy"):
        np.save(path, np.load(path) * np.where(np.arange(20) == 7, 1e30, 1)[:, None].astype(np.float32))

    answer = edgecond("train", tmp_path / "shapes", *SMALL, "--set", "input.resolution=0.1", "--out", tmp_path / "run")

    assert sentence_of(answer).endswith("Choose a coarser resolution, or remove stray points.")


@pytest.fixture(scope="module")
def runs(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the clouds and one of the molecules."""
    place = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDGECOND_CACHE", str(place / "cache"))
        for name, words in (("shapes", []), ("molecules.csv", ["--target", "kind"])):
            result = edgecond("train", data / name, *words, *SMALL, "--out", place / name)
            assert result.exit_code == 0, result.output
    return place


@pytest.mark.parametrize("verb", ["evaluate", "report"])
@pytest.mark.parametrize(
    ("run", "other", "learned", "found"),
    [
        (
            "shapes",
            "three",
            "clouds or meshes (classification ball, box)",
            "clouds or meshes (classification ball, box, cone)",
        ),
        ("molecules.csv", "shapes", "molecules (classification a, b)", "clouds or meshes (classification ball, box)"),
    ],
)
def test_data_unlike_those_that_a_run_learned_are_answered_by_a_sentence(
    verb: str, run: str, other: str, learned: str, found: str, runs: Path
):
    answer = edgecond(verb, runs / run, "--data", other)

    assert sentence_of(answer) == (
        f"{other} must hold what {runs / run} learned, {learned}: it holds {found}. Name the place of those data."
    )


MODEL = "must be a model file, or the directory of a run with its model in model.safetensors"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["train", "nowhere.csv"],
            "nowhere.csv must be a dataset, a row of `edgecond list`, or the path of your own data: it is none of "
            "them.",
        ),
        (
            ["train", "nic1"],
            "nic1 must be a dataset, a row of `edgecond list`, or the path of your own data: it is none of them. "
            "Did you mean nci1 ",
        ),
        (["predict", "nowhere", "shapes"], f"nowhere {MODEL}: there is none. `edgecond train` makes one."),
        (["report", "shapes"], f"shapes {MODEL}: there is none. `edgecond train` makes one."),
        (
            ["export", "unknown.safetensors"],
            "unknown.safetensors must be a checkpoint of edgecond: it is a safetensors file of another program.",
        ),
    ],
)
def test_a_name_that_stands_for_nothing_is_answered_by_a_sentence(words: list[str], sentence: str):
    assert sentence_of(edgecond(*words)).startswith(sentence)


@pytest.mark.parametrize("place", ["notes.txt/out", "/proc/out", "shapes"])
@pytest.mark.parametrize("words", [["predict", "{}", "shapes"], ["report", "{}"], ["export", "{}"]], ids=lambda w: w[0])
def test_a_place_that_cannot_be_written_is_answered_by_a_sentence(words: list[str], place: str, runs: Path):
    answer = edgecond(*(word.format(runs / "shapes") for word in words), "--out", place)

    said = sentence_of(answer)
    assert said.startswith(f"{place} must be written: ")
    assert said.endswith("name another directory.")
    assert "File exists" not in said


@pytest.mark.parametrize(
    ("run", "file", "sentence"),
    [
        ("shapes", "molecules.csv", "molecules.csv cannot be read: line 2 must hold numbers"),
        ("molecules.csv", "shapes", "shapes must be a CSV file: it is a folder."),
        ("molecules.csv", "shapes/ball/0.npy", "shapes/ball/0.npy must be text: found binary data."),
        ("graphs", "molecules.csv", "molecules.csv must be a folder or a zip file in the TU format: it is neither."),
        ("graphs", "shapes", "shapes must hold one dataset in the TU format, with one file NAME_A.txt: found 0."),
        ("graphs", "many.safetensors", "many.safetensors must hold edge_index, and batch or ptr, as a PyG Batch has "),
    ],
)
def test_a_model_that_is_given_data_of_another_kind_says_so(
    run: str, file: str, sentence: str, runs: Path, data: Path, tmp_path: Path
):
    """Bad items have the status 1, since there may be good ones beside them."""
    model = runs / run
    if run == "graphs":
        model = tmp_path / "run"
        pairs = tiny.pairs(tmp_path / "pairs.safetensors", 12, y=torch.arange(12) % 2)
        assert edgecond("train", pairs, *SMALL, "--out", model).exit_code == 0
    save_file({f"layer{n}": torch.zeros(1) for n in range(100)}, data / "many.safetensors")

    answer = edgecond("predict", model, file)

    assert (answer.exit_code, answer.stderr.count("\n")) == (1, 1), answer.output
    assert answer.stderr.startswith(sentence)
    assert len(answer.stderr) < 300
