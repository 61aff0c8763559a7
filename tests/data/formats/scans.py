"""Laser scans that laspy writes, with values in every field, and what laspy finds different in two files."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import laspy
import numpy as np

HEADER = (
    *("file_source_id", "uuid", "version", "system_identifier", "generating_software", "creation_date"),
    *("point_count", "maxs", "mins", "scales", "offsets", "number_of_points_by_return", "extra_header_bytes"),
    "extra_vlr_bytes",
)


def scan(form: int, version: str, *, compressed: bool = False, count: int = 300, extra: bool = False) -> bytes:
    """Return a file whose points have random values in every field, with records before and after the points."""
    rng = np.random.default_rng(form)
    header = laspy.LasHeader(point_format=form, version=version)
    header.scales, header.offsets = [0.01, 0.01, 0.001], [500_000.0, 5_000_000.0, 10.0]
    header.vlrs.append(laspy.VLR("someone", 77, "a record", b"before the points"))
    if extra:
        header.add_extra_dim(laspy.ExtraBytesParams("height", "f4", "above ground"))
        header.add_extra_dim(laspy.ExtraBytesParams("tree", "u2"))
    file = laspy.LasData(header)
    file.points = laspy.ScaleAwarePointRecord.zeros(count, header=header)
    rows = file.points.array
    rows[:] = np.frombuffer(rng.bytes(rows.nbytes), rows.dtype)
    file.X, file.Y, file.Z = rng.integers(0, 10_000, (3, count))
    if extra:
        file["height"] = rng.random(count)
    if "gps_time" in file.point_format.dimension_names:
        file.gps_time = rng.random(count)
    if version == "1.4":
        file.evlrs = laspy.vlrs.vlrlist.VLRList([laspy.VLR("someone", 88, "a late record", b"after the points" * 9)])
    buffer = io.BytesIO()
    file.write(buffer, do_compress=compressed, laz_backend=laspy.LazBackend.Lazrs)
    return buffer.getvalue()


def differences(one: Path, other: Path) -> set[str]:
    """Return what differs between two files, by laspy: attributes of headers, records, fields of points, the order."""
    first, second = laspy.read(one), laspy.read(other)
    found = {name for name in HEADER if not _equal(getattr(first.header, name), getattr(second.header, name))}
    found |= {"global_encoding"} if first.header.global_encoding.value != second.header.global_encoding.value else set()
    found |= {"point_format"} if first.header.point_format.id != second.header.point_format.id else set()
    found |= {"vlrs"} if _records(first.header.vlrs) != _records(second.header.vlrs) else set()
    found |= {"evlrs"} if _records(first.evlrs or []) != _records(second.evlrs or []) else set()
    names = {*first.point_format.dimension_names} | {*second.point_format.dimension_names}
    for name in names:
        both = all(name in file.point_format.dimension_names for file in (first, second))
        if not both or not np.array_equal(np.asarray(first[name]), np.asarray(second[name]), equal_nan=True):
            found.add(name)
    return found


def _equal(one: Any, other: Any) -> bool:
    return bool(np.all(one == other))


def _records(records: Any) -> list[tuple[Any, ...]]:
    return [(each.user_id, each.record_id, each.description, each.record_data_bytes()) for each in records]
