"""The models that are compared have the same weights, and their labels are as described."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

pytest.importorskip("torch_geometric")

from benchmarks import models

SMALL = {name: replace(case, graphs=2, vertices=12, edges=150) for name, case in models.CASES.items()}


@pytest.mark.parametrize("name", SMALL)
def test_both_models_give_the_same_output_and_gradients(name: str):
    """`check` compares them; nothing depends on time."""
    models.Rivals(SMALL[name]).check()


def test_bonds_have_twelve_distinct_labels():
    """By hand: of four bond types one has three kinds of stereo, and each may be in a ring: (3 + 1 + 1 + 1) x 2."""
    labels = SMALL["bonds"].edge_attr()

    assert len(labels.unique(dim=0)) == 12
    assert labels.sum(1).eq(len(models.GROUPS)).all()


def test_edges_stay_within_their_graph_and_are_in_no_order():
    """A batch is a larger graph whose parts are not connected."""
    torch.manual_seed(0)
    source, target = SMALL["bonds"].edge_index()

    assert (source // 12 == target // 12).all()
    assert (target.diff() < 0).any()
