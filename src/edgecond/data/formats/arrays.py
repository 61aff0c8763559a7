"""Points as NumPy arrays, .npy and .npz; pickles are never read."""

from __future__ import annotations

import io
import zipfile
import zlib

import numpy as np

from edgecond.data.archives import parse_array, read_member
from edgecond.data.budget import unpacked
from edgecond.data.formats.table import named, Table, unnamed

POSITIONS = ("points", "positions", "xyz")
FEATURES = "features"


def read_npy(data: bytes) -> Table:
    """Read a matrix with a row per point and columns x, y, z and perhaps others, or a vector of records."""
    return Table(_columns(_array(data)))


def read_npz(data: bytes) -> Table:
    """Read an array of positions, named one of `POSITIONS`, and perhaps one named `FEATURES` with more columns."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            positions = [name for name in POSITIONS if name in names]
            if len(positions) != 1:
                raise ValueError(
                    f"it must hold one array named {', '.join(POSITIONS[:-1])} or {POSITIONS[-1]}: "
                    f"found {', '.join(names) or 'none'}"
                )
            wanted = [name for name in (*positions, FEATURES) if name in names]
            size, most = sum(names[name].file_size for name in wanted), unpacked(len(data))
            if size > most:
                raise ValueError(f"its {len(data):,} bytes may unpack to at most {most:,} bytes: found {size:,}")
            arrays = {name: _array(read_member(archive, names[name])) for name in wanted}
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError) as error:
        raise ValueError(f"it must be a complete .npz file ({error})") from error
    columns = _columns(arrays[positions[0]])
    if FEATURES in arrays:
        features, count = _plain(arrays[FEATURES]), len(next(iter(columns.values())))
        if features.ndim not in (1, 2) or len(features) != count:
            raise ValueError(f"it must hold features of {count} points: found the shape {features.shape}")
        columns |= {f"feature {k + 1}": column for k, column in enumerate(features.reshape(count, -1).T)}
    return Table(columns)


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
