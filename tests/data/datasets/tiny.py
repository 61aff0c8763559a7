"""A tiny dataset in the TU format, a simple reader to compare ours with, and a tiny batch."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from edgecond.data.graphs import Graphs

# Two graphs: a triangle 1-2-3 with the isolated vertex 4, and the edge 5-6.
TINY = {
    "A": "1, 2\n2, 3\n3, 1\n5, 6\n2, 1\n3, 2\n1, 3\n6, 5\n",
    "graph_indicator": "1\n1\n1\n1\n2\n2\n",
    "graph_labels": "1\n-1\n",
    "node_labels": "7\n5\n7\n9\n5\n5\n",
    "edge_labels": "30\n20\n10\n10\n30\n20\n10\n10\n",
    "node_attributes": "0.5, 1\n1.5, 2\n2.5, 3\n3.5, 4\n4.5, 5\n5.5, -6e-1\n",
    "edge_attributes": "12\n23\n31\n56\n21\n32\n13\n65\n",
    "graph_attributes": "0.25\n-8\n",
}


def write(folder: Path, name: str = "TINY", **changes: str | None) -> Path:
    """Write the tiny dataset to a folder, with some files replaced or left out."""
    path = folder / "tu" / name
    path.mkdir(parents=True, exist_ok=True)
    for part, text in (TINY | changes).items():
        if text is not None:
            (path / f"{name}_{part}.txt").write_text(text)
    return path


def pack(path: Path) -> Path:
    """Pack a folder into a zip file beside it."""
    target = path.with_suffix(".zip")
    with zipfile.ZipFile(target, "w") as archive:
        for file in path.iterdir():
            archive.write(file, f"{path.name}/{file.name}")
    return target


def naive(texts: dict[str, str]) -> list[dict[str, Any]]:
    """Read the graphs of a dataset line by line: vertices in order, and edges by their two ends."""
    rows = {
        part: [[float(cell) for cell in line.split(",")] for line in text.splitlines()] for part, text in texts.items()
    }
    graphs: list[dict[str, Any]] = [{"vertices": [], "edges": {}, "y": int(y)} for (y,) in rows["graph_labels"]]
    place = {}
    for vertex, (number,) in enumerate(rows["graph_indicator"]):
        vertices = graphs[int(number) - 1]["vertices"]
        place[vertex + 1] = (int(number) - 1, len(vertices))
        label = int(rows["node_labels"][vertex][0]) if "node_labels" in rows else None
        vertices.append((label, rows["node_attributes"][vertex] if "node_attributes" in rows else []))
    for edge, (j, i) in enumerate(rows["A"]):
        (number, source), (_, target) = place[int(j)], place[int(i)]
        label = int(rows["edge_labels"][edge][0]) if "edge_labels" in rows else None
        attributes = rows["edge_attributes"][edge] if "edge_attributes" in rows else []
        graphs[number]["edges"][source, target] = (label, attributes)
    return graphs


def plain(graphs: Graphs) -> list[dict[str, Any]]:
    """Convert our graphs to the form that `naive` returns."""
    converted = []
    for g in (graphs[number] for number in range(len(graphs))):
        names = [graphs.vertex_values.tolist() or [None], graphs.edge_values.tolist() or [None]]
        vertices = zip(g.vertex_labels.tolist(), g.vertex_attributes.tolist(), strict=True)
        edges = zip(
            g.source.tolist(), g.target.tolist(), g.edge_labels.tolist(), g.edge_attributes.tolist(), strict=True
        )
        converted.append(
            {
                "vertices": [(names[0][label], attributes) for label, attributes in vertices],
                "edges": {(j, i): (names[1][label], attributes) for j, i, label, attributes in edges},
                "y": int(graphs.classes[g.y]),
            }
        )
    return converted


def pairs(path: Path, count: int, **tensors: Tensor) -> Path:
    """Write a file with the tensors of a batch of graphs, each of two vertices and the edge between them."""
    first = torch.arange(0, 2 * count, 2)
    ends = torch.cat([torch.stack([first, first + 1]), torch.stack([first + 1, first])], dim=1)
    save_file({"edge_index": ends, "ptr": torch.arange(0, 2 * count + 1, 2), **tensors}, path)
    return path
