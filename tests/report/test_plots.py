"""Pictures of the rerun: what is drawn is what the records and the paper have."""

import json
import sys
from pathlib import Path

import pytest

from edgecond.nn.layers import FilterNetwork
from edgecond.paper.tables import tables, TITLES
from edgecond.report import plots
from edgecond.report.page import ReportError
from tests.paper.test_figures import write as write_robustness

pytest.importorskip("matplotlib")


def write(results: Path, row: str, fold: int, **metrics: float) -> None:
    path = results / row / f"fold{fold}-seed0.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"fold": fold, "seed": 0, "epochs": 250, "metrics": metrics}))


def points(ax, marker: str) -> list[tuple[float, float]]:
    lines = [line for line in ax.get_lines() if line.get_marker() == marker]
    return sorted((round(float(x), 3), float(y)) for line in lines for x, y in line.get_xydata())


def test_a_table_shows_the_papers_numbers_and_the_means_of_the_records(tmp_path):
    """Table 1: 78.4, 76.9 and 74.4 for ECC at three radii."""
    for fold, f1 in enumerate([0.7, 0.8, 0.8, 0.9]):
        write(tmp_path, "sydney/ecc", fold, f1=f1)

    (ax,) = plots.table(1, tmp_path).axes

    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["ECC", "ECC 1.5ρ", "ECC 2ρ"]
    assert points(ax, "D") == [(74.4, 2), (76.9, 1), (78.4, 0)]
    assert points(ax, "o") == [(80.0, 0)]


def test_the_bar_of_a_rerun_is_its_standard_error(tmp_path):
    """Deviations of -10, 0, 0 and 10 give 8.165, over the root of 4."""
    for fold, f1 in enumerate([0.7, 0.8, 0.8, 0.9]):
        write(tmp_path, "sydney/ecc", fold, f1=f1)

    (ax,) = plots.table(1, tmp_path).axes

    (bar,) = [collection for collection in ax.collections if hasattr(collection, "get_segments")]
    (left, right) = bar.get_segments()[0][:, 0]
    assert (left, right) == pytest.approx((80 - 4.082, 80 + 4.082), abs=1e-3)


@pytest.mark.parametrize("number", tables())
def test_every_table_is_drawn_with_and_without_records(number: int, tmp_path: Path):
    figure = plots.table(number, tmp_path)

    assert TITLES[number] in figure._suptitle.get_text()


def test_pictures_are_the_same_bytes_in_every_run(tmp_path):
    first, second = (plots.write(plots.table(1, tmp_path), tmp_path / name) for name in ("a", "b"))

    assert [path.name for path in first] == ["a.png", "a.svg"]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_robustness_names_the_folds_and_epochs_that_are_missing(tmp_path):
    """The paper has four folds and 250 epochs."""
    for fold in range(4):
        write_robustness(tmp_path, "sydney/ecc", fold, 0.7)
    write_robustness(tmp_path, "sydney/noise", 0, 0.8, epochs=100)

    figure = plots.robustness(tmp_path)
    removed, noise = figure.axes

    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["ECC", "ECC, trained with noise (1 of 4 folds, 100 of 250 epochs)"]
    assert [line.get_ydata()[0] for line in removed.get_lines()] == pytest.approx([70, 80])
    assert noise.get_lines()[0].get_xdata()[1] == pytest.approx(1)  # centimetres


def test_filters_are_drawn_in_both_steps(tmp_path):
    parameters = {name: value.tolist() for name, value in FilterNetwork([6, 16, 32], 1, 16).state_dict().items()}
    path = tmp_path / "filters/mnist/sparse/fold0-seed0.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"fold": 0, "seed": 0, "epochs": 10, "metrics": {}, "parameters": parameters}))

    figure = plots.filters(tmp_path)

    images = [ax.get_images()[0].get_array().shape for ax in figure.axes if ax.get_images()]
    assert images == [(5, 5)] * 16 + [(41, 41)] * 16
    assert "10 of 20 epochs" in " ".join(text.get_text() for text in figure.texts)


def test_without_records_the_verb_that_writes_them_is_named(tmp_path):
    with pytest.raises(ReportError, match="edgecond plot robustness --runs runs"):
        plots.robustness(tmp_path)


def test_without_matplotlib_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    with pytest.raises(ReportError, match=r"pip install 'edgecond\[plot\]'"):
        plots.table(1, tmp_path)
