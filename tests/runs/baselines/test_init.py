"""Every baseline is listed under its name, and every kind of data has one that is fitted in moments."""

from __future__ import annotations

import json

import pytest

from edgecond.data.kinds import KINDS
from edgecond.errors import DataError
from edgecond.runs.baselines import BASELINES, find


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_the_baseline_of_a_kind_takes_that_kind(kind):
    assert find(kind.baseline).takes(kind)


def test_settings_are_json():
    for baseline in BASELINES.values():
        assert json.loads(json.dumps(baseline.settings)) == baseline.settings


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("graphs", {"bag", "wl", "wl-edges", "gcn", "gin"}),
        ("molecules", {"bag", "wl", "wl-edges", "gcn", "gin", "forest"}),
        ("clouds", {"shape", "voxnet", "pointnet"}),
        ("meshes", {"shape"}),
    ],
)
def test_a_baseline_takes_the_kinds_of_data_that_provide_what_it_needs(kind: str, names: set[str]):
    """`edgecond baseline --help`; molecules are graphs too, and docs/baselines.md has the one for meshes."""
    assert {name for name, baseline in BASELINES.items() if baseline.takes(KINDS[kind])} == names


def test_an_unknown_name_is_refused():
    with pytest.raises(DataError, match=r"no baseline 'voxnett'\. Did you mean voxnet"):
        find("voxnett")
