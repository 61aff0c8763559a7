"""A run keeps where its user data are and how they were read."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest

from edgecond.data.kinds import ReadOptions, Split
from edgecond.errors import DataError
from edgecond.runs.source import FILE, Source


def test_a_run_keeps_every_option_that_its_data_were_read_with(tmp_path: Path):
    """All fields of `ReadOptions` and `Split` go into the file and come back."""
    features = (("t", "solvent"), True)
    options = ReadOptions(
        "S", ("logS", "y"), "family", "label", True, {"x": "relative_x"}, "y", True, *features, "date", "part", "w"
    )
    assert set(options.given()) == {field.name for field in fields(ReadOptions)}
    folds, parts = Split(7, 3, 11, "group", share=0.25), Split(file=tmp_path / "parts.csv", share=0.5)
    files = Split(test=tmp_path / "test", validation=tmp_path / "more")

    for source in (
        Source(tmp_path, options, folds),
        Source(tmp_path, split=parts),
        Source(tmp_path, split=files, final=True, leakage=("two test molecules",)),
    ):
        source.save(tmp_path)

        assert Source.load(tmp_path) == source


def test_a_file_from_before_an_option_existed_has_its_default(tmp_path: Path):
    """Files of the first version had neither columns, up nor numbers, and a scaffold split had folds it did not use."""
    former = {"path": "/data", "smiles": None, "target": ["logS"], "meshes": False, "vertices": None}
    (tmp_path / FILE).write_text(
        json.dumps(former | {"scaffold": True, "group": None, "folds": 5, "fold": 1, "seed": 2})
    )

    source = Source.load(tmp_path)

    assert source == Source(Path("/data"), ReadOptions(target=("logS",)), Split(seed=2, method="scaffold"))


def test_a_file_that_is_not_there_is_reported(tmp_path: Path):
    with pytest.raises(DataError, match=f"must be the directory of a run, with a file {FILE}"):
        Source.load(tmp_path)
