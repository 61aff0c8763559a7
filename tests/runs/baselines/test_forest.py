"""Forests see fingerprints, descriptors and columns of molecules, or the shape of clouds."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from edgecond.data.examples import Examples
from edgecond.data.kinds import KINDS, ReadOptions
from edgecond.graph import Cloud
from edgecond.nn.tasks import TASKS
from edgecond.runs.baselines.forest import (
    BITS,
    FingerprintForest,
    fingerprints_and_descriptors,
    ShapeForest,
    single_precision,
)
from tests.runs.baselines.examples import SETTINGS


@pytest.fixture
def chains(tmp_path):
    """Alcohols of 1 to 30 carbon atoms: whether they are long, their length, and a column beside them."""
    pytest.importorskip("rdkit")
    rows = [f"{'C' * n}O,{int(n > 13)},{n % 2},{'' if n % 3 else n},{n * n % 7}" for n in range(1, 31)]
    (tmp_path / "chains.csv").write_text("\n".join(["smiles,long,odd,length,beside", *rows]))

    def read(*target: str, **options):
        data = KINDS["molecules"].read(tmp_path / "chains.csv", ReadOptions(target=target, **options))
        return data.examples

    return read


def predicted(baseline, task, train, test):
    baseline.trees = 30
    fitted = TASKS[task].fit(train.ys, len(train.classes))
    return baseline.fit(train, fitted, 0, settings=SETTINGS)(test)


def test_features_are_fingerprints_and_descriptors():
    """Ethanol weighs 46.07 (2 x 12.011 + 6 x 1.008 + 15.999), and has six environments of radius 0 to 2.

    Those are CH3, CH2 and OH, and the same with their neighbours. Radius 2 adds none: it gives the whole molecule, as
    the CH2 has at radius 1.
    """
    pytest.importorskip("rdkit")
    row = fingerprints_and_descriptors(["CCO"])[0]

    assert set(row[:BITS]) == {0.0, 1.0}
    assert row[:BITS].sum() == 6
    assert np.isclose(row[BITS:], 46.069, atol=1e-3).any()


def test_descriptors_are_finite_in_single_precision():
    """Its largest number is (2 - 2^-23) x 2^127."""
    largest = (2 - 2.0**-23) * 2.0**127

    finite = single_precision(np.array([[np.nan, 1e300, -np.inf, 46.0]]))

    assert finite.dtype == np.float32
    assert finite.tolist() == [[0.0, largest, -largest, 46.0]]


def test_the_forest_predicts_the_probability_of_each_label(chains):
    """A label that is yes for all chains longer than 13 atoms is yes for the three longest."""
    examples = chains("long", "odd")

    outputs = predicted(FingerprintForest(), "multilabel", examples.take(range(27)), examples.take(range(27, 30)))

    assert outputs.shape == (3, 2)
    assert (outputs[:, 0] > 0.9).all()


def test_numbers_are_learned_from_the_rows_that_have_them(chains):
    """Chains of 3, 6, ... atoms have their length; between them it is predicted to a few atoms."""
    examples = chains("length", "beside", numbers=True)

    outputs = predicted(FingerprintForest(), "regression", examples, examples.take([9, 10, 18, 19]))

    np.testing.assert_allclose(outputs[:, 0], [10, 11, 19, 20], atol=3)


def test_columns_beside_the_molecules_are_seen(chains):
    """The forest that sees the column has more features than the other."""
    pytest.importorskip("rdkit")
    plain, beside = chains("long"), chains("long", features=("beside",))

    widths = [FingerprintForest().describe(each)(each.take(range(4))).shape[1] for each in (plain, beside)]

    assert widths[1] == widths[0] + 1


def random_cloud(seed: int, flat: bool = False) -> Cloud:
    points = torch.from_numpy(np.random.default_rng(seed).normal(size=(200, 3)) * [2, 1, 0 if flat else 1]).float()
    return Cloud(points, torch.ones(200, 1))


def test_flat_clouds_are_told_from_others():
    clouds = [random_cloud(k, flat=k % 2 == 1) for k in range(16)]
    examples = Examples("flat", ("solid", "flat"), clouds, torch.arange(16) % 2, "digest")
    task = TASKS["classification"]

    metrics = ShapeForest().measure(examples, examples.take([0, 1]), KINDS["clouds"], task, 0, settings=SETTINGS)

    assert metrics["accuracy"] == 1.0
