"""Baselines: what others use for the same data, one module each, listed here."""

from __future__ import annotations

from edgecond.errors import DataError, did_you_mean
from edgecond.runs.baselines.bag import Bag
from edgecond.runs.baselines.base import Baseline
from edgecond.runs.baselines.clouds import PointNetBaseline, VoxNetBaseline
from edgecond.runs.baselines.forest import FingerprintForest, ShapeForest
from edgecond.runs.baselines.message_passing import GCN, GIN
from edgecond.runs.baselines.wl import WeisfeilerLehman, WeisfeilerLehmanEdges

__all__ = ["BASELINES", "Baseline", "find"]

BASELINES: dict[str, Baseline] = {
    baseline.name: baseline
    for baseline in (
        Bag(),
        WeisfeilerLehman(),
        WeisfeilerLehmanEdges(),
        GCN(),
        GIN(),
        ShapeForest(),
        VoxNetBaseline(),
        PointNetBaseline(),
        FingerprintForest(),
    )
}


def find(name: str) -> Baseline:
    """Return the baseline of a name."""
    if name not in BASELINES:
        raise DataError(f"there is no baseline {name[:60]!r}.{did_you_mean(name, BASELINES)}")
    return BASELINES[name]
