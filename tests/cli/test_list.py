"""The verb `list`."""

from typer.testing import CliRunner

from edgecond.cli import app


def test_the_rows_of_the_paper_are_listed_with_their_tables():
    """Sydney at 1.5 rho is in Table 1; the demonstration on digits is not in the paper."""
    lines = CliRunner().invoke(app, ["list"]).output.splitlines()

    (wider,) = [line for line in lines if line.split()[0] == "sydney/wider"]
    assert "Table 1" in wider
    assert "ECC 1.5ρ" in wider
    assert not [line for line in lines if line.startswith("digits/")]
