"""Archives and compressed files that lie about their members."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from functools import cache, partial

import numpy as np

from tests.crafted.files import Crafted, EITHER, READ
from tests.data.datasets import tiny
from tests.data.formats.files import saved

METHODS = {"stored": 0, "deflate64": 9, "bzip2": 12, "lzma": 14, "zstandard": 93, "xz": 95, "odd": 77}
BOMBS = {"deflated": zipfile.ZIP_DEFLATED, "bzip2": zipfile.ZIP_BZIP2, "lzma": zipfile.ZIP_LZMA}
PLACES = {"points": "npz", "arrays": "npz", "graphs": "zip", "predicted": "npz"}
ZEROS = bytes(2**20)


@cache
def lying_zip(method: int) -> bytes:
    """Return a zip whose member unpacks to 300 MiB, an array and zeros, and announces 1,000 bytes."""
    array = saved(alone=np.zeros((10, 3)))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive, archive.open("points.npy", "w") as file:
        file.write(array)
        for _ in range(300):
            file.write(ZEROS)
    size = (300 * 2**20 + len(array)).to_bytes(4, "little")
    assert buffer.getvalue().count(size) == 2  # in the local header and in the central directory
    return buffer.getvalue().replace(size, (1000).to_bytes(4, "little"))


def small_zip(change: bytes = b"", place: int = 0, *, central: bool = True) -> bytes:
    """Return a zip of one array, with other bytes at a place of its headers, the last one if `central`."""
    data = bytearray(saved(points=np.zeros((10, 3))))
    at = data.rfind(b"PK\x01\x02") if central else 0
    data[at + place : at + place + len(change)] = change
    return bytes(data)


def of_method(method: int) -> bytes:
    """Return a zip that says in both of its headers that its member is compressed by this method."""
    data = bytearray(small_zip())
    data[8:10] = method.to_bytes(2, "little")
    at = data.rfind(b"PK\x01\x02")
    data[at + 10 : at + 12] = method.to_bytes(2, "little")
    return bytes(data)


def names(*members: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in members:
            archive.writestr(zipfile.ZipInfo(name), b"1\n")
    return buffer.getvalue()


def nested(depth: int) -> bytes:
    data = saved(points=np.zeros((10, 3)))
    for _ in range(depth):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("points.npy", data)
        data = buffer.getvalue()
    return data


def overlapping(copies: int) -> bytes:
    """Return a zip whose central directory names one megabyte of zeros many times, as in a "better zip bomb"."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("0000.txt", ZEROS)
    data = buffer.getvalue()
    start, end = data.find(b"PK\x01\x02"), data.rfind(b"PK\x05\x06")
    entry = data[start:end]
    entries = b"".join(entry.replace(b"0000.txt", b"%04d.txt" % k) for k in range(copies))
    tail = bytearray(data[end:])
    tail[8:12] = copies.to_bytes(2, "little") * 2
    tail[12:16] = len(entries).to_bytes(4, "little")
    return data[:start] + entries + bytes(tail)


def packed_tu(**changes: bytes) -> bytes:
    """Return a deflated zip of TU files, some of them replaced."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, text in ({k: v.encode() for k, v in tiny.TINY.items()} | changes).items():
            archive.writestr(f"TINY/TINY_{part}.txt", text)
    return buffer.getvalue()


def tar(change: bytes = b"", place: int = 0, size: int = 100) -> bytes:
    """Return a tar file of one member, with other bytes at a place of its header and the sum of that."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo("a.txt")
        member.size = size
        archive.addfile(member, io.BytesIO(bytes(size)))
    data = bytearray(buffer.getvalue())
    data[place : place + len(change)] = change
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(data[:512])
    return bytes(data)


BIG_ZIP = (2**31).to_bytes(4, "little")
LYING = [
    Crafted(
        f"lying-{method}-{reader}.{ending}",
        reader,
        partial(lying_zip, BOMBS[method]),
        "Bad CRC-32" if method == "deflated" else "must be stored or deflated",
    )
    for method in BOMBS
    for reader, ending in PLACES.items()
]
STRANGE = [
    Crafted(f"method-{method}-{reader}.{PLACES[reader]}", reader, partial(of_method, number))
    for method, number in METHODS.items()
    for reader in ("points", "arrays")
]
HEADERS = [
    Crafted(f"zip-{what}-{reader}.npz", reader, partial(small_zip, change, place, central=central), fact)
    for reader in ("points", "arrays")
    for what, change, place, central, fact in (
        ("compressed-size", BIG_ZIP, 20, True, EITHER),
        ("size", BIG_ZIP, 24, True, "would unpack ... may unpack"),
        ("offset", BIG_ZIP, 42, True, EITHER),
        ("name-length", b"\xff\xff", 28, True, EITHER),
        ("extra-length", b"\xff\xff", 30, True, EITHER),
        ("encrypted", b"\x01", 8, True, "encrypted"),
        ("local-name-length", b"\xff\xff", 26, False, EITHER),
        ("checksum", b"\0\0\0\0", 16, True, "Bad CRC-32"),
    )
]
NAMES = [
    Crafted("zip-parent.zip", "archive", partial(names, "../a.txt"), "leads out of the archive"),
    Crafted("zip-root.zip", "archive", partial(names, "/etc/passwd"), "leads out of the archive"),
    Crafted("zip-drive.zip", "archive", partial(names, "C:\\a.txt"), "leads out of the archive"),
    Crafted("zip-twice.zip", "archive", partial(names, "a.txt", "A.txt"), "twice"),
    Crafted("zip-long-name.zip", "archive", partial(names, "a/" * 30_000), EITHER),
    Crafted("zip-many.zip", "archive", lambda: names(*map(str, range(20_000))), READ),
    Crafted("zip-nested.npz", "points", partial(nested, 20)),
    Crafted("zip-nested-arrays.npz", "arrays", partial(nested, 20)),
    Crafted("zip-overlapping.zip", "archive", partial(overlapping, 5000)),
    Crafted("zip-empty.zip", "graphs", partial(names), "one file NAME_A.txt: found 0"),
    Crafted("zip-nothing.zip", "graphs", bytes),
    Crafted("zip-bomb.zip", "graphs", lambda: packed_tu(A=ZEROS * 30), "would unpack"),
    Crafted("zip-lines.zip", "graphs", lambda: packed_tu(graph_indicator=b"1\n" * 2**18)),
    Crafted("zip-blank-lines.zip", "graphs", lambda: packed_tu(graph_indicator=b"\n" * 2**19)),
]
TARS = [
    Crafted("tar-size.tar", "archive", partial(tar, b"7" * 11, 124)),
    Crafted("tar-negative.tar", "archive", partial(tar, b"\xff" * 12, 124)),
    Crafted("tar-binary-size.tar", "archive", partial(tar, b"\x80" + b"\x7f" * 11, 124)),
    Crafted("tar-extended.tar", "archive", partial(tar, b"x", 156, 2**20)),
    Crafted("tar-long-name.tar", "archive", partial(tar, b"L", 156, 2**20)),
    Crafted("tar-global.tar", "archive", partial(tar, b"g", 156, 2**17)),
    Crafted("tar-link.tar", "archive", partial(tar, b"2", 156), "is a link"),
    Crafted("tar-device.tar", "archive", partial(tar, b"3", 156), "is a link or a device"),
    Crafted("tar-sparse.tar", "archive", partial(tar, b"S", 156)),
    Crafted("tar-odd.tar", "archive", partial(tar, b"~", 156), "unknown kind of entry"),
    Crafted("tar-cut.tar", "archive", lambda: tar(size=5000)[:2000]),
    Crafted("tar-sum.tar", "archive", lambda: tar().replace(b"a.txt", b"b.txt")),
    Crafted("tar-pax.tar", "archive", lambda: tar(b"x", 156, 20).replace(bytes(20), b"20 size=99999999999\n", 1)),
    Crafted("tar-bomb.tar.gz", "archive", lambda: gzip.compress(tar(size=30 * 2**20), 9), "would unpack"),
    Crafted("tar-not.tar.gz", "archive", lambda: gzip.compress(b"no tar file")),
    Crafted("tar-bz2.tar.gz", "archive", lambda: bz2.compress(tar())),
    Crafted("tar-xz.tar", "archive", lambda: lzma.compress(tar())),
]
COMPRESSED = [
    Crafted("bomb.csv.gz", "table", lambda: gzip.compress(b"smiles\n" + b"C" * 2**25), "would unpack"),
    Crafted("blank.csv.gz", "table", lambda: gzip.compress(b"smiles\n" + b"\n" * 2**20), EITHER),
    Crafted("many.csv.gz", "table", lambda: gzip.compress(b"smiles\nC\n") * 3000, EITHER),
    Crafted("nested.csv.gz", "table", lambda: gzip.compress(gzip.compress(b"smiles\nC\n"))),
    Crafted("cut.csv.gz", "table", lambda: gzip.compress(b"smiles\n" + b"C\n" * 1000)[:-9]),
    Crafted("long-name.csv.gz", "table", lambda: b"\x1f\x8b\x08\x08" + bytes(6) + b"a" * 10**6),
    Crafted("extra.csv.gz", "table", lambda: b"\x1f\x8b\x08\x04" + bytes(6) + b"\xff\xff" + bytes(10)),
    Crafted("method.csv.gz", "table", lambda: b"\x1f\x8b\x07\x00" + bytes(6)),
]
FILES = LYING + STRANGE + HEADERS + NAMES + TARS + COMPRESSED
