"""The verb `fetch`."""

from typer.testing import CliRunner

from edgecond.cli import app

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
