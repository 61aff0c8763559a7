"""Clouds and meshes become samples that networks accept."""

from __future__ import annotations

import pickle
from functools import partial

import pytest
import torch

from edgecond.data.augment import augment
from edgecond.data.labels import distinct_offsets, label_edges, LABELLINGS
from edgecond.data.pyramid import cloud_pyramid, levels_of
from edgecond.data.samples.clouds import build, Builder, CloudSource
from edgecond.graph import Cloud, collate, Graph, Mesh
from edgecond.nn.network import Network
from edgecond.notation import Architecture
from tests.meshes import BOX, mesh_of, SPHERE, TORUS
from tests.pyramids import same
from tests.sentences import refused
from tests.threads import at_once

CLOUDS = Architecture("C(4)-MP(0.5,1)-C(6)-GAP-FC(3)")
IMAGES = Architecture("C(4)-MP(2,3.4)-C(5)-MP(4,20)-C(6)-FC(3)")
LEVELS = levels_of(CLOUDS, 0.1, 0.4)
IMAGE_LEVELS = levels_of(IMAGES, 1, 2.9)
GRID = torch.cartesian_prod(torch.arange(8.0), torch.arange(8.0), torch.zeros(1))


VERTICES = Architecture("C(4)-MP(0.5,1)-C(6)-V-FC(3)")


def random_clouds(count: int = 5, seed: int = 0) -> list[Cloud]:
    generator = torch.Generator().manual_seed(seed)
    sizes = torch.randint(1, 60, (count,), generator=generator).tolist()
    return [Cloud(2 * torch.rand(n, 3, generator=generator), torch.rand(n, 1, generator=generator)) for n in sizes]


def random_images(count: int = 3) -> list[Cloud]:
    """Draw images that share one grid."""
    generator = torch.Generator().manual_seed(0)
    return [Cloud(GRID, torch.rand(64, 1, generator=generator)) for _ in range(count)]


@pytest.mark.parametrize("labelling", LABELLINGS)
def test_a_network_accepts_the_sample_of_a_batch(labelling: str):
    sample = build(random_clouds(), [0, 1, 2, 0, 1], LEVELS, labelling=labelling)

    scores = Network(CLOUDS, d0=1, s=len(LABELLINGS[labelling]))(sample.x, sample.pyramid)

    assert scores.shape == (5, 3)
    assert sample.y.tolist() == [0, 1, 2, 0, 1]


def test_the_sample_of_a_batch_is_the_batch_of_its_samples():
    """Another method: `collate` the samples of single clouds."""
    clouds = random_clouds()

    together = build(clouds, range(5), LEVELS)

    assert same(together, collate([build([cloud], [y], LEVELS) for y, cloud in enumerate(clouds)]))


def test_a_strided_sample_is_the_batch_of_its_samples():
    """Section 4.4: the last graph has one target per sample."""
    clouds = random_images()

    together = build(clouds, range(3), IMAGE_LEVELS, strided=True)

    assert same(together, collate([build([cloud], [y], IMAGE_LEVELS, strided=True) for y, cloud in enumerate(clouds)]))
    assert together.pyramid.graphs[-1].num_vertices == 3
    assert Network(IMAGES, d0=1, s=6)(together.x, together.pyramid).shape == (3, 3)


def test_graphs_pass_the_checks_of_from_edges_unchanged():
    """The builder uses the constructor, which does not check its arguments."""
    levels = cloud_pyramid(random_clouds(), LEVELS)
    sample = build(random_clouds(), range(5), LEVELS)

    for graph, level, labels in zip(
        sample.pyramid.graphs, levels.levels, label_edges("cartesian+spherical", levels), strict=True
    ):
        checked = Graph.from_edges(
            level.source, level.target, labels, num_vertices=len(level.positions), sizes=level.sizes
        )
        assert same(graph, checked)


def test_a_network_accepts_one_hot_offsets_of_images():
    """Section 4.4, ECC one-hot: the width of labels is the number of offsets of each level; F is a single layer."""
    clouds = random_images()
    known = distinct_offsets(cloud_pyramid(clouds[:1], IMAGE_LEVELS, strided=True))

    sample = build(clouds, range(3), IMAGE_LEVELS, strided=True, labelling="one-hot", known=known)

    assert [len(offsets) for offsets in known] == [25, 9, 4]
    network = Network(IMAGES, d0=1, s=[25, 9, 4], hidden=())
    assert network(sample.x, sample.pyramid).shape == (3, 3)


def test_images_of_one_grid_share_their_pyramid():
    """It is built once for each batch size; the signal is that of each batch."""
    builder = Builder(IMAGE_LEVELS, strided=True)
    one, other = random_images(6)[:3], random_images(6)[3:]

    first, second, smaller = builder(one, range(3)), builder(other, range(3)), builder(other[:2], range(2))

    assert first.pyramid is second.pyramid
    assert len(pickle.dumps(builder)) < 1000
    assert same(second, build(other, range(3), IMAGE_LEVELS, strided=True))
    assert same(smaller, build(other[:2], range(2), IMAGE_LEVELS, strided=True))


def test_compact_labels_of_images_give_the_same_scores():
    """Footnote 1: as many labels as offsets; without a shared tensor of positions, one label per edge."""
    shared = random_images()
    apart = [Cloud(cloud.positions.clone(), cloud.signal) for cloud in shared]
    compact, plain = (build(clouds, [0, 1, 2], IMAGE_LEVELS, strided=True) for clouds in (shared, apart))
    torch.manual_seed(0)
    network = Network(IMAGES, d0=1, s=6).eval()

    assert len(compact.pyramid.graphs[0].labels.values) == 25  # offsets of 5 x 5 pixels, within 2.9
    assert plain.pyramid.graphs[0].labels.index is None
    torch.testing.assert_close(network(compact.x, compact.pyramid), network(plain.x, plain.pyramid))


def test_every_cloud_needs_a_target():
    with refused("every cloud needs a target: got 2 targets for 5 clouds."):
        build(random_clouds(), [0, 1], LEVELS)
    with refused("a pyramid needs at least one cloud: got none."):
        build([], [], LEVELS)


def test_regression_targets_are_the_rows_of_a_sample():
    clouds = random_clouds(2)

    sample = build(clouds, [torch.tensor([0.5, 1.5]), torch.tensor([2.5, 3.5])], LEVELS)

    assert sample.y.tolist() == [[0.5, 1.5], [2.5, 3.5]]


def test_the_augmentation_of_an_example_depends_on_its_index_and_the_epoch_but_not_on_the_batch():
    """So that processes can share a batch: two parts of a batch make up the batch."""
    examples = [(cloud, i % 3) for i, cloud in enumerate(random_clouds(11))]
    source = CloudSource(examples, Builder(LEVELS), partial(augment, noise=0.01), seed=3)

    halves = [source.sample([7, 2], 4), source.sample([0, 9, 4], 4)]

    assert same(collate(halves), source.sample([7, 2, 0, 9, 4], 4))
    assert not same(source.sample([7], 4), source.sample([7], 5))
    assert not same(source.sample([7], 4), CloudSource(examples, Builder(LEVELS), source.augment, 4).sample([7], 4))


def test_the_sample_of_a_batch_of_meshes_is_the_batch_of_its_samples():
    build_meshes = Builder(((0.2, 0.4), (0.8, 1.0)), meshes=True)
    meshes = [mesh_of(shape) for shape in (BOX, SPHERE, TORUS)]

    together = build_meshes(meshes, [0, 1, 2])
    alone = collate([build_meshes([mesh], [y]) for y, mesh in enumerate(meshes)])

    assert same(together, alone)


def test_pyramids_of_meshes_are_not_cached():
    """Two meshes may share their vertices and differ in their faces."""
    build_meshes, mesh = Builder(((None, 9.0),), meshes=True), mesh_of(BOX)
    part = Mesh(mesh.positions, mesh.signal, faces=mesh.faces[:4])

    edges = [len(build_meshes([one], [0]).pyramid.graphs[0].source) for one in (mesh, part)]

    assert edges[0] == 8 + 2 * 18  # self-loops and both directions of the edges of a cube and its six diagonals
    assert edges[1] < edges[0]


def test_a_sample_for_segmentation_has_classes_of_vertices_and_the_vertex_of_each_point():
    """By hand: two points share a voxel and their class; the third has its own voxel and an unknown class."""
    positions = torch.tensor([[0.0, 0, 0], [1, 1, 1], [0.01, 0, 0]])
    cloud = Cloud(positions, torch.ones(3, 1), torch.tensor([2, -1, 2]))

    sample = build([cloud, cloud], [0, 0], LEVELS, per_vertex=True)

    assert sample.y.tolist() == [2, -1, 2, -1]
    assert sample.voxel.tolist() == [0, 1, 0, 2, 3, 2]
    scores = Network(VERTICES, d0=1, s=6)(sample.x, sample.pyramid)
    assert scores.shape == (4, 3)


def test_points_without_classes_have_the_class_minus_1():
    sample = build(random_clouds(2), [0, 0], LEVELS, per_vertex=True)

    assert set(sample.y.tolist()) == {-1}
    assert len(sample.voxel) == sum(map(len, random_clouds(2)))


def test_a_sample_for_segmentation_is_the_batch_of_its_samples():
    """Another method: `collate` the samples of single clouds."""
    clouds = [Cloud(c.positions, c.signal, torch.arange(len(c)) % 3) for c in random_clouds()]

    together = build(clouds, range(5), LEVELS, per_vertex=True)

    assert same(together, collate([build([cloud], [0], LEVELS, per_vertex=True) for cloud in clouds]))


def test_images_of_one_grid_have_different_classes():
    """They share a pyramid, which is cached."""
    images = [Cloud(c.positions, c.signal, torch.full((64,), number)) for number, c in enumerate(random_images())]
    builder = Builder(LEVELS, per_vertex=True)

    for _ in range(2):
        sample = builder(images, [0, 0, 0])
        assert sample.y.tolist() == [0] * 64 + [1] * 64 + [2] * 64
        assert len(sample.voxel) == 192


def test_threads_get_the_pyramids_of_their_own_grids():
    """Images of two grids, as many at a time, take turns with the one pyramid that is cached of so many."""
    build_sample = Builder(IMAGE_LEVELS, strided=True)
    every = [[Cloud(GRID[:size], torch.ones(size, 1))] for size in (9, 12, 16)]

    def sizes(clouds: list[Cloud]) -> list[int]:
        sample = build_sample(clouds, [0])
        return [len(sample.x), *(graph.num_vertices for graph in sample.pyramid.graphs)]

    alone = [sizes(clouds) for clouds in every]
    together = at_once([partial(sizes, clouds) for clouds in every], 100)

    for expected, results in zip(alone, together, strict=True):
        assert all(result == expected for result in results)
