"""The command itself, without a verb."""

from typer.testing import CliRunner

from edgecond import __version__
from edgecond.cli import app

run = CliRunner().invoke


def test_the_version_is_that_of_the_package():
    assert run(app, ["--version"]).output == f"edgecond {__version__}\n"


def test_without_a_verb_the_help_is_printed():
    assert "Usage" in run(app, []).output
