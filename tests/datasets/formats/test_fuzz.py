"""Whatever the bytes of a file: points, or a sentence that names the file, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st

from edgecond.datasets import DataError
from edgecond.datasets.formats import ENDINGS, read_points
from tests.datasets.formats.files import every_kind

KINDS = every_kind()
quickly = settings(max_examples=60, deadline=10_000, suppress_health_check=[HealthCheck.function_scoped_fixture])

changes = st.lists(
    st.one_of(
        st.tuples(st.just("set"), st.integers(0, 2**16), st.integers(0, 255)),
        st.tuples(st.just("cut"), st.integers(0, 2**16), st.just(0)),
        st.tuples(st.just("drop"), st.integers(0, 2**16), st.integers(1, 40)),
        st.tuples(st.just("repeat"), st.integers(0, 2**16), st.integers(1, 40)),
        st.tuples(st.just("most"), st.integers(0, 2**16), st.sampled_from([1, 2, 4, 8])),
        st.tuples(st.just("word"), st.integers(0, 2**16), st.sampled_from([b"nan", b"-1", b"9" * 20, b"1e999", b"x"])),
    ),
    min_size=1,
    max_size=4,
)


def changed(data: bytes, steps: list[tuple]) -> bytes:
    for what, where, how in steps:
        at = where % max(len(data), 1)
        match what:
            case "set":
                data = data[:at] + bytes([how]) + data[at + 1 :]
            case "cut":
                data = data[:at]
            case "drop":
                data = data[:at] + data[at + how :]
            case "repeat":
                data = data[:at] + data[at : at + how] * 2 + data[at + how :]
            case "most":  # a count of all ones
                data = data[:at] + b"\xff" * how + data[at + how :]
            case "word":
                start = max(data.rfind(b" ", 0, at), data.rfind(b"\n", 0, at)) + 1
                data = data[:start] + how + data[at:]
    return data


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
def test_the_files_to_be_damaged_are_whole(tmp_path: Path, kind: str):
    ending, data = KINDS[kind]
    (tmp_path / f"whole{ending}").write_bytes(data)

    assert len(read_points(tmp_path / f"whole{ending}")) > 0


@pytest.mark.parametrize("kind", KINDS)
@quickly
@given(steps=changes)
def test_a_damaged_file_gives_points_or_a_sentence(tmp_path: Path, kind: str, steps: list[tuple]):
    ending, data = KINDS[kind]

    points_or_a_sentence(tmp_path / f"damaged{ending}", changed(data, steps))


@pytest.mark.parametrize("ending", ENDINGS)
@quickly
@given(data=st.binary(max_size=300))
def test_random_bytes_give_points_or_a_sentence(tmp_path: Path, ending: str, data: bytes):
    points_or_a_sentence(tmp_path / f"random{ending}", data)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_cut_anywhere_gives_points_or_a_sentence(tmp_path: Path, kind: str):
    ending, data = KINDS[kind]
    for length in range(0, len(data), max(1, len(data) // 60)):
        points_or_a_sentence(tmp_path / f"cut{ending}", data[:length])
