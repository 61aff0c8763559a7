"""The records in results/benchmarks: what was measured, when, on what and with what."""

from __future__ import annotations

import json
import platform
from datetime import datetime, UTC
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.cases import SEED
from edgecond.nn import kernels as native

ROOT = Path(__file__).parent.parent
LAYERS = ROOT / "results" / "benchmarks" / "layers.json"
NETWORK = ROOT / "results" / "benchmarks" / "network.json"
PYRAMIDS = ROOT / "results" / "benchmarks" / "pyramids.json"
PREDICT = ROOT / "results" / "benchmarks" / "predict.json"


def processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def circumstances() -> dict[str, Any]:
    """What is needed to measure it again."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "seed": SEED,
        "processor": processor(),
        "kernels": native.instruction_set(),
        "versions": {name: version(name) for name in ("edgecond", "torch", "torch_geometric", "numpy")},
    }


def read(path: Path) -> dict[str, Any]:
    """A record; nothing if there is none."""
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def write(path: Path, found: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1) + "\n")
    print(f"wrote {path.relative_to(ROOT)}")
