"""The verb `network`."""

from typer.testing import CliRunner

from edgecond.cli import app

run = CliRunner().invoke


def test_layers_are_listed_with_their_levels():
    """Section 4.1, shortened: two parametric layers and two resolutions, by hand."""
    result = run(app, ["network", "C(16)-MP(0.25,0.5)-GAP-FC(14)"])

    rows = [line.split()[:4] for line in result.output.splitlines()]
    assert result.exit_code == 0
    assert ["C(16)", "0"] in [row[:2] for row in rows]
    assert ["MP(0.25,0.5)", "0", "to", "1"] in rows
    assert ["GAP", "1"] in [row[:2] for row in rows]
    assert result.output.splitlines()[-1] == "parametric layers: 2, levels of graph resolution: 2"


def test_the_first_wrong_character_of_a_network_is_marked():
    result = run(app, ["network", "C(16)-X(3)-GAP"])

    assert result.exit_code == 2
    assert "C, MP, AP, GAP, GMP, V, FC, D: found 'X' at character 7.\n" in result.output
    assert result.output.endswith("\n  C(16)-X(3)-GAP\n        ^\n")
