"""Where data live, what tells one file from another, and how a file is written: whole or not at all."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from errno import EISDIR
from pathlib import Path
from typing import BinaryIO

from edgecond.errors import CheckpointError, DataError

Progress = Callable[[int, int | None], None]
"""Called with the bytes that have arrived (or the meshes sampled) and, where it is known, how many come in all."""

AGAIN = " Remove it and fetch it again."


# Where


def data_directory() -> Path:
    """The directory that `EDGECOND_DATA` names; `edgecond` in the user's cache directory otherwise."""
    if named := os.environ.get("EDGECOND_DATA"):
        return Path(named).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "edgecond"


def locate(dataset: str, file: str, folder: str | None = None) -> Path:
    """The file of a dataset, which must be there."""
    path = data_directory() / (folder or dataset) / file
    if not path.is_file():
        raise DataError(
            f"{dataset} needs {path}, which is not there. Run `edgecond fetch {dataset}`, "
            "or set EDGECOND_DATA to the directory that holds your copy."
        )
    return path


# What


def sha256(data: bytes | Path) -> str:
    """The SHA-256 sum of some bytes or of a file, as `sha256sum` prints it."""
    if isinstance(data, bytes):
        return hashlib.sha256(data).hexdigest()
    with reading(data), data.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(sums: Mapping[str, str]) -> str:
    """One sum for a dataset: that of the list `sha256sum` would print of its parts, sorted by name."""
    return sha256("".join(f"{sums[name]}  {name}\n" for name in sorted(sums)).encode())


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Failures to read a file become a sentence that names it."""
    try:
        yield
    except DataError:
        raise
    except (gzip.BadGzipFile, zlib.error, tarfile.TarError, zipfile.BadZipFile, EOFError, RuntimeError) as error:
        raise _damaged(path, str(error)) from error
    except (ValueError, KeyError, MemoryError) as error:  # what NumPy says of an array it cannot accept
        raise _damaged(path, str(error).split("\n")[0]) from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error


def _damaged(path: Path, reason: str) -> DataError:
    reason = reason.strip().rstrip(".")
    return DataError(f"{path} is damaged or cut short ({reason}).{AGAIN}")


# Writing


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """Failures to write become a sentence that names the target."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"{target} cannot be written: {error.strerror or error}. "
            "Set EDGECOND_DATA to a directory with space that you may write to."
        ) from error


@contextmanager
def new(target: Path) -> Iterator[Path]:
    """Where to write a file or a directory that is moved to `target` once complete, and is gone after an error."""
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        path = scratch / target.name  # the same name: archives are known by theirs
        yield path
        with writing(target):
            path.replace(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def write(path: Path, pieces: Iterable[bytes]) -> None:
    """Write a file, and wait until it is on the disk."""
    with writing(path):
        file = path.open("wb")
    with file:
        for piece in pieces:
            with writing(path):
                file.write(piece)
        with writing(path):
            file.flush()
            os.fsync(file.fileno())


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
