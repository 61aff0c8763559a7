"""The verb `report`."""

from pathlib import Path

from typer.testing import CliRunner

from edgecond.cli import app

run = CliRunner().invoke


def test_the_page_of_a_run_on_user_data_is_written(trained: tuple[Path, str], tmp_path: Path):
    result = run(app, ["report", str(trained[0]), "--out", str(tmp_path / "page.html")])

    assert result.output == f"The report is in {tmp_path / 'page.html'}.\n"
    assert "<h2>Metrics</h2>" in (tmp_path / "page.html").read_text("utf-8")


def test_a_missing_run_is_an_error(tmp_path: Path):
    result = run(app, ["report", str(tmp_path / "nowhere")])

    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert str(tmp_path / "nowhere") in result.stderr
