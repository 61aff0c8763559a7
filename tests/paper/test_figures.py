"""The measurements of the paper's figures: robustness of clouds, and filters over offsets."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from edgecond.data.labels import label_offsets
from edgecond.errors import DataError
from edgecond.nn.layers import FilterNetwork
from edgecond.paper import figures
from edgecond.paper.figures import curves, measure_filters, measure_robustness, NOISE, REMOVED, robustness
from edgecond.paper.records import read_records


class Counting:
    """Stands for a model: F1 is the mean number of points, less what they are away from a grid."""

    def evaluate(self, test):
        clouds = [test.clouds[index] for index in range(len(test))]
        moved = max(float((cloud.positions % 1).abs().max()) for cloud in clouds)
        return {"f1": sum(map(len, clouds)) / len(clouds) - moved}


@pytest.fixture
def grid():
    """Three clouds of eleven points at whole coordinates."""
    from edgecond.data.examples import Examples
    from edgecond.graph import Cloud

    clouds = [Cloud(torch.arange(33.0).view(11, 3), torch.ones(11, 1)) for _ in range(3)]
    return Examples("grid", ("a",), clouds, torch.zeros(3, dtype=torch.long), "")


def test_points_are_removed_or_moved_and_never_both(grid):
    """Of eleven points, 11 (1 - p) remain, rounded up; without noise none leaves the grid."""
    found = robustness(Counting(), grid, seed=0)

    assert [found[f"removed={p:g}"] for p in REMOVED] == [11, 10, 9, 8, 7, 6, 5, 4, 3, 2]
    assert found["noise=0"] == 11
    assert all(10 < found[f"noise={sigma:g}"] < 11 for sigma in NOISE[1:])
    assert len(found) == len(REMOVED) + len(NOISE)


def write(results: Path, row: str, fold: int, value: float, epochs: int = 250) -> None:
    metrics = {f"removed={p:g}": value - p / 10 for p in REMOVED} | {f"noise={s:g}": value for s in NOISE}
    path = results / "robustness" / row / f"fold{fold}-seed0.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"fold": fold, "seed": 0, "epochs": epochs, "metrics": metrics}))


def test_a_curve_has_a_line_per_fold(tmp_path):
    write(tmp_path, "sydney/ecc", 0, 0.8)
    write(tmp_path, "sydney/ecc", 1, 0.7, epochs=100)

    (curve,) = curves(tmp_path)["removed"]

    assert (curve.name, curve.epochs, curve.at) == ("ECC", (100, 250), REMOVED)
    np.testing.assert_allclose(curve.f1, [[0.8 - p / 10 for p in REMOVED], [0.7 - p / 10 for p in REMOVED]])


@pytest.mark.parametrize("measure", [measure_filters, measure_robustness])
def test_without_models_the_verb_that_trains_them_is_named(measure, tmp_path):
    with pytest.raises(DataError, match=r"it has none\. `edgecond reproduce ROW` trains them"):
        measure(tmp_path, tmp_path)


def test_filters_are_those_of_the_recorded_network_over_offsets(tmp_path):
    """Section 4.4: offsets from -2 to 2, at integer steps and at steps of 0.1."""
    network = FilterNetwork([6, 16, 32], 1, 16)
    parameters = {name: value.tolist() for name, value in network.state_dict().items()}
    path = tmp_path / "filters/mnist/sparse/fold0-seed0.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"fold": 0, "seed": 0, "epochs": 20, "metrics": {}, "parameters": parameters}))

    found, epochs = figures.sampled_filters(tmp_path)

    assert ({side: stack.shape for side, stack in found.items()}, epochs) == ({5: (16, 5, 5), 41: (16, 41, 41)}, 20)
    np.testing.assert_allclose(found[41][:, ::10, ::10], found[5], rtol=1e-4, atol=1e-5)
    offset = torch.tensor([[1.0, -2.0, 0.0]])  # the first axis is that of y
    with torch.no_grad():
        expected = network(label_offsets("cartesian+spherical", offset).values)[0]
    np.testing.assert_allclose(found[5][:, 0, 3], expected, rtol=1e-5, atol=1e-6)


def test_the_filter_network_of_a_model_is_recorded(tmp_path, monkeypatch, trained):
    """A model of another row takes the place of the one for MNIST."""
    monkeypatch.setattr(figures, "FILTERS_ROW", "synthetic/ecc")

    measure_filters(tmp_path / "runs", tmp_path / "results")

    (record,) = read_records(tmp_path / "results/filters/synthetic/ecc")
    assert (record.epochs, record.metrics) == (1, {})
    assert [np.shape(values) for values in record.parameters.values()] == [(16, 6), (16,), (32, 16), (32,), (16, 32)]


@pytest.fixture
def trained(tmp_path) -> None:
    from edgecond.paper.records import reproduce
    from edgecond.runs.recipe import find, with_settings

    recipe = with_settings(find("synthetic/ecc"), {"options": {"train": 12, "test": 6}})
    reproduce(recipe, 0, 0, runs=tmp_path / "runs", results=tmp_path / "results", epochs=1)
