"""Fixtures: an empty data directory, the real one where it exists, and a network with given answers."""

from __future__ import annotations

import os
import urllib.request
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from edgecond.data import datasets
from edgecond.data.formats import tu
from edgecond.data.graphs import Graphs
from tests.data.datasets.answers import Answer

_BESIDE = Path(__file__).parents[3] / "shared" / "data"
REAL = Path(os.environ.get("EDGECOND_DATA") or _BESIDE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data directory."""
    monkeypatch.setenv("EDGECOND_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def real(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Find a real file by name, with `EDGECOND_DATA` set; skip the test where it does not exist."""

    def find(name: str) -> Path:
        if not (REAL / name).exists():
            pytest.skip(f"needs {name} in EDGECOND_DATA, or in ../shared/data")
        monkeypatch.setenv("EDGECOND_DATA", str(REAL))
        return REAL / name

    return find


@pytest.fixture(scope="session")
def load() -> Callable[..., tuple[datasets.Examples, datasets.Examples]]:
    """`datasets.load`, cached for all tests."""

    @cache
    def once(name: str, fold: int = 0, **options: Any) -> tuple[datasets.Examples, datasets.Examples]:
        return datasets.load(name, fold, **options)

    return once


@cache
def _whole(name: str) -> Graphs:
    return tu.load(name)


@pytest.fixture
def whole(real: Callable[[str], Path]) -> Callable[[str], Graphs]:
    """`tu.load` of the real data, cached for all tests."""

    def find(name: str) -> Graphs:
        real(f"tu/{tu.RELEASES[name].file}.zip")
        return _whole(name)

    return find


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], list[str]]:
    """Replace the network by one answer, one per address, or an error; return the list of requested addresses."""

    def answer(with_: Answer | dict[str, bytes] | Exception) -> list[str]:
        asked = []

        def open_(self: Any, request: urllib.request.Request, data: None = None, timeout: float = 0) -> Answer:
            assert timeout > 0
            asked.append(request.full_url)
            if isinstance(with_, Exception):
                raise with_
            return Answer(with_[request.full_url]) if isinstance(with_, dict) else with_

        monkeypatch.setattr(urllib.request.OpenerDirector, "open", open_)
        return asked

    return answer
