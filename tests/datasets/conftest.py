"""Directories of data: an empty one for files that a test writes, and the real one where there is one."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from edgecond import datasets

_BESIDE = Path(__file__).parents[3] / "shared" / "data"
REAL = Path(os.environ.get("EDGECOND_DATA") or _BESIDE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data directory."""
    monkeypatch.setenv("EDGECOND_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def real(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """The real file of this name, with `EDGECOND_DATA` set to find it; the test is skipped where it is not."""

    def find(name: str) -> Path:
        if not (REAL / name).exists():
            pytest.skip(f"needs {name} in EDGECOND_DATA, or in ../shared/data")
        monkeypatch.setenv("EDGECOND_DATA", str(REAL))
        return REAL / name

    return find


@pytest.fixture(scope="session")
def load() -> Callable[..., tuple[datasets.Examples, datasets.Examples]]:
    """`datasets.load`, once for all tests that ask for the same."""

    @cache
    def once(name: str, fold: int = 0, **options: Any) -> tuple[datasets.Examples, datasets.Examples]:
        return datasets.load(name, fold, **options)

    return once
