"""What is published is that of the records: a changed number, a number without source and a changed row are found."""

import json
from pathlib import Path

import pytest

from edgecond.errors import DataError
from edgecond.paper.check import findings, quoted, Source
from edgecond.paper.fair import candidate
from edgecond.paper.records import _canonical, _digest
from tests.documents import ROOT


def write(results: Path, row: str, fold: int, seed: int = 0, **metrics: float) -> None:
    path = results / row / f"fold{fold}-seed{seed}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"fold": fold, "seed": seed, "epochs": 250, "metrics": metrics}))


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Four folds of two rows of Sydney; two seeds of the first."""
    for fold, (plain, other) in enumerate([(0.70, 0.60), (0.80, 0.74), (0.90, 0.76), (0.80, 0.70)]):
        write(tmp_path, "sydney/ecc", fold, 0, f1=plain)
        write(tmp_path, "sydney/ecc", fold, 1, f1=plain)
        write(tmp_path, "sydney/distance", fold, 0, f1=other)
        write(tmp_path, "robustness/sydney/ecc", fold, 0, **{"noise=0.1": other})
    write(tmp_path, "robustness/sydney/noise", 0, 0, **{"noise=0.1": 0.5})
    return tmp_path


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("80.0 sydney/ecc f1", 80.0),
        ("80.0 sydney/ecc f1, seed 1", 80.0),
        ("70.0 sydney/distance f1", 70.0),
        ("70.0 robustness/sydney/ecc noise=0.1", 70.0),
        ("8.2 spread of sydney/ecc f1", 8.165),  # deviations of -10, 0, 10 and 0 over three
        ("4.1 error of sydney/ecc f1", 4.082),
        ("10.0 sydney/ecc over sydney/distance f1", 10.0),  # 10, 6, 14 and 10
        ("1.6 error of sydney/ecc over sydney/distance f1", 1.633),
        ("78.4 paper of sydney/ecc f1", 78.4),  # Table 1
        ("17.7 paper of sydney/ecc over sydney/distance f1", 17.7),  # Table 6: 78.4 and 60.7
        ("-0.4 distance of sydney/ecc f1", -0.3919),  # 78.4 is 1.6 below 80, of 4.08
        ("76.7 runs of sydney/ecc and sydney/distance f1", 76.667),  # two runs of 80 and one of 70
        ("5.8 spread of runs of sydney/ecc and sydney/distance f1", 5.774),
        ("29.5 quoted of enzymes ECC", 29.5),  # Errica et al., Table 3
    ],
)
def test_the_value_of_a_source_is_computed_from_the_records(line: str, value: float, results: Path):
    assert Source.read(line).value(results) == pytest.approx(value, abs=1e-3)


def page(number: str, source: str) -> str:
    return f"# Results\n\n- Sydney (Section 4.1) has {number} here.\n  <!-- records\n  {source}\n  -->\n"


def test_a_number_that_is_that_of_its_records_is_not_reported(results: Path):
    assert list(quoted(page("80.0", "80.0 sydney/ecc f1"), results)) == []


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        (page("80.1", "80.1 sydney/ecc f1"), "80.1 is 80.0 by its records (80.1 sydney/ecc f1)."),
        (page("70.5", "70.5 sydney/z f1"), "70.5 sydney/z f1: sydney/z has records of 0 of 4 folds."),
        (
            page("50.0", "50.0 robustness/sydney/noise noise=0.1"),
            "50.0 robustness/sydney/noise noise=0.1: robustness/sydney/noise has records of 1 of 4 folds.",
        ),
        (page("70.5", "70.5 sydney/other f1"), "70.5 sydney/other f1: sydney/other has no record."),
        (page("80.0 and 81.3", "80.0 sydney/ecc f1"), "81.3 has no source: name its records in a comment."),
        (page("nothing", "80.0 sydney/ecc f1"), "80.0 has a source, but is not in the text."),
        ("# Results\n\nIt has 81.3.\n\n# Others\n", "81.3 has no source: name its records in a comment."),
    ],
)
def test_a_number_that_differs_or_has_no_record_is_reported(text: str, finding: str, results: Path):
    assert list(quoted(text, results)) == [finding]


def test_code_and_generated_tables_are_not_prose(results: Path):
    text = "`0.5`\n\n```text\n0.25\n```\n\n<!-- written by x -->\n| 78.4 |\n<!-- until here -->\n"

    assert list(quoted(text, results)) == []


def test_a_source_that_cannot_be_read_is_an_error():
    with pytest.raises(DataError, match="a source must be NUMBER"):
        Source.read("80.0")


def test_a_record_whose_row_has_changed_and_one_without_a_row_are_reported(tmp_path: Path):
    """The digest is that of no settings."""
    write(tmp_path / "results", "sydney/ecc", 0, f1=0.7)
    write(tmp_path / "results", "sydney/nothing", 0, f1=0.7)
    write(tmp_path / "results", "sydney/ecc-zero-biases", 0, f1=0.7)  # which is known

    first, second = findings(tmp_path / "results", tmp_path)

    assert "sydney/ecc/fold0-seed0.json was measured with settings that its row no longer has" in first
    assert second.endswith("sydney/nothing has records, and is neither a row nor an experiment.")


def test_a_record_of_a_fair_experiment_is_one_of_the_selected_network_with_the_changes_of_its_folder(tmp_path: Path):
    """The folder names the changes; one of other changes, or of another network, is reported."""
    for folder, changes in {"counts=false": {"counts": False}, "hidden=[32]": {}}.items():
        recipe = candidate("dd", "plus-plain", "fair", "plus-selected", changes)
        path = tmp_path / f"fair/dd/plus-selected/{folder}/fold0-seed0.json"
        path.parent.mkdir(parents=True)
        described = {
            "epochs": recipe.train.epochs,
            "selected": "plus-plain",
            "recipe": _digest(_canonical(recipe.settings())),
        }
        path.write_text(json.dumps({"fold": 0, "seed": 0, "metrics": {"accuracy": 0.8}, **described}))

    (finding,) = findings(tmp_path, tmp_path)

    assert "plus-selected/hidden=[32]/fold0-seed0.json was measured with settings" in finding


def test_a_page_whose_tables_are_not_those_of_the_records_is_reported(tmp_path: Path):
    (tmp_path / "README.md").write_text("old")

    found = list(findings(tmp_path / "results", tmp_path, {tmp_path / "README.md": "new"}))

    assert found == ["README.md has tables that are not those of the records: write them again."]


def test_every_number_of_the_pages_is_that_of_its_records():
    """`edgecond table --check`; the generated tables are compared in tests/benchmarks/test_page.py."""
    assert list(findings(ROOT / "results", ROOT)) == []
