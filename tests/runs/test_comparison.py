"""A baseline beside a model: on the same examples, and shown for the same test set alone."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from edgecond.errors import DataError
from edgecond.notation import Architecture
from edgecond.runs import user_data
from edgecond.runs.blocks import Compared
from edgecond.runs.comparison import baseline_for, compare, FILE, keep, kept
from edgecond.runs.model import Model
from edgecond.runs.recipe import find
from tests.runs.baselines.examples import stars_and_paths

TEST: Any = SimpleNamespace(digest="abc")
MODEL: Any = SimpleNamespace(about={"fold": 0})
FOUND = Compared(name="shape", data="abc", fold=0, metrics={"accuracy": 0.5})


def test_what_is_kept_is_read_again_for_the_same_test_set_only(tmp_path: Path):
    keep(FOUND, tmp_path)

    assert kept(tmp_path, MODEL, TEST) == FOUND
    assert kept(tmp_path, MODEL, SimpleNamespace(digest="other")) is None
    assert kept(tmp_path, SimpleNamespace(about={"fold": 1}), TEST) is None
    assert kept(tmp_path / "nowhere", MODEL, TEST) is None


@pytest.mark.parametrize("text", ["{", "[]", '{"name": "shape"}', '{"name": 1, "data": "", "fold": 0, "metrics": {}}'])
def test_a_damaged_file_is_named(tmp_path: Path, text: str):
    (tmp_path / FILE).write_text(text)

    with pytest.raises(DataError, match=r"baseline\.json must be what `edgecond evaluate --baseline` wrote"):
        kept(tmp_path, MODEL, TEST)


def test_graphs_have_the_kernel():
    """Stars and paths differ in their subtrees, and the model has not been trained."""
    examples = stars_and_paths(16)
    network = Architecture("C(4)-GAP-FC(2)")
    recipe = find("nci1/ecc").model_copy(update={"network": network, "sparsifications": 1})
    model = Model.new(recipe, examples, 0, transient=True)

    compared = compare(model, examples, examples.take(range(8)), 3)

    assert (compared.name, compared.fold, compared.data) == ("wl", 3, "digest")
    assert compared.metrics["accuracy"] == 1.0


@pytest.mark.parametrize("target", ["long", "length", "long,odd"])
def test_molecules_of_every_task_have_a_forest(tmp_path: Path, target: str):
    """A class, a number, and two labels: the metrics are those of the task."""
    pytest.importorskip("rdkit")
    rows = [f"{'C' * n}O,{'yes' if n > 9 else 'no'},{n % 2},{n / 7}" for n in range(1, 21)]
    (tmp_path / "chains.csv").write_text("\n".join(["smiles,long,odd,length", *rows]))
    dataset = user_data.read(tmp_path / "chains.csv", target=tuple(target.split(",")), folds=4)
    model = Model.new(dataset.recipe, dataset.train, 0, transient=True)
    baseline_for(model).trees = 5  # type: ignore[attr-defined]
    try:
        compared = compare(model, dataset.train, dataset.test, 0)
    finally:
        del baseline_for(model).trees  # type: ignore[attr-defined]

    assert compared.name == "forest"
    assert set(compared.metrics) <= set(model.task.metrics)
    assert compared.metrics
    assert all(map(np.isfinite, compared.metrics.values()))
