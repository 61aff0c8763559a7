"""Read archives and compressed files from untrusted sources: names and sizes are checked."""

from __future__ import annotations

import gzip
import io
import math
import stat
import tarfile
import zipfile
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path, PureWindowsPath
from typing import Any, BinaryIO, Self

import numpy as np

from edgecond.data.budget import MOST_BYTES, unpacked
from edgecond.errors import DataError
from edgecond.files import reading

_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}


@contextmanager
def decompressed(path: Path, most: int = MOST_BYTES) -> Iterator[BinaryIO]:
    """Open a gzip file or a plain one; reading more than the limits allow raises a `DataError`."""
    with reading(path), gzip.open(path) if path.suffix.lower() in (".gz", ".tgz") else path.open("rb") as stream:
        yield io.BufferedReader(_Capped(stream, path, most), 2**16)


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """Read the arrays of an .npz file."""
    files = read_archive(path)
    with reading(path):
        return {name.removesuffix(".npy"): parse_array(data) for name, data in files.items()}


def parse_array(data: bytes) -> np.ndarray:
    """Return the array of a .npy file, read-only; its header is compared with its size before memory is allocated.

    Arrays of Python objects, which are pickles, are refused.
    """
    stream = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(stream)
        read_header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, columns_first, dtype = read_header(stream)
    except Exception as error:  # the header is a Python literal, which can fail in many ways
        raise ValueError("it must begin with the header of a NumPy array") from error
    if dtype.hasobject:
        raise ValueError("it must hold numbers: found Python objects, which are never unpickled")
    if not all(type(length) is int for length in shape) or _bytes_of(dtype) > dtype.itemsize:
        raise ValueError(f"its header must have whole numbers, and records of a size that NumPy can count: {shape}")
    count, left = math.prod(shape), len(data) - stream.tell()
    if count * dtype.itemsize > left or min(shape, default=0) < 0:
        raise ValueError(f"its array of shape {shape} must have {count * dtype.itemsize:,} bytes: found {left:,}")
    array = np.frombuffer(data, dtype, count, stream.tell()) if count else np.empty(0, dtype)
    return array.reshape(shape, order="F" if columns_first else "C")


def _bytes_of(dtype: np.dtype) -> int:
    """Return the size of a type; NumPy's own `itemsize` wraps around for records of more than 2 GiB."""
    if dtype.subdtype:
        return math.prod(dtype.subdtype[1]) * _bytes_of(dtype.subdtype[0])
    return sum(_bytes_of(dtype[name]) for name in dtype.names) if dtype.names else dtype.itemsize


def read_archive(path: Path, wanted: Callable[[str], bool] = lambda _: True) -> dict[str, bytes]:
    """Read the wanted files of a zip or tar archive into memory, by name; the whole archive is checked.

    Names that lead out of the archive, links, devices, names that occur twice, and archives that would unpack to more
    than the budget allows are refused.
    """
    return dict(iterate_archive(path, wanted))


def iterate_archive(
    path: Path, wanted: Callable[[str], bool] = lambda _: True, *, most: int = MOST_BYTES
) -> Iterator[tuple[str, bytes]]:
    """Yield name and contents of the wanted files of a zip or tar archive, one at a time."""
    with reading(path), closing(_members(path, most)) as members:
        for name, read in members:
            if wanted(name):
                yield name, read()


Member = tuple[str, Callable[[], bytes]]

_TARS = (".tar", ".tar.gz", ".tgz")
ARCHIVES = (".zip", *_TARS)


def is_archive(path: Path) -> bool:
    """Whether a file is a supported archive, by its name; .npz, a zip of arrays, does not count."""
    return path.name.lower().endswith(ARCHIVES)


def _members(path: Path, most: int = MOST_BYTES) -> Generator[Member, None, None]:
    """Yield the names of the regular files of an archive, each with a function that reads it until the next one."""
    if path.suffix.lower() in (".zip", ".npz"):
        return _checked(path, _zip_members(path, most))
    if path.name.lower().endswith(_TARS):
        return _checked(path, _tar_members(path, most))
    raise DataError(f"{path} must be a zip, tar or tar.gz archive.")


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
        while stream.read(2**20):  # to the end, where gzip stores the checksum
            pass


def _zip_members(path: Path, most: int) -> Iterator[Member]:
    with zipfile.ZipFile(path) as archive:
        if sum(info.file_size for info in archive.infolist()) > unpacked(path.stat().st_size, most):
            raise _bomb(path, most)
        for info in archive.infolist():
            _check_name(path, info.filename)
            if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise DataError(f"{path} is refused: {info.filename!r} is a link or a device, not a file.")
            if not info.is_dir():
                yield info.filename, lambda info=info: read_member(archive, info)  # type: ignore[misc]


def read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Read a file of a zip archive: at most the bytes that it announces are ever unpacked.

    Python cannot bound the other methods of compression, whose streams unpack to a million times their size at once.
    """
    if info.compress_type not in _METHODS:
        raise zipfile.BadZipFile(f"{info.filename!r} must be stored or deflated: its method is {info.compress_type}")
    with archive.open(info) as file:
        return file.read(max(info.file_size, 1))  # without a number, all of it is unpacked, and cut then


def _check_name(path: Path, name: str) -> None:
    parts = PureWindowsPath(name)  # splits at both slashes and at drives
    if parts.anchor or ".." in parts.parts or "\0" in name or not (parts.parts or name.startswith(".")):
        raise DataError(f"{path} is refused: the name {name!r} leads out of the archive.")


def _bomb(path: Path, most: int) -> DataError:
    size = path.stat().st_size
    return DataError(f"{path} is refused: its {size:,} bytes would unpack to more than {unpacked(size, most):,}.")


class _Header(tarfile.TarInfo):
    """A tar header; the size of its file, to whose end readers skip, and of extended headers, which are read into
    memory at once, are limited."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        try:
            header = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if not buf.strip(b"\0"):  # the end of the archive
                raise
            raise tarfile.ReadError(str(error)) from error  # otherwise treated as the end
        if header.type not in (*tarfile.SUPPORTED_TYPES, tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE):
            raise tarfile.ReadError(f"unknown kind of entry {header.type!r}")
        if not 0 <= header.size <= (MOST_BYTES if header.isreg() or header.isdir() else 2**16):
            raise tarfile.ReadError(f"a header of {header.size:,} bytes")
        return header


class _Capped(io.RawIOBase):
    """A stream that raises a `DataError` beyond the bytes that an archive of its size may hold."""

    def __init__(self, stream: Any, path: Path, most: int) -> None:
        self._stream, self._path, self._most = stream, path, most
        self._left = unpacked(path.stat().st_size, most)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise _bomb(self._path, self._most)
        buffer[: len(data)] = data
        return len(data)
