"""Tensors and JSON in one safetensors file, written whole or not at all; nothing in it is ever executed."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from safetensors import safe_open, SafetensorError
from safetensors.torch import save
from torch import Tensor

KEY = "edgecond"
VERSION = 1


class CheckpointError(Exception):
    """A checkpoint that cannot be written or read."""


def save_checkpoint(path: Path, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
    """Write a checkpoint; the one that was there stays whole until the new one is.

    Args:
        path: The file.
        tensors: By name.
        about: Anything that JSON can say.
    """
    header = json.dumps({"version": VERSION, **about})
    content = save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, {KEY: header})
    write_whole(path, content)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; what was there stays until then."""
    temporary = path.with_name(f".{path.name}.part")  # one name: what a killed process leaves is written over
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise CheckpointError(
            f"{path} must be written: {error.strerror or error}. "
            "The one before it, if any, is whole; free some space or name another directory."
        ) from error


def load_checkpoint(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read a checkpoint."""
    try:
        with safe_open(path, "pt") as file:
            about = json.loads((file.metadata() or {})[KEY])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except FileNotFoundError:
        raise CheckpointError(f"a checkpoint must be at {path}: there is none.") from None
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise CheckpointError(f"{path} must be a checkpoint of edgecond: it cannot be read ({error}).") from error
    if not isinstance(about, dict) or about.get("version") != VERSION:
        found = about.get("version") if isinstance(about, dict) else about
        raise CheckpointError(f"{path} must be a checkpoint of version {VERSION}: it says {found!r}.")
    del about["version"]
    return tensors, about
