"""What is known of molecules and shapes is right, and so is what is measured with it."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.explanations import contributions, knob, legs, planted, table, upper

pytest.importorskip("rdkit")


@pytest.mark.parametrize("smiles", ["CCO", "Clc1ccccc1O", "[Na+].[O-]C(=O)C"])
def test_contributions_of_heavy_atoms_add_up_to_crippens_logp(smiles: str):
    """RDKit's own logP, which counts hydrogens."""
    from rdkit.Chem import MolFromSmiles
    from rdkit.Chem.Crippen import MolLogP

    assert contributions(smiles).sum() == pytest.approx(MolLogP(MolFromSmiles(smiles)))


def test_parts_of_shapes_are_the_points_above_a_height_and_those_of_a_ball():
    """By hand: heights from 0 to 1; a ball of 48 points with a radius of 0.12, and one point within it."""
    points = np.linspace(0, 1, 11)[:, None].repeat(3, 1).astype(np.float32)

    same, high = upper(points, 0)
    both, ball = knob(points, 0)

    assert same is points
    assert np.flatnonzero(high).tolist() == [7, 8, 9, 10]
    assert np.flatnonzero(legs(points)).tolist() == [0, 1, 2, 3]
    assert (ball.sum(), (~ball).sum()) == (48, 10)
    centre = both[ball].mean(0)
    nearest = points[np.linalg.norm(points - centre, axis=1).argmin()]
    np.testing.assert_allclose(np.linalg.norm(both[ball] - nearest, axis=1), 0.12, rtol=1e-4)


class Found:
    """An explanation of three elements."""

    def __init__(self, total: list[float]) -> None:
        self.total, self.occlusion, self.error, self.steps = np.array(total), None, 0.005, 16
        self.region = self.total[[2, 1, 0]]


def test_hits_and_chance_are_shares_of_the_examples():
    """By hand: the planted element is the first; it is the largest of the first example, its region of the second."""
    shares = planted(iter([Found([3.0, 1.0, 2.0]), Found([2.0, 0.0, 3.0])]), lambda _: [0])  # type: ignore[list-item]

    assert (shares["hits"], shares["larger"], shares["within_1_percent"]) == (0.5, 1.0, 1.0)
    assert shares["hits_of_regions"] == 0.5
    assert shares["chance"] == pytest.approx(1 / 3)
    assert "| nitro group, Tox21 | 2 | 100 % | 0.50 % | 50 % | 50 % | 33 % | 100 % |" in table({"nitro": shares})
