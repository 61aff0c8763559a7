"""Random damage to files: bytes set, cut, dropped or repeated, numbers replaced, and values of JSON exchanged.

Each mutation has a number, from which it can be made again: `python -m benchmarks.fuzz --reader NAME --first NUMBER`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

MUTATIONS = int(os.environ.get("EDGECOND_FUZZ", "60"))
"""Number of mutations of each file in the tests; EDGECOND_FUZZ=5000 searches longer."""

WORDS = (b"nan", b"-1", b"0", b"9" * 20, b"1e999", b"1e-999", b"x", b"")
VALUES: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 1.5, -0.0, 10**9, 10**30, 1e-300, 1e300, float("nan"), float("inf")),
    *(
        "",
        "x",
        "x" * 300,
        "\0",
        "\ud800",
        "C(4)",
        "smiles",
        "folder",
        "tu",
        "one-hot",
        "multilabel",
        "../../etc/passwd",
    ),
    *([], [1], [[]], [-2, 9], {}, {"a": 1}),
)


def damaged(data: bytes, random: Random) -> bytes:
    """Return the data after one to four changes."""
    for _ in range(random.randint(1, 4)):
        at, count = random.randrange(max(len(data), 1)), random.randint(1, 40)
        match random.choice(("set", "cut", "drop", "repeat", "most", "word")):
            case "set":
                data = data[:at] + random.randbytes(1) + data[at + 1 :]
            case "cut":
                data = data[:at]
            case "drop":
                data = data[:at] + data[at + count :]
            case "repeat":
                data = data[:at] + data[at : at + count] * 2 + data[at + count :]
            case "most":  # a count of all ones
                size = random.choice((1, 2, 4, 8))
                data = data[:at] + b"\xff" * size + data[at + size :]
            case "word":
                start = max(data.rfind(sign, 0, at) for sign in (b" ", b"\n", b",", b":")) + 1
                data = data[:start] + random.choice(WORDS) + data[at:]
    return data


def damaged_json(text: bytes, random: Random) -> bytes:
    """Return JSON in which some values are exchanged, removed or added, or a part of the text is damaged."""
    if not random.randrange(4):
        return damaged(text, random)
    content = json.loads(text)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        inner = content
        while True:
            keys = list(inner) if isinstance(inner, dict) else list(range(len(inner)))
            if not keys:
                break
            key = random.choice(keys)
            if isinstance(inner[key], dict | list) and random.randrange(4):
                inner = inner[key]
                continue
            match random.randrange(8):
                case 0:
                    del inner[key]
                case 1 if isinstance(inner, dict):
                    inner[random.choice(("another", "", "path", key + "x"))] = deepcopy(inner[key])
                case 2 if isinstance(inner, list):
                    inner.insert(0, deepcopy(inner[key]))
                case _:
                    inner[key] = _other(inner[key], random)
            break
    return json.dumps(content).encode("utf-8", "surrogatepass")


def _other(value: Any, random: Random) -> Any:
    """Return another value: one near it, or any."""
    if isinstance(value, int | float) and random.randrange(2):
        return random.choice((value + 1, value - 1, -value, value * 2, value * 1000, value / 2, str(value)))
    if isinstance(value, str) and value and random.randrange(2):
        return damaged(value.encode("utf-8", "replace"), random).decode("utf-8", "replace")
    return deepcopy(random.choice(VALUES))


def _same(data: bytes) -> bytes:
    return data


@dataclass(frozen=True)
class Reader:
    """A whole file, and what reads it.

    Attributes:
        file: Name of the file in its folder.
        whole: Returns its bytes before they are damaged.
        use: Reads the damaged file and checks that what it returns is consistent; raises one of our errors otherwise.
        damage: Returns other bytes.
        pack: What the file holds of the damaged bytes, such as their compressed form.
        beside: Other files in the folder, by name.
    """

    file: str
    whole: Callable[[], bytes]
    use: Callable[[Path], object]
    damage: Callable[[bytes, Random], bytes] = damaged
    pack: Callable[[bytes], bytes] = _same
    beside: Mapping[str, bytes] = field(default_factory=dict)

    def prepare(self, folder: Path) -> None:
        """Write the other files."""
        for name, data in self.beside.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        (folder / self.file).parent.mkdir(parents=True, exist_ok=True)

    def mutation(self, name: str, number: int) -> bytes:
        """Return the file after a mutation."""
        return self.pack(self.damage(self.whole(), Random(f"{name} {number}")))

    def read(self, folder: Path, data: bytes) -> None:
        """Read the file with these bytes; an error of ours is as good as any result."""
        from edgecond.errors import EdgecondError

        path = folder / self.file
        path.write_bytes(data)
        try:
            self.use(path)
        except EdgecondError as error:
            sentence = str(error)
            assert sentence, "an error without a sentence"
            assert len(sentence) < 3000, f"a sentence of {len(sentence)} characters"
