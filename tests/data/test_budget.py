"""No file takes more memory than its size justifies; those that ask for more are refused before it is allocated.

All files are read in one process of at most 2 GiB, in which each may allocate what `budget` states and no more.
"""

from __future__ import annotations

import io
import json
import re
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import numpy as np
import pytest
import torch
from safetensors.torch import save

from edgecond.data import budget
from tests.data.formats.files import saved

READ = """
import json, resource, sys, time
from pathlib import Path
LIMIT = 2**31
resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
from edgecond.data import archives, budget
from edgecond.data.formats import batch, read_points, read_surface, tu
from edgecond.data.points import to_mesh
from edgecond.data.samples.clouds import build
from edgecond.data.samples.store import pyramids
from edgecond.errors import DataError

def mesh(path):
    build([to_mesh(read_surface(path), (), path)], [0], ((0.01, 0.02), (0.05, 0.1)), meshes=True)

def pyramid(path):
    pyramids(batch.read(path).graphs, 3, jobs=1, alone=True)

READERS = {
    "points": read_points, "arrays": archives.read_npz, "graphs": tu.read, "batch": batch.read,
    "mesh": mesh, "pyramid": pyramid,
}

for line in sys.stdin:
    reader, path = line.rstrip().split("\\t")
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    allowed = used + budget.CONSTANT + budget.FACTOR * Path(path).stat().st_size
    resource.setrlimit(resource.RLIMIT_AS, (min(allowed, LIMIT), LIMIT))
    start = time.monotonic()
    try:
        READERS[reader](Path(path))
        sentence = "read"
    except (DataError, ValueError) as error:
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
    """A file: its name, its reader, the function that returns its bytes, and what the refusal mentions.

    Of a file that can be read within its budget, that it is "read".
    """

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


def empty_array(shape: str) -> bytes:
    """Return an array without numbers whose header has this shape."""
    return saved(alone=np.zeros((0, 3))).replace(b"(0, 3), }" + b" " * (len(shape) - 6), f"{shape}, }}".encode())


def triangle(size: float) -> bytes:
    """Return an STL file of one triangle: 84 bytes and 50 more."""
    corners = np.array([[0, 0, 0], [size, 0, 0], [0, size, 0]], "<f4")
    return bytes(80) + struct.pack("<I", 1) + bytes(12) + corners.tobytes() + bytes(2)


def graph(source: np.ndarray, target: np.ndarray, n: int) -> bytes:
    """Return a file with one graph of n vertices."""
    both = np.stack([np.append(source, target), np.append(target, source)])
    tensors = {"edge_index": torch.from_numpy(both), "ptr": torch.tensor([0, n]), "y": torch.zeros(1)}
    return save(tensors)


def path_graph(n: int) -> bytes:
    return graph(np.arange(n - 1), np.arange(1, n), n)


def star(n: int) -> bytes:
    """Return a star whose leaves come first and are kept; without its centre, all of them would be connected."""
    return graph(np.arange(n - 1), np.full(n - 1, n - 1), n)


ANNOUNCING = [
    Crafted("wide.npy", "points", partial(empty_array, "(0, 1000000000)"), "at least one point: it is empty"),
    Crafted("columns.npy", "points", lambda: saved(alone=np.zeros((1, 10**6), "u1")), "at most 10,000 columns"),
    Crafted("columns.txt", "points", lambda: b"1 " * 10**6, "at most 10,000 columns"),
    Crafted("kilometre.stl", "mesh", partial(triangle, 1000.0), "Its units look wrong"),
    Crafted("light-year.stl", "mesh", partial(triangle, 1e30), "Its units look wrong"),
    Crafted("vertices.safetensors", "batch", lambda: graph(np.arange(1), np.ones(1, int), 3 * 10**8), "300,000,000"),
    Crafted("star.safetensors", "pyramid", partial(star, 30_000), "sparse enough to be coarsened"),
    Crafted("chain.safetensors", "pyramid", partial(path_graph, 30_000), "read"),
]
CRAFTED = LYING + ANNOUNCING


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
def test_a_file_takes_no_more_memory_than_its_size_justifies(outcomes: dict[str, tuple[str, float]], file: Crafted):
    """`FACTOR` times its size plus `CONSTANT`; a reader that runs into the limit says that memory is short."""
    sentence, seconds = outcomes[file.name]

    assert re.search(".*".join(map(re.escape, file.fact.split(" ... "))), sentence)
    assert "memory" not in sentence
    assert seconds < 20


def test_a_small_file_may_unpack_to_a_megabyte_and_a_large_one_to_a_hundred_times_its_size():
    assert budget.unpacked(10) == 2**20
    assert budget.unpacked(10**6) == 10**8
    assert budget.unpacked(10**9) == 4 * 2**30
    assert budget.unpacked(10**6, most=5000) == 5000
