"""A small run on user data, for the verbs that use a model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from edgecond.cli import app

SETTINGS = ["--folds", "3", "--fold", "0", "--epochs", "1", "--set", "network=C(4)-GAP-FC(2)"]


@pytest.fixture(scope="session")
def clouds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with six clouds of each of two classes."""
    folder, rng = tmp_path_factory.mktemp("cli") / "shapes", np.random.default_rng(0)
    for name in ("ball", "box"):
        (folder / name).mkdir(parents=True)
        for number in range(6):
            np.save(folder / name / f"{number}.npy", rng.random((20, 3), np.float32))
    return folder


@pytest.fixture(scope="session")
def trained(clouds: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The directory of a run on the clouds, and what `train` printed."""
    directory = tmp_path_factory.mktemp("run")
    result = CliRunner().invoke(app, ["train", str(clouds), *SETTINGS, "--out", str(directory)])
    assert result.exit_code == 0, result.output
    return directory, result.stdout
