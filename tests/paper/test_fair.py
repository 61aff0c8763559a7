"""A network is selected by validation alone, and tested once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from edgecond.cli import app
from edgecond.paper import fair
from edgecond.paper.fair import (
    assess,
    assessments,
    candidate,
    candidates,
    FOLDS,
    LARGEST_SEED,
    METRIC,
    MOST_REPEATS,
    QUOTED,
    ROWS,
    seeds_of_tests,
)
from edgecond.runs.recipe import find, Recipe

VALIDATION = {"ecc": 0.7, "degrees-sqrt": 0.9, "identity": 0.9}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Recipe, dict[str, Any]]]:
    """The recipes that `assess` trains; accuracies are those of VALIDATION, and 0.1 on the test set."""
    found = []

    def reproduce(recipe: Recipe, fold: int, seed: int, **options: Any) -> dict[str, Any]:
        found.append((recipe, options))
        row = recipe.name.split("/")[-1]
        return {"metrics": {METRIC: VALIDATION.get(row, 0.1)}, "fold": fold, **options.get("about", {})}

    monkeypatch.setattr(fair, "reproduce", reproduce)
    return found


def write(
    results: Path, dataset: str, fold: int, accuracy: float, selected: str, seed: int = 0, folder: str = "selected"
) -> None:
    path = results / "fair" / dataset / folder / f"fold{fold}-seed{seed}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    metrics = {METRIC: accuracy, "accuracy": 0.1}  # of several views, and of one
    record = {"fold": fold, "seed": seed, "epochs": 50, "metrics": metrics, "selected": selected}
    path.write_text(json.dumps(record))


def test_only_the_best_network_on_the_validation_set_is_tested(asked: list):
    lines: list[str] = []
    record = assess("dd", 3, 0, repeats=3, report=lines.append, runs=Path("runs"), results=Path("results"))

    parts = [(recipe.name, recipe.options["split"]) for recipe, _ in asked]
    assert parts == [
        *[(f"fair/dd/{row}", "fair-selection") for row in ("ecc", "degrees-sqrt", "identity")],
        *[("fair/dd/selected", "fair")] * 3,
    ]
    assert record["selected"] == "degrees-sqrt"  # the first of two equals
    assert record["validation"] == VALIDATION
    assert lines[0].startswith("dd fold 3 seed 0: ecc")
    assert "70.0 %" in lines[0]
    assert len(lines) == 3
    assert asked[-1][0].labels == "given+sqrt(deg)"


@pytest.fixture
def tested(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The row and the seed of each training of `assess`, whose accuracy is the seed in thousandths."""
    found = []

    def reproduce(recipe: Recipe, fold: int, seed: int, **options: Any) -> dict[str, Any]:
        found.append((recipe.name, seed))
        return {"metrics": {METRIC: seed / 1000}}

    monkeypatch.setattr(fair, "reproduce", reproduce)
    return found


def test_the_selected_network_is_tested_with_three_seeds_and_its_mean_is_reported(tested: list[tuple[str, int]]):
    """Errica et al., Section 4: three runs on each test set; by hand, the mean of 0.5, 0.501 and 0.502 is 0.501."""
    record = assess("enzymes", 0, 5, repeats=3, runs=Path("runs"), results=Path("results"))

    assert tested[-3:] == [("fair/enzymes/selected", seed) for seed in (500, 501, 502)]
    assert {seed for _, seed in tested[:-3]} == {5}
    assert record["metrics"][METRIC] == pytest.approx(0.501)


def test_seeds_have_tests_of_their_own(tested: list[tuple[str, int]]):
    """Two tests of one seed would be one record; those of seed 0 are recorded as 0, 1 and 2 in results/fair."""
    for seed in (0, 1, 2):
        assess("enzymes", 0, seed, repeats=3, runs=Path("runs"), results=Path("results"))

    tests = [seed for row, seed in tested if row == "fair/enzymes/selected"]
    assert tests[:3] == [0, 1, 2]
    assert len(set(tests)) == 9


def test_no_seed_reaches_the_tests_of_the_next():
    """However often a network is tested, and up to the largest seed, 2^32 - 1."""
    assert seeds_of_tests(7, MOST_REPEATS)[-1] + 1 == seeds_of_tests(8, 1)[0]
    last = seeds_of_tests(LARGEST_SEED, MOST_REPEATS)[-1]
    assert last < 2**32 <= last + MOST_REPEATS


@pytest.mark.parametrize("dataset", QUOTED)
def test_networks_of_today_differ_in_their_identity_connections(dataset: str):
    plain, changed = (candidate(dataset, row, "fair") for row in candidates(dataset, plus=True))

    assert plain.identity == find(f"plus/{dataset}").identity != changed.identity
    assert plain.network == changed.network == find(f"plus/{dataset}").network


def test_networks_of_today_are_selected_and_recorded_apart(asked: list):
    record = assess("nci1", 0, 0, repeats=3, plus=True, runs=Path("runs"), results=Path("results"))

    assert [recipe.name for recipe, _ in asked] == [
        "fair/nci1/plus",
        "fair/nci1/plus-plain",
        *["fair/nci1/plus-selected"] * 3,
    ]
    assert record["selected"] == "plus"


def test_an_experiment_changes_all_networks_and_is_recorded_beside_the_assessment(asked: list):
    record = assess("dd", 0, 0, repeats=1, plus=True, changes={"counts": False}, runs=Path("r"), results=Path("r"))

    assert [recipe.name for recipe, _ in asked] == [
        "fair/dd/plus/counts=false",
        "fair/dd/plus-plain/counts=false",
        "fair/dd/plus-selected/counts=false",
    ]
    assert not any(recipe.counts for recipe, _ in asked)
    assert record["changes"] == {"counts": False}


def test_networks_that_an_experiment_makes_equal_are_one_and_nothing_is_selected(asked: list):
    """The networks of today differ in their identity connections alone."""
    record = assess("dd", 0, 0, repeats=1, plus=True, changes={"identity": False}, runs=Path("r"), results=Path("r"))

    assert [recipe.name for recipe, _ in asked] == ["fair/dd/plus-selected/identity=false"]
    assert not asked[0][0].identity
    assert (record["selected"], record["validation"]) == ("plus", {})


@pytest.mark.parametrize("dataset", QUOTED)
def test_candidates_are_rows_of_the_paper_with_other_folds(dataset: str):
    for row in ROWS[dataset]:
        recipe = candidate(dataset, row, "fair-selection")
        assert (recipe.paper, recipe.dataset, recipe.train.epochs) == ((), dataset, 50)


def test_the_table_has_mean_and_deviation_once_all_folds_are_recorded(tmp_path: Path):
    """By hand: five folds of 0.8 and five of 0.9 have the mean 0.85 and the deviation 0.05 * sqrt(10 / 9)."""
    for fold in range(FOLDS):
        write(tmp_path, "nci1", fold, 0.8 + 0.1 * (fold % 2), "ecc")
    write(tmp_path, "enzymes", 4, 0.5, "identity")

    found = {each.dataset: each.rerun for each in assessments(tmp_path) if not each.plus}

    assert found == {"nci1": "85.0 ± 5.3", "enzymes": "1 of 10 folds", "dd": "-"}


def test_the_table_has_an_experiment_behind_the_networks_whose_settings_it_changes(tmp_path: Path):
    write(tmp_path, "dd", 0, 0.8, "plus", folder="plus-selected")
    write(tmp_path, "dd", 0, 0.7, "plus", folder="plus-selected/counts=false,hidden=[32]")

    lines = CliRunner().invoke(app, ["table", "fair", "--results", str(tmp_path)]).output.splitlines()

    plain, experiment = (line for line in lines if line.startswith("plus/dd"))
    assert plain.split("  ")[0] == "plus/dd"
    assert experiment.split("  ")[0] == "plus/dd counts=false,hidden=[32]"
    assert "1 of 10 folds" in experiment


def test_the_command_prints_reruns_beside_quoted_accuracies(tmp_path: Path):
    for seed in range(3):
        write(tmp_path, "enzymes", 4, 0.5, "identity", seed)

    lines = CliRunner().invoke(app, ["table", "fair", "--results", str(tmp_path)]).output.splitlines()

    row = next(line for line in lines if line.startswith("enzymes"))
    assert row.split("  ")[0] == "enzymes/ecc"
    assert "59.6 ± 4.5" in row
    assert "29.5 ± 8.2" in row
    assert row.endswith("identity 1x")


def test_a_data_set_without_public_folds_is_an_error():
    result = CliRunner().invoke(app, ["fair", "mutag"])

    assert result.exit_code == 2
    assert "nci1, enzymes, dd: got mutag." in result.output
