"""Points as NumPy arrays, .npy and .npz; pickles are never read."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping

import numpy as np

from edgecond.data.archives import parse_array, read_member
from edgecond.data.budget import MOST_COLUMNS, unpacked
from edgecond.data.formats.table import named, Table, unnamed

POSITIONS = ("points", "positions", "xyz")
FEATURES = "features"
_HEADER = 256  # bytes before the numbers of a vector in a .npy file, at most


def read_npy(data: bytes) -> Table:
    """Read a matrix with a row per point and columns x, y, z and perhaps others, or a vector of records."""
    return Table(_columns(_array(data)))


def read_npz(data: bytes) -> Table:
    """Read an array of positions, named one of `POSITIONS`, and columns beside it.

    Columns are those of a matrix named `FEATURES`, and every vector with a number for each point, by its name.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            positions = [name for name in POSITIONS if name in members]
            if len(positions) != 1:
                raise ValueError(
                    f"it must hold one array named {', '.join(POSITIONS[:-1])} or {POSITIONS[-1]}: "
                    f"found {', '.join(members) or 'none'}"
                )
            wanted = {name: members.pop(name) for name in (*positions, FEATURES) if name in members}
            _check_sizes(wanted, len(data))
            arrays = {name: _array(read_member(archive, info)) for name, info in wanted.items()}
            columns = _columns(arrays[positions[0]])
            count = len(next(iter(columns.values())))
            vectors = {name: info for name, info in members.items() if _may_be_vector(info, count)}
            _check_sizes(wanted | vectors, len(data))
            others = [(name, _vector(read_member(archive, info), count)) for name, info in vectors.items()]
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError) as error:
        raise ValueError(f"it must be a complete .npz file ({error})") from error
    if FEATURES in arrays:
        features = _plain(arrays[FEATURES])
        if features.ndim not in (1, 2) or len(features) != count:
            raise ValueError(f"it must hold features of {count} points: found the shape {features.shape}")
        columns |= {f"feature {k + 1}": column for k, column in enumerate(features.reshape(count, -1).T)}
    return Table(named([*columns.items(), *((name, vector) for name, vector in others if vector is not None)]))


def _check_sizes(members: Mapping[str, zipfile.ZipInfo], packed: int) -> None:
    """Refuse members of an archive of so many bytes that unpack to far more, or are too many."""
    size, most = sum(info.file_size for info in members.values()), unpacked(packed)
    if size > most:
        raise ValueError(f"its {packed:,} bytes may unpack to at most {most:,} bytes: found {size:,}")
    if len(members) > MOST_COLUMNS:
        raise ValueError(f"it must have at most {MOST_COLUMNS:,} arrays: found {len(members):,}")


def _may_be_vector(info: zipfile.ZipInfo, count: int) -> bool:
    """Whether a member has the size of a number for each point."""
    return count <= info.file_size <= 16 * count + _HEADER


def _vector(data: bytes, count: int) -> np.ndarray | None:
    """Return an array that has a real number for each point; None if it is any other."""
    try:
        array = parse_array(data)
    except ValueError:
        return None
    return array if array.shape == (count,) and array.dtype.kind in "fiu" else None


def _columns(array: np.ndarray) -> dict[str, np.ndarray]:
    if array.dtype.names and array.ndim == 1:
        return named((name, _field(array, name)) for name in array.dtype.names)
    return unnamed(_plain(array))


def _field(array: np.ndarray, name: str) -> np.ndarray:
    column = _plain(array[name])
    if column.ndim != 1:
        raise ValueError(f"its field {name!r} must hold one number for each point: found the shape {column.shape[1:]}")
    return column


def _plain(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind not in "fiu":
        raise ValueError(f"it must hold real numbers: found {array.dtype} of shape {array.shape}")
    return array


def _array(data: bytes) -> np.ndarray:
    array = parse_array(data)
    if not array.size:
        raise ValueError("it must hold at least one point: it is empty")
    return array
