"""The command itself, without a verb."""

import re

from typer.testing import CliRunner

from edgecond import __version__
from edgecond.cli import app

run = CliRunner().invoke


def test_the_version_is_that_of_the_package():
    assert run(app, ["--version"]).output == f"edgecond {__version__}\n"


def test_without_a_verb_the_help_is_printed():
    assert "Usage" in run(app, []).output


def test_the_help_shows_verbs_by_what_people_come_for():
    panels: dict[str, list[str]] = {}
    for line in run(app, ["--help"]).output.splitlines():
        if title := re.match(r"╭─ (.*?) ─", line):
            panels[title[1]] = []
        elif verb := re.match(r"│ ([a-z]+) ", line):
            panels[list(panels)[-1]].append(verb[1])
    verbs = {title: names for title, names in panels.items() if names}

    assert list(verbs) == ["First steps", "Training on your data", "Predictions", "Models to share", "The paper"]
    assert verbs["First steps"][0] == "demo"
    assert verbs["Training on your data"][:2] == ["train", "evaluate"]  # in the order in which they are used
    assert verbs["The paper"][:3] == ["list", "show", "fetch"]
    shown = [name for names in verbs.values() for name in names]
    assert sorted(shown) == sorted(command.name or command.callback.__name__ for command in app.registered_commands)
