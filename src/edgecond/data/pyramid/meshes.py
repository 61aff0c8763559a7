"""Pyramids of meshes along their edges: surfaces that are near in space and far along the surface stay apart.

The paper names it as future work to "treat meshes as graphs rather than point clouds" (Section 5); this is our way.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray as Array
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from edgecond.data.pyramid import batch_of, Level, Levels, Resolutions, signal_of, strided_level, tensor
from edgecond.data.pyramid.surface import distinct, edges_of, normals, split
from edgecond.data.pyramid.voxelgrid import mean, positive_octant, single, voxel_grid, Voxels
from edgecond.graph import Cloud, Mesh


def mesh_pyramid(meshes: Sequence[Cloud], resolutions: Resolutions, *, strided: bool = False) -> Levels:
    r"""The graphs of a batch of meshes, ever coarser: vertices are clusters, edges are those of the meshes.

    Edges longer than the first radius are halved until none is, so that flat parts, which need few triangles, have
    vertices too. On each level the vertices of a voxel that edges within the voxel connect become one, their centroid,
    and two of these are connected if an edge led from the one to the other: a contraction of the graph. Every vertex
    has a self-loop, and pools into the vertex that it becomes part of. The radii of coarser levels are not used.

    Args:
        meshes: The batch.
        resolutions: Grid resolution $r^{(h)}$ (none: keep all vertices) and radius of each level.
        strided: The last level sends all vertices of a mesh to a single one, their centroid (Section 4.4).

    Returns:
        The levels. $X^0$ is the signal of the mesh and then the normal of its vertices, averaged where these merge.
    """
    if not resolutions:
        raise ValueError("a pyramid needs at least one level: got no resolutions.")
    surfaces = [mesh for mesh in meshes if isinstance(mesh, Mesh)]
    if len(surfaces) < len(meshes):
        raise ValueError("a graph along edges needs meshes: got a cloud, which has none. Read the files as meshes.")
    positions, given = batch_of(meshes)
    first = np.cumsum(given) - given
    faces = np.concatenate([mesh.faces.numpy() + begin for mesh, begin in zip(surfaces, first, strict=True)])
    positions, signal, faces, mesh, place = _split(positions, signal_of(meshes), faces, given, resolutions[0][1])
    sizes = np.bincount(mesh, minlength=len(given))
    signal = np.concatenate([signal, normals(positions, faces)], 1)
    voxels = Voxels(np.arange(len(positions)), positive_octant(positions, sizes), sizes)
    edges, levels, pool_maps = edges_of(faces, len(positions)), [], []
    for h, (resolution, _) in enumerate(resolutions):
        voxels, edges = contracted(voxels.positions, voxels.sizes, edges, resolution)
        pool_maps.append(torch.from_numpy(voxels.voxel))
        last = h == len(resolutions) - 1
        levels.append(strided_level(voxels) if strided and last else _level(voxels, edges))
    entry, *pool_maps = pool_maps
    x = mean(signal, entry.numpy(), len(levels[0].positions))
    return Levels(tensor(x), tuple(levels), tuple(pool_maps), entry[torch.from_numpy(place)])


def contracted(
    positions: Float[Array, "n 3"], sizes: Int[Array, " b"], edges: Int[Array, "e 2"], resolution: float | None
) -> tuple[Voxels, Int[Array, "f 2"]]:
    """Clusters of vertices instead of the vertices, and the edges between different clusters.

    A cluster is what edges connect within a voxel: two sheets that pass through one voxel are two clusters. They are
    sorted by mesh, by voxel and then by x, y and z of their centroids, whatever the order of the vertices.

    Args:
        positions: Vertices of all meshes, one mesh after the other.
        sizes: Number of vertices of each mesh.
        edges: Pairs of vertices, each once.
        resolution: Side of a voxel; none keeps all vertices.
    """
    if not resolution:
        return Voxels(np.arange(len(positions)), positions, sizes), edges
    voxel = voxel_grid(positions, sizes, resolution).voxel
    inside = voxel[edges[:, 0]] == voxel[edges[:, 1]]
    cluster, centroids, some = _clusters(positions, voxel, edges[inside])
    mesh = np.repeat(np.arange(len(sizes)), sizes)
    between = distinct(cluster[edges[~inside]], len(centroids))
    return Voxels(cluster, centroids, np.bincount(mesh[some], minlength=len(sizes))), between


def _clusters(positions: Array, voxel: Array, joined: Int[Array, "e 2"]) -> tuple[Array, Array, Array]:
    """The cluster of each vertex, the centroid of each cluster, and a vertex of it."""
    n = len(positions)
    links = coo_array((np.ones(len(joined), np.int8), joined.T), shape=(n, n))
    count, label = connected_components(links, directed=False)
    centroids = single(mean(positions, label, count))
    some = np.empty(count, np.int64)
    some[label] = np.arange(n)
    order = np.lexsort((*centroids.T[::-1], voxel[some]))
    rank = np.empty(count, np.int64)
    rank[order] = np.arange(count)
    return rank[label], centroids[order], some[order]


def _split(
    positions: Array, signal: Array, faces: Array, given: Int[Array, " b"], longest: float
) -> tuple[Array, Array, Array, Int[Array, " n"], Int[Array, " p"]]:
    """As `split`, with vertices one mesh after the other; the mesh of each, and the places of those that were given."""
    if not 0 < longest < np.inf:
        raise ValueError(f"a radius is a positive number: got {longest}.")
    mesh = np.repeat(np.arange(len(given)), given)
    positions, values, faces = split(positions, np.concatenate([signal, mesh[:, None]], 1), faces, longest)
    mesh = values[:, -1].astype(np.int64)  # the mean of two vertices of one mesh: exact
    order = np.argsort(mesh, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return positions[order], values[order, :-1], place[faces], mesh[order], place[: int(given.sum())]


def _level(voxels: Voxels, edges: Int[Array, "e 2"]) -> Level:
    """Both directions of each edge and the self-loops, sorted by target, then by source."""
    n, (one, other) = len(voxels.positions), edges.T
    loops = np.arange(n)
    key = np.sort(np.concatenate([one * n + other, other * n + one, loops * n + loops]))
    target, source = np.divmod(key, n)
    return Level(tensor(voxels.positions), *map(torch.from_numpy, (voxels.sizes, source, target)))
