"""Rows that are written as they come."""

from pathlib import Path

import pytest
import typer

from edgecond.cli.streaming import unread_reported, written_to


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
