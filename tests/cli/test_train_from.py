"""`train --from MODEL`: what is taken over is printed, and what does not fit is one sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from edgecond.cli import app
from edgecond.runs.model import Model

run = CliRunner().invoke
WORDS = ["--folds", "3", "--fold", "0", "--epochs", "1"]


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with six clouds of each of three classes, one of which the model knows."""
    folder, rng = tmp_path_factory.mktemp("from") / "others", np.random.default_rng(1)
    for name in ("box", "cone", "torus"):
        (folder / name).mkdir(parents=True)
        for number in range(6):
            np.save(folder / name / f"{number}.npy", rng.random((20, 3), np.float32))
    return folder


@pytest.fixture(scope="module")
def finetuned(trained: tuple[Path, str], others: Path, tmp_path_factory) -> tuple[Path, str]:
    directory = tmp_path_factory.mktemp("finetuned")
    words = ["--from", str(trained[0]), "--freeze", "1", "--out", str(directory)]
    result = run(app, ["train", str(others), *WORDS, *words])
    assert result.exit_code == 0, result.output
    return directory, result.output


def test_what_is_taken_over_is_printed(finetuned: tuple[Path, str]):
    _, output = finetuned

    assert "network: C(4)-GAP-FC(3)" in output
    assert "start: shapes, 1 convolution and 1 FC" in output
    assert "outputs of the last FC: kept for box, new for cone, torus" in output
    assert "frozen: C(4), with their batch normalisation" in output


def test_the_frozen_convolution_is_that_of_the_model_and_the_run_can_be_evaluated(
    trained: tuple[Path, str], finetuned: tuple[Path, str]
):
    before, after = Model.load(trained[0]), Model.load(finetuned[0])

    assert after.recipe.input == before.recipe.input
    for one, two in zip(before.network.layers[0].parameters(), after.network.layers[0].parameters(), strict=True):
        assert np.array_equal(one.detach(), two.detach())
    assert run(app, ["evaluate", str(finetuned[0])]).exit_code == 0


def test_a_data_set_with_a_name_can_start_from_a_model(tmp_path: Path):
    words = ["--epochs", "1", "--set", "options={train=12,test=6,points=50}"]
    first = run(app, ["train", "synthetic", *words, "--out", str(tmp_path / "first")])

    second = run(app, ["train", "synthetic", *words, "--from", str(tmp_path / "first"), "--out", str(tmp_path / "run")])

    assert (first.exit_code, second.exit_code) == (0, 0), second.output
    assert "start: synthetic/ecc" in second.output


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--freeze", "1"], "--freeze 1 is for the layers of a model to start from. Name one with --from."),
        (["--from", "MODEL", "--freeze", "2"], "--freeze must leave the last layer free"),
        (["--from", "MODEL", "--set", "network=C(8)-GAP-FC(3)"], "Leave --set network out."),
        (["--from", "nowhere"], "nowhere must be a model file"),
    ],
)
def test_a_mistake_is_one_sentence(trained: tuple[Path, str], others: Path, tmp_path: Path, words, sentence):
    words = [str(trained[0]) if word == "MODEL" else word for word in words]

    result = run(app, ["train", str(others), *WORDS, *words, "--out", str(tmp_path / "run")])

    assert result.exit_code == 2
    assert sentence in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "run").exists()


def test_molecules_cannot_start_from_a_model_of_clouds(trained: tuple[Path, str], tmp_path: Path):
    pytest.importorskip("rdkit")
    table = tmp_path / "t.csv"
    table.write_text("smiles,y\n" + "\n".join(f"{'C' * n},{n / 3}" for n in range(1, 12)))

    result = run(app, ["train", str(table), "--target", "y", "--from", str(trained[0])])

    assert result.exit_code == 2
    assert "must be one of molecules, as the data are: shapes is a model of clouds." in result.stderr
