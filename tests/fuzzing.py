"""Random damage to files: bytes set, cut, dropped or repeated, and numbers replaced."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

quickly = settings(
    max_examples=int(os.environ.get("EDGECOND_FUZZ", "60")),
    deadline=20_000,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
"""EDGECOND_FUZZ=5000 searches longer."""

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
    """Return the data after some of `changes`."""
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
                start = max(data.rfind(sign, 0, at) for sign in (b" ", b"\n", b",")) + 1
                data = data[:start] + how + data[at:]
    return data
