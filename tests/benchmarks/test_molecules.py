"""Methods are compared on the same splits of molecules, by the same metrics."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rdkit")

from benchmarks import molecules
from edgecond.files import sha256


@pytest.fixture
def esol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Name of a case whose table has 40 chains, whose solubility falls by 1 with each carbon."""
    name = molecules.CASES["esol-random"].target[0]
    (tmp_path / "moleculenet").mkdir()
    rows = [f"{'C' * (n % 20 + 1)}{'ON'[n // 20]},{-(n % 20)}\n" for n in range(40)]
    (tmp_path / "moleculenet" / "delaney-processed.csv").write_text(f"smiles,{name}\n" + "".join(rows))
    monkeypatch.setenv("EDGECOND_DATA", str(tmp_path))
    case = molecules.Case(*molecules.DATASETS["esol"], scaffold=False)
    monkeypatch.setitem(molecules.CASES, "esol-random", case)
    return "esol-random"


def test_the_sets_of_a_case_are_disjoint_and_complete(esol: str):
    """80, 10 and 10 per cent of 40 molecules."""
    parts = molecules.CASES[esol].split(3)

    assert [len(part) for part in parts] == [32, 4, 4]
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(40))


def test_metrics_of_a_case_are_those_of_its_task(esol: str):
    """By hand: every prediction is wrong by 0.5, so the root mean squared error is 0.5."""
    case = molecules.CASES[esol]
    indices = np.arange(10)

    metrics = case.metrics(indices, case.molecules.targets[indices] + 0.5)

    assert metrics["rmse"] == pytest.approx(0.5)
    assert case.metric in metrics


def test_a_record_holds_metrics_split_and_times(esol: str):
    """Methods are compared only if their records are of the same data and split."""
    given = argparse.Namespace(set=["train.epochs=1"], chemprop=None, validate=False)

    record = molecules.run(esol, "ours", 1, given)

    case = molecules.CASES[esol]
    assert record["data"] == sha256(case.path)
    assert record["split"] == molecules.split_digest(case.split(1))
    assert record["metrics"].keys() >= {"rmse", "mae", "r2"}
    assert record["processor_seconds"] > 0
    assert record["settings"] == ["train.epochs=1"]
    assert json.loads(json.dumps(record)) == record


def test_records_of_other_settings_have_a_folder_of_their_own(tmp_path: Path):
    """As experiments of `edgecond reproduce --set` have."""
    path = molecules.record_path(tmp_path, "esol-random", "ours", 2, ["train.epochs=9", "network=C(8)-GAP-FC(1)"])

    assert path == tmp_path / "esol-random/ours/network=C(8)-GAP-FC(1),train.epochs=9/fold0-seed2.json"
