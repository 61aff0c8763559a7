"""The command line starts fast, and the help of every verb has an example."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from edgecond.cli import app

run = CliRunner().invoke
VERBS = [command.name or command.callback.__name__ for command in app.registered_commands]


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_every_verb_has_an_example(verb: str):
    assert f"edgecond {verb}" in run(app, [verb, "--help"]).output


def test_the_command_line_starts_without_heavy_imports():
    """`edgecond --help` must answer at once, and importing torch takes seconds."""
    code = "import sys, edgecond.cli; print({'torch', 'numpy', 'scipy', 'matplotlib'} & set(sys.modules))"

    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert answer.stdout == "set()\n"


@pytest.mark.parametrize(
    ("command", "facts"),
    [
        (["reproduce", "synthetic/ecc", "--set", "rate=1"], ["setting", "`edgecond show`", "'rate'"]),
        (["train", "sidney"], ["sidney", "data set", "`edgecond list`", "path of your data", "sydney"]),
        (["train", "synthetic", "--fold", "1"], ["folds of synthetic", "0", "1."]),
        (["evaluate", "nowhere"], ["nowhere", "model file", "directory of a run"]),
        (["predict", "nowhere", "cloud.npy"], ["nowhere", "model file", "directory of a run"]),
        (["reproduce", "synthetic/ec"], ["row", "`edgecond list`", "'synthetic/ec'", "synthetic/ecc"]),
    ],
)
def test_a_wrong_word_is_an_error_of_one_sentence_and_writes_nothing(command, facts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    result = run(app, command)

    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    places = [result.stderr.find(fact) for fact in facts]
    assert -1 not in places, result.stderr
    assert list(tmp_path.iterdir()) == []
