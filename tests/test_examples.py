"""The examples run as they stand, scripts and notebooks alike."""

import json
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
NOTEBOOKS = {path.stem: json.loads(path.read_text("utf-8"))["cells"] for path in EXAMPLES.glob("notebooks/*.ipynb")}
NEEDS = {"molecules": "rdkit", "swap_nnconv": "torch_geometric"}
"""Optional libraries of the notebooks."""


@pytest.fixture
def run(tmp_path_factory, monkeypatch, capfd):
    """Run a script in an empty directory: it must print something."""

    def run(script: Path) -> None:
        monkeypatch.chdir(tmp_path_factory.mktemp("empty"))
        monkeypatch.setattr(sys, "argv", [str(script)])

        runpy.run_path(str(script), run_name="__main__")

        assert capfd.readouterr().out

    return run


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_an_example_runs(example, run):
    run(example)


@pytest.mark.parametrize("name", sorted(NOTEBOOKS))
def test_the_cells_of_a_notebook_run_from_top_to_bottom(name, tmp_path, run):
    """They are plain Python, so they need no kernel of Jupyter."""
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    script = tmp_path / "cells.py"
    cells = ["".join(cell["source"]) for cell in NOTEBOOKS[name] if cell["cell_type"] == "code"]
    script.write_text("\n\n".join(cells), encoding="utf-8")

    run(script)


def test_there_is_a_notebook_for_each_kind_of_user_and_none_has_outputs():
    """PyG users, engineers with LiDAR objects, chemists with tables of SMILES, researchers."""
    assert sorted(NOTEBOOKS) == ["lidar_objects", "molecules", "rerun_row", "swap_nnconv"]
    code = [cell for cells in NOTEBOOKS.values() for cell in cells if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code)
