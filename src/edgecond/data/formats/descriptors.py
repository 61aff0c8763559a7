"""RDKit's descriptors of molecules: weight, polar surface, counts of groups and some two hundred others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import closing, suppress
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from edgecond.data.processes import cores, mapped
from edgecond.errors import DataError

CHUNK = 32
"""Number of molecules that a process describes at a time."""
FEW = 128
"""Number of molecules below which more processes are not worthwhile: a molecule takes some milliseconds."""


SIZE_AND_POLARITY = (
    "MolWt",
    "HeavyAtomCount",
    "LabuteASA",
    "TPSA",
    "MolLogP",
    "NumHDonors",
    "NOCount",
    "NumHeteroatoms",
    "RingCount",
    "NumAromaticRings",
    "FractionCSP3",
    "HallKierAlpha",
    "Kappa1",
    "Chi0v",
    "Chi1v",
)
"""Descriptors that networks of molecules see by default: a mean over atoms does not show how many there are."""


def descriptor_names() -> tuple[str, ...]:
    """Return the names of all descriptors of the installed version of RDKit."""
    from rdkit.Chem import Descriptors

    return tuple(name for name, _ in Descriptors.descList)


def describe(molecules: Sequence[Any], names: Sequence[str], jobs: int | None = None) -> Float[Array, "n d"]:
    """Return some descriptors of each molecule, NaN where RDKit cannot compute one.

    Args:
        molecules: Molecules of RDKit.
        names: Name of each descriptor.
        jobs: Number of processes; the number of cores by default.
    """
    chunks = [range(start, min(start + CHUNK, len(molecules))) for start in range(0, len(molecules), CHUNK)]
    work, jobs = partial(_describe, molecules, names), jobs or cores()
    if jobs == 1 or len(molecules) < FEW or len(names) <= len(SIZE_AND_POLARITY):
        rows = list(map(work, chunks))
    else:
        with closing(mapped(work, chunks, jobs)) as results:
            rows = list(results)
    return np.concatenate([np.zeros((0, len(names))), *rows])


def _describe(molecules: Sequence[Any], names: Sequence[str], numbers: range) -> Float[Array, "n d"]:
    from rdkit.Chem import Descriptors
    from rdkit.rdBase import BlockLogs

    known = dict(Descriptors.descList)
    if unknown := [name for name in names if name not in known]:
        raise DataError(
            f"RDKit must have the descriptors of the training set: the installed version has no {unknown[0][:60]}. "
            "Install the version that the model was trained with."
        )
    silence = BlockLogs()
    rows = np.full((len(numbers), len(names)), math.nan)
    for row, number in zip(rows, numbers, strict=True):
        for column, name in enumerate(names):
            with suppress(Exception):  # whatever RDKit raises: the descriptor is unknown
                row[column] = known[name](molecules[number])
    del silence
    return rows
