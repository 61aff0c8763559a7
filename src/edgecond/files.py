"""Where data and caches are kept, checksums, atomic writes, and paths and tables as text."""

from __future__ import annotations

import csv
import fcntl
import gzip
import hashlib
import io
import os
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from errno import EISDIR
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from edgecond.errors import CheckpointError, DataError

Progress = Callable[[int, int | None], None]
"""Called with the number of bytes received (or of meshes sampled) and the total, where it is known."""

AGAIN = " Remove it and fetch it again."
_SHOWN = 300  # characters of another library's message
_SUFFIX = ".edgecond"


# Directories


def data_directory() -> Path:
    """Return the directory named by `EDGECOND_DATA`, or `edgecond` in the user's cache directory."""
    return _directory("EDGECOND_DATA") or _user_cache() / "edgecond"


def cache_directory() -> Path:
    """Return the directory named by `EDGECOND_CACHE`, or `edgecond/pyramids` in the user's cache directory."""
    return _directory("EDGECOND_CACHE") or _user_cache() / "edgecond" / "pyramids"


def _user_cache() -> Path:
    return _directory("XDG_CACHE_HOME", "~/.cache") or Path()


def _directory(variable: str, default: str = "") -> Path | None:
    """Return the directory that a variable of the environment names, if it names one."""
    named = os.environ.get(variable) or default
    try:
        return Path(named).expanduser() if named else None
    except RuntimeError as error:
        raise DataError(
            f"{variable} must name a directory: {named} begins with the home directory of a user, and there is none. "
            f"Set {variable} to a whole path."
        ) from error


def locate(dataset: str, file: str, folder: str | None = None) -> Path:
    """Return the path of a dataset's file, which must exist."""
    path = data_directory() / (folder or dataset) / file
    if not path.is_file():
        raise DataError(
            f"{dataset} needs {path}, which does not exist. Run `edgecond fetch {dataset}`, "
            "or set EDGECOND_DATA to the directory that holds your copy."
        )
    return path


# Contents


def sha256(data: bytes | Path) -> str:
    """Return the SHA-256 checksum of some bytes or of a file, as `sha256sum` prints it."""
    if isinstance(data, bytes):
        return hashlib.sha256(data).hexdigest()
    with reading(data), data.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(sums: Mapping[str, str]) -> str:
    """Return one checksum for a dataset: that of the list `sha256sum` prints of its parts, sorted by name."""
    return sha256("".join(f"{sums[name]}  {name}\n" for name in sorted(sums)).encode())


def path_text(path: Path) -> str:
    r"""Return a path as text that can be printed and stored: bytes that are not UTF-8 become `\xe9` and the like."""
    return os.fsencode(path.as_posix()).decode("utf-8", "backslashreplace")


def walk(folder: Path, report: Callable[[str], None] | None = None) -> Iterator[Path]:
    """Yield the files of a folder and of the folders in it, in any order.

    A folder that cannot be listed raises a `DataError` or, with `report`, is reported by a sentence and left out.
    """
    waiting = [folder]
    while waiting:
        entries: list[os.DirEntry[str]] = []
        try:
            with reading(current := waiting.pop()), os.scandir(current) as listing:
                entries += listing
        except DataError as error:
            if report is None:
                raise
            report(str(error))
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                waiting.append(Path(entry.path))
            else:
                yield Path(entry.path)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn a failure to read a file into a `DataError` that names it; pipes and devices, which block, are refused."""
    try:
        check_regular(path)
        yield
    except DataError:
        raise
    except (gzip.BadGzipFile, zlib.error, tarfile.TarError, zipfile.BadZipFile, EOFError, RuntimeError) as error:
        raise _damaged(path, str(error)) from error
    except (ValueError, KeyError, MemoryError) as error:  # NumPy raises these for an array it cannot accept
        raise _damaged(path, str(error)) from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error


def check_regular(path: Path) -> None:
    """Raise a `DataError` for a pipe or a device, from which a read may wait forever."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise DataError(f"{path} must be a file: it is a pipe or a device. Save its contents in a file.")


def _damaged(path: Path, reason: str) -> DataError:
    reason = reason.split("\n")[0].strip().rstrip(".")[:_SHOWN]  # some libraries quote the file
    return DataError(f"{path} is damaged or cut short ({reason}).{AGAIN}")


# Atomic writes


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that replaces `path` once it is complete, as `replacing` does.

    A path that cannot be written is refused at once, before the work whose result it is to hold.
    """
    try:
        with replacing(path) as file:
            yield file
    except OSError as error:
        raise CheckpointError(
            f"{path} must be written: {_reason(error)}. "
            "The previous file, if any, is unchanged; free some space or name another directory."
        ) from error


def write_atomic(path: Path, content: bytes) -> None:
    """Write a file completely or not at all."""
    with atomic_file(path) as file:
        file.write(content)


@contextmanager
def data_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file of the data directory for writing, as `atomic_file` does."""
    try:
        with replacing(path) as file:
            yield file
    except OSError as error:
        raise DataError(
            f"{path} cannot be written: {_reason(error)}. "
            "Set EDGECOND_DATA to a directory with space that you may write to."
        ) from error


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a new file that is flushed to disk and renamed to `path` when the block ends without an error.

    The file has the name of `path`, in a `scratch_directory` beside it. Links are never followed, and writers of the
    same path do not disturb each other: the last to finish wins. After an error nothing is left.
    """
    if path.is_dir():
        raise IsADirectoryError(EISDIR, "it is a directory")
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch, remove = scratch_directory(path.parent, path.name)
    try:
        temporary = scratch / path.name
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        remove()


def scratch_directory(parent: Path, name: str) -> tuple[Path, Callable[[], None]]:
    """Create a private directory with a random name that begins with `name`; return it and a function to remove it.

    It stays locked until then. Directories that nobody locks were left by processes that were killed: they are removed
    when this function is first called for the same parent.
    """
    _remove_first_leftovers(parent)
    prefix = f".{os.fsencode(name)[:200].decode('utf-8', 'ignore')}."  # a name has at most 255 bytes
    while True:
        scratch = Path(tempfile.mkdtemp(prefix=prefix, suffix=_SUFFIX, dir=parent))
        try:
            lock = _opened(scratch)
        except FileNotFoundError:  # another process removed it before it was opened
            continue
        with suppress(OSError):  # some network drives have no locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        if scratch.exists():  # else another process removed it before it was locked
            break
        os.close(lock)
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # a forked process may use the directory, and must leave it
            shutil.rmtree(scratch, ignore_errors=True)
        os.close(lock)

    return scratch, remove


def remove_leftovers(parent: Path) -> None:
    """Remove the scratch directories in a directory that processes left which were killed."""
    for scratch in parent.glob(f".*{_SUFFIX}"):
        with suppress(OSError):
            lock = _opened(scratch)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(scratch, ignore_errors=True)
            finally:
                os.close(lock)


_remove_first_leftovers = lru_cache(maxsize=256)(remove_leftovers)


def _opened(directory: Path) -> int:
    return os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


def _reason(error: OSError) -> str:
    # A parent directory that is a file is reported as one that exists.
    return "Not a directory" if isinstance(error, FileExistsError) else error.strerror or str(error)


# Tables

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What text begins with that spreadsheets run as a formula (OWASP, CSV Injection)."""


def csv_line(cells: Iterable[Any], raw: bool = False) -> str:
    """Return cells as a line of CSV.

    Args:
        cells: Texts and numbers.
        raw: Whether text stays as it is, even what a spreadsheet would run as a formula.
    """
    line = io.StringIO()
    # Python before 3.13 quotes a carriage return only if lines end with one.
    csv.writer(line, lineterminator="\r\n").writerow(cells if raw else map(_inert, cells))
    return line.getvalue().removesuffix("\r\n") + "\n"


def _inert(cell: Any) -> Any:
    """Return a cell with an apostrophe before text that a spreadsheet would run as a formula; numbers stay."""
    if not isinstance(cell, str) or not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell
