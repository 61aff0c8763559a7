"""The search for mutations that escape survives a crash and goes on behind it."""

import os
import signal
from pathlib import Path

import pytest

from benchmarks import fuzz
from edgecond.errors import DataError
from tests.fuzzing import Reader


def numbered(use) -> Reader:
    """A reader of files that hold the number of their mutation."""

    class Numbered(Reader):
        def mutation(self, name: str, number: int) -> bytes:
            return b"%d" % number

    return Numbered("file", lambda: b"", lambda path: use(int(path.read_bytes())))


def misbehave(number: int) -> None:
    match number:
        case 2:
            raise DataError("one of ours.")
        case 3:
            raise KeyError("not one of ours")
        case 5:
            os.kill(os.getpid(), signal.SIGTERM)
        case 7:
            bytearray(2 * fuzz.LIMIT)
        case 8:
            signal.pause()


def test_exceptions_crashes_and_files_that_take_too_long_or_too_much_memory_escape(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(fuzz, "SECONDS", 0.5)

    escapes = fuzz.fuzz(numbered(misbehave), "numbers", range(10), tmp_path)

    found = {number: what.splitlines()[-1] for number, what in escapes.examples.values()}
    assert found == {
        3: "KeyError: 'not one of ours'",
        5: "the process ended with -15",
        7: "MemoryError",
        8: "more than 0.5 seconds",
    }


def test_a_number_gives_the_same_mutation_again():
    from tests.readers import READERS

    assert READERS["off"].mutation("off", 7) == READERS["off"].mutation("off", 7)
    assert READERS["off"].mutation("off", 7) != READERS["off"].mutation("off", 8)
