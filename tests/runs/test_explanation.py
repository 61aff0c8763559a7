"""Explanations of models of every kind of data add up to the output, whatever the elements are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from edgecond.graph import Graph, Labels, Pyramid, Sample
from edgecond.nn.attribution import Parts
from edgecond.notation import MP
from edgecond.runs import user_data
from edgecond.runs.explanation import _total, columns, explain, explained, explanations, TargetError, Wanted
from edgecond.runs.model import Model
from tests.report.conftest import of_clouds, of_graphs, of_meshes, SMILES


def molecules(tmp_path: Path) -> Model:
    """An untrained model of molecules with two classes, descriptors and a column beside them."""
    rows = [f"{text},{number % 2},{number}.5" for number, text in enumerate(SMILES * 4)]
    (tmp_path / "table.csv").write_text("\n".join(["smiles,toxic,temperature", *rows]))
    settings = {"network": "C(6)-C(6)-GAP-FC(5)-FC(2)"}
    data = user_data.read(tmp_path / "table.csv", target=("toxic",), features=("temperature",), settings=settings)
    return Model.new(data.recipe, data.train, 0)


def check_sums(model: Model, explanation: Any) -> None:
    """Both columns of numbers add up to the output, within the rounding of the rows."""
    rows = list(explanation.rows(model.kind.unit, model.kind.link))
    for name in ("attribution", "total"):
        assert sum(row.get(name, 0.0) for row in rows) == pytest.approx(explanation.output, abs=1e-4)
    assert set().union(*rows) <= {*columns(model), "view", "level", "name", "occlusion"}


def test_atoms_bonds_and_features_add_up_to_the_log_odds(tmp_path: Path):
    """The log-odds are those of the probability that the model predicts."""
    model = molecules(tmp_path)

    (found,) = explain(model, ["CC(=O)O"], features={"temperature": [7.0]}, target="1", occlusion=True)

    probability = model.predict(["CC(=O)O"], features={"temperature": [7.0]})[0, 1]
    assert found.output == pytest.approx(np.log(probability / (1 - probability)), abs=1e-5)
    assert found.error < 0.01
    check_sums(model, found)
    assert found.columns["name"] == ["C", "C", "O", "O"]
    (links,) = found.links
    assert list(zip(links.one, links.other, links.columns["name"], strict=True)) == [
        (0, 1, "C-C"),
        (1, 2, "C=O"),
        (1, 3, "C-O"),
    ]
    assert "temperature" in found.features
    assert "MolLogP" in found.features
    assert found.occlusion is not None
    assert found.occlusion.shape == (4,)


@pytest.mark.parametrize(
    ("make", "views"),
    [(of_clouds, 2), (of_meshes, 1), (lambda folder: of_graphs(folder, network="C(4)-MP-C(5)-MP-C(5)-GAP-FC(2)"), 2)],
    ids=["clouds", "meshes", "graphs"],
)
def test_points_and_vertices_add_up_in_pyramids_and_several_views(make: Any, views: int, tmp_path: Path):
    """What coarser levels add is shared among the vertices below them, and nothing is lost."""
    made = make(tmp_path)

    (found,) = explained(made.model, made.test, [0], Wanted(views=views))

    check_sums(made.model, found)
    levels = {(links.view, links.level) for links in found.links}
    assert levels == {(view, level) for view in range(views) for level in range(len(made.model.widths[1]))}
    assert found.target == made.model.classes[int(made.model.outputs(made.test.take([0]), views).argmax())]
    first = made.model.kind.elements(made.test, 0, made.model.preparation, 0, views)
    assert len(found.total) == first.count


@pytest.mark.parametrize(("offsets", "expected"), [(True, [1.0, 7.0, 3.0]), (False, [6.0, 3.5, 1.5])])
def test_an_offset_belongs_to_its_target_and_another_label_to_both_ends(offsets: bool, expected: list[float]):
    """By hand: 4 goes from 0 to 1; at the coarser level 6 goes from what 0 became to what 1 and 2 were pooled into."""
    fine = Graph.from_edges(torch.tensor([0]), torch.tensor([1]), Labels(torch.ones(1, 1)), num_vertices=3)
    coarse = Graph.from_edges(torch.tensor([0]), torch.tensor([1]), Labels(torch.ones(1, 1)), num_vertices=2)
    pyramid = Pyramid((fine, coarse), (torch.tensor([0, 1, 1]),))
    sample = Sample(torch.ones(3, 1), pyramid, torch.zeros(1))
    parts = Parts(torch.tensor([1.0, 0, 0]), (torch.tensor([4.0]), torch.tensor([6.0])), torch.zeros(0))

    assert _total(sample, parts, offsets).tolist() == expected


def test_regions_of_a_cloud_are_sums_of_the_totals_within_half_a_voxel_of_the_coarsest_level(tmp_path: Path):
    """Against the distances of all pairs of points."""
    made = of_clouds(tmp_path)

    (found,) = explained(made.model, made.test, [0], Wanted(views=1, steps=16))

    at = made.test.clouds[0].positions.numpy().astype(float)
    resolution = [layer.resolution for layer in made.model.recipe.network if isinstance(layer, MP)][-1]
    near = np.linalg.norm(at[:, None] - at[None], axis=2) <= resolution / 2
    np.testing.assert_allclose(found.region, near @ found.total, atol=1e-9)
    first = next(found.rows("point", "edge"))
    assert first["region"] == pytest.approx(found.region[0], rel=1e-5)
    assert "region" in columns(made.model)


def test_the_prediction_for_one_vertex_or_for_all_of_a_class_is_explained(tmp_path: Path):
    """Segmentation: the mean log-odds of the vertices that are predicted as a class, or those of one vertex."""
    made = of_clouds(tmp_path, "scenes/ecc")
    outputs = made.model.outputs(made.test.take([0]), 1)

    (one,) = explained(made.model, made.test, [0], Wanted(vertex=3, target=made.model.classes[1], views=1))
    (all_,) = explained(made.model, made.test, [0], Wanted(views=1))

    p = outputs[3, 1]
    assert one.output == pytest.approx(np.log(p / (1 - p)), abs=1e-4)
    most = int(np.bincount(outputs.argmax(1)).argmax())
    p = outputs[outputs.argmax(1) == most, most]
    assert all_.output == pytest.approx(np.log(p / (1 - p)).mean(), abs=1e-4)
    check_sums(made.model, all_)


def test_examples_of_files_have_their_places_and_what_cannot_be_read_is_reported(tmp_path: Path):
    model, unread = molecules(tmp_path), list[str]()
    (tmp_path / "new.csv").write_text("smiles,temperature\nCCO,1\nnone,2\nCCN,3\n")

    found = list(explanations(model, [tmp_path / "new.csv"], report=unread.append))

    assert [(each.place["row"], each.place["smiles"]) for each in found] == [(2, "CCO"), (4, "CCN")]
    assert len(unread) == 1
    assert found[0].description.name == "CCO"


def test_an_unknown_target_or_vertex_is_refused(tmp_path: Path):
    model = molecules(tmp_path)

    with pytest.raises(TargetError, match="it has no 'one'"):
        explain(model, ["CC"], features={"temperature": [7.0]}, target="one")
    with pytest.raises(TargetError, match="--vertex is for models that predict for vertices"):
        explain(model, ["CC"], features={"temperature": [7.0]}, vertex=0)


def test_an_ensemble_is_explained_as_a_whole(tmp_path: Path):
    """The log-odds are those of the mean probability of its networks."""
    model = molecules(tmp_path)
    data = user_data.read(tmp_path / "table.csv", target=("toxic",), features=("temperature",))
    other = Model.new(model.recipe, data.train, 1).network
    features = {"temperature": [7.0]}

    (both,) = explain(replace(model, members=(other,)), ["CCO"], features=features, target="1")

    each = [replace(model, network=network).predict(["CCO"], features=features) for network in (model.network, other)]
    mean = np.mean(each, axis=0)[0]
    assert both.output == pytest.approx(np.log(mean[1] / mean[0]), abs=1e-5)
    assert abs(both.rest) < 1e-3
