"""Leakage across a split: examples of the test or validation set that are in the training set too, or nearly so."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Int
from numpy import ndarray as Array

from edgecond.data.colours import colours
from edgecond.data.formats.smiles import parse
from edgecond.data.graphs import Graphs
from edgecond.data.splits import Split
from edgecond.graph import Cloud

SIMILAR = 0.95
"""Least Tanimoto similarity of the Morgan fingerprints of near-duplicates."""
MOST_COMPARED = 20_000
"""Molecules among which near-duplicates are counted, at most: all pairs are compared."""
ROUNDS = 3


def shared(keys: Sequence[Hashable], among: Int[Array, " a"], train: Int[Array, " b"]) -> Int[Array, " c"]:
    """Return those of some examples whose key a training example has too."""
    known = {keys[index] for index in train.tolist()}
    return np.array([index for index in among.tolist() if keys[index] in known], np.int64)


def notes(
    parts: Split, keys: Sequence[Hashable], name: str, equality: str, fingerprints: Sequence[Any] | None
) -> list[str]:
    """Return a sentence for each of the test and validation sets that has examples of the training set.

    Args:
        parts: The split.
        keys: What equal examples have in common.
        name: The kind of data, in the plural.
        equality: When two of them count as equal.
        fingerprints: Fingerprints of molecules, to be compared; none for other data, or if there are too many.
    """
    sentences = []
    for part, among in (("validation", parts.validation), ("test", parts.test)):
        equal = shared(keys, among, parts.train)
        near = 0
        if fingerprints is not None:
            others = np.setdiff1d(among, equal)
            near = _near([fingerprints[i] for i in others], [fingerprints[i] for i in parts.train])
        found = [f"{len(equal)} {part} {name} are also in the training set ({equality})"] if len(equal) else []
        if near:
            similarity = f"Tanimoto similarity of {SIMILAR} or more"
            found.append(f"{near} {part} {name} have a near-duplicate in the training set ({similarity})")
        if found:
            sentences.append(f"leakage: {', '.join(found)}")
    return sentences


def canonical_smiles(smiles: Sequence[str]) -> list[str]:
    """Return the canonical SMILES of each molecule."""
    from rdkit.Chem import MolToSmiles

    return [MolToSmiles(parse(text)) for text in smiles]


def morgan_fingerprints(smiles: Sequence[str]) -> list[Any]:
    """Return the Morgan fingerprint of each molecule, of radius 2 and 2048 bits."""
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

    generator = GetMorganGenerator(radius=2, fpSize=2048)
    return [generator.GetFingerprint(parse(text)) for text in smiles]


def _near(some: Sequence[Any], train: Sequence[Any]) -> int:
    """The number of fingerprints that are similar to one of the training set."""
    from rdkit.DataStructs import BulkTanimotoSimilarity

    return sum(max(BulkTanimotoSimilarity(each, train), default=0.0) >= SIMILAR for each in some)


def cloud_key(cloud: Cloud) -> bytes:
    """Return the digest of the points of a cloud and of their signal, in their order."""
    from hashlib import sha256

    return sha256(cloud.positions.numpy().tobytes() + cloud.signal.contiguous().numpy().tobytes()).digest()


def weisfeiler_lehman(graphs: Graphs) -> list[tuple[int, int, int]]:
    """Return the Weisfeiler-Lehman hash of each graph, with its numbers of vertices and edges.

    It is the sum of the colours of the vertices after `ROUNDS` rounds. Isomorphic graphs have equal hashes.
    """
    *_, last = colours(graphs, ROUNDS, edges=True, attributes=True)
    totals = np.zeros(len(graphs), np.uint64)
    np.add.at(totals, graphs.membership, last)
    return list(zip(graphs.sizes.tolist(), np.diff(graphs.edge_pointer).tolist(), totals.tolist(), strict=True))
