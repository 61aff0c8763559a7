"""Directories of runs and of records with crafted text in them: data.json, log.jsonl and records."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from tests.crafted.files import Crafted, READ, REFUSED

DATA = {"path": "/data", "target": ["logS"], "folds": 5, "fold": 0, "seed": 0}
EPOCH = {"epoch": 1, "loss": 1.0, "learning_rate": 0.1}
RECORD = {"fold": 0, "seed": 0, "epochs": 250, "metrics": {"f1": 0.5, "accuracy": 0.5, "class_accuracy": 0.5}}
TEXTS: dict[str, Callable[[], bytes]] = {
    "brackets": lambda: b"[" * 10**6,
    "braces": lambda: b'{"a":' * 10**5,
    "lists": lambda: b"[" + b"[]," * 10**5 + b"[]]",
    "digits": lambda: b"9" * 10**5,
    "nan": lambda: b"NaN",
    "nuls": lambda: bytes(10**5),
    "latin-1": lambda: b'{"a": "\xe9"}',
    "utf-16": lambda: '{"a": 1}'.encode("utf-16"),
    "long-text": lambda: json.dumps("a" * 10**6).encode(),
    "empty": bytes,
}
SOURCES: dict[str, dict[str, Any]] = {
    "folds": {"folds": 10**400},
    "fold": {"fold": -1},
    "seed": {"seed": 2**32},
    "path": {"path": "a" * 10**6},
    "nul": {"path": "a\0b"},
    "target": {"target": [1] * 10**5},
    "long-target": {"target": "a" * 10**6},
    "columns": {"columns": {"x": [1]}},
    "more": {"x" * 10**6: 1},
}
LOGS: dict[str, list[Any]] = {
    "numbers": [EPOCH | {"epoch": 10**30}],
    "many": [EPOCH] * 10**4,
    "text": [EPOCH | {"loss": "a" * 10**6}],
    "name": [EPOCH | {"x" * 10**6: "y"}],
    "infinite": [EPOCH | {"loss": float("inf")}],
    "none": [None] * 10**4,
    "list": [[1] * 10**5],
}
RECORDS: dict[str, dict[str, Any]] = {
    "fold": {"fold": "0"},
    "fold-minus": {"fold": -1},
    "seed": {"seed": None},
    "epochs": {"epochs": 0},
    "metrics": {"metrics": []},
    "no-metrics": {"metrics": {}},
    "metric-text": {"metrics": {"f1": "0.5"}},
    "metric-nan": {"metrics": {"f1": float("nan")}},
    "metric-list": {"metrics": {"f1": [0.5] * 10**5}},
    "metric-truth": {"metrics": {"f1": True}},
    "long": {"metrics": {"a" * 10**6: 1.0}},
}


def record(text: bytes, row: str = "sydney/ecc") -> dict[str, bytes]:
    return {f"{row}/fold0-seed0.json": text}


def _json(content: Any) -> bytes:
    return json.dumps(content).encode()


FILES = [
    *(Crafted(f"source-{n}", "source", partial(lambda m: {"data.json": m()}, make)) for n, make in TEXTS.items()),
    *(
        Crafted(f"source-{name}", "source", partial(lambda c: {"data.json": _json(DATA | c)}, change),
                READ if name in ("path", "folds") else REFUSED)
        for name, change in SOURCES.items()
    ),
    *(Crafted(f"log-{n}", "log", partial(lambda m: {"log.jsonl": m()}, make)) for n, make in TEXTS.items()),
    *(
        Crafted(f"log-{name}", "log", partial(lambda e: {"log.jsonl": b"\n".join(map(_json, e))}, epochs))
        for name, epochs in LOGS.items()
    ),
    *(Crafted(f"record-{n}", "records", partial(lambda m: record(m()), make)) for n, make in TEXTS.items()),
    *(
        Crafted(f"record-{name}", "records", partial(lambda c: record(_json(RECORD | c)), change), "fold0-seed0.json")
        for name, change in RECORDS.items()
    ),
    *(
        Crafted(f"fair-record-{name}", "fair records",
                partial(lambda c: record(_json(RECORD | c), "fair/nci1/selected"), change), "fold0-seed0.json")
        for name, change in (*RECORDS.items(), ("selected", {"selected": 3}))
    ),
]  # fmt: skip
