"""The C++ code survives whatever its callers hand it: exceptions, never a crash."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from edgecond.data.pyramid import cells
from edgecond.nn import kernels

CALLS = int(os.environ.get("EDGECOND_FUZZ", "60")) * 10


@pytest.mark.skipif(not (kernels.available() and cells.available()), reason="the C++ code is not built or turned off")
@pytest.mark.parametrize("seed", [0, 1])
def test_random_calls_return_what_torch_returns_or_raise(seed: int):
    """In a process of its own, whose end would be noticed; EDGECOND_FUZZ=5000 makes 50,000 calls of each seed."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.native_calls", str(seed), str(CALLS)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent.parent,
        check=False,
    )

    assert run.returncode == 0, run.stderr[-3000:]
    assert sum(json.loads(run.stdout).values()) == CALLS
