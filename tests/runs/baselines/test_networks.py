"""The training loop of the networks of others."""

from __future__ import annotations

import numpy as np
import torch

from edgecond.nn.tasks import TASKS
from edgecond.runs.baselines.clouds import VoxNetBaseline
from tests.runs.baselines.examples import SETTINGS
from tests.runs.baselines.test_clouds import spheres_and_planes


def test_an_epoch_has_every_example_once():
    """40 examples are a batch of 32 and one of 8; of 33 one is left over, which batch normalisation cannot take."""
    rng = np.random.default_rng(0)

    batches = list(VoxNetBaseline().batches(40, rng))

    assert [len(batch) for batch in batches] == [32, 8]
    assert sorted(np.concatenate(batches).tolist()) == list(range(40))
    assert [len(batch) for batch in VoxNetBaseline().batches(33, rng)] == [32]


def test_the_same_seed_gives_the_same_network_and_leaves_the_global_generator_alone():
    examples, _ = spheres_and_planes(4, 1)
    baseline = VoxNetBaseline()
    baseline.epochs = 1
    task = TASKS["classification"].fit(examples.ys, 2)
    state = torch.random.get_rng_state()

    first, again, other = (baseline.fit(examples, task, seed, settings=SETTINGS)(examples) for seed in (0, 0, 1))

    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert torch.equal(state, torch.random.get_rng_state())
