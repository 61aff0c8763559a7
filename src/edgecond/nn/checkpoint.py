"""Tensors and JSON in one safetensors file, written whole or not at all; nothing in it is ever executed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors import safe_open, SafetensorError
from safetensors.torch import save
from torch import Tensor

from edgecond.errors import CheckpointError
from edgecond.files import write_atomic

KEY = "edgecond"
VERSION = 1
"""Of the format. A file of an older one must still be read: tests/fixtures holds one of each."""


def save_checkpoint(path: Path, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
    """Write a checkpoint; the one that was there stays whole until the new one is.

    Args:
        path: The file.
        tensors: By name.
        about: Anything that JSON can say.
    """
    header = json.dumps({"version": VERSION, **about})
    content = save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, {KEY: header})
    write_atomic(path, content)


def load_checkpoint(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read a checkpoint; a newer format is refused before its tensors are."""
    try:
        with safe_open(path, "pt") as file:
            if KEY not in (told := file.metadata() or {}):
                raise CheckpointError(f"{path} must be a checkpoint of edgecond: its tensors are from elsewhere.")
            about = json.loads(told[KEY])
            _check_version(path, about)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except FileNotFoundError:
        raise CheckpointError(f"a checkpoint must be at {path}: there is none.") from None
    except (OSError, SafetensorError, ValueError, RuntimeError) as error:  # RuntimeError: nested too deeply
        raise CheckpointError(f"{path} must be a checkpoint of edgecond: it cannot be read ({error}).") from error
    return tensors, {name: value for name, value in about.items() if name != "version"}


def _check_version(path: Path, about: Any) -> None:
    found = about.get("version") if isinstance(about, dict) else about
    if found != VERSION or not isinstance(about, dict):
        newer = isinstance(found, int) and found > VERSION
        advice = " A newer edgecond wrote it: upgrade yours with pip install --upgrade edgecond." if newer else ""
        raise CheckpointError(f"{path} must be a checkpoint of version {VERSION}: it says {str(found)[:60]!r}.{advice}")
