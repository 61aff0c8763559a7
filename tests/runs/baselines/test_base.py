"""A baseline refuses data and tasks that it is not for, each in one sentence."""

from __future__ import annotations

import pytest

from edgecond.data.kinds import KINDS
from edgecond.errors import DataError
from edgecond.nn.tasks import TASKS
from edgecond.runs.baselines import BASELINES
from tests.runs.baselines.examples import SETTINGS, stars_and_paths


def test_another_kind_of_data_is_refused():
    examples = stars_and_paths()

    with pytest.raises(DataError, match=r"the baseline voxnet is for clouds: these data are graphs\."):
        BASELINES["voxnet"].measure(examples, examples, KINDS["graphs"], TASKS["classification"], 0, settings=SETTINGS)


def test_a_task_of_vertices_is_refused():
    examples = stars_and_paths()

    with pytest.raises(DataError, match="segmentation, which predicts for each vertex"):
        BASELINES["wl"].measure(examples, examples, KINDS["graphs"], TASKS["segmentation"], 0, settings=SETTINGS)
