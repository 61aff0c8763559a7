"""RDKit's descriptors of molecules: weight, polar surface, counts of groups and some two hundred others."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from multiprocessing import current_process
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from edgecond.data.processes import mapped

CHUNK = 32
"""Number of molecules that a process describes at a time."""
FEW = 128
"""Number of molecules below which more processes are not worthwhile: a molecule takes some milliseconds."""


def descriptor_names() -> tuple[str, ...]:
    """Return the name of each column of `describe`, by the installed version of RDKit."""
    from rdkit.Chem import Descriptors

    return tuple(name for name, _ in Descriptors.descList)


def describe(molecules: Sequence[Any], jobs: int | None = None) -> Float[Array, "n d"]:
    """Return the descriptors of each molecule, NaN where RDKit cannot compute one.

    Args:
        molecules: Molecules of RDKit.
        jobs: Number of processes; the number of cores by default.
    """
    chunks = [range(start, min(start + CHUNK, len(molecules))) for start in range(0, len(molecules), CHUNK)]
    work, jobs = partial(_describe, molecules), jobs or os.cpu_count() or 1
    if current_process().daemon:  # one of several processes already, which may start no others
        jobs = 1
    if jobs == 1 or len(molecules) < FEW:
        rows = list(map(work, chunks))
    else:
        with closing(mapped(work, chunks, jobs)) as results:
            rows = list(results)
    return np.concatenate([np.zeros((0, len(descriptor_names()))), *rows])


def _describe(molecules: Sequence[Any], numbers: range) -> Float[Array, "n d"]:
    from rdkit.Chem.Descriptors import CalcMolDescriptors
    from rdkit.rdBase import BlockLogs

    silence = BlockLogs()
    rows = [list(CalcMolDescriptors(molecules[n], missingVal=math.nan, silent=True).values()) for n in numbers]
    del silence
    return np.array(rows, np.float64)
