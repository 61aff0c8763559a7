"""The tables of the comparison on molecules hold the means of the records, and say what was won and lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("rdkit")
pytest.importorskip("torch_geometric")

from benchmarks import compared
from benchmarks.molecules import CASES, RECORDS, SEEDS


def write(folder: Path, case: str, method: str, *values: float, split: str = "a") -> None:
    """Write a record with the metric of the case for each seed, and with ten seconds of processor time."""
    for seed, value in enumerate(values):
        path = folder / case / method / f"fold0-seed{seed}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        metrics = {CASES[case].metric: value}
        record = {"seed": seed, "metrics": metrics, "data": "d", "split": split, "processor_seconds": 10.0}
        record |= {"date": f"2026-11-0{seed + 1}", "processor": "an abacus", "versions": {"chemprop": "2.3.1"}}
        path.write_text(json.dumps(record))


def row(folder: Path, *start: str) -> list[str]:
    """Return the cells of the first row that begins with some cells."""
    lines = [line.strip("| ").split(" | ") for line in compared.tables(folder).splitlines()]
    return next(line for line in lines if tuple(line[: len(start)]) == start)


def test_a_cell_has_mean_and_standard_error_and_the_best_is_bold(tmp_path: Path):
    """By hand: 0.5 and 0.7 have mean 0.6 and standard error 0.1; 0.9 and 1.1 have mean 1.0 and the same."""
    write(tmp_path, "esol-random", "ours", 0.5, 0.7)
    write(tmp_path, "esol-random", "forest", 0.9, 1.1)

    assert row(tmp_path, "ESOL", "random", "RMSE")[3:5] == ["**0.600 ± 0.100**", "1.000 ± 0.100"]


def test_no_cell_is_bold_where_methods_have_other_splits(tmp_path: Path):
    """A mean over two splits may be lower because the third is harder."""
    write(tmp_path, "esol-random", "ours", 0.5, 0.7)
    write(tmp_path, "esol-random", "forest", 0.5, 0.6, 1.9)

    cells = row(tmp_path, "ESOL", "random", "RMSE")
    assert not any("**" in cell for cell in cells)
    assert cells[-1] == "2 to 3"


def test_wins_and_losses_follow_from_the_differences_split_by_split(tmp_path: Path):
    """By hand: RMSE lower by 0.3 and 0.5 is won, by 0.4 ± 0.1; ROC AUC lower by as much is lost; ± 0.1 is even."""
    assert len(CASES) == 6
    for case in ("esol-random", "tox21-random"):
        write(tmp_path, case, "ours", 0.5, 0.4)
        write(tmp_path, case, "chemprop", 0.8, 0.9)
        write(tmp_path, case, "forest", 0.4, 0.5)

    assert row(tmp_path, "ESOL", "random", "RMSE")[-3:-1] == ["won: -0.400 ± 0.100", "even: +0.000 ± 0.100"]
    assert row(tmp_path, "Tox21", "random", "ROC AUC")[-3:-1] == ["lost: -0.400 ± 0.100", "even: +0.000 ± 0.100"]


def test_without_records_of_ours_the_column_is_empty(tmp_path: Path):
    write(tmp_path, "freesolv-scaffold", "forest", 2.0, 2.0)

    assert row(tmp_path, "FreeSolv", "scaffold", "RMSE")[3:] == ["", "**2.000 ± 0.000**", "", "", "2"]


def test_processor_times_are_means_over_splits(tmp_path: Path):
    write(tmp_path, "esol-random", "forest", 0.9, 1.1)

    assert compared.tables(tmp_path).splitlines()[-8] == "| ESOL | random |  | 10 |"


def test_the_last_line_has_dates_and_versions(tmp_path: Path):
    """Those of the two records, on two days."""
    write(tmp_path, "esol-random", "chemprop", 0.9, 1.1)

    last = compared.tables(tmp_path).splitlines()[-1]
    assert last == "Measured on 2026-11-01 to 2026-11-02: an abacus, chemprop 2.3.1."


def test_records_of_another_split_are_not_compared(tmp_path: Path):
    write(tmp_path, "esol-random", "ours", 0.5)
    write(tmp_path, "esol-random", "forest", 0.5, split="b")

    with pytest.raises(ValueError, match="same data and split"):
        compared.tables(tmp_path)


def test_the_published_records_have_the_metric_of_their_case():
    """Each record was made on a split into 80, 10 and 10 per cent, as the page says, with a tolerance for scaffolds."""
    found = compared.read(RECORDS)

    for name, case in CASES.items():
        for records in found[name].values():
            assert set(records) <= set(range(SEEDS))
            for record in records.values():
                assert case.metric in record["metrics"]
                shares = [size / sum(record["sizes"]) for size in record["sizes"]]
                assert shares == pytest.approx([0.8, 0.1, 0.1], abs=0.01)
