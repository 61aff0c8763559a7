"""Whatever the bytes of a file: reading gives points, or an error that names the file, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgecond.data.formats import ENDINGS, read_points
from edgecond.errors import DataError
from tests.data.formats.files import every_kind
from tests.fuzzing import changes, quickly

KINDS = every_kind()


def points_or_a_sentence(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    try:
        points = read_points(path, count=8)
    except DataError as error:
        sentence = str(error)
    else:
        sentence = f"{path} has points."
        assert points.positions.shape == (len(points), 3)
        assert points.signal.shape == (len(points), len(points.names))
        assert len(points) > 0
        assert np.isfinite(points.positions).all()
        assert np.isfinite(points.signal).all()
    assert re.fullmatch(rf"{re.escape(str(path))} .+\.", sentence)


@pytest.mark.parametrize("kind", KINDS)
def test_the_files_to_be_damaged_are_valid(tmp_path: Path, kind: str):
    ending, data = KINDS[kind]
    (tmp_path / f"whole{ending}").write_bytes(data)

    assert len(read_points(tmp_path / f"whole{ending}")) > 0


@pytest.mark.parametrize("kind", KINDS)
@quickly
@given(steps=changes)
def test_a_damaged_file_give_points_or_an_error(tmp_path: Path, kind: str, steps: list[tuple]):
    ending, data = KINDS[kind]

    points_or_a_sentence(tmp_path / f"damaged{ending}", changed(data, steps))


@pytest.mark.parametrize("ending", ENDINGS)
@quickly
@given(data=st.binary(max_size=300))
def test_random_bytes_give_points_or_an_error(tmp_path: Path, ending: str, data: bytes):
    points_or_a_sentence(tmp_path / f"random{ending}", data)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_cut_anywhere_give_points_or_an_error(tmp_path: Path, kind: str):
    ending, data = KINDS[kind]
    for length in range(0, len(data), max(1, len(data) // 60)):
        points_or_a_sentence(tmp_path / f"cut{ending}", data[:length])
