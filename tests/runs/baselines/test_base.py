"""A baseline refuses data and tasks that it is not for, each in one sentence."""

from __future__ import annotations

import pytest

from edgecond.data.kinds import KINDS
from edgecond.errors import DataError
from edgecond.nn.tasks import TASKS
from edgecond.runs.baselines import BASELINES
from tests.runs.baselines.examples import SETTINGS, stars_and_paths


@pytest.mark.parametrize(
    ("name", "kinds"), [("voxnet", "clouds"), ("shape", "clouds and meshes"), ("forest", "molecules")]
)
def test_another_kind_of_data_is_refused(name: str, kinds: str):
    examples = stars_and_paths()

    with pytest.raises(DataError, match=rf"the baseline {name} is for {kinds}: these data are graphs\. Choose another"):
        BASELINES[name].measure(examples, examples, KINDS["graphs"], TASKS["classification"], 0, settings=SETTINGS)


def test_a_task_of_vertices_is_refused():
    examples = stars_and_paths()

    with pytest.raises(DataError, match="segmentation, which predicts for each vertex"):
        BASELINES["wl"].measure(examples, examples, KINDS["graphs"], TASKS["segmentation"], 0, settings=SETTINGS)
