"""The examples run as they stand."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(example, tmp_path):
    done = subprocess.run([sys.executable, example], capture_output=True, text=True, cwd=tmp_path)

    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout
