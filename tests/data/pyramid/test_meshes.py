"""Mesh pyramids are contractions of the mesh, in which parts that are far along the surface stay apart."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
import torch
import trimesh
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from edgecond.data.pyramid.meshes import contracted, mesh_pyramid
from edgecond.data.pyramid.surface import edges_of
from edgecond.graph import Cloud, Mesh
from tests.meshes import BOX, mesh_of, sheet, SPHERE, TORUS
from tests.sentences import mentions, refused

LEVELS = ((None, 9.0), (0.3, 1.0), (0.9, 3.0))


def components(level):
    n = len(level.positions)
    links = coo_array((np.ones(len(level.source)), (level.source.numpy(), level.target.numpy())), shape=(n, n))
    return connected_components(links, directed=False)[0]


@pytest.mark.parametrize("shape", [SPHERE, TORUS, trimesh.util.concatenate([sheet(0.0), sheet(0.05)])])
@pytest.mark.parametrize("resolution", [0.25, 0.6, 5.0])
def test_a_coarse_graph_is_the_contraction_by_connected_parts_of_voxels(shape, resolution):
    """The definition, computed by networkx: the quotient graph by the connected parts of voxels."""
    points, edges = np.asarray(shape.vertices, np.float32).astype(float), edges_of(shape.faces, len(shape.vertices))
    whole = nx.Graph()
    whole.add_nodes_from(range(len(points)))
    whole.add_edges_from(edges.tolist())
    by_voxel = {}
    for vertex, cell in enumerate(map(tuple, np.floor(points / resolution))):
        by_voxel.setdefault(cell, []).append(vertex)
    parts = [part for inside in by_voxel.values() for part in nx.connected_components(whole.subgraph(inside))]
    expected = nx.quotient_graph(whole, parts)

    voxels, between = contracted(points, np.array([len(points)]), edges, resolution)

    ours = [frozenset(np.flatnonzero(voxels.voxel == cluster).tolist()) for cluster in range(len(voxels.positions))]
    assert set(ours) == set(expected.nodes)
    assert {frozenset((ours[a], ours[b])) for a, b in between} == set(map(frozenset, expected.edges))
    assert len(between) == expected.number_of_edges()
    for members, centroid in zip(ours, voxels.positions, strict=True):
        np.testing.assert_allclose(points[list(members)].mean(0), centroid, atol=1e-6)


def test_the_first_level_has_the_edges_of_the_mesh_in_both_directions_and_self_loops():
    mesh = mesh_of(SPHERE)

    level = mesh_pyramid([mesh], LEVELS[:1]).levels[0]

    both = np.concatenate([SPHERE.edges_unique, SPHERE.edges_unique[:, ::-1], np.tile(np.arange(len(mesh)), (2, 1)).T])
    expected = sorted(map(tuple, both.tolist()))
    assert list(zip(level.target.tolist(), level.source.tolist(), strict=True)) == expected


def test_two_parallel_sheets_stay_separate_down_to_one_vertex_each():
    """Their distance is a twentieth of the largest voxel, but no edge connects them."""
    mesh = mesh_of(trimesh.util.concatenate([sheet(0.0), sheet(0.1)]))

    levels = mesh_pyramid([mesh], [(None, 9.0), (0.5, 9.0), (2.0, 9.0)]).levels

    assert [components(level) for level in levels] == [2, 2, 2]
    assert len(levels[-1].positions) == 2
    torch.testing.assert_close(levels[-1].positions[:, 2], torch.tensor([0.0, 0.1]))


def test_a_torus_keeps_its_hole():
    """A contraction of a connected graph is connected; the ring remains a cycle."""
    levels = mesh_pyramid([mesh_of(TORUS)], [(None, 9.0), (0.7, 9.0)]).levels

    assert [components(level) for level in levels] == [1, 1]
    coarse = nx.Graph()
    coarse.add_edges_from(zip(levels[1].source.tolist(), levels[1].target.tolist(), strict=True))
    coarse.remove_edges_from(nx.selfloop_edges(coarse))
    assert not nx.is_tree(coarse)


def test_pool_maps_send_a_vertex_to_the_cluster_that_it_is_merged_into():
    """The position of a cluster is the mean of its vertices."""
    pyramid = mesh_pyramid([mesh_of(TORUS)], LEVELS)

    for (finer, coarser), pool_map in zip(pairwise(pyramid.levels), pyramid.pool_maps, strict=True):
        assert len(pool_map) == len(finer.positions)
        assert sorted(set(pool_map.tolist())) == list(range(len(coarser.positions)))  # no cluster is empty
        sums = torch.zeros_like(coarser.positions).index_add(0, pool_map, finer.positions)
        torch.testing.assert_close(sums / torch.bincount(pool_map)[:, None], coarser.positions)


def test_flat_parts_have_vertices_after_long_edges_are_split():
    """By hand: a cube of side 1 whose edges are halved twice has 4 x 4 squares per face, so 6 * 16 + 2 vertices."""
    pyramid = mesh_pyramid([mesh_of(BOX)], [(None, 0.36)])

    level = pyramid.levels[0]
    assert len(level.positions) >= 98
    assert level.offsets.norm(dim=1).max() <= 0.36 + 1e-6
    torch.testing.assert_close(level.positions[pyramid.voxel], torch.tensor(BOX.vertices + 0.5, dtype=torch.float32))


def test_the_signal_is_that_of_the_mesh_followed_by_the_normal():
    mesh = mesh_of(sheet(0.0))

    x = mesh_pyramid([mesh], [(0.4, 9.0)]).x

    torch.testing.assert_close(x, torch.tensor([1.0, 0, 0, 1]).expand(len(x), 4))


def test_a_batch_has_the_pyramids_of_its_meshes_side_by_side():
    shapes = [mesh_of(shape) for shape in (BOX, SPHERE, TORUS)]

    together = mesh_pyramid(shapes, [(0.1, 0.3), *LEVELS[1:]])
    alone = [mesh_pyramid([shape], [(0.1, 0.3), *LEVELS[1:]]) for shape in shapes]

    torch.testing.assert_close(together.x, torch.cat([one.x for one in alone]), rtol=0, atol=0)
    for h, level in enumerate(together.levels):
        sizes = [len(one.levels[h].positions) for one in alone]
        begin = np.cumsum([0, *sizes])
        assert level.sizes.tolist() == sizes
        for name in ("source", "target"):
            expected = torch.cat(
                [getattr(one.levels[h], name) + int(at) for one, at in zip(alone, begin, strict=False)]
            )
            assert torch.equal(getattr(level, name), expected)
        assert torch.equal(level.positions, torch.cat([one.levels[h].positions for one in alone]))
        if h:
            maps = [one.pool_maps[h - 1] + int(at) for one, at in zip(alone, begin, strict=False)]
            assert torch.equal(together.pool_maps[h - 1], torch.cat(maps))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", [BOX, TORUS])
def test_the_order_of_vertices_and_faces_does_not_matter(shape, seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(shape.vertices))
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    faces = number[shape.faces][rng.permutation(len(shape.faces))]
    mixed = mesh_of(trimesh.Trimesh(shape.vertices[order], faces, process=False))

    one, other = (mesh_pyramid([mesh], [(0.15, 0.3), *LEVELS[1:]]) for mesh in (mesh_of(shape), mixed))

    torch.testing.assert_close(one.x, other.x)
    for level, same in zip(one.levels, other.levels, strict=True):
        assert torch.equal(level.positions, same.positions)
        assert torch.equal(level.source, same.source)
        assert torch.equal(level.target, same.target)
    assert all(map(torch.equal, one.pool_maps, other.pool_maps))


def test_isolated_vertices_have_self_loops_and_degenerate_faces_are_accepted():
    positions = torch.tensor([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [3, 3, 3]])
    mesh = Mesh(positions, torch.ones(5, 1), faces=torch.tensor([[0, 1, 2], [0, 0, 3], [1, 1, 1]]))

    pyramid = mesh_pyramid([mesh], [(None, 9.0), (0.5, 9.0)])

    edges = set(zip(pyramid.levels[0].source.tolist(), pyramid.levels[0].target.tolist(), strict=True))
    one_way = {(0, 1), (0, 2), (1, 2), (0, 3)}
    assert edges == one_way | {(b, a) for a, b in one_way} | {(i, i) for i in range(5)}
    assert torch.isfinite(pyramid.x).all()
    assert pyramid.x[4].tolist() == [1, 0, 0, 0]
    assert components(pyramid.levels[1]) == 2


def test_a_mesh_without_faces_has_self_loops_only():
    mesh = Mesh(torch.eye(3), torch.ones(3, 1), faces=torch.zeros(0, 3, dtype=torch.long))

    level = mesh_pyramid([mesh], [(10.0, 1.0)]).levels[0]

    assert level.source.tolist() == level.target.tolist() == [0, 1, 2]


def test_a_strided_level_connects_all_vertices_to_the_centroid():
    last = mesh_pyramid([mesh_of(SPHERE), mesh_of(BOX)], LEVELS, strided=True).levels[-1]

    assert last.centroids.shape == (2, 3)
    assert torch.bincount(last.target).tolist() == last.sizes.tolist()


def test_a_cloud_instead_of_a_mesh_is_an_error():
    with refused("a mesh pyramid needs meshes: got a cloud, which has no edges. Read the files as meshes."):
        mesh_pyramid([Cloud(torch.eye(3), torch.ones(3, 1))], LEVELS)


def test_a_pyramid_without_levels_or_radius_is_an_error():
    with refused("a pyramid needs at least one level: got no resolutions."):
        mesh_pyramid([mesh_of(BOX)], [])
    with refused("a radius must be a positive number: got 0."):
        mesh_pyramid([mesh_of(BOX)], [(None, 0)])


def test_a_mesh_in_the_wrong_unit_is_refused_before_it_is_divided():
    """In millimetres, a box is a thousand times as wide, and would have a million times as many faces."""
    box = mesh_of(BOX)
    large = Mesh(1000 * box.positions, box.signal, faces=box.faces)

    with mentions("at most 200,048 faces", "edges up to 0.1", "1e+03 wide", "units look wrong"):
        mesh_pyramid([box, large], ((None, 0.1),))
