"""Models to start from are trained, recorded and packed by one command."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks import zoo
from edgecond.files import sha256
from edgecond.runs.blocks import Facts
from edgecond.runs.model import Model
from edgecond.runs.recipe import find


def test_a_model_is_trained_recorded_and_packed(tmp_path: Path):
    """A model of the synthetic shapes, in a moment."""
    card = {"title": "Shapes", "data": "Drawn\nat random.", "licence": "MIT."}
    settings = {"network": "C(4)-GMP-FC(6)", "train.batch_size": 128}
    starter = zoo.Starter("synthetic", card, row="synthetic/ecc", epochs=1, settings=settings)

    run, source = zoo.train("shapes", starter, tmp_path / "runs", tmp_path / "results")
    entry = zoo.pack("shapes", starter, run, source, tmp_path / "models")

    record = json.loads((tmp_path / "results/models/shapes/fold0-seed0.json").read_text())
    model = Model.load(tmp_path / "models" / "shapes")
    assert model.about["tested"]["metrics"]["accuracy"] == record["metrics"]["accuracy"]
    assert (
        entry.metric == f"accuracy {100 * record['metrics'].get('accuracy_scores', record['metrics']['accuracy']):.2f}"
    )
    assert entry.files == {path.name: sha256(path) for path in (tmp_path / "models" / "shapes").iterdir()}
    assert "Drawn at random." in model.card()
    assert "edgecond predict model/shapes FILES" in model.card()


def test_a_model_that_is_trained_as_its_row_has_the_run_and_the_record_of_the_row():
    """One training serves both: two of the same settings would be two records of one number."""
    row, shorter = zoo.Starter("ModelNet10", {}, row="plus/modelnet10"), zoo.STARTERS["sydney"]

    assert (row.folder, row.run("modelnet10")) == ("", "plus/modelnet10")
    assert (shorter.folder, shorter.run("sydney")) == ("models", "sydney")


def test_every_model_states_data_use_limits_and_licence():
    for starter in zoo.STARTERS.values():
        facts = Facts(**starter.card)
        assert all((facts.title, facts.data, facts.licence, facts.use, facts.limits, facts.training))
        assert starter.row == "" or find(starter.row)
