"""The profile of a command counts calls between modules, and how often files are parsed."""

from pathlib import Path
from threading import Thread

import numpy as np

from benchmarks.walk import Profile, write_clouds


def module(name: str, source: str, **names: object) -> dict[str, object]:
    names |= {"__name__": name}
    exec(source, names)
    return names


def test_calls_are_counted_between_different_modules_of_edgecond_only():
    """By hand: a calls b twice and itself once; a call from elsewhere, and one to elsewhere, do not count."""
    b = module("edgecond.b", "def g(): return len(str(1))")
    other = module("other", "def h(): return g()", g=b["g"])
    a = module("edgecond.a", "def f(): return k() + k() + h()\ndef k(): return g()", g=b["g"], h=other["h"])

    with Profile() as found:
        a["f"]()

    assert found.edges == {("edgecond.a", "edgecond.b"): 2}


def test_calls_of_threads_are_counted_too():
    b = module("edgecond.b", "def g(): return 1")
    a = module("edgecond.a", "def f(): return g()", g=b["g"])

    with Profile() as found:
        thread = Thread(target=a["f"])
        thread.start()
        thread.join()

    assert found.edges == {("edgecond.a", "edgecond.b"): 1}


def test_a_file_is_recognized_by_its_number_of_points(tmp_path: Path):
    """By hand: the first of ten clouds is loaded twice, the last once."""
    first, *_, last = write_clouds(tmp_path)

    with Profile() as found:
        for path in (first, last, first):
            np.load(path)

    assert found.parsed == {100: 2, 109: 1}
