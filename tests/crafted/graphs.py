"""Graphs and tables that ask for more than they hold: batches of tensors, TU files, CSV files of SMILES."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from safetensors.torch import save
from torch import Tensor

from tests.crafted.archives import packed_tu
from tests.crafted.files import Crafted, EITHER, READ, REFUSED
from tests.data.datasets import tiny

# Batches


def tensors(**changes: Tensor | None) -> bytes:
    """Return a batch of two pairs of vertices with some of its tensors replaced."""
    ends = torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])
    batch = {"edge_index": ends, "ptr": torch.tensor([0, 2, 4]), "y": torch.tensor([0, 1])}
    return save({name: value.contiguous() for name, value in (batch | changes).items() if value is not None})


def raw(header: Any, body: bytes = b"") -> bytes:
    """Return a safetensors file with any header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def graph(source: np.ndarray, target: np.ndarray, n: int) -> bytes:
    """Return a file with one graph of n vertices."""
    both = np.stack([np.append(source, target), np.append(target, source)])
    return save({"edge_index": torch.from_numpy(both), "ptr": torch.tensor([0, n]), "y": torch.zeros(1)})


def path_graph(n: int) -> bytes:
    return graph(np.arange(n - 1), np.arange(1, n), n)


def star(n: int) -> bytes:
    """Return a star whose leaves come first and are kept; without its centre, all of them would be connected."""
    return graph(np.arange(n - 1), np.full(n - 1, n - 1), n)


def random_graph(n: int, m: int) -> bytes:
    """Return a random graph, whose reductions are full."""
    one, two = np.random.default_rng(0).integers(n, size=(2, m))
    low, high = np.divmod(np.unique((np.minimum(one, two) * n + np.maximum(one, two))[one != two]), n)
    return graph(low, high, n)


def complete(n: int) -> bytes:
    return graph(*np.triu_indices(n, 1), n)


def grid(side: int) -> bytes:
    number = np.arange(side * side).reshape(side, side)
    one = np.append(number[:, :-1], number[:-1].ravel())
    return graph(one, np.append(number[:, 1:], number[1:].ravel()), side * side)


def tree(n: int) -> bytes:
    """Return a random tree; each vertex hangs on one before it."""
    later = np.arange(1, n)
    return graph(np.random.default_rng(0).integers(later), later, n)


def barbell(n: int) -> bytes:
    """Return a path between two complete graphs."""
    i, j = np.triu_indices(60, 1)
    path = np.arange(59, n - 60)
    return graph(np.concatenate([i, path, i + n - 60]), np.concatenate([j, path + 1, j + n - 60]), n)


def lone(n: int) -> bytes:
    return graph(np.arange(1), np.ones(1, int), n)


PYRAMIDS: dict[str, tuple[Callable[[], bytes], str]] = {
    "chain": (partial(path_graph, 30_000), READ),
    "star": (partial(star, 30_000), "sparse enough to be coarsened"),
    "small-star": (partial(star, 1000), READ),
    "random": (partial(random_graph, 20_000, 60_000), "sparse enough to be coarsened"),
    "dense": (partial(random_graph, 20_000, 400_000), "sparse enough to be coarsened"),
    "small-random": (partial(random_graph, 800, 2400), READ),
    "complete": (partial(complete, 400), READ),
    "grid": (partial(grid, 60), READ),
    "tree": (partial(tree, 10_000), EITHER),
    "barbell": (partial(barbell, 5000), EITHER),
    "lone": (partial(lone, 30_000), EITHER),
}
X = torch.zeros(4, 1)
BATCHES: dict[str, tuple[Callable[[], bytes], str]] = {
    "vertices": (partial(lone, 3 * 10**8), "300,000,000"),
    "ptr-overflow": (lambda: tensors(ptr=torch.tensor([0, 2, 2**62])), "at most"),
    "ptr-negative": (lambda: tensors(ptr=torch.tensor([0, -2, 4])), REFUSED),
    "ptr-empty": (lambda: tensors(ptr=torch.zeros(0, dtype=torch.int64)), REFUSED),
    "ptr-wide": (lambda: tensors(ptr=torch.zeros(2, 3, dtype=torch.int64)), REFUSED),
    "ptr-real": (lambda: tensors(ptr=torch.tensor([0, 2.5, 4])), REFUSED),
    "ptr-nan": (lambda: tensors(ptr=torch.tensor([0, torch.nan, 4])), REFUSED),
    "ptr-scalar": (lambda: tensors(ptr=torch.tensor(4)), REFUSED),
    "batch-large": (lambda: tensors(ptr=None, batch=torch.tensor([0, 0, 2**40, 2**40])), REFUSED),
    "batch-unsigned": (lambda: tensors(ptr=None, batch=torch.tensor([0, 0, 1, 1]).to(torch.uint64)), EITHER),
    "edges-large": (lambda: tensors(edge_index=torch.tensor([[0, 2**62], [2**62, 0]])), "numbered from 0 to 3"),
    "edges-unsigned": (lambda: tensors(edge_index=torch.full((2, 2), 2**63, dtype=torch.uint64)), REFUSED),
    "edges-negative": (lambda: tensors(edge_index=torch.tensor([[0, -1], [-1, 0]])), REFUSED),
    "edges-three": (lambda: tensors(edge_index=torch.zeros(3, 2, dtype=torch.int64)), REFUSED),
    "edges-flat": (lambda: tensors(edge_index=torch.zeros(4, dtype=torch.int64)), REFUSED),
    "edges-none": (lambda: tensors(edge_index=torch.zeros(2, 0, dtype=torch.int64)), READ),
    "edges-truth": (lambda: tensors(edge_index=torch.zeros(2, 2, dtype=torch.bool)), EITHER),
    "edges-half": (lambda: tensors(edge_index=torch.tensor([[0, 1], [1, 0]]).to(torch.float8_e4m3fn)), EITHER),
    "x-wide": (lambda: tensors(x=torch.zeros(4, 0)), EITHER),
    "x-bfloat": (lambda: tensors(x=X.bfloat16()), READ),
    "x-complex": (lambda: tensors(x=X.to(torch.complex64)), REFUSED),
    "x-float8": (lambda: tensors(x=X.to(torch.float8_e5m2)), READ),
    "x-nan": (lambda: tensors(x=X / 0), "finite"),
    "x-deep": (lambda: tensors(x=torch.zeros(4, 1, 1)), REFUSED),
    "x-scalar": (lambda: tensors(x=torch.tensor(1.0)), REFUSED),
    "x-labels": (
        lambda: tensors(ptr=torch.tensor([0, 2, 3000]), x=torch.arange(3000)),
        "at most 1000 categories",
    ),
    "x-one-hot": (lambda: tensors(ptr=torch.tensor([0, 2, 3000]), x=torch.eye(3000)), EITHER),
    "x-large-label": (lambda: tensors(x=torch.tensor([0, 2**62, -(2**62), 1])), EITHER),
    "edge-attr-labels": (lambda: tensors(edge_attr=torch.tensor([2**62, 0, 1, -(2**62)])), EITHER),
    "y-wide": (lambda: tensors(y=torch.zeros(2, 1000)), EITHER),
    "y-deep": (lambda: tensors(y=torch.zeros(2, 2, 2)), EITHER),
    "y-nan": (lambda: tensors(y=torch.zeros(2) / 0), EITHER),
    "many-tensors": (lambda: tensors(**{f"t{k}": torch.zeros(1) for k in range(5000)}), EITHER),
    "header-long": (lambda: struct.pack("<Q", 2**40) + b"{}", REFUSED),
    "header-99-megabytes": (lambda: struct.pack("<Q", 99_000_000) + b"{}", REFUSED),
    "header-nested": (lambda: raw(b"[" * 10**6), REFUSED),
    "header-objects": (lambda: raw(b'{"a":' * 10**5), REFUSED),
    "header-shape": (
        lambda: raw({"ptr": {"dtype": "I64", "shape": [2**40], "data_offsets": [0, 8]}}, bytes(8)),
        REFUSED,
    ),
    "header-overflow": (lambda: raw({"ptr": {"dtype": "I64", "shape": [2**62, 4], "data_offsets": [0, 0]}}), REFUSED),
    "header-offsets": (lambda: raw({"ptr": {"dtype": "I64", "shape": [1], "data_offsets": [2**60, 8]}}), REFUSED),
    "header-overlap": (
        lambda: raw({f"t{k}": {"dtype": "U8", "shape": [8], "data_offsets": [0, 8]} for k in range(9)}, bytes(8)),
        REFUSED,
    ),
    "header-empty-shapes": (
        lambda: raw({"ptr": {"dtype": "I64", "shape": [0, 2**40], "data_offsets": [0, 0]}}),
        REFUSED,
    ),
    "header-dimensions": (
        lambda: raw({"ptr": {"dtype": "I64", "shape": [1] * 5000, "data_offsets": [0, 8]}}, bytes(8)),
        REFUSED,
    ),
    "header-type": (lambda: raw({"ptr": {"dtype": "X", "shape": [], "data_offsets": [0, 0]}}), REFUSED),
    "header-words": (lambda: raw({"edge_index": 3}), REFUSED),
    "pickle": (lambda: b"\x80\x04}\x94.", REFUSED),
    "empty": (bytes, REFUSED),
}

# TU files


def tu(**changes: str) -> dict[str, bytes]:
    """Return the files of a folder, some of them replaced."""
    return {f"TINY_{part}.txt": text.encode() for part, text in (tiny.TINY | changes).items()}


def lines(count: int, text: Callable[[int], str] = str) -> str:
    return "".join(f"{text(k)}\n" for k in range(count))


def isolated(n: int, **changes: str) -> dict[str, bytes]:
    """Return a data set of one pair of vertices and n others without edges, in two graphs."""
    base = {"A": "1, 2\n2, 1\n", "graph_indicator": "1\n1\n" + "2\n" * n, "graph_labels": "0\n1\n"}
    return {f"TINY_{part}.txt": text.encode() for part, text in (base | changes).items()}


TU: dict[str, tuple[Callable[[], Mapping[str, bytes]], str]] = {
    "labels": (lambda: isolated(99_998, node_labels=lines(100_000)), "at most 1,000"),
    "edge-labels": (
        lambda: isolated(
            0,
            A="".join(f"{k}, {k + 1}\n{k + 1}, {k}\n" for k in range(1, 40_000)),
            graph_indicator="1\n" * 40_000 + "2\n",
            edge_labels=lines(79_998, lambda k: str(k // 2)),
        ),
        "at most 1,000",
    ),
    "classes": (
        lambda: isolated(1, graph_indicator=lines(20_000, lambda k: str(k + 1)), graph_labels=lines(20_000)),
        EITHER,
    ),
    "indicator": (lambda: tu(graph_indicator="1\n1\n1\n1\n1000000000\n1000000000\n"), "must continue graph 1"),
    "indicator-large": (lambda: tu(graph_indicator="1\n1\n1\n1\n2\n" + "9" * 30 + "\n"), REFUSED),
    "indicator-minimum": (lambda: tu(graph_indicator=f"1\n1\n1\n1\n{-(2**63)}\n2\n"), REFUSED),
    "edges": (lambda: tu(A="1, 1000000000\n1000000000, 1\n"), "must join two"),
    "edges-digits": (lambda: tu(A="1, " + "9" * 6000 + "\n"), REFUSED),
    "edges-columns": (lambda: tu(A="1, " * 10**5 + "1\n"), REFUSED),
    "edges-repeated": (lambda: isolated(1, A="1, 2\n2, 1\n" * 50_000), READ),
    "attributes": (lambda: tu(node_attributes=("1, " * 20_000 + "1\n") * 6), EITHER),
    "attributes-nan": (lambda: tu(node_attributes="nan, 1\n" * 6), "finite"),
    "attributes-uneven": (lambda: tu(node_attributes="1\n" * 5 + "1, " * 10**5 + "1\n"), REFUSED),
    "labels-large": (lambda: tu(node_labels=f"{2**62}\n{-(2**62)}\n1\n1\n1\n1\n"), EITHER),
    "labels-real": (lambda: tu(node_labels="1.5\n" * 6), "whole number"),
    "blank": (lambda: tu(A="\n" * 10**6), "it is empty"),
    "blank-inside": (lambda: tu(A="1, 2\n" + "\n" * 10**6 + "2, 1\n"), "must hold"),
    "nuls": (lambda: tu(A="\0" * 10**6), REFUSED),
    "returns": (lambda: tu(A="1, 2\r" * 1000), REFUSED),
    "separators": (lambda: tu(A="1, 2\x0b2, 1\x1c\n"), REFUSED),
    "two": (lambda: tu() | {"OTHER_A.txt": b"1, 2\n"}, "one file NAME_A.txt: found 2"),
    "none": (lambda: {"TINY_graph_indicator.txt": b"1\n"}, "found 0"),
}

# Tables


def table(*rows: str) -> bytes:
    return "\n".join(("smiles,y", *rows, "")).encode()


TABLES: dict[str, tuple[Callable[[], bytes], str]] = {
    "long-field": (lambda: table("C" * 131_073 + ",1"), "row 2 must be a row of a table"),
    "open-quote": (lambda: table('"C,1'), "Close its quotes"),
    "quoted-lines": (lambda: table('"' + "C\n" * 60_000 + '",1'), EITHER),
    "columns": (lambda: b"smiles" + b",a" * 10**5 + b"\nC" + b",1" * 10**5, EITHER),
    "uneven": (lambda: table(*["C" + "," * k for k in range(1000)]), READ),
    "blank": (lambda: table(*[","] * 10**5), REFUSED),
    "nuls": (lambda: table("C\0,1"), "must be text"),
    "no-header": (bytes, "must name its columns"),
    "no-smiles": (lambda: b"a,b\n1,2\n", "must have a column"),
    "utf-16": (lambda: "smiles\nC\n".encode("utf-16"), READ),
    "utf-16-cut": (lambda: "smiles\nC\n".encode("utf-16")[:-1], EITHER),
    "chain": (lambda: table("C" * 20_000 + ",1"), "at most 10,000 characters"),
    "rings": (lambda: table("C1CC1" * 5000 + ",1"), EITHER),
    "one-ring": (lambda: table("C1" + "C" * 9000 + "C1,1"), "at most 2,500 atoms in rings"),
    "largest-ring": (lambda: table("C1" + "C" * 2490 + "C1,1"), READ),
    "branches": (lambda: table("C(" * 30_000 + "C" + ")" * 30_000 + ",1"), EITHER),
    "brackets": (lambda: table("[" * 100_000 + ",1"), REFUSED),
    "components": (lambda: table(".".join(["C"] * 20_000) + ",1"), EITHER),
    "centres": (lambda: table("C[C@H](F)" * 1111 + ",1"), READ),
    "double-bonds": (lambda: table("C" + "/C=C/" * 3000 + "C,1"), EITHER),
    "many-rings": (lambda: table("C1CC1" * 500 + ",1"), READ),
    "cage": (lambda: table("C12C3C4C1C5C2C3C45" + ",1"), READ),
    "isotope": (lambda: table("[999999999999C],1"), REFUSED),
    "charge": (lambda: table("[C+999999999],1"), EITHER),
    "hydrogens": (lambda: table("[CH999999999],1"), REFUSED),
    "ring-number": (lambda: table("C%(99999999999)CC%(99999999999),1"), EITHER),
    "map-number": (lambda: table("[C:99999999999],1"), EITHER),
    "aromatic": (lambda: table("c1ccccc1" * 2000 + ",1"), EITHER),
    "wildcards": (lambda: table("*" * 1000 + ",1"), REFUSED),
    "extension": (lambda: table("C |" + "a" * 100_000 + "|,1"), EITHER),
    "escapes": (lambda: table("\x1b[31mC,1"), REFUSED),
}
FILES = [
    *(Crafted(f"pyramid-{name}.safetensors", "pyramid", make, fact) for name, (make, fact) in PYRAMIDS.items()),
    *(Crafted(f"batch-{name}.safetensors", "tensors", make, fact) for name, (make, fact) in BATCHES.items()),
    *(Crafted(f"data-{name}.safetensors", "data", BATCHES[name][0], EITHER) for name in BATCHES if name[0] in "xy"),
    *(Crafted(f"cache-{name}.safetensors", "cached", BATCHES[name][0], READ) for name in BATCHES if name[0] in "hx"),
    *(Crafted(f"tu-{name}", "graphs", make, fact) for name, (make, fact) in TU.items()),
    *(Crafted(f"table-{name}.csv", "table", make, fact) for name, (make, fact) in TABLES.items()),
    Crafted("tu-labels.zip", "graphs", lambda: packed_tu(node_labels=lines(100_000).encode()), REFUSED),
]
