"""The verb `fair`."""

import pytest
from typer.testing import CliRunner

from edgecond.cli import app

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
