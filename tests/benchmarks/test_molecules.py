"""Methods are compared on the same splits of molecules, by the same metrics and the same clock."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rdkit")

from benchmarks import molecules

GIVEN = argparse.Namespace(set=[], chemprop=None, validate=False)


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


def busy(seconds: float) -> dict[str, Any]:
    """Compute for some seconds of processor time, and then wait as long."""
    start = time.process_time()
    while time.process_time() - start < seconds:
        pass
    time.sleep(seconds)
    return {"metrics": {}}


def test_wall_time_and_processor_time_are_those_of_a_process_started_for_the_method():
    """Half a second of computing is in both, and half a second of waiting only in the former."""
    record = molecules.measured(busy, 0.5)

    assert record["processor_seconds"] >= 0.5
    assert record["seconds"] >= 1.0


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


def test_ours_and_the_forest_have_records_of_the_same_split(esol: str):
    """Records are compared only if data and split are the same."""
    forest = molecules.run(esol, "forest", 1, GIVEN)
    ours = molecules.run(esol, "ours", 1, argparse.Namespace(**{**vars(GIVEN), "set": ["train.epochs=1"]}))

    assert (ours["data"], ours["split"], ours["sizes"]) == (forest["data"], forest["split"], [32, 4, 4])
    assert ours["metrics"]["rmse"] > forest["metrics"]["rmse"] > 0  # one epoch learns nothing
    assert ours["settings"] == ["train.epochs=1"]
    assert json.loads(json.dumps(ours)) == ours


def test_records_of_other_settings_have_a_folder_of_their_own(tmp_path: Path):
    """As experiments of `edgecond reproduce --set` have."""
    path = molecules.record_path(tmp_path, "esol-random", "ours", 2, ["train.epochs=9", "network=C(8)-GAP-FC(1)"])

    assert path == tmp_path / "esol-random/ours/network=C(8)-GAP-FC(1),train.epochs=9/fold0-seed2.json"
