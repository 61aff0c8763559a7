"""The records in results/benchmarks: measurements with their date, processor and versions."""

from __future__ import annotations

import json
import platform
from datetime import datetime, UTC
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.cases import SEED
from edgecond.nn import kernels

ROOT = Path(__file__).parent.parent
LAYERS = ROOT / "results" / "benchmarks" / "layers.json"
MODELS = ROOT / "results" / "benchmarks" / "models.json"
NETWORK = ROOT / "results" / "benchmarks" / "network.json"
PYRAMIDS = ROOT / "results" / "benchmarks" / "pyramids.json"
PREDICT = ROOT / "results" / "benchmarks" / "predict.json"
OPERATORS = ROOT / "results" / "benchmarks" / "operators.json"
TUNING = ROOT / "results" / "benchmarks" / "tuning.json"
FINETUNING = ROOT / "results" / "benchmarks" / "finetuning.json"
CALIBRATION = ROOT / "results" / "benchmarks" / "calibration.json"
SCANS = ROOT / "results" / "benchmarks" / "scans.json"
CLUSTER = ROOT / "results" / "benchmarks" / "cluster.json"


def processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def circumstances() -> dict[str, Any]:
    """Return date, seed, processor, kernels and versions, which a repetition needs."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "seed": SEED,
        "processor": processor(),
        "kernels": kernels.instruction_set(),
        "versions": {name: version(name) for name in ("edgecond", "torch", "torch_geometric", "numpy")},
    }


def read(path: Path) -> dict[str, Any]:
    """Return a record, or an empty dict if there is none."""
    record: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return record


def write(path: Path, record: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1) + "\n")
    print(f"wrote {path.relative_to(ROOT)}")
