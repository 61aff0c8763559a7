"""Count the calls between modules that `edgecond train` and `edgecond predict` need: `python -m benchmarks.walk`.

Both commands run in this process on a folder of ten small clouds. An edge is a pair of modules of `edgecond`, the first
of which calls a function of the second; fewer edges mean that a reader has fewer files to open. A `.npy` file is parsed
as often as NumPy reads its header.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from typer.testing import CliRunner

Edge = tuple[str, str]  # caller module, callee module


class Profile:
    """Records calls between modules of `edgecond` and arrays parsed by NumPy while it is active, in all threads."""

    def __init__(self) -> None:
        self.edges: Counter[Edge] = Counter()
        self.parsed: Counter[int] = Counter()  # times that an array of so many rows was parsed

    def __enter__(self) -> Profile:
        threading.setprofile(self._record)
        sys.setprofile(self._record)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _record(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "call" and frame.f_back is not None:
            caller, callee = (str(f.f_globals.get("__name__")) for f in (frame.f_back, frame))
            if caller != callee and _is_ours(caller) and _is_ours(callee):
                self.edges[caller, callee] += 1
        elif event == "return" and frame.f_code.co_name == "_read_array_header":  # of numpy.lib.format
            with suppress(TypeError):  # None if it raises
                self.parsed[arg[0][0]] += 1


def _is_ours(module: str) -> bool:
    return module.split(".")[0] == "edgecond"


def write_clouds(folder: Path) -> list[Path]:
    """Write two classes of five clouds; no two clouds have the same number of points."""
    rng = np.random.default_rng(0)
    paths = [folder / name / f"{number}.npy" for name in ("flat", "round") for number in range(5)]
    for count, path in enumerate(paths, start=100):
        points = rng.normal(size=(count, 3))
        points = points * [1, 1, 0.1] if path.parent.name == "flat" else points
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, points.astype(np.float32))
    return paths


def profile(command: Sequence[str]) -> Profile:
    """Run a command of `edgecond` and record its calls."""
    from edgecond.cli import app

    with Profile() as found:
        result = CliRunner().invoke(app, command)
    if result.exit_code:
        raise SystemExit(f"edgecond {' '.join(command)} failed:\n{result.output}") from result.exception
    return found


def walk() -> dict[str, Profile]:
    """Profile the training of a model for one epoch and a prediction with it."""
    with tempfile.TemporaryDirectory() as temporary:
        folder, run = Path(temporary) / "clouds", Path(temporary) / "run"
        paths = write_clouds(folder)
        train = profile(["train", str(folder), "--epochs", "1", "--out", str(run)])
        predict = profile(["predict", str(run), str(paths[0])])
    return {"train": train, "predict": predict}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", action="store_true", help="list the edges, with the number of calls")
    listed = parser.parse_args().edges
    for command, found in walk().items():
        print(f"{command}: {len(found.edges)} calls between modules; files parsed: {_times(found.parsed)}")
        for (caller, callee), calls in sorted(found.edges.items()) if listed else ():
            print(f"  {caller} -> {callee}  {calls}")


def _times(parsed: Counter[int]) -> str:
    often = Counter(parsed.values())
    return ", ".join(f"{files} {times}x" for times, files in sorted(often.items())) or "none"


if __name__ == "__main__":
    main()
