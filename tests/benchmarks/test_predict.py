"""The rate of predictions leaves out what a call takes whatever its size, and memory is that of all processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("torch_geometric")

from benchmarks import predict
from benchmarks.predict import Case, family, memory, rate


@pytest.mark.parametrize("differ", [False, True])
def test_a_rate_is_the_difference_of_two_sizes_by_that_of_their_times(
    differ: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Three seconds to start and a millisecond each, which is 1,000 a second; of half of them on two processors."""

    def predicted(given: object, path: Path, jobs: int, out: Path, *options: str) -> dict[str, float]:
        out.write_text(str(jobs if differ else 0))
        return {"seconds": 3 + int(path.name) / 1000, "processor_seconds": 4 + 2 * int(path.name) / 1000}

    monkeypatch.setattr(predict, "predicted", predicted)

    found = rate(Case("", "", (100, 500)), SimpleNamespace(place=tmp_path, write=lambda count: tmp_path / str(count)))

    assert found["per_second"] == pytest.approx(1000)
    assert found["processor_milliseconds_each"] == pytest.approx(2)
    assert found["same_as_one_process"] is not differ


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_memory_of_a_family_has_that_of_its_children():
    code = "import os, time; block = os.fork() or b'x' * (64 << 20); print(flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        process.stdout.readline(), process.stdout.readline()

        found = list(family(process.pid))

        assert len(found) == 2
        assert sum(map(memory, found)) > 64 << 20 > memory(process.pid)
        for each in found:
            os.kill(each, 9)
    assert memory(process.pid) == 0
