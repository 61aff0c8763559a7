"""The page in a real browser: paste or choose, see prediction and explanation, on a wide and a narrow screen."""

from __future__ import annotations

import numpy as np
import pytest

from edgecond.report.serve import Server
from tests.meshes import TORUS
from tests.report.test_browser import CHROMIUM, screen

__all__ = ["screen"]  # a fixture

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")]


def opened(screen, server):
    """Open the page, and return lists of requests to other places and of complaints, which grow."""
    asked, complaints = [], []
    screen.on("request", lambda request: asked.append(request.url))
    screen.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    screen.on("pageerror", lambda error: complaints.append(str(error)))
    screen.goto(server.url)
    screen.wait_for_selector("body[data-ready]")
    return asked, complaints


@pytest.mark.parametrize("screen", ["desktop", "phone"], indirect=True)
def test_pasted_molecules_are_predicted_and_explained(screen, molecules):
    model = molecules.model.calibrated(molecules.test).compared_with(molecules.test, 0)
    with Server(model, 0).running() as server:
        asked, complaints = opened(screen, server)
        screen.fill("#rows", "CCO\nc1ccccc1O\nnonsense")
        screen.click("#send")
        screen.wait_for_selector(".why figure svg")

        assert screen.inner_text("#status") == "2 predictions."
        assert "'nonsense' is not a molecule" in screen.inner_text("#results")
        assert screen.locator(".card").count() == 2
        first = screen.locator(".card").first.inner_text()
        assert "CCO" in first
        assert "distance to training set" in first
        assert "<b>even</b>" in first  # the name of a class is text
        assert screen.locator(".card b").count() == 0
        screen.click(".why > button")
        screen.wait_for_selector(".card:nth-of-type(2) .why figure svg")
        assert screen.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert [url for url in asked if not url.startswith((server.url, "data:"))] == []
        assert not any("plotly" in url for url in asked)
        assert complaints == []


@pytest.mark.parametrize("screen", ["desktop"], indirect=True)
def test_a_file_that_is_chosen_or_wrong_is_answered(screen, clouds, tmp_path):
    pytest.importorskip("plotly")
    cloud = clouds.test.clouds[0]
    np.save(tmp_path / "cube.npy", np.concatenate([cloud.positions, cloud.signal], 1))
    (tmp_path / "wrong.npy").write_bytes(b"none")
    with Server(clouds.model, 0).running() as server:
        asked, complaints = opened(screen, server)
        assert screen.locator("#rows").is_hidden()
        screen.set_input_files("#file", str(tmp_path / "cube.npy"))
        screen.wait_for_selector(".why .plot canvas")
        assert "cube.npy" in screen.inner_text(".card h2")
        assert screen.locator(".bar").count() == len(clouds.model.classes)
        assert complaints == []

        screen.set_input_files("#file", str(tmp_path / "wrong.npy"))
        screen.wait_for_selector("#status.bad")
        assert "upload.npy cannot be read" in screen.inner_text("#status")
        assert [url for url in asked if not url.startswith((server.url, "data:", "blob:"))] == []


@pytest.mark.parametrize("screen", ["phone"], indirect=True)
def test_the_attributions_of_a_mesh_are_in_sight(screen, meshes, tmp_path):
    """Vertices have positions and edges have ends, and the columns of both are wider than a phone."""
    pytest.importorskip("plotly")
    (tmp_path / "torus.off").write_text(TORUS.export(file_type="off"))
    with Server(meshes.model, 0).running() as server:
        _, complaints = opened(screen, server)
        screen.set_input_files("#file", str(tmp_path / "torus.off"))
        screen.wait_for_selector(".why .plot canvas")
        screen.click(".why summary")

        header = screen.locator("th", has_text="attribution").bounding_box()
        frame = screen.locator(".why .scroll").bounding_box()
        assert header["x"] + header["width"] <= frame["x"] + frame["width"]
        assert "torus.off" in screen.inner_text(".card h2")
        assert screen.locator(".bar").count() == 3
        assert complaints == []
