"""The README's first steps, as somebody takes them who has just cloned the project and has nothing installed."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.copies import copy_project, ROOT

DATA = Path(os.environ.get("EDGECOND_DATA", ROOT.parent / "shared" / "data"))


def first_steps() -> list[str]:
    """The commands of the README's section, one per line."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"## First steps.*?```sh\n(.*?)```", readme, re.DOTALL)
    assert block
    return [line.split(" #")[0].strip() for line in block[1].splitlines()]


def test_the_first_steps_are_those_of_a_newcomer():
    steps = first_steps()

    assert steps[0] == "make demo"
    for step in ("edgecond train sydney --epochs 2", "edgecond evaluate runs/train/sydney", "edgecond table 1"):
        assert step in steps


@pytest.mark.newcomer
def test_the_first_steps_of_the_readme_work_in_a_fresh_copy(tmp_path):
    """At least 97 % of the held-out digits are told apart, and every command does what it says."""
    copy_project(tmp_path)
    clean = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG") or "PIP" in name}

    shown = {}
    for number, step in enumerate(first_steps()):
        line = f"{'source .venv/bin/activate && ' if number else ''}{step}"
        done = subprocess.run(
            ["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, env=clean | {"EDGECOND_DATA": str(DATA)}
        )
        assert done.returncode == 0, f"{step}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        shown[step] = done.stdout

    accuracy = re.search(r"364 test examples: .*?\baccuracy ([\d.]+)", shown["make demo"])
    assert accuracy
    assert float(accuracy[1]) >= 97
    predicted = shown["edgecond predict runs/demo runs/demo/examples/*.npy"].splitlines()
    assert [line.split(",")[1] for line in predicted[1:]] == ["0", "1", "2"]  # what the files' names say
    assert "pedestrian" in shown["edgecond evaluate runs/train/sydney"]
    assert "78.4" in shown["edgecond table 1"]
