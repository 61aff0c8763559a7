"""Small data of each kind, and estimators with networks small enough for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from edgecond import EdgeCondClassifier
from edgecond.data.datasets import synthetic

SMALL = "C(4)-GAP-FC(2)"
SMILES = [*("C" * n for n in range(2, 12)), *("C" * n + "O" for n in range(1, 11))]
KINDS = np.repeat(["alkane", "alcohol"], 10)
LENGTHS = np.array([smiles.count("C") for smiles in SMILES], float)


def shapes(count: int = 12) -> tuple[list[Any], np.ndarray]:
    """Spheres and cubes of the synthetic dataset."""
    examples, _ = synthetic.load(train=3 * count, test=0, points=30)
    chosen = [number for number, y in enumerate(examples.ys.tolist()) if y < 2]
    return [examples.clouds[number] for number in chosen], examples.ys.numpy()[chosen]


def arrays(count: int = 12) -> tuple[list[np.ndarray], np.ndarray]:
    clouds, ys = shapes(count)
    return [cloud.positions.numpy() for cloud in clouds], ys


def graph(n: int, ring: bool) -> Data:
    ends = [(i, i + 1) for i in range(n - 1)] + ([(n - 1, 0)] if ring else [])
    edges = torch.tensor([edge for i, j in ends for edge in ((i, j), (j, i))]).T
    return Data(edge_index=edges, num_nodes=n, edge_attr=torch.full((edges.shape[1],), n % 2))


def rings_and_paths() -> tuple[list[Data], np.ndarray]:
    return [graph(n, ring) for ring in (True, False) for n in range(4, 12)], np.repeat([True, False], 8)


def small(**changes: Any) -> EdgeCondClassifier:
    return EdgeCondClassifier(**{"network": SMALL, "epochs": 2, "random_state": 0} | changes)


def molecules(**changes: Any) -> EdgeCondClassifier:
    """A network with a pooling, so that the pyramids of graphs have a coarse level, drawn at random."""
    return small(**{"network": "C(4)-MP-C(4)-GAP-FC(2)", "settings": {"hidden": [4]}} | changes)


DATA = {"clouds": shapes, "arrays": arrays, "graphs": rings_and_paths, "molecules": lambda: (SMILES, KINDS)}
