"""Batches depend on seed, epoch and number only."""

from __future__ import annotations

import pickle
from functools import partial
from multiprocessing import get_context

import pytest

from edgecond.data.augment import augment
from edgecond.data.samples import Batches
from edgecond.data.samples.clouds import build, Builder, CloudSource
from edgecond.graph import collate
from tests.data.samples.test_clouds import LEVELS, random_clouds
from tests.pyramids import same
from tests.sentences import refused


def batches(**options) -> Batches:
    examples = [(cloud, i % 3) for i, cloud in enumerate(random_clouds(11))]
    source = CloudSource(examples, Builder(LEVELS), partial(augment, noise=0.01), options.get("seed", 0))
    return Batches(source, size=4, **options)


def test_an_epoch_visits_every_example_once_in_batches_of_nearly_equal_size():
    """By hand: 11 examples in batches of at most 4 are 3 batches of 3 or 4."""
    ours = batches()
    parts = [ours.indices(0, number).tolist() for number in range(len(ours))]

    assert sorted(map(len, parts)) == [3, 4, 4]
    assert sorted(index for part in parts for index in part) == list(range(11))
    assert [len(sample.y) for sample in ours.epoch(0)] == [len(part) for part in parts]


def test_a_batch_depends_on_seed_epoch_and_number_only():
    """In any order, and for any copy of the object."""
    ours, copy = batches(seed=5), pickle.loads(pickle.dumps(batches(seed=5)))

    forwards = {(epoch, number): ours.batch(epoch, number) for epoch in (0, 1) for number in range(3)}

    assert all(same(copy.batch(*key), forwards[key]) for key in reversed(forwards))
    assert not same(ours.batch(0, 0), ours.batch(1, 0))
    assert not same(ours.batch(0, 0), batches(seed=6).batch(0, 0))


@pytest.mark.slow
def test_worker_processes_build_the_same_batches():
    ours = batches()
    with get_context("spawn").Pool(2) as pool:
        theirs = pool.starmap(ours.batch, [(1, number) for number in range(3)])

    assert all(same(a, b) for a, b in zip(theirs, ours.epoch(1), strict=True))


def test_without_shuffling_and_augmentation_an_epoch_has_the_examples_in_order():
    clouds = random_clouds(5)
    plain = Batches(CloudSource(list(zip(clouds, range(5), strict=True)), Builder(LEVELS)), 5, shuffle=False)

    assert same(plain.batch(3, 0), build(clouds, range(5), LEVELS))


def test_shares_of_a_batch_make_up_the_batch():
    """Three processes that train together: the parts of each batch, collated, are the batch."""
    shares = [batches(share=(r, 3)) for r in range(3)]

    for number in range(3):
        whole = batches().batch(2, number)
        assert same(whole, collate([share.batch(2, number) for share in shares]))


def test_every_process_needs_an_example_of_every_batch():
    with refused(
        "every process needs at least one example of every batch: the smallest batch has 3 examples for 4 processes. "
        "Start fewer processes, or choose a larger batch size."
    ):
        batches(share=(0, 4))


def test_an_invalid_batch_size_or_number_is_an_error():
    with refused("the batch size must be at least 1: got 0."):
        Batches(CloudSource([], Builder(LEVELS)), size=0)
    with pytest.raises(IndexError, match="from 0 to 2: got 3"):
        batches().batch(0, 3)
