"""The verb `plot`."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from edgecond.cli import app

run = CliRunner().invoke


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_table_is_drawn_as_png_and_svg(tmp_path: Path):
    pytest.importorskip("matplotlib")

    result = run(app, ["plot", "5"])

    assert (result.exit_code, result.output) == (0, "pictures/table-5.png and table-5.svg\n")
    assert (tmp_path / "pictures/table-5.png").read_bytes().startswith(b"\x89PNG")
    assert "</svg>" in (tmp_path / "pictures/table-5.svg").read_text("utf-8")


def test_an_unknown_picture_is_an_error():
    result = run(app, ["plot", "3"])

    assert (result.exit_code, result.stderr) == (
        2,
        "a picture must be one of filters, robustness, tables and 1, 2, 4, 5, 6, 7, 8, 9: got 3.\n",
    )


@pytest.mark.parametrize("what", ["filters", "robustness"])
def test_a_figure_without_models_is_an_error_that_names_the_next_step(what: str):
    result = run(app, ["plot", what, "--runs", "runs"])

    assert result.exit_code == 2
    assert "`edgecond reproduce ROW` trains them" in result.stderr
