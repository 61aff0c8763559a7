"""Drawings have the colours of attributions."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from edgecond.graph import Cloud, Mesh
from edgecond.report.drawings import drawn
from edgecond.report.explanations import caption, panels, shades, strongest, write
from edgecond.report.figures import Picture, shade, SHADES, Shades
from edgecond.report.molecules import molecule
from edgecond.runs.explanation import explained, Wanted
from tests.meshes import BOX, mesh_of
from tests.report.conftest import of_clouds, of_graphs


def test_colours_run_from_blue_over_grey_to_red():
    """By hand: half of red is half way between grey and red."""
    assert [shade(value) for value in (-1.0, 0.0, 1.0, 2.0)] == [*SHADES, SHADES[2]]
    assert shade(0.5) == "#b8696a"


def test_atoms_and_bonds_have_discs_and_bands_whose_opacity_is_the_attribution():
    svg = molecule("CO", Shades(np.array([1.0, -0.5]), {(0, 1): 0.25}))

    found = {colour.lower() for colour in re.findall(r"#[0-9a-fA-F]{8}", svg)}
    assert found == {f"{SHADES[2]}bf", f"{SHADES[0]}5f", f"{SHADES[2]}2f"}


@pytest.mark.parametrize("make", [of_clouds, of_graphs])
def test_an_explanation_is_drawn_relative_to_its_largest_attribution(make, tmp_path):
    made = make(tmp_path)
    found = list(explained(made.model, made.test, [0], Wanted(views=1, steps=16)))

    values = shades(found[0])
    (panel,) = panels(found)

    largest = max([np.abs(values.units).max(), *map(abs, values.edges.values())])
    assert largest == pytest.approx(1)
    markers = [trace["marker"] for trace in panel.figure["data"] if "marker" in trace]
    assert markers[0]["color"] == pytest.approx(values.units.tolist(), abs=1e-3)
    assert found[0].target in panel.caption
    assert '<th scope="col">4</th>' in strongest(made.model, found)


def test_a_caption_has_other_predictions_before_the_one_that_is_explained(tmp_path):
    made = of_clouds(tmp_path)
    (found,) = explained(made.model, made.test, [0], Wanted(views=1, steps=16))

    text = caption(replace(found, target="row", prediction={"prediction(row)": 1.0, "y": 2.0}))

    assert "y 2.0; " in text
    assert "prediction(row)" not in text


def test_the_largest_attributions_are_named_with_their_ends_and_level(tmp_path):
    made = of_graphs(tmp_path)
    found = list(explained(made.model, made.test, [0], Wanted(views=1, steps=16)))
    rows = list(found[0].rows("vertex", "edge"))
    strong = max((row for row in rows if row.get("level") == 1), key=lambda row: abs(row["attribution"]))

    text = strongest(made.model, [replace(found[0], attribution=0 * found[0].attribution, features={})])

    assert f"edge {strong['index']}-{strong['other']} at level 1 {strong['attribution']:+.3g}" in text


def test_a_mesh_is_coloured_by_vertex():
    mesh = mesh_of(BOX)
    assert isinstance(mesh, Mesh)

    panel = drawn(mesh, "", Shades(np.linspace(-1, 1, len(mesh)), {}))

    assert not isinstance(panel, Picture)
    assert len(panel.figure["data"][0]["intensity"]) == len(mesh)
    assert isinstance(mesh, Cloud)


def test_a_page_has_drawings_and_sums(tmp_path):
    pytest.importorskip("plotly")
    made = of_graphs(tmp_path)
    found = list(explained(made.model, made.test, [0, 1], Wanted(views=1)))

    write(tmp_path / "page.html", made.model, found)

    text = (tmp_path / "page.html").read_text()
    assert text.count("<figure>") == 2
    assert f"<td>{found[0].output:.4g}</td>" in text
