"""Checkpoints: tensors and JSON in one safetensors file, written atomically; reading one executes no code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors import safe_open, SafetensorError
from safetensors.torch import save
from torch import Tensor

from edgecond.errors import CheckpointError
from edgecond.files import check_regular, write_atomic

KEY = "edgecond"
VERSION = 1
"""Version of the format. Files of older versions must stay readable: tests/fixtures holds one of each."""


def save_checkpoint(path: Path, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
    """Write a checkpoint; an existing file is replaced when the new one is complete.

    Args:
        path: Path of the file.
        tensors: Tensors by name.
        about: Metadata that JSON can represent.
    """
    header = json.dumps({"version": VERSION, **about})
    content = save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, {KEY: header})
    write_atomic(path, content)


def load_checkpoint(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read the tensors and the metadata of a checkpoint; a newer format is refused before its tensors are read."""
    try:
        check_regular(path)
        with safe_open(path, "pt") as file:
            if KEY not in (metadata := file.metadata() or {}):
                raise CheckpointError(
                    f"{path} must be a checkpoint of edgecond: it is a safetensors file of another program."
                )
            about = json.loads(metadata[KEY])
            _check_version(path, about)
            # Copies, aligned as torch's own tensors: matrix products round differently elsewhere in memory.
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118 (not a dict)
    except FileNotFoundError:
        raise CheckpointError(f"{path} must be a checkpoint: there is none.") from None
    except (OSError, SafetensorError, ValueError, RuntimeError) as error:  # RuntimeError: nested too deeply
        raise CheckpointError(f"{path} must be a checkpoint of edgecond: it cannot be read ({error}).") from error
    return tensors, {name: value for name, value in about.items() if name != "version"}


def _check_version(path: Path, about: Any) -> None:
    version = about.get("version") if isinstance(about, dict) else about
    if version != VERSION or not isinstance(about, dict):
        newer = isinstance(version, int) and version > VERSION
        advice = " A newer edgecond wrote it: upgrade with pip install --upgrade edgecond." if newer else ""
        raise CheckpointError(
            f"{path} must be a checkpoint of version {VERSION}: its version is {str(version)[:60]!r}.{advice}"
        )
