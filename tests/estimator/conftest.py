"""Data of each kind in turn, and a cache for each test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.estimator.data import DATA


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EDGECOND_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(params=DATA)
def data(request: pytest.FixtureRequest) -> tuple[list[Any], np.ndarray]:
    return DATA[request.param]()
