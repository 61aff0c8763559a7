"""Rows that are written as they come."""

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from edgecond.cli import app
from edgecond.cli.streaming import check_output, unread_reported, written_to
from edgecond.errors import DataError
from tests.sentences import refused


def test_an_error_leaves_no_file_behind(tmp_path: Path):
    def write() -> None:
        with written_to(tmp_path / "rows.csv") as stream:
            stream.write("a,b\n")
            raise ValueError("halfway")

    with pytest.raises(ValueError, match="halfway"):
        write()

    assert list(tmp_path.iterdir()) == []


def test_text_that_utf_8_cannot_write_is_written_out(tmp_path: Path):
    with written_to(tmp_path / "rows.csv") as stream:
        stream.write("\udce9\n")

    assert (tmp_path / "rows.csv").read_text() == "\\udce9\n"


def test_the_exit_status_is_1_if_something_could_not_be_read(capsys: pytest.CaptureFixture[str]):
    with unread_reported():
        pass
    with pytest.raises(typer.Exit) as ended, unread_reported() as report:
        report("x.ply cannot be read.")

    assert ended.value.exit_code == 1
    assert capsys.readouterr().err == "x.ply cannot be read.\n"


def test_a_file_that_is_read_is_not_written(tmp_path: Path):
    """By whatever name: a link to it is the same file."""
    (tmp_path / "new.csv").write_text("smiles\nCCO\n")
    (tmp_path / "link.csv").symlink_to("new.csv")
    inputs = [tmp_path / "absent.csv", tmp_path, tmp_path / "new.csv"]

    for name in ("new.csv", "link.csv"):
        found = f"{tmp_path / name} is one of them. Choose another name."
        with refused(f"--out must be another file than those that are read: {found}", DataError):
            check_output(tmp_path / name, inputs)

    check_output(None, inputs)
    check_output(tmp_path / "other.csv", inputs)
    assert (tmp_path / "new.csv").read_text() == "smiles\nCCO\n"


@pytest.mark.parametrize("words", ["predict --out", "explain --out", "explain --page", "embed --out"])
def test_verbs_do_not_write_over_what_they_read(trained: tuple[Path, str], clouds: Path, words: str):
    verb, option = words.split()
    cloud, model = clouds / "ball" / "0.npy", trained[0] / "model.safetensors"
    before = cloud.read_bytes(), model.read_bytes()

    for path in (cloud, model):
        result = CliRunner().invoke(app, [verb, str(model), str(cloud), option, str(path)])
        assert result.exit_code == 2
        assert f"{option} must be another file than those that are read: {path} is" in result.stderr

    assert (cloud.read_bytes(), model.read_bytes()) == before
