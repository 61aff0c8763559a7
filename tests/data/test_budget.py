"""Files that ask for more memory than their size justifies are refused before it is allocated.

All files are read in one process of at most 2 GiB, in which each may allocate what `budget` states and no more.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import numpy as np
import pytest

from edgecond.data import budget
from tests.data.formats.files import saved

READ = """
import json, resource, sys, time
from pathlib import Path
LIMIT = 2**31
resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
from edgecond.data import archives, budget
from edgecond.data.formats import read_points, tu
from edgecond.errors import DataError

READERS = {"points": read_points, "arrays": archives.read_npz, "graphs": tu.read}

for line in sys.stdin:
    reader, path = line.rstrip().split("\\t")
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    allowed = used + budget.CONSTANT + budget.FACTOR * Path(path).stat().st_size
    resource.setrlimit(resource.RLIMIT_AS, (min(allowed, LIMIT), LIMIT))
    start = time.monotonic()
    try:
        READERS[reader](Path(path))
        sentence = "read"
    except DataError as error:
        sentence = str(error)
    print(json.dumps([sentence, time.monotonic() - start]), flush=True)
"""


@cache
def lying_zip(method: int) -> bytes:
    """Return a zip whose member unpacks to 300 MiB, an array and zeros, and announces 1,000 bytes."""
    array, zeros = saved(alone=np.zeros((10, 3))), bytes(2**20)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive, archive.open("points.npy", "w") as file:
        file.write(array)
        for _ in range(300):
            file.write(zeros)
    size = (300 * 2**20 + len(array)).to_bytes(4, "little")
    assert buffer.getvalue().count(size) == 2  # in the local header and in the central directory
    return buffer.getvalue().replace(size, (1000).to_bytes(4, "little"))


class Crafted(NamedTuple):
    """A file: its name, its reader, the function that returns its bytes, and what the refusal mentions."""

    name: str
    reader: str
    content: Callable[[], bytes]
    fact: str


METHODS = {"deflated": zipfile.ZIP_DEFLATED, "bzip2": zipfile.ZIP_BZIP2, "lzma": zipfile.ZIP_LZMA}
LYING = [
    Crafted(
        f"{method}-{reader}.{ending}",
        reader,
        partial(lying_zip, number),
        "Bad CRC-32" if method == "deflated" else "must be stored or deflated",
    )
    for method, number in METHODS.items()
    for reader, ending in (("points", "npz"), ("arrays", "npz"), ("graphs", "zip"))
]
CRAFTED = LYING


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, float]]:
    """What became of each file, and the seconds it took."""
    folder = tmp_path_factory.mktemp("crafted")
    for file in CRAFTED:
        (folder / file.name).write_bytes(file.content())
    lines = "".join(f"{file.reader}\t{folder / file.name}\n" for file in CRAFTED)
    done = subprocess.run([sys.executable, "-c", READ], input=lines, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return {file.name: json.loads(line) for file, line in zip(CRAFTED, done.stdout.splitlines(), strict=True)}


@pytest.mark.skipif(sys.platform != "linux", reason="limits the memory of a process as Linux does")
@pytest.mark.parametrize("file", CRAFTED, ids=lambda file: file.name)
def test_a_file_that_asks_for_too_much_memory_is_refused(outcomes: dict[str, tuple[str, float]], file: Crafted):
    """`FACTOR` times its size plus `CONSTANT`; a reader that runs into the limit says that memory is short."""
    sentence, seconds = outcomes[file.name]

    assert file.name in sentence
    assert file.fact in sentence
    assert "memory" not in sentence
    assert seconds < 20


def test_a_small_file_may_unpack_to_a_megabyte_and_a_large_one_to_a_hundred_times_its_size():
    assert budget.unpacked(10) == 2**20
    assert budget.unpacked(10**6) == 10**8
    assert budget.unpacked(10**9) == 4 * 2**30
    assert budget.unpacked(10**6, most=5000) == 5000
