"""Where data live, and how files come there: fetched, checked, unpacked without trust, and whole or not at all."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import io
import os
import shutil
import stat
import tarfile
import tempfile
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import Any, BinaryIO, Self

import numpy as np

Progress = Callable[[int, int | None], None]
"""Called with the bytes that have arrived (or the meshes sampled) and, where it is known, how many come in all."""

MOST_BYTES = 4 * 2**30  # what an archive may hold unpacked
MOST_RATIO = 100  # ... and how many times its own size; text reaches 20
TIMEOUT = 30.0  # seconds without a byte
AGAIN = " Remove it and fetch it again."


class DataError(ValueError):
    """Something is wrong with a data file, its place or its contents. The message is a sentence for the user."""


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


@contextmanager
def decompressed(path: Path, most: int = MOST_BYTES) -> Iterator[BinaryIO]:
    """The contents of a gzip file, or of a plain one; no more of them than the caps allow."""
    with reading(path), gzip.open(path) if path.suffix in (".gz", ".tgz") else path.open("rb") as stream:
        yield io.BufferedReader(_Capped(stream, path, most), 2**16)


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an .npz file. Never a pickle: an array of Python objects is refused."""
    files = read_archive(path)
    with reading(path):
        arrays = {name: np.load(io.BytesIO(data), allow_pickle=False) for name, data in files.items()}
    return {name.removesuffix(".npy"): array for name, array in arrays.items()}


# Archives


def read_archive(path: Path, wanted: Callable[[str], bool] = lambda _: True) -> dict[str, bytes]:
    """The wanted files of a zip or tar archive by name, in memory. The whole archive is checked on the way."""
    return dict(iterate_archive(path, wanted))


def iterate_archive(
    path: Path, wanted: Callable[[str], bool] = lambda _: True, *, most: int = MOST_BYTES
) -> Iterator[tuple[str, bytes]]:
    """The wanted files of a zip or tar archive one after the other, each with its name."""
    with reading(path), closing(_members(path, most)) as members:
        for name, read in members:
            if wanted(name):
                yield name, read()


def unpack(path: Path, target: Path) -> None:
    """Unpack a zip or tar archive as the new directory `target`: all of it, or nothing.

    Names with `..`, absolute names, links, devices, names that occur twice and archives that would unpack to more
    than `MOST_BYTES`, or `MOST_RATIO` times their own size, are refused before a byte is written.
    """
    if target.exists():
        raise DataError(f"{target} exists already: {path} is unpacked into a new directory only.")
    with reading(path):
        with closing(_members(path)) as members:
            for _ in members:
                pass
        with new(target) as scratch, closing(_members(path)) as members:
            with writing(target):
                scratch.mkdir()
            for name, read in members:
                data = read()
                with writing(target):
                    (scratch / name).parent.mkdir(parents=True, exist_ok=True)
                    (scratch / name).write_bytes(data)


Member = tuple[str, Callable[[], bytes]]


_ZIPS, _TARS = (".zip", ".npz"), (".tar", ".tar.gz", ".tgz")


def is_archive(path: Path) -> bool:
    """Whether the name is that of an archive that is read here."""
    return path.name.endswith((*_ZIPS, *_TARS))


def _members(path: Path, most: int = MOST_BYTES) -> Generator[Member, None, None]:
    """Names of the regular files of an archive, each with a function to read it before the next one is asked for."""
    if path.name.endswith(_ZIPS):
        return _checked(path, _zip_members(path, most))
    if path.name.endswith(_TARS):
        return _checked(path, _tar_members(path, most))
    raise DataError(f"{path} is not an archive that is read here: zip, tar and tar.gz are.")


def _checked(path: Path, members: Iterator[Member]) -> Generator[Member, None, None]:
    seen = set()
    for name, read in members:
        if name.casefold() in seen:
            raise DataError(f"{path} is refused: it holds {name!r} twice.")
        seen.add(name.casefold())
        yield name, read


def _tar_members(path: Path, most: int) -> Iterator[Member]:
    with decompressed(path, most) as stream:
        with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Header) as archive:
            for member in archive:
                _check_name(path, member.name)
                if not (member.isdir() or (member.isreg() and not member.issparse())):
                    raise DataError(f"{path} is refused: {member.name!r} is a link or a device, not a file.")
                if member.isreg():
                    yield member.name, lambda member=member: archive.extractfile(member).read()  # type: ignore[union-attr,misc]
        while stream.read(2**20):  # to the end, where gzip keeps its check sum
            pass


def _zip_members(path: Path, most: int) -> Iterator[Member]:
    with zipfile.ZipFile(path) as archive:
        if sum(info.file_size for info in archive.infolist()) > _allowed(path, most):
            raise _bomb(path, most)
        for info in archive.infolist():
            _check_name(path, info.filename)
            if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise DataError(f"{path} is refused: {info.filename!r} is a link or a device, not a file.")
            if not info.is_dir():
                yield info.filename, lambda info=info: archive.read(info)  # type: ignore[misc]


def _check_name(path: Path, name: str) -> None:
    parts = PureWindowsPath(name)  # which knows both slashes, and drives
    if parts.anchor or ".." in parts.parts or "\0" in name or not (parts.parts or name.startswith(".")):
        raise DataError(f"{path} is refused: the name {name!r} leads out of the directory it is unpacked into.")


def _allowed(path: Path, most: int) -> int:
    return min(most, max(2**20, MOST_RATIO * path.stat().st_size))


def _bomb(path: Path, most: int) -> DataError:
    size = path.stat().st_size
    return DataError(f"{path} is refused: its {size:,} bytes would unpack to more than {_allowed(path, most):,}.")


class _Header(tarfile.TarInfo):
    """A tar header. One that only prolongs the next is read into memory at once, so its size has a cap of its own."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        try:
            header = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if not buf.strip(b"\0"):  # the end
                raise
            raise tarfile.ReadError(str(error)) from error  # which would pass for the end
        if header.type not in (*tarfile.SUPPORTED_TYPES, tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE):
            raise tarfile.ReadError(f"unknown kind of entry {header.type!r}")
        if not (header.isreg() or header.isdir()) and header.size > 2**16:
            raise tarfile.ReadError(f"a header of {header.size:,} bytes")
        return header


class _Capped(io.RawIOBase):
    """A stream that ends in an error rather than give more bytes than an archive of its size may hold."""

    def __init__(self, stream: Any, path: Path, most: int) -> None:
        self._stream, self._path, self._most = stream, path, most
        self._left = _allowed(path, most)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise _bomb(self._path, self._most)
        buffer[: len(data)] = data
        return len(data)


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


# Fetching


@dataclass(frozen=True)
class Source:
    """A file of a dataset, the address that serves it, and how to know it.

    Attributes:
        file: Its name in the directory of the dataset.
        url: The public address.
        check: Raises `DataError` when handed the path of anything but the file.
        most: A size in bytes that it does not exceed.
    """

    file: str
    url: str
    check: Callable[[Path], None]
    most: int


def sum_is(expected: str) -> Callable[[Path], None]:
    """The check that a file has this SHA-256 sum."""

    def check(path: Path) -> None:
        if (found := sha256(path)) != expected:
            raise DataError(f"{path} has the SHA-256 sum {found} instead of {expected}.{AGAIN}")

    return check


def obtain(
    dataset: str, sources: Sequence[Source], progress: Progress | None = None, folder: Path | None = None
) -> str:
    """Check the files of a dataset that are there, download the others, and say in a sentence what was done."""
    folder = folder or data_directory() / dataset
    missing = []
    for source in sources:
        if (folder / source.file).exists():
            source.check(folder / source.file)
        else:
            missing.append(source)
    for source in missing:
        download(source.url, folder / source.file, check=source.check, most=source.most, progress=progress)
    if missing:
        return f"{dataset} is in {folder}: {', '.join(source.file for source in missing)} downloaded and verified."
    return f"{dataset} is in {folder} already: verified, nothing to download."


def download(
    url: str, target: Path, *, check: Callable[[Path], None], most: int, progress: Progress | None = None
) -> None:
    """Fetch a file over https into its place, where it appears only after `check` has accepted it.

    Args:
        url: An https address; redirections must stay on https.
        target: The path to be.
        check: Raises `DataError` when handed the path of a wrong file.
        most: The most bytes to accept.
        progress: Told of every piece that arrives.
    """
    with new(target) as arrived:
        write(arrived, _pieces(url, target, most, progress))
        try:
            check(arrived)
        except DataError as error:
            reason = str(error).replace(str(arrived), target.name).removesuffix(AGAIN)
            raise DataError(f"{url} served another file than expected, which was not kept: {reason}") from error


def _pieces(url: str, target: Path, most: int, progress: Progress | None) -> Iterator[bytes]:
    _check_https(url)
    try:
        request = urllib.request.Request(url, headers={"User-Agent": "edgecond"})
        with urllib.request.build_opener(_HttpsOnly).open(request, timeout=TIMEOUT) as answer:
            length = answer.headers.get("Content-Length")
            total = int(length) if length and length.isdigit() else None
            done = 0
            if (total or 0) > most:
                raise _too_large(url, target, most)
            while piece := answer.read(2**16):
                if (done := done + len(piece)) > most:
                    raise _too_large(url, target, most)
                if progress:
                    progress(done, total)
                yield piece
            if total is not None and done < total:
                raise EOFError(f"the connection ended after {done:,} of {total:,} bytes")
    except (OSError, EOFError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise DataError(
            f"{url} could not be fetched: {str(reason).rstrip('.')}. Check the network, or put the file at {target}."
        ) from error


def _too_large(url: str, target: Path, most: int) -> DataError:
    return DataError(f"{url} serves more than the {most:,} bytes that {target.name} may have.")


class _HttpsOnly(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        _check_https(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _check_https(url: str) -> None:
    if not url.startswith("https://"):
        raise DataError(f"{url} is refused: data are fetched over https only.")
