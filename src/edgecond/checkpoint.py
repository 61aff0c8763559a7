"""Tensors and JSON in one safetensors file, written whole or not at all; nothing in it is ever executed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EISDIR
from pathlib import Path
from typing import Any, BinaryIO

from safetensors import safe_open, SafetensorError
from safetensors.torch import save
from torch import Tensor

KEY = "edgecond"
VERSION = 1
"""Of the format. A file of an older one must still be read: tests/data holds one of each."""


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


@contextmanager
def whole(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, which takes its place when all is written, or never; what was there stays until then.

    A place that cannot be written to is refused at once, before the work of which the file is to tell.
    """
    temporary = path.with_name(f".{path.name}.part") if path.name else path  # what a killed process leaves is replaced
    try:
        if path.is_dir():
            raise IsADirectoryError(EISDIR, "it is a directory")
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        _remove(temporary)
        reason = "Not a directory" if isinstance(error, FileExistsError) else error.strerror or error  # its parent
        raise CheckpointError(
            f"{path} must be written: {reason}. "
            "The one before it, if any, is whole; free some space or name another directory."
        ) from error
    except BaseException:
        _remove(temporary)
        raise


def _remove(temporary: Path) -> None:
    with suppress(OSError):
        temporary.unlink()


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    with whole(path) as file:
        file.write(content)


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
