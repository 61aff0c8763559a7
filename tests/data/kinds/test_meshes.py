"""Meshes of one's own as graphs along their edges: from files in three formats to predictions."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest
import torch
import trimesh
from typer.testing import CliRunner

from edgecond.cli import app
from edgecond.data.folder import surface_spacing
from edgecond.errors import DataError
from edgecond.graph import Mesh
from edgecond.report.contents import Contents
from edgecond.runs import user_data
from edgecond.runs.model import Model
from tests.data.conftest import real  # noqa: F401  a fixture
from tests.meshes import BOX, mesh_of

NETWORK = "C(16)-MP(0.6,1.2)-C(32)-GAP-FC(3)"
SETTINGS = {"network": NETWORK, "input.resolution": 0.25, "input.radius": 0.5, "train.batch_size": 8}


def shape(kind: str, rng: np.random.Generator) -> trimesh.Trimesh:
    """A sphere, a box or a torus of random proportions and of coarser or finer triangles, turned about z."""
    match kind:
        case "sphere":
            made = trimesh.creation.icosphere(subdivisions=int(rng.integers(1, 4)))
            made.apply_scale(rng.uniform(0.7, 1.1, 3))
        case "box":
            made = trimesh.creation.box(extents=rng.uniform(1.2, 2.2, 3))
        case _:
            sections = {"major_sections": int(rng.integers(16, 40)), "minor_sections": int(rng.integers(8, 20))}
            made = trimesh.creation.torus(rng.uniform(0.8, 1.1), rng.uniform(0.25, 0.45), **sections)
    made.apply_transform(trimesh.transformations.rotation_matrix(rng.uniform(0, 2 * np.pi), [0, 0, 1]))
    return made


@pytest.fixture(scope="module")
def solids(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty meshes of each of three kinds, as OFF, STL and PLY files."""
    folder, rng = tmp_path_factory.mktemp("meshes") / "solids", np.random.default_rng(0)
    for kind in ("box", "sphere", "torus"):
        (folder / kind).mkdir(parents=True)
        for number in range(20):
            shape(kind, rng).export(folder / kind / f"{number}.{('off', 'stl', 'ply')[number % 3]}")
    return folder


def invoked(*words: str) -> str:
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == 0, result.output
    return result.stdout


def test_meshes_are_read_as_meshes_with_lengths_in_units_of_their_area(solids: Path):
    """Of 1,024 points that share an area evenly, each has a square whose side is the spacing."""
    found = user_data.read(solids, meshes=True)

    areas = [trimesh.load(path).area for path in sorted(solids.glob("*/*"))]
    assert found.recipe.input.resolution == pytest.approx(np.median(areas) ** 0.5 / 32, rel=1e-4)
    assert found.recipe.input.edges == "mesh"
    assert found.recipe.augment.drop == 0
    assert all(isinstance(cloud, Mesh) for cloud, _ in found.test)
    assert "60 meshes in 3 classes: box, sphere, torus" in found.notes
    assert "signal: none, so 1 everywhere; normals" in found.notes


def test_kinds_of_meshes_are_learned_told_and_predicted_from_the_model_alone(solids: Path, tmp_path: Path):
    """From files to figures: more than nine of ten that were not learned, whatever their format and triangles."""
    run = str(tmp_path / "run")
    changes = [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")]

    trained = invoked("train", str(solids), "--meshes", "--epochs", "12", "--out", run, *changes)
    assert "60 meshes in 3 classes" in trained
    model = Model.load(Path(run))
    test = user_data.read(solids, meshes=True).test
    assert model.evaluate(test)["accuracy"] > 0.9

    told = csv.DictReader(io.StringIO(invoked("predict", run, str(solids))))
    right = [Path(row["file"]).parent.name == row["class"] for row in told]
    assert len(right) == 60
    assert np.mean(right) > 0.9
    assert "12 test examples" in invoked("evaluate", run)


def test_a_report_draws_meshes_by_their_faces_and_their_pyramid_along_edges(solids: Path, tmp_path: Path):
    found = user_data.read(solids, meshes=True, settings=SETTINGS)
    model = Model.new(found.recipe, found.train, 0)
    model.about.update(fold=0, epochs=1)

    text = Contents(model, [{"epoch": 1, "loss": 1.0, "accuracy": 0.5, "learning_rate": 0.1}], found.test).html()

    assert '"type":"mesh3d"' in text
    assert "can be rotated" in text
    assert "What edges connect within a voxel becomes one vertex" in text


def test_a_file_without_faces_is_skipped_and_reported(solids: Path, tmp_path: Path):
    for name, kind in (("a", "box"), ("b", "torus")):
        (tmp_path / name).mkdir()
        for number in range(2):
            (tmp_path / name / f"{number}.off").write_bytes((solids / kind / "0.off").read_bytes())
    (tmp_path / "a" / "cloud.xyz").write_text("0 0 0\n1 1 1\n")

    found = user_data.read(tmp_path, meshes=True, folds=2)

    (note,) = [
        note for note in found.notes if note.startswith(f"skipped: {tmp_path / 'a' / 'cloud.xyz'} cannot be read")
    ]
    assert "a mesh must have faces" in note


def test_a_table_holds_no_meshes(tmp_path: Path):
    path = tmp_path / "molecules.csv"
    path.write_text("smiles,y\nCCO,1\n")

    with pytest.raises(DataError, match=r"--meshes is an option for meshes: .*molecules.csv holds molecules"):
        user_data.read(path, meshes=True)


def test_the_spacing_on_surfaces_does_not_depend_on_their_triangles():
    fine = BOX.subdivide().subdivide()

    assert surface_spacing([mesh_of(BOX)]) == pytest.approx(surface_spacing([mesh_of(fine)]))
    assert surface_spacing([mesh_of(BOX)], count=600) == pytest.approx(0.1)  # an area of 6


@pytest.mark.slow
def test_meshes_of_modelnet_become_pyramids(real):  # noqa: F811
    """Real meshes of thousands of faces in many parts: contraction joins no two parts, so all levels have as many."""
    from edgecond.data.formats import read_surface
    from edgecond.data.points import to_mesh
    from edgecond.data.pyramid.meshes import mesh_pyramid

    for name in ("bathtub_0001", "bathtub_0002", "stool_0002"):
        path = real(f"modelnet/off-samples/{name}.off")
        mesh = to_mesh(read_surface(path), (), path)
        side = float((mesh.positions.max(0).values - mesh.positions.min(0).values).max())

        levels = mesh_pyramid([mesh], [(None, side / 8), (side / 16, side), (side / 4, side)]).levels

        whole = trimesh.Trimesh(mesh.positions.numpy(), mesh.faces.numpy(), process=False)
        parts = len(trimesh.graph.connected_components(whole.edges, nodes=np.arange(len(mesh))))
        for level in levels:
            edges = torch.stack([level.source, level.target], 1).numpy()
            found = trimesh.graph.connected_components(edges, nodes=np.arange(len(level.positions)))
            assert len(found) == parts
