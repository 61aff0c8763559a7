"""The verb `fair`."""

import pytest
from typer.testing import CliRunner

from edgecond.cli import app, running

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
