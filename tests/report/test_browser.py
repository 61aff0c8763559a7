"""A report in a real browser: every figure is drawn, without errors, and no page is wider than its screen."""

import io
import shutil

import numpy as np
import pytest

from edgecond.report import write
from edgecond.report.contents import EXPLAINED

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-gl=angle",
    "--use-angle=swiftshader",  # drawings in space without a graphics card
    "--enable-unsafe-swiftshader",
]
SCREENS = {"desktop": (1200, 900, "light", 16), "phone": (360, 740, "dark", 8)}
"""Width, height, colour scheme, and the number of drawings in space that a browser keeps at a time."""

MOLECULES = [("molecules", "desktop"), ("multilabel", "phone"), ("regression", "phone")]
"""Runs on tables of molecules, which are drawn as SVG."""

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")]


@pytest.fixture
def screen(request):
    """An empty page of a browser."""
    playwright = pytest.importorskip("playwright.sync_api")
    width, height, scheme, most = SCREENS[request.param]
    arguments = [*ARGUMENTS, f"--max-active-webgl-contexts={most}"]
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        browser.close()


@pytest.mark.parametrize(
    ("kind", "screen"),
    [
        ("clouds", "desktop"),
        ("clouds", "phone"),
        ("meshes", "phone"),
        ("images", "desktop"),
        ("graphs", "phone"),
        *MOLECULES,
    ],
    indirect=["screen"],
)
def test_every_figure_is_drawn(kind, screen, request):
    run = request.getfixturevalue(kind)
    path = write(run.directory, None, run.test)
    asked, complaints = [], []
    screen.on("request", lambda request: asked.append(request.url))
    screen.on("console", lambda message: complaints.append(message.text) if _grave(message) else None)
    screen.on("pageerror", lambda error: complaints.append(str(error)))

    screen.goto(path.as_uri(), timeout=180_000)  # milliseconds: other processes may keep the machine busy

    plots = screen.locator(".plot").all()
    kinds = [_drawn(plot) for plot in plots]
    assert len(plots) > 6
    pictures = screen.locator(".picture").all()
    mistakes = run.model.outputs(run.test).argmax(1) != run.test.ys.numpy() if kind == "molecules" else np.ones(6)
    assert len(pictures) == (min(6, int(mistakes.sum())) + EXPLAINED if kind in dict(MOLECULES) else 0)
    for picture in pictures:
        picture.scroll_into_view_if_needed()
        assert _colours(picture.screenshot()) > 2, picture.get_attribute("aria-label")
    in_space = 6 + EXPLAINED + 3 if kind in ("clouds", "meshes") else 0  # mistakes, explanations and levels
    assert kinds.count("space") == in_space
    assert screen.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert complaints == []


def _drawn(plot):
    """Whether a figure is in space or in the plane; it fails if there is nothing to see."""
    plot.scroll_into_view_if_needed()
    plot.locator(".main-svg").first.wait_for(state="attached")
    kind = plot.get_attribute("data-drawn")
    if kind == "space":
        plot.locator("canvas").first.wait_for()
        assert _colours(plot.screenshot()) > 5, plot.get_attribute("aria-label")
    else:
        shapes = plot.locator(".scatterlayer .trace path, .heatmaplayer image")
        shapes.first.wait_for(state="attached")
    return kind


def _grave(message):
    """An error, or that drawings in space were given up because they were too many."""
    return message.type == "error" or "WebGL contexts" in message.text


def _colours(image):
    """How many colours a screenshot has: that of a figure which is not drawn has one."""
    from PIL import Image

    return len(Image.open(io.BytesIO(image)).convert("RGB").getcolors(1 << 24))
