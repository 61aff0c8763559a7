"""The comparison of a scan with its copy, and the record of 20 million points."""

from __future__ import annotations

from pathlib import Path

import laspy
import numpy as np

from benchmarks import records, scans


def test_what_differs_between_two_scans_is_found(tmp_path: Path):
    """A field, a flag that shares its byte with others, a header value and a record."""
    one = scans.write_scan(tmp_path / "one.laz", 1000, 0)
    file = laspy.read(one)
    file.classification = np.asarray(file.user_data)
    file.gps_time[7] += 1
    file.withheld[3] = 1 - np.asarray(file.withheld)[3]
    file.header.system_identifier = "other"
    file.header.vlrs.append(laspy.VLR("someone", 1, "more", b"more"))
    file.write(str(other := tmp_path / "other.laz"))

    found = scans.compare(one, other)

    assert scans.compare(one, one)["different"] == []
    assert {*found["different"]} == {
        *("classification", "gps_time", "classification_flags", "system_identifier", "vlrs")
    }
    assert (found["compared"], found["accuracy"]) == (1000, 1.0)


def test_the_record_has_20_million_points_below_2_gb():
    run = records.read(records.SCANS)["runs"]["20000000"]

    assert run["compared"] == 20_000_000
    assert run["different"] == ["classification"]
    assert run["peak_bytes"] < 2e9
