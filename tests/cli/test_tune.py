"""The verb `tune`: a search from the command line, and the recipe that `train` takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from edgecond.cli import app, tune
from edgecond.cli.running import Here
from edgecond.runs import cluster
from edgecond.runs.model import Model
from edgecond.runs.settings_file import read_settings

pytest.importorskip("optuna")
run = CliRunner().invoke
TINY = ["--epochs", "1", "--set", "network=C(4)-GAP-FC(2)", "--set", "hidden=[4]", "--set", "train.batch_size=4"]


@pytest.fixture(scope="module")
def tuned(clouds: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The directory of a study of the clouds, and what `tune` printed."""
    directory = tmp_path_factory.mktemp("tune") / "study"
    result = run(app, ["tune", str(clouds), *TINY, "--trials", "2", "--out", str(directory)])
    assert result.exit_code == 0, result.output
    return directory, result.output


def test_trials_and_the_best_settings_are_printed(tuned: tuple[Path, str]):
    directory, output = tuned

    assert "the test set is left alone" in output
    assert re.search(r"^trial 0 \(default\): accuracy [\d.]+ on the validation set$", output, re.MULTILINE)
    assert re.search(r"^trial 1: ", output, re.MULTILINE)
    assert re.search(r"^train\.learning_rate +0\.003 +0\.", output, re.MULTILINE)
    assert f"the best recipe is in {directory / 'recipe.toml'}" in output


def test_the_same_command_finds_nothing_left_to_do(clouds: Path, tuned: tuple[Path, str]):
    directory, before = tuned

    again = run(app, ["tune", str(clouds), *TINY, "--trials", "2", "--out", str(directory)])

    assert again.exit_code == 0
    assert "trial 0 (default)" not in again.output
    assert before.endswith(again.output[again.output.index("setting ") :])


def test_train_takes_the_best_recipe(clouds: Path, tuned: tuple[Path, str], tmp_path: Path):
    recipe = tuned[0] / "recipe.toml"
    words = [*TINY, "--recipe", str(recipe), "--set", "dropout=0.25", "--out", str(tmp_path)]

    result = run(app, ["train", str(clouds), *words])

    assert result.exit_code == 0, result.output
    settings, trained = read_settings(recipe), Model.load(tmp_path).recipe.dotted()
    assert trained["dropout"] == 0.25  # --set takes precedence
    assert trained["train.epochs"] == 1
    assert {name: trained[name] for name in settings if name != "dropout"} == {
        name: value for name, value in settings.items() if name != "dropout"
    }


def test_epochs_of_the_command_line_take_precedence_over_a_recipe(clouds: Path, tmp_path: Path):
    (tmp_path / "recipe.toml").write_text('network = "C(4)-GAP-FC(2)"\ntrain.epochs = 50\n')
    words = ["--recipe", str(tmp_path / "recipe.toml"), "--epochs", "1", "--out", str(tmp_path / "run")]

    result = run(app, ["train", str(clouds), *words])

    assert result.exit_code == 0, result.output
    assert Model.load(tmp_path / "run").recipe.train.epochs == 1


def test_the_space_is_printed_and_can_be_edited(clouds: Path, tmp_path: Path):
    words = ["tune", str(clouds), "--set", "network=C(4)-GAP-FC(2)", "--epochs", "1"]
    printed = run(app, [*words, "--print-space"]).stdout
    lines = [line for line in printed.splitlines() if line.startswith("train.")]
    (tmp_path / "space.toml").write_text("\n".join(lines))

    again = run(app, [*words, "--print-space", "--space", str(tmp_path / "space.toml")])

    assert "radius_scale = " in printed
    assert "network" not in printed  # which is set
    assert again.stdout.splitlines() == lines
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nowhere.csv"], "nowhere.csv must be the path of your data: it does not exist."),
        (["DATA", "--space", "nowhere.toml"], "nowhere.toml"),
        (["DATA", "--set", "rate=1"], "train.learning_rate"),
    ],
)
def test_a_mistake_is_one_sentence(clouds: Path, words: list[str], sentence: str):
    result = run(app, ["tune", *(str(clouds) if word == "DATA" else word for word in words)])

    assert result.exit_code == 2
    assert sentence in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.slow
def test_two_processes_share_a_study(clouds: Path, tmp_path: Path):
    words = ["tune", str(clouds), *TINY, "--trials", "4", "--jobs", "2", "--out", str(tmp_path / "study")]

    result = run(app, words)

    assert result.exit_code == 0, result.output
    assert "4 trials; the best recipe" in result.output


def test_trials_on_a_cluster_share_the_directory_of_the_study(
    clouds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Each of three tasks runs the same command without --on, whose directory every node must see."""
    begun: list[Sequence[str]] = []

    @contextmanager
    def nodes(jobs: int, outputs: dict[str, Path], inputs: list[Path], shared: bool) -> Iterator[Here]:
        assert (outputs, inputs, shared) == ({"--out": Path("study")}, [clouds], True)
        yield Here(jobs)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cluster, "nodes", nodes)
    monkeypatch.setattr(tune, "in_parallel", lambda commands, place: begun.extend(commands) or 3)

    result = run(app, ["tune", str(clouds), *TINY, "--on", "ray", "--jobs", "3", "--out", "study"])

    assert result.exit_code == 3  # that of the tasks
    assert len(begun) == 3
    assert all("--out=study" in command for command in begun)
    assert not any(word.startswith(("--on", "--jobs")) for command in begun for word in command)
