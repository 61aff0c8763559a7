"""The verb `fair`."""

import pytest
from typer.testing import CliRunner

from edgecond.cli import app, fair, running

run = CliRunner().invoke


def test_only_data_sets_with_public_folds_are_assessed():
    result = run(app, ["fair", "mutag"])

    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "nci1, enzymes, dd: got mutag." in result.stderr


def test_torchrun_is_an_error_that_names_jobs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WORLD_SIZE", "2")

    result = run(app, ["fair", "nci1"])

    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "--jobs" in result.stderr


def test_folds_in_parallel_are_commands_that_the_command_line_accepts(monkeypatch: pytest.MonkeyPatch):
    """With their fold alone, and without --jobs, they reach the same verb again."""
    commands: list[list[str]] = []
    monkeypatch.setattr(running, "precompute", lambda recipe: None)
    monkeypatch.setattr(running, "in_parallel", lambda each, place: commands.extend(each) or 0)

    assert run(app, ["fair", "enzymes", "--plus", "--jobs", "2"]).exit_code == 0
    assert len(commands) == 10
    assert run(app, [*commands[0], "--jobs=2", "--seed=1"]).exit_code == 0  # two seeds: again in parallel
    assert len(commands) == 12
    assert all({"--plus", "--repeats=3"} <= set(command) for command in commands)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--repeats", "101"], "at most 100 times with a seed: got 101. Give more seeds instead"),
        (["--seed", "0", "--seed", "42949672"], "at most 42949671, as its tests have seeds from 100 times"),
    ],
)
def test_tests_whose_seeds_would_be_those_of_others_are_refused(
    options: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch
):
    """A seed has 100 seeds of tests, and seeds are below 2^32: the largest is 42949671, by hand."""
    monkeypatch.setattr(fair, "run_folds", lambda *args: pytest.fail("a fold was run"))

    result = run(app, ["fair", "nci1", *options])

    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert sentence in result.stderr
