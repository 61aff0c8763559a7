"""Points of LAS and LAZ files, some at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgecond.data.formats import las, las_scan
from edgecond.data.formats.las_scan import LasScan
from tests.data.formats.scans import scan
from tests.sentences import mentions


@pytest.mark.parametrize("compressed", [False, True])
def test_points_in_chunks_are_those_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compressed: bool):
    """300 points in chunks of 70."""
    monkeypatch.setattr(las_scan, "CHUNK", 70)
    data = scan(3, "1.2", compressed=compressed)
    (path := tmp_path / "a.laz").write_bytes(data)

    tables = list(LasScan(path).tables())

    whole = las.read(data)
    assert [len(table.columns["x"]) for table in tables] == [70, 70, 70, 70, 20]
    for name, column in (whole.columns | whole.optional).items():
        parts = [(table.columns | table.optional)[name] for table in tables]
        np.testing.assert_array_equal(np.concatenate(parts), column)


def test_a_file_that_is_cut_short_while_it_is_read_is_reported(tmp_path: Path):
    (path := tmp_path / "a.las").write_bytes(data := scan(0, "1.2"))
    opened = LasScan(path)
    path.write_bytes(data[:-20])

    with mentions("its points must fit into the file"):
        list(opened.points())
