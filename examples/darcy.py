"""Darcy flow on irregular points with a graph kernel network: once with PyG's NNConv, once with ECConv.

The pressure u solves -div(a grad u) = 1 on the unit square, with u = 0 on its boundary, for a random permeability a. A
graph kernel network (Li et al. 2020) learns the map from a to u; its layer is NNConv, with one kernel network F of both
ends of an edge. Data are made on the spot, by linear finite elements on a Delaunay triangulation.
"""

import time
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import coo_array
from scipy.sparse.linalg import spsolve
from scipy.spatial import cKDTree, Delaunay
from torch import nn, Tensor

from edgecond.nn import swap

POINTS, RADIUS, FIELDS, WIDTH, DEPTH, EPOCHS = 150, 0.2, 12, 16, 3, 3


@dataclass
class Field:
    """One problem on its points: labels of edges are both ends and their permeability, `u` is scaled to size 1."""

    x: Tensor  # (n, 3): position and permeability
    edge_index: Tensor  # (2, m)
    edge_attr: Tensor  # (m, 6)
    u: Tensor  # (n, 1)


def points(count: int, generator: np.random.Generator) -> np.ndarray:
    """Draw points in the unit square, some of them on its boundary."""
    side = round(count**0.5)
    edge = np.linspace(0, 1, side)
    zero, one = np.zeros_like(edge), np.ones_like(edge)
    boundary = [np.column_stack(pair) for pair in ((edge, zero), (edge, one), (zero, edge), (one, edge))]
    inside = generator.uniform(0.3 / side, 1 - 0.3 / side, (count - 4 * side + 4, 2))
    return np.concatenate([np.unique(np.concatenate(boundary), axis=0), inside])


def permeability(at: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Draw a field of two materials, 1 and 4, from the sign of some random waves."""
    waves, phases = generator.normal(0, 6, (2, 20)), generator.uniform(0, 2 * np.pi, 20)
    return np.where(np.cos(at @ waves + phases).sum(1) > 0, 4.0, 1.0)


def solve(at: np.ndarray, a: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Solve for the pressure with linear finite elements."""
    corners = at[triangles]
    opposite = np.roll(corners, 1, axis=1) - np.roll(corners, -1, axis=1)  # of each corner, the edge without it
    d = np.diff(corners, axis=1)
    area = abs(d[:, 0, 0] * d[:, 1, 1] - d[:, 0, 1] * d[:, 1, 0]) / 2
    keep = area > 1e-12  # points on a line make flat triangles
    triangles, opposite, area = triangles[keep], opposite[keep], area[keep]
    local = np.einsum("tid,tjd->tij", opposite, opposite) * (a[triangles].mean(1) / (4 * area))[:, None, None]
    rows, columns = np.repeat(triangles, 3, axis=1).ravel(), np.tile(triangles, 3).ravel()
    stiffness = coo_array((local.ravel(), (rows, columns)), shape=(len(at), len(at))).tocsr()
    load = np.bincount(triangles.ravel(), np.repeat(area / 3, 3), minlength=len(at))
    inside = np.flatnonzero((at > 0).all(1) & (at < 1).all(1))
    u = np.zeros(len(at))
    u[inside] = spsolve(stiffness[inside][:, inside], load[inside])
    return u


def field(count: int, generator: np.random.Generator, radius: float | None = RADIUS) -> Field:
    """Draw a problem and solve it; edges join points within the radius, or along the triangles if it is None."""
    at = points(count, generator)
    a, triangles = permeability(at, generator), Delaunay(at).simplices
    if radius is None:
        pairs = np.sort(triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
        pairs = np.unique(pairs, axis=0)
    else:
        pairs = cKDTree(at).query_pairs(radius, output_type="ndarray")
    edges = np.concatenate([pairs, pairs[:, ::-1]])
    labels = np.column_stack([at[edges[:, 0]], at[edges[:, 1]], a[edges[:, 0]], a[edges[:, 1]]])
    signal, u = np.column_stack([at, a]), solve(at, a, triangles)[:, None] / 0.03
    x, edge_attr, u = (torch.tensor(array, dtype=torch.float32) for array in (signal, labels, u))
    return Field(x, torch.tensor(edges.T, dtype=torch.long), edge_attr, u)


class GraphKernelNetwork(nn.Module):
    """Lift the input, apply one layer several times, and project to the pressure at every point."""

    def __init__(self, width: int = WIDTH, hidden: tuple[int, int] = (32, 64), depth: int = DEPTH) -> None:
        from torch_geometric.nn import NNConv

        super().__init__()
        kernel = [nn.Linear(6, hidden[0]), nn.ReLU(), nn.Linear(*hidden), nn.ReLU(), nn.Linear(hidden[1], width**2)]
        self.depth, self.lift = depth, nn.Linear(3, width)
        self.conv = NNConv(width, width, nn.Sequential(*kernel), aggr="mean")
        self.project = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        x = self.lift(x)
        for _ in range(self.depth):
            x = torch.relu(self.conv(x, edge_index, edge_attr))
        return self.project(x)


def train(model: nn.Module, fields: list[Field], epochs: int) -> tuple[list[float], float]:
    """Return the mean loss of every epoch, and the seconds of all of them."""
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses, start = [], time.perf_counter()
    for _ in range(epochs):
        total = 0.0
        for one in fields:
            optimizer.zero_grad()
            loss = (model(one.x, one.edge_index, one.edge_attr) - one.u).square().mean()
            loss.backward()
            optimizer.step()
            total += loss.item()
        losses.append(total / len(fields))
    return losses, time.perf_counter() - start


@torch.no_grad()
def error(model: nn.Module, fields: list[Field]) -> float:
    """Return the mean relative error in the Euclidean norm."""
    ratios = [(model(one.x, one.edge_index, one.edge_attr) - one.u).norm() / one.u.norm() for one in fields]
    return float(torch.stack(ratios).mean())


def main() -> None:
    try:
        import torch_geometric  # noqa: F401
    except ImportError:
        print("This example compares with PyG, which is not installed: pip install 'edgecond[pyg]'.")
        return
    torch.manual_seed(0)
    generator = np.random.default_rng(0)
    fields = [field(POINTS, generator) for _ in range(FIELDS)]
    test = fields[-3:]
    theirs = GraphKernelNetwork()
    ours = deepcopy(theirs)
    print(swap(ours))  # the only line that changes
    m = fields[0].edge_index.shape[1]
    print(f"{POINTS} points, {m:,} edges: NNConv forms {m * WIDTH**2 * 4 / 1e6:.0f} MB of filters in every layer")
    before, slow = train(theirs, fields[:-3], EPOCHS)
    after, fast = train(ours, fields[:-3], EPOCHS)
    for epoch, (a, b) in enumerate(zip(before, after, strict=True)):
        print(f"epoch {epoch + 1}: loss {a:.5f} with NNConv, {b:.5f} with ECConv")
    print(f"test error {error(theirs, test):.3f} and {error(ours, test):.3f}")
    print(f"{slow:.1f} s with NNConv, {fast:.1f} s with ECConv: {slow / fast:.1f} times faster")


if __name__ == "__main__":
    main()
