"""Where models are: in files, in the directories of runs, and, to start from, in this package with their checksums."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from edgecond.errors import CheckpointError, did_you_mean
from edgecond.files import data_directory, sha256, write_atomic

FOLDER, INDEX = Path(__file__).parent, "index.json"
PREFIX = "model/"
"""How the names of pretrained models begin."""
FILE = "model.safetensors"
"""The model file in the directory of a run, or of a pretrained model."""


@dataclass(frozen=True)
class Entry:
    """A line of the index.

    Attributes:
        data: Data set that the model was trained on.
        kind: Kind of data that it takes.
        task: What it predicts.
        metric: Its metric on the test set, as text.
        bytes: Size of the model file.
        files: SHA-256 checksum of each file of its directory.
    """

    data: str
    kind: str
    task: str
    metric: str
    bytes: int
    files: dict[str, str]


@cache
def index() -> dict[str, Entry]:
    """Return all pretrained models by their names, as `model/esol`."""
    content = json.loads((FOLDER / INDEX).read_text("utf-8"))
    return {f"{PREFIX}{name}": Entry(**fields) for name, fields in content.items()}


def locate(path: Path) -> Path:
    """Return the directory of a pretrained model, verified, if a path is its name; another path stays as it is.

    A file or directory of that name in the current directory comes first.
    """
    name = path.as_posix()
    return verified(name) if name.startswith(PREFIX) and name.count("/") == 1 and not path.exists() else path


def model_file(path: Path) -> Path:
    """Return the model file that a path is, that its directory holds, or that is the pretrained model of its name."""
    path = locate(path)
    if not (file := path / FILE if path.is_dir() else path).is_file():
        found = file if file.exists() else path  # a directory or a pipe in the place of the model
        if folds := sorted(path.glob(f"fold*/{FILE}")):
            raise CheckpointError(
                f"{found} must be a model file, or the directory of a run with its model in {FILE}: it has a run for "
                f"each fold. Name one of them, as {folds[0].parent}."
            )
        raise CheckpointError(
            f"{found} must be a model file, or the directory of a run with its model in {FILE}: there is none. "
            "`edgecond train` writes one."
        )
    return file


def verified(name: str) -> Path:
    """Return the directory of a pretrained model, whose files must have the checksums of the index."""
    if name not in index():
        raise CheckpointError(
            f"{name} must be a pretrained model of `edgecond models`, or a path: it is neither."
            f"{did_you_mean(name, index())}"
        )
    folder = FOLDER / name.removeprefix(PREFIX)
    for file, expected in index()[name].files.items():
        if not (folder / file).is_file() or sha256(folder / file) != expected:
            raise CheckpointError(
                f"{folder / file} must have the SHA-256 checksum {expected}: it is missing or was changed. Install "
                "edgecond again."
            )
    return folder


def fetch(name: str, to: Path | None = None) -> Path:
    """Copy the files of a pretrained model, verified, and return their directory.

    Args:
        name: Its name, as `model/esol`.
        to: Directory to copy them into; `models/NAME` in the data directory by default.
    """
    folder, target = verified(name), to or data_directory() / "models" / name.removeprefix(PREFIX)
    for file in index()[name].files:
        write_atomic(target / file, (folder / file).read_bytes())
    return target
