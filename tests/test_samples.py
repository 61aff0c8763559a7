"""Clouds become samples that networks accept; batches depend on seed, epoch and number alone."""

from __future__ import annotations

import pickle
from functools import partial
from multiprocessing import get_context

import pytest
import torch
import torch.utils._pytree as pytree

from edgecond.augment import augment
from edgecond.graph import Cloud, collate, Graph, Labels, Sample
from edgecond.labels import distinct_offsets, label_edges, LABELLINGS
from edgecond.network import Network
from edgecond.notation import Architecture
from edgecond.pyramid import cloud_pyramid, levels_of
from edgecond.samples import Batches, build, Builder
from tests.sentences import refused

CLOUDS = Architecture("C(4)-MP(0.5,1)-C(6)-GAP-FC(3)")
IMAGES = Architecture("C(4)-MP(2,3.4)-C(5)-MP(4,20)-C(6)-FC(3)")
LEVELS = levels_of(CLOUDS, 0.1, 0.4)
IMAGE_LEVELS = levels_of(IMAGES, 1, 2.9)
GRID = torch.cartesian_prod(torch.arange(8.0), torch.arange(8.0), torch.zeros(1))


def random_clouds(count: int = 5, seed: int = 0) -> list[Cloud]:
    generator = torch.Generator().manual_seed(seed)
    sizes = torch.randint(1, 60, (count,), generator=generator).tolist()
    return [Cloud(2 * torch.rand(n, 3, generator=generator), torch.rand(n, 1, generator=generator)) for n in sizes]


def random_images(count: int = 3) -> list[Cloud]:
    """Pictures of one grid, which they share."""
    generator = torch.Generator().manual_seed(0)
    return [Cloud(GRID, torch.rand(64, 1, generator=generator)) for _ in range(count)]


def same(one: Sample | Graph, other: Sample | Graph) -> bool:
    """Whether two samples or graphs agree in every number, the labels edge by edge."""
    leaves = [
        pytree.tree_leaves(pytree.tree_map(_edge_by_edge, sample, is_leaf=lambda part: isinstance(part, Labels)))
        for sample in (one, other)
    ]
    return all(a is b is None or a.equal(b) for a, b in zip(*leaves, strict=True))


def _edge_by_edge(part: Labels | torch.Tensor) -> torch.Tensor:
    return part.per_edge(part.values) if isinstance(part, Labels) else part


def batches(**options) -> Batches:
    examples = [(cloud, i % 3) for i, cloud in enumerate(random_clouds(11))]
    return Batches(examples, Builder(LEVELS), size=4, augment=partial(augment, noise=0.01), **options)


# Samples


@pytest.mark.parametrize("labelling", LABELLINGS)
def test_a_network_accepts_the_sample_of_a_batch(labelling: str):
    sample = build(random_clouds(), [0, 1, 2, 0, 1], LEVELS, labelling=labelling)

    scores = Network(CLOUDS, d0=1, s=len(LABELLINGS[labelling]))(sample.x, sample.pyramid)

    assert scores.shape == (5, 3)
    assert sample.y.tolist() == [0, 1, 2, 0, 1]


def test_the_sample_of_a_batch_is_the_batch_of_its_samples():
    """Another method: one cloud at a time, put side by side by `collate`."""
    clouds = random_clouds()

    together = build(clouds, range(5), LEVELS)

    assert same(together, collate([build([cloud], [y], LEVELS) for y, cloud in enumerate(clouds)]))


def test_a_strided_sample_is_the_batch_of_its_samples_too():
    """Section 4.4: the last graph has one target per sample."""
    clouds = random_images()

    together = build(clouds, range(3), IMAGE_LEVELS, strided=True)

    assert same(together, collate([build([cloud], [y], IMAGE_LEVELS, strided=True) for y, cloud in enumerate(clouds)]))
    assert together.pyramid.graphs[-1].num_vertices == 3
    assert Network(IMAGES, d0=1, s=6)(together.x, together.pyramid).shape == (3, 3)


def test_graphs_pass_the_checks_of_from_edges_and_stay_as_they_are():
    """The bare constructor trusts its arguments; here is the one that does not."""
    levels = cloud_pyramid(random_clouds(), LEVELS)
    sample = build(random_clouds(), range(5), LEVELS)

    for graph, level, labels in zip(
        sample.pyramid.graphs, levels.levels, label_edges("cartesian+spherical", levels), strict=True
    ):
        checked = Graph.from_edges(
            level.source, level.target, labels, num_vertices=len(level.positions), sizes=level.sizes
        )
        assert same(graph, checked)


def test_a_network_reads_one_hot_offsets_of_images():
    """Section 4.4, ECC one-hot: labels as wide as each level has offsets, F a single layer."""
    clouds = random_images()
    known = distinct_offsets(cloud_pyramid(clouds[:1], IMAGE_LEVELS, strided=True))

    sample = build(clouds, range(3), IMAGE_LEVELS, strided=True, labelling="one-hot", known=known)

    assert [len(offsets) for offsets in known] == [25, 9, 4]
    network = Network(IMAGES, d0=1, s=[25, 9, 4], hidden=())
    assert network(sample.x, sample.pyramid).shape == (3, 3)


def test_images_of_one_grid_share_their_pyramid():
    """It is built once for each size of batch; the signal is that of each batch."""
    builder = Builder(IMAGE_LEVELS, strided=True)
    one, other = random_images(6)[:3], random_images(6)[3:]

    first, second, smaller = builder(one, range(3)), builder(other, range(3)), builder(other[:2], range(2))

    assert first.pyramid is second.pyramid
    assert len(pickle.dumps(builder)) < 1000
    assert same(second, build(other, range(3), IMAGE_LEVELS, strided=True))
    assert same(smaller, build(other[:2], range(2), IMAGE_LEVELS, strided=True))


def test_images_of_one_grid_have_each_label_once_and_the_same_scores():
    """Footnote 1: as many filters as offsets. Without the shared tensor every edge is labelled by itself."""
    shared = random_images()
    apart = [Cloud(cloud.positions.clone(), cloud.signal) for cloud in shared]
    compact, plain = (build(clouds, [0, 1, 2], IMAGE_LEVELS, strided=True) for clouds in (shared, apart))
    torch.manual_seed(0)
    network = Network(IMAGES, d0=1, s=6).eval()

    assert len(compact.pyramid.graphs[0].labels.values) == 25  # offsets of 5 x 5 pixels, within 2.9
    assert plain.pyramid.graphs[0].labels.index is None
    torch.testing.assert_close(network(compact.x, compact.pyramid), network(plain.x, plain.pyramid))


def test_every_cloud_needs_a_class():
    with refused("every cloud needs a class: got 2 classes for 5 clouds."):
        build(random_clouds(), [0, 1], LEVELS)
    with refused("a pyramid needs at least one cloud: got none."):
        build([], [], LEVELS)


# Batches


def test_an_epoch_visits_every_example_once_in_batches_of_nearly_equal_size():
    """By hand: 11 examples in batches of at most 4 are 3 batches of 3 or 4."""
    ours = batches()
    parts = [ours.indices(0, number).tolist() for number in range(len(ours))]

    assert sorted(map(len, parts)) == [3, 4, 4]
    assert sorted(index for part in parts for index in part) == list(range(11))
    assert [len(sample.y) for sample in ours.epoch(0)] == [len(part) for part in parts]


def test_a_batch_depends_on_seed_epoch_and_number_alone():
    """Asked for in any order, of any copy."""
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


def test_an_example_looks_the_same_in_whatever_company_it_comes():
    """So that batches can be divided among processes: half and half make the whole."""
    ours = batches()
    indices = ours.indices(2, 1)

    halves = [ours.sample(indices[:2], 2), ours.sample(indices[2:], 2)]

    assert same(collate(halves), ours.batch(2, 1))


def test_without_shuffling_and_augmentation_an_epoch_is_the_examples_in_order():
    clouds = random_clouds(5)
    plain = Batches([(cloud, y) for y, cloud in enumerate(clouds)], Builder(LEVELS), size=5, shuffle=False)

    assert same(plain.batch(3, 0), build(clouds, range(5), LEVELS))


def test_shares_of_a_batch_make_up_the_batch():
    """Three processes that train as one: a batch of four is split one after the other, each example as it was."""
    shares = [batches(share=(r, 3)) for r in range(3)]

    for number in range(3):
        whole = batches().batch(2, number)
        assert same(whole, collate([share.batch(2, number) for share in shares]))


def test_every_process_needs_a_share_of_every_batch():
    with refused(
        "every process needs a share of every batch: the smallest has 3 examples for 4 processes. "
        "Start fewer, or choose larger batches."
    ):
        batches(share=(0, 4))


def test_batches_have_a_size_and_a_number():
    with refused("a batch holds at least one example: got a size of 0."):
        Batches([], Builder(LEVELS), size=0)
    with refused("an epoch has batches 0 to 2: got 3.", IndexError):
        batches().batch(0, 3)
