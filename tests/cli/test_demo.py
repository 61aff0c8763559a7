"""The verb `demo`."""

from pathlib import Path

from typer.testing import CliRunner

from edgecond.cli import app

run = CliRunner().invoke


def test_the_demonstration_writes_a_model_that_evaluate_and_predict_accept(tmp_path: Path):
    """Two epochs instead of the forty of `make demo`."""
    out = tmp_path / "demo"

    shown = run(app, ["demo", "--epochs", "2", "--out", str(out)])
    evaluated = run(app, ["evaluate", str(out)])
    predicted = run(app, ["predict", str(out), *map(str, sorted((out / "examples").iterdir()))])

    assert shown.exit_code == evaluated.exit_code == predicted.exit_code == 0, shown.output
    metrics = [line for line in shown.output.splitlines() if "test examples" in line]
    assert metrics[0] in evaluated.output  # the trained model is the saved one
    assert metrics[0].startswith("364 test examples: f1 ")
    assert f"edgecond report {out}" in shown.output
    lines = predicted.output.splitlines()
    assert lines[0] == "file,class,probability"
    assert [len(line.split(",")) for line in lines[1:]] == [3, 3, 3]


def test_the_examples_of_the_demonstration_are_not_written_through_links(tmp_path: Path):
    """Who may write to the directory could otherwise make us overwrite any file of ours."""
    victim, examples = tmp_path / "victim", tmp_path / "demo" / "examples"
    victim.write_text("precious")
    examples.mkdir(parents=True)
    for digit in range(10):
        (examples / f"test0-a-{digit}.npy").symlink_to(victim)

    assert run(app, ["demo", "--epochs", "1", "--out", str(tmp_path / "demo")]).exit_code == 0

    assert victim.read_text() == "precious"
    assert sum(not path.is_symlink() for path in examples.glob("test0-*")) == 1
