"""Pyramids of meshes along their edges, in which parts that are near in space but far along the surface stay apart.

The paper names it as future work to "treat meshes as graphs rather than point clouds" (Section 5).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray as Array
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from edgecond.data.budget import divided
from edgecond.data.pyramid import batch_of, coordinates, Level, Levels, Resolutions, signal_of, strided_level, tensor
from edgecond.data.pyramid.surface import distinct, edges_of, normals, pieces, split
from edgecond.data.pyramid.voxelgrid import mean, positive_octant, single, voxel_grid, Voxels
from edgecond.graph import Cloud, Mesh


def mesh_pyramid(meshes: Sequence[Cloud], resolutions: Resolutions, *, strided: bool = False) -> Levels:
    r"""Build the pyramids of a batch of meshes: vertices are clusters of mesh vertices, edges come from mesh edges.

    Edges longer than the first radius are halved until none is left, so that flat parts, which need few triangles, have
    vertices too. At each level, the vertices of a voxel that are connected by edges within it are merged into their
    centroid, and merged vertices are connected if an edge led from one to the other: a contraction of the graph. Every
    vertex has a self-loop and pools into the vertex it is merged into. The radii of coarser levels are not used.

    Args:
        meshes: Meshes of the batch.
        resolutions: Grid resolution $r^{(h)}$ (None: keep all vertices) and radius of each level.
        strided: Connect all vertices of a mesh in the last level to a single target, their centroid (Section 4.4).

    Returns:
        The levels. $X^0$ is the signal of the mesh and the normals of its vertices, averaged over merged vertices.
    """
    if not resolutions:
        raise ValueError("a pyramid needs at least one level: got no resolutions.")
    surfaces = [mesh for mesh in meshes if isinstance(mesh, Mesh)]
    if len(surfaces) < len(meshes):
        raise ValueError("a mesh pyramid needs meshes: got a cloud, which has no edges. Read the files as meshes.")
    positions, counts = batch_of(meshes)
    first = np.cumsum(counts) - counts
    faces = np.concatenate([mesh.faces.numpy() + begin for mesh, begin in zip(surfaces, first, strict=True)])
    positions, signal, faces, mesh, place = _split(positions, signal_of(meshes), faces, counts, resolutions[0][1])
    sizes = np.bincount(mesh, minlength=len(counts))
    signal = np.concatenate([signal, normals(positions, faces)], 1)
    voxels = Voxels(np.arange(len(positions)), positive_octant(positions, sizes), sizes)
    edges, levels, pool_maps = edges_of(faces, len(positions)), [], []
    for h, (resolution, _) in enumerate(resolutions):
        voxels, edges = contracted(voxels.positions, voxels.sizes, edges, resolution)
        pool_maps.append(torch.from_numpy(voxels.voxel))
        last = h == len(resolutions) - 1
        levels.append(strided_level(voxels) if strided and last else _level(voxels, edges))
    merged, *pool_maps = pool_maps  # vertices of the mesh to those of the first level
    x = mean(signal, merged.numpy(), len(levels[0].positions))
    return Levels(tensor(x), tuple(levels), tuple(pool_maps), merged[torch.from_numpy(place)])


def contracted(
    positions: Float[Array, "n 3"], sizes: Int[Array, " b"], edges: Int[Array, "e 2"], resolution: float | None
) -> tuple[Voxels, Int[Array, "f 2"]]:
    """Merge vertices into clusters, and return the clusters and the edges between different clusters.

    A cluster is a connected part of the mesh within a voxel: two sheets that pass through one voxel are two clusters.
    Clusters are sorted by mesh, voxel and x, y and z of their centroids, whatever the order of the vertices.

    Args:
        positions: Vertices of all meshes, concatenated.
        sizes: Number of vertices of each mesh.
        edges: Pairs of vertices, each once.
        resolution: Side of a voxel; None keeps all vertices.
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
    """Return the cluster of each vertex, and the centroid and one vertex of each cluster."""
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
    positions: Array, signal: Array, faces: Array, counts: Int[Array, " b"], longest: float
) -> tuple[Array, Array, Array, Int[Array, " n"], Int[Array, " p"]]:
    """Split long edges and sort vertices by mesh; also return the mesh of each vertex and the old vertices' places."""
    if not 0 < longest < np.inf:
        raise ValueError(f"a radius must be a positive number: got {longest}.")
    mesh = np.repeat(np.arange(len(counts)), counts)
    needed = np.bincount(mesh[faces[:, 0]], pieces(positions, faces, longest), len(counts))
    most = divided(np.bincount(mesh[faces[:, 0]], minlength=len(counts)))
    if (needed > most).any():
        worst = int((needed / most).argmax())
        width = np.ptp(positions[mesh == worst], axis=0).max()
        raise ValueError(
            f"a mesh may be divided into at most {most[worst]:,} faces: with edges up to {longest:.3g} one that is "
            f"{width:.3g} wide needs about {needed[worst]:,.0f}. Its units look wrong: use those of the training set, "
            "or choose a larger radius."
        )
    positions, values, faces = split(positions, np.concatenate([signal, mesh[:, None]], 1), faces, longest)
    mesh = values[:, -1].astype(np.int64)  # exact: the mean over two vertices of one mesh
    order = np.argsort(mesh, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return positions[order], values[order, :-1], place[faces], mesh[order], place[: int(counts.sum())]


def _level(voxels: Voxels, edges: Int[Array, "e 2"]) -> Level:
    """Build a level of both directions of each edge and the self-loops, sorted by target, then by source."""
    n, (one, other) = len(voxels.positions), edges.T
    loops = np.arange(n)
    key = np.sort(np.concatenate([one * n + other, other * n + one, loops * n + loops]))
    target, source = np.divmod(key, n)
    return Level(coordinates(voxels), *map(torch.from_numpy, (voxels.sizes, source, target)))
