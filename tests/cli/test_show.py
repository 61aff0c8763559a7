"""The verb `show`."""

from typer.testing import CliRunner

from edgecond.cli import app

run = CliRunner().invoke


def test_a_row_is_shown_with_the_numbers_of_the_paper_and_the_names_that_set_takes():
    """Table 4 has 83.63 for five votes on NCI1, and Section 4.3 a learning rate of 0.1."""
    result = run(app, ["show", "nci1/ecc"])

    assert result.exit_code == 0, result.output
    assert "paper                   Table 4, ECC (5 votes): accuracy_votes 0.8363\n" in result.output
    assert "train.learning_rate     0.1\n" in result.output


def test_an_unknown_row_is_an_error():
    result = run(app, ["show", "nci1/ec"])

    assert result.exit_code == 2
    assert "Did you mean nci1/ecc" in result.stderr
