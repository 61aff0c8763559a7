"""The verb `fetch`."""

from pathlib import Path

from typer.testing import CliRunner

from edgecond.cli import app
from edgecond.files import sha256
from edgecond.runs.pretrained import index

run = CliRunner().invoke


def test_a_data_set_from_a_seed_needs_no_download():
    result = run(app, ["fetch", "synthetic"])

    assert result.exit_code == 0
    assert "synthetic" in result.output
    assert "nothing to download" in result.output


def test_an_unknown_data_set_is_an_error():
    result = run(app, ["fetch", "sidney"])

    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "'sidney'" in result.stderr
    assert "sydney" in result.stderr


def test_a_pretrained_model_is_copied_and_verified(tmp_path: Path):
    result = run(app, ["fetch", "model/esol", "--out", str(tmp_path / "here")])

    assert result.stdout == f"model/esol is in {tmp_path / 'here'}: verified.\n"
    assert sha256(tmp_path / "here" / "model.safetensors") == index()["model/esol"].files["model.safetensors"]


def test_a_data_set_has_no_other_directory(tmp_path: Path):
    result = run(app, ["fetch", "sydney", "--out", str(tmp_path)])

    assert result.exit_code == 2
    assert "EDGECOND_DATA" in result.stderr
