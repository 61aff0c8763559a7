"""Clouds and meshes of user files, parsed once and kept in memory or, where they are large, in a temporary file."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from edgecond.errors import DataError
from edgecond.files import cache_directory, scratch_directory
from edgecond.graph import Cloud, Mesh

MEMORY = 2 * 2**30
"""Bytes of clouds that are kept in memory; those of a dataset beyond them are kept in a temporary file."""


class _Stored(NamedTuple):
    """An array in the temporary file."""

    offset: int
    dtype: np.dtype
    shape: tuple[int, ...]


class ParsedClouds:
    """Clouds with all columns of their files, to be read in any order and any number of times.

    The temporary file is in `cache_directory()` and is removed with this object. Unlike a lasting cache it is never out
    of date and needs no cleaning up; files have to be read once per run for their digest anyway. Worker processes read
    it too, whether they are forked or receive this object as a pickle.
    """

    def __init__(self) -> None:
        self._clouds: list[tuple[type[Cloud], tuple[str, ...], dict[str, np.ndarray | _Stored]]] = []
        self._bytes = 0
        self._file: Path | None = None

    def __len__(self) -> int:
        return len(self._clouds)

    def add(self, cloud: Cloud, names: tuple[str, ...]) -> None:
        """Add a cloud or mesh whose signal has columns of these names; without names, its signal is ignored."""
        values = {each.name: getattr(cloud, each.name) for each in fields(cloud)}
        arrays: dict[str, np.ndarray | _Stored] = {k: v.numpy() for k, v in values.items() if v is not None}
        self._bytes += sum(array.nbytes for array in arrays.values() if isinstance(array, np.ndarray))
        if self._bytes > MEMORY:
            arrays = {name: self._store(array) for name, array in arrays.items() if isinstance(array, np.ndarray)}
        self._clouds.append((type(cloud), names, arrays))

    def get(self, index: int, columns: Sequence[str]) -> Cloud:
        """Return a cloud with these columns as its signal; without columns, the signal is 1."""
        kind, names, kept = self._clouds[index]
        arrays = {name: self._load(array) if isinstance(array, _Stored) else array for name, array in kept.items()}
        signal = np.ones((len(arrays["positions"]), 1), np.float32)
        if columns:
            signal = arrays["signal"][:, [names.index(column) for column in columns]]
        if kind is Mesh:
            signal = np.ascontiguousarray(signal)
        return kind(**{name: torch.from_numpy(array) for name, array in (arrays | {"signal": signal}).items()})

    def _store(self, array: np.ndarray) -> _Stored:
        directory = cache_directory()
        try:
            if self._file is None:
                directory.mkdir(parents=True, exist_ok=True)
                scratch, remove = scratch_directory(directory, "clouds")
                weakref.finalize(self, remove)
                self._file = scratch / "clouds"
            with self._file.open("ab") as file:
                offset = file.tell()
                file.write(np.ascontiguousarray(array).data)
        except OSError as error:
            raise DataError(
                f"clouds of more than {MEMORY:,} bytes are kept in {directory}, which cannot be written: "
                f"{error.strerror or error}. Free some space, or set EDGECOND_CACHE to another directory."
            ) from error
        return _Stored(offset, array.dtype, array.shape)

    def _load(self, stored: _Stored) -> np.ndarray:
        assert self._file is not None
        count = int(np.prod(stored.shape))
        return np.fromfile(self._file, stored.dtype, count, offset=stored.offset).reshape(stored.shape)
