"""The command line answers fast, in tables and sentences."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from edgecond import __version__
from edgecond.cli import app
from edgecond.cli.console import confusion_table

run = CliRunner().invoke
VERBS = [command.name or command.callback.__name__ for command in app.registered_commands]


def test_the_version_is_that_of_the_package():
    assert run(app, ["--version"]).output == f"edgecond {__version__}\n"


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_every_verb_has_an_example(verb: str):
    assert f"edgecond {verb}" in run(app, [verb, "--help"]).output


def test_the_command_line_starts_without_heavy_imports():
    """`edgecond --help` must answer at once, and importing torch takes seconds."""
    code = "import sys, edgecond.cli; print({'torch', 'numpy', 'scipy', 'matplotlib'} & set(sys.modules))"

    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert answer.stdout == "set()\n"


def test_network_lists_the_layers_with_their_levels():
    """Section 4.1, shortened: two parametric layers and two resolutions, by hand."""
    result = run(app, ["network", "C(16)-MP(0.25,0.5)-GAP-FC(14)"])

    rows = [line.split()[:4] for line in result.output.splitlines()]
    assert result.exit_code == 0
    assert ["C(16)", "0"] in [row[:2] for row in rows]
    assert ["MP(0.25,0.5)", "0", "to", "1"] in rows
    assert ["GAP", "1"] in [row[:2] for row in rows]
    assert result.output.splitlines()[-1] == "parametric layers: 2, levels of graph resolution: 2"


def test_a_wrong_network_is_answered_by_a_sentence():
    result = run(app, ["network", "C(16)-X(3)-GAP"])

    assert result.exit_code == 2
    assert result.output == (
        "a layer is one of C, MP, AP, GAP, GMP, V, FC, D: found 'X' at character 7.\n  C(16)-X(3)-GAP\n        ^\n"
    )


def test_show_tells_the_numbers_of_the_paper_and_the_settings_by_the_names_that_set_takes():
    found = run(app, ["show", "nci1/ecc"])

    assert found.exit_code == 0, found.output
    assert "paper                Table 4, ECC (5 votes): accuracy_votes 0.8363\n" in found.output
    assert "train.learning_rate  0.1\n" in found.output


def test_info_tells_the_versions_and_the_kernels():
    torch = pytest.importorskip("torch")
    native = pytest.importorskip("edgecond.nn.kernels")

    result = run(app, ["info"])

    facts = dict(line.split(maxsplit=1) for line in result.output.splitlines())
    assert facts["edgecond"] == __version__
    assert facts["torch"] == torch.__version__
    assert facts["kernels"] == (f"C++, {native.instruction_set()}" if native.available() else "torch")


def test_the_demonstration_leaves_a_model_that_evaluate_and_predict_accept(tmp_path):
    """Two epochs are enough to see that all of it works; `make demo` takes forty."""
    out = tmp_path / "demo"

    shown = run(app, ["demo", "--epochs", "2", "--out", str(out)])
    evaluated = run(app, ["evaluate", str(out)])
    predicted = run(app, ["predict", str(out), *map(str, sorted((out / "examples").iterdir()))])

    assert shown.exit_code == evaluated.exit_code == predicted.exit_code == 0, shown.output
    figures = [line for line in shown.output.splitlines() if "test examples" in line]
    assert figures[0] in evaluated.output  # what was trained is what was saved
    assert figures[0].startswith("364 test examples: f1 ")
    lines = predicted.output.splitlines()
    assert lines[0] == "file,class,probability"
    assert [len(line.split(",")) for line in lines[1:]] == [3, 3, 3]


def test_confusion_has_a_row_for_each_true_class(capsys):
    """Of three examples of class 0, one was taken for class 1; by hand, 67 % were found."""
    confusion_table(np.array([[2, 1], [0, 4]]), ["cat", "dog"])

    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["0", "cat", "2", "1", "67", "%"] in rows
    assert ["1", "dog", "·", "4", "100", "%"] in rows


def test_an_experiment_is_recorded_beside_its_row_and_compared_with_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "has none" in run(app, ["table", "experiments"]).output
    command = ["reproduce", "synthetic/ecc", "--epochs", "1", "--set", "options={train=12,test=6}"]

    assert run(app, [*command, "--seed", "0", "--seed", "1", "--jobs", "2"]).exit_code == 0
    assert run(app, [*command, "--set", "train.learning_rate=0.05"]).exit_code == 0

    row = tmp_path / "results/synthetic/ecc"
    fewer, slower = sorted(row.iterdir())
    assert sorted(path.name for path in fewer.iterdir()) == ["fold0-seed0.json", "fold0-seed1.json"]
    record = json.loads((slower / "fold0-seed0.json").read_text())
    assert record["changes"] == {"options": {"train": 12, "test": 6}, "train.learning_rate": 0.05}
    (row / "fold0-seed0.json").write_bytes((fewer / "fold0-seed0.json").read_bytes())  # as if it were the row's
    told = run(app, ["table", "experiments"]).output
    assert re.search(r"synthetic/ecc +options={train=12,test=6} +accuracy +(\S+) +\1 +\+0\.0 +1\n", told)


def test_an_experiment_with_one_look_is_told_without_the_votes_of_its_row(tmp_path, monkeypatch):
    """NCI1 has figures of five votes in the paper; with one sparsification there is nothing to vote."""
    monkeypatch.chdir(tmp_path)
    record = {"metrics": {"accuracy": 0.75, "train_accuracy": 0.5}}
    monkeypatch.setattr("edgecond.runs.run.reproduce", lambda *_, **__: record)

    told = run(app, ["reproduce", "nci1/ecc", "--fold", "0", "--set", "sparsifications=1"])

    assert told.exit_code == 0
    assert told.output.endswith("fold 0 seed 0: accuracy 75.00, train_accuracy 50.00\n")


def test_gains_are_told_beside_those_of_the_paper_and_what_is_missing_is_marked(tmp_path, monkeypatch):
    """Table 4: without edge labels NCI1 loses 83.80 - 76.82 points."""
    monkeypatch.chdir(tmp_path)

    assert re.search(r"nci1/no-labels +acc +-7\.0 +- +- +- +0\n", run(app, ["table", "gains"]).output)


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (["reproduce", "synthetic/ecc", "--set", "rate=1"], "a setting is one of those that `edgecond show` lists: "),
        (["train", "sidney"], "sidney must be a dataset, a row of `edgecond list`, or the path of your own data: "),
        (["train", "synthetic", "--fold", "1"], "the folds of synthetic are numbered from 0 to 0: got 1."),
        (["evaluate", "nowhere"], "nowhere must be a model file, or the directory of a run "),
        (["predict", "nowhere", "cloud.npy"], "nowhere must be a model file, or the directory of a run "),
        (["reproduce", "synthetic/ec"], "a row is one of those that `edgecond list` shows: there is no"),
    ],
)
def test_a_wrong_word_is_answered_by_a_sentence(command, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    result = run(app, command)

    assert result.exit_code == 2
    assert result.stderr.startswith(sentence)
    assert list(tmp_path.iterdir()) == []
