"""Every baseline is listed under its name, and every kind of data has one that is fitted in moments."""

from __future__ import annotations

import json

import pytest

from edgecond.data.kinds import KINDS
from edgecond.errors import DataError
from edgecond.runs.baselines import BASELINES, find


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_the_baseline_of_a_kind_takes_that_kind(kind):
    assert kind.name in find(kind.baseline).kinds


def test_settings_are_json_and_kinds_exist():
    for baseline in BASELINES.values():
        assert json.loads(json.dumps(baseline.settings)) == baseline.settings
        assert baseline.kinds <= KINDS.keys()


def test_an_unknown_name_is_refused():
    with pytest.raises(DataError, match=r"no baseline 'voxnett'\. Did you mean voxnet"):
        find("voxnett")
