"""Clouds and meshes whose headers announce more than they hold, or whose numbers are extreme."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable
from functools import partial

import numpy as np

from tests.crafted.files import Crafted, EITHER, READ, REFUSED
from tests.data.formats.files import las, OBJ, OFF, pcd, ply, ply_faces, saved, SQUARE, STL

BILLION = 10**9


# NumPy


def npy(header: str, body: bytes = b"", version: int = 1) -> bytes:
    """Return a file with any header."""
    length = struct.pack("<H" if version == 1 else "<I", len(header) + 1)
    return b"\x93NUMPY" + bytes([version, 0]) + length + header.encode("latin-1") + b"\n" + body


def described(shape: str = "(4, 3)", descr: str = "'<f8'", order: str = "False", body: int = 96) -> bytes:
    return npy(f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}", bytes(body))


def fields(*kinds: str) -> bytes:
    """Return a vector of four records with these fields."""
    return saved(alone=np.zeros(4, np.dtype(",".join(kinds))))


def zipped(array: Callable[[], bytes]) -> bytes:
    """Return an archive of an array."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("points.npy", array())
    return buffer.getvalue()


NPY: dict[str, tuple[Callable[[], bytes], str]] = {
    "wide": (partial(described, "(0, 1000000000)"), "at least one point: it is empty"),
    "tall": (partial(described, "(1000000000, 3)"), "must have 24,000,000,000 bytes: found 96"),
    "beyond-64-bits": (partial(described, f"({10**30}, 3)"), "must have"),
    "overflow": (partial(described, f"({2**62}, 4)"), "must have"),
    "negative": (partial(described, "(-4, 3)"), REFUSED),
    "both-negative": (partial(described, "(-4, -3)"), REFUSED),
    "deep": (partial(described, "(" + "1, " * 60 + ")"), REFUSED),
    "deeper": (partial(described, "(" + "1, " * 70 + ")"), REFUSED),
    "scalar": (partial(described, "()"), REFUSED),
    "truth": (partial(described, "(4, True)"), REFUSED),
    "text": (partial(described, "'ab'"), REFUSED),
    "real-shape": (partial(described, "(4.0, 3)"), REFUSED),
    "dict-shape": (partial(described, "{}"), REFUSED),
    "no-header": (partial(npy, ""), "must begin with the header"),
    "keys": (partial(npy, "{'shape': (4, 3)}"), "must begin with the header"),
    "call": (partial(npy, "__import__('os').mkdir('sprung')"), "must begin with the header"),
    "brackets": (partial(npy, "(" * 9000), "must begin with the header"),
    "long-header": (partial(npy, " " * 10**6, version=2), "must begin with the header"),
    "cut-header": (lambda: described()[:40], "must begin with the header"),
    "future": (partial(npy, "{}", version=7), "must begin with the header"),
    "objects": (partial(described, descr="'|O'"), "never unpickled"),
    "pickle": (lambda: saved(alone=np.array([{}, 1], object)), "never unpickled"),
    "strings": (partial(described, descr="'<U2'"), "real numbers"),
    "wide-strings": (partial(described, descr="'<U1000000000'"), REFUSED),
    "void": (partial(described, descr="'|V8'"), "real numbers"),
    "empty-type": (partial(described, descr="'|V0'"), REFUSED),
    "empty-strings": (partial(described, "(1000000000, 3)", descr="'<U0'"), REFUSED),
    "dates": (partial(described, descr="'<M8[s]'"), "real numbers"),
    "complex": (partial(described, "(2, 3)", descr="'<c16'"), "real numbers"),
    "half": (partial(described, "(4, 3)", descr="'<f2'"), READ),
    "quadruple": (partial(described, "(2, 3)", descr="'<f16'"), EITHER),
    "huge-quadruple": (
        lambda: saved(alone=np.full((2, 3), np.longdouble("1e4000"))),
        EITHER if np.finfo(np.longdouble).max < 1e308 else "finite",
    ),
    "big-endian": (partial(described, descr="'>f8'"), READ),
    "fortran": (partial(described, order="True"), READ),
    "subarray": (lambda: saved(alone=np.zeros(4, [("x", "f4"), ("y", "f4"), ("z", "f4", (2, 2))])), "one number"),
    "nested-fields": (lambda: saved(alone=np.zeros(4, [("x", [("a", "f4")]), ("y", "f4"), ("z", "f4")])), REFUSED),
    "huge-subarray": (partial(described, "(1,)", "[('x', '<f4', (1000000000,)), ('y', '<f4'), ('z', '<f4')]"), REFUSED),
    "empty-subarray": (partial(described, "(4,)", "[('x', '<f4', (0,)), ('y', '<f4'), ('z', '<f4')]"), REFUSED),
    "many-fields": (lambda: fields(*["f4"] * 20_000), REFUSED),
    "wrapping-record": (partial(described, "(1,)", f"'({2**28},)f4,f4,f4,f4,{f'({2**28},)f4,' * 3}f4'"), "can count"),
    "same-fields": (partial(described, "(4,)", "[('x', '<f4'), ('x', '<f4'), ('z', '<f4')]"), REFUSED),
    "columns": (lambda: saved(alone=np.zeros((1, 10**6), "u1")), "at most 10,000 columns"),
    "empty-columns": (lambda: saved(alone=np.zeros((0, 3))), "it is empty"),
    "nan": (lambda: saved(alone=np.full((4, 3), np.nan)), "finite"),
    "large": (lambda: saved(alone=np.full((4, 3), 1e300)), "finite"),
}

# PLY and PCD


def header(elements: str, body: bytes = b"", form: str = "binary_little_endian") -> bytes:
    return f"ply\nformat {form} 1.0\n{elements}end_header\n".encode() + body


XYZ = "property float x\nproperty float y\nproperty float z\n"
FORMS = ("ascii", "binary_little_endian", "binary_big_endian")
PLY: dict[str, tuple[Callable[[], bytes], str]] = {
    **{
        f"{form}-vertices": (lambda form=form: ply(form).replace(b"vertex 4", b"vertex 1000000000"), "cut short")
        for form in FORMS
    },
    **{
        f"{form}-digits": (lambda form=form: ply(form).replace(b"vertex 4", b"vertex " + b"9" * 5000), REFUSED)
        for form in FORMS
    },
    **{
        f"{form}-faces": (
            lambda form=form: ply(form, ply_faces(form, *SQUARE)).replace(b"face 2", b"face 4000000000"),
            "cut short",
        )
        for form in FORMS
    },
    "list": (
        partial(header, f"element vertex 1\n{XYZ}property list uint double a\n", bytes(12) + b"\xff" * 40),
        "cut short",
    ),
    "negative-list": (
        partial(header, f"element vertex 1\n{XYZ}property list int uchar a\n", bytes(12) + b"\xff" * 40),
        "cut short",
    ),
    "empty-lists": (
        partial(header, f"element vertex {BILLION}\nproperty list uchar float x\n", bytes(100)),
        "cut short",
    ),
    "no-properties": (partial(header, f"element vertex {BILLION}\n"), REFUSED),
    "many-properties": (
        partial(
            header, "element vertex 1\n" + XYZ + "".join(f"property char p{k}\n" for k in range(30_000)), bytes(30_012)
        ),
        EITHER,
    ),
    "many-elements": (partial(header, "".join(f"element e{k} 0\n" for k in range(50_000))), REFUSED),
    "same-properties": (partial(header, "element vertex 1\n" + "property float x\n" * 3, bytes(12)), "different names"),
    "two-elements": (partial(header, f"element vertex 1\n{XYZ}element vertex 1\n{XYZ}", bytes(24)), EITHER),
    "long-line": (partial(header, "comment " + "a" * 2**21 + "\n"), "must begin with the header"),
    "uneven-faces": (
        partial(
            header,
            f"element vertex 1\n{XYZ}element face 70000\nproperty list uchar int vertex_indices\n",
            bytes(12) + b"\0" * 69_999 + b"\1" + bytes(4),
        ),
        EITHER,
    ),
    "wide-face": (
        partial(
            header,
            f"element vertex 1\n{XYZ}element face 1\nproperty list uint uchar vertex_indices\n",
            bytes(12) + struct.pack("<I", 100_000) + bytes(100_000),
        ),
        EITHER,
    ),
    "corners": (lambda: ply("ascii", b"3 0 1 99\n3 0 1 -7\n"), "must use the vertices"),
    "words": (lambda: ply("ascii").replace(b"7.25", b"x"), "must hold numbers"),
    "nan": (lambda: ply("ascii").replace(b"7.25", b"nan"), "finite"),
    "format": (lambda: ply("ascii").replace(b"format ascii", b"format morse"), "must belong to the header"),
}


def wrapping_pcd() -> bytes:
    """Return a file whose record has 4 GiB and 24 bytes, which are 24 in 32 bits; x would be a GiB behind its start."""
    before, behind = 2**11, 3 * 2**11
    counts = b"65536 " * before + b"1 1 1 " + b"65536 " * behind
    names, sizes = b"a " * before + b"x y z " + b"b " * behind, b"8 " * (before + 3 + behind)
    head = b"FIELDS " + names + b"\nSIZE " + sizes + b"\nTYPE " + sizes.replace(b"8", b"F") + b"\nCOUNT " + counts
    return head + b"\nPOINTS 1\nDATA binary\n" + bytes(96)


PCD: dict[str, tuple[Callable[[], bytes], str]] = {
    **{
        f"{data}-points": (lambda data=data: pcd(data).replace(b"POINTS 4", b"POINTS 1000000000"), REFUSED)
        for data in ("ascii", "binary", "binary_compressed")
    },
    **{
        f"{data}-width": (
            lambda data=data: (
                pcd(data)
                .replace(b"POINTS 4\n", b"")
                .replace(b"WIDTH 4\nHEIGHT 1", b"WIDTH " + b"9" * 30 + b"\nHEIGHT " + b"9" * 30)
            ),
            REFUSED,
        )
        for data in ("ascii", "binary", "binary_compressed")
    },
    **{
        f"{data}-count": (lambda data=data: pcd(data).replace(b"COUNT 1 1 1 1", b"COUNT 1 1 1 65536"), REFUSED)
        for data in ("ascii", "binary", "binary_compressed")
    },
    "negative": (lambda: pcd().replace(b"POINTS 4", b"POINTS -4"), "valid number of points"),
    "none": (lambda: pcd().replace(b"POINTS 4", b"POINTS 0"), "it is empty"),
    "size": (lambda: pcd(sizes="4 4 4 9"), "SIZE 1, 2, 4 or 8"),
    "huge-count": (lambda: pcd().replace(b"COUNT 1 1 1 1", b"COUNT 1 1 1 " + b"9" * 5000), REFUSED),
    "many-fields": (lambda: b"FIELDS " + b"x " * 10_000 + b"\nWIDTH 1\nDATA binary\n" + bytes(40_000), REFUSED),
    "wrapping-record": (wrapping_pcd, "must have"),
    "endless-header": (lambda: b"VERSION 1\n" * 10**5, "must begin with the header"),
    "compressed-bomb": (
        lambda: (
            b"FIELDS x y z\nPOINTS 100000\nDATA binary_compressed\n" + struct.pack("<II", 20, 1_200_000) + b"\xff" * 20
        ),
        "compressed at most",
    ),
    "compressed-lie": (
        lambda: b"FIELDS x y z\nPOINTS 100\nDATA binary_compressed\n" + struct.pack("<II", 40, 1200) + b"\xff" * 40,
        "must unpack to",
    ),
    "compressed-cut": (lambda: pcd("binary_compressed")[:-30], REFUSED),
}

# LAS


def las_with(change: bytes, place: int, *, compressed: bool = False, newer: bool = False) -> bytes:
    """Return a scan with other bytes at a place of its header."""
    data = bytearray(las(form=7 if newer else 0, version="1.4" if newer else "1.2", compressed=compressed))
    data[place : place + len(change)] = change
    return bytes(data)


def after(data: bytes, word: bytes, place: int, change: bytes) -> bytes:
    """Return a file with other bytes at a place behind a word."""
    at = data.index(word) + place
    return data[:at] + change + data[at + len(change) :]


FULL = b"\xff" * 8
LAS: dict[str, tuple[Callable[[], bytes], str]] = {
    **{
        f"{name}-{what}": (
            partial(las_with, change, place, compressed=name.startswith("laz"), newer="new" in name),
            fact,
        )
        for name in ("las", "las-new", "laz", "laz-new")
        for what, change, place, fact in (
            ("count", FULL[:4], 247 if "new" in name else 107, "must fit into the file"),
            ("start", FULL[:4], 96, REFUSED),
            ("head", b"\xff\xff", 94, EITHER),
            ("records", FULL[:4], 100, EITHER),
            ("kind", b"\xbf", 104, "format from 0 to 10"),
            ("size", b"\xff\xff", 105, REFUSED),
            ("scale", b"\xff" * 24, 131, "finite"),
            ("offset", struct.pack("<3d", 1e300, 1e300, 1e300), 155, "finite"),
        )
    },
    **{
        f"laz{new}-record-{place}": (
            partial(
                lambda new, place: after(
                    las(form=7 if new else 0, version="1.4" if new else "1.2", compressed=True),
                    b"laszip encoded",
                    52 + place,
                    b"\xff\xff\xff\xff",
                ),
                new,
                place,
            ),
            EITHER,
        )
        for new in ("", "-new")
        for place in (0, 2, 4, 12, 16, 32, 34, 36, 38)
    },
    **{
        f"laz{new}-chunk-{place}": (
            partial(
                lambda new, place: (lambda data, at: data[:at] + FULL + data[at + 8 :])(
                    (whole := las(form=7 if new else 0, version="1.4" if new else "1.2", compressed=True)),
                    struct.unpack_from("<I", whole, 96)[0] + place,
                ),
                new,
                place,
            ),
            EITHER,
        )
        for new in ("", "-new")
        for place in (0, 8, 28, 36, 38, 42, 46, 50, 60, 70)
    },
    "las-cut": (lambda: las()[:-5], "must fit into the file"),
    "laz-cut": (lambda: las(compressed=True)[:-20], REFUSED),
    "las-header": (lambda: las()[:200], "must begin with the header"),
}

# Text and meshes

TEXT: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "columns": ("txt", lambda: b"1 " * 10**6, "at most 10,000 columns"),
    "count": ("pts", lambda: b"1000000000\n1 2 3\n", "announces 1000000000 points"),
    "digits": ("pts", lambda: b"9" * 6000 + b"\n1 2 3\n", REFUSED),
    "long-number": ("xyz", lambda: b"1 2 " + b"3" * 10**6 + b"\n", "finite"),
    "long-line": ("xyz", lambda: b"a" * 10**7, "must hold numbers"),
    "blank": ("xyz", lambda: b"\n" * 10**6, "it is empty"),
    "nuls": ("xyz", lambda: bytes(10**6), REFUSED),
    "utf-16": ("csv", lambda: "x,y,z\n1,2,3\n".encode("utf-16"), "UTF-8"),
    "uneven": ("csv", lambda: b"x,y,z\n1,2,3\n1,2\n", "must hold"),
    "names": ("csv", lambda: b",".join(b"c%d" % k for k in range(20_000)) + b"\n" + b"1," * 19_999 + b"1\n", REFUSED),
    "same-names": ("csv", lambda: b"x,y,z,a,A\n1,2,3,4,5\n", "different names"),
    "separators": ("xyz", lambda: "1\u2028 2\x85 3\x1c\n".encode(), REFUSED),
    "lines": ("xyz", lambda: b"0 0 0\n" * 20_000, READ),
    "comments": ("xyz", lambda: b"#\n" * 300_000 + b"1 2 3\n", READ),
}
MESHES: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "off-vertices": ("off", lambda: OFF.replace(b"4 2 0", b"1000000000 2 0"), REFUSED),
    "off-faces": ("off", lambda: OFF.replace(b"4 2 0", b"4 1000000000 0"), "cut short"),
    "off-negative": ("off", lambda: OFF.replace(b"4 2 0", b"-4 2 0"), "negative"),
    "off-digits": ("off", lambda: OFF.replace(b"4 2 0", b"9" * 5000 + b" 2 0"), REFUSED),
    "off-corners": ("off", lambda: OFF.replace(b"3 0 1 2", b"1000000000 0 1 2"), "fewer corners"),
    "off-polygon": ("off", lambda: OFF.replace(b"3 0 1 2", b"100000" + b" 0" * 100_000), EITHER),
    "off-minus": ("off", lambda: OFF.replace(b"3 0 1 2", b"-3 0 1 2"), REFUSED),
    "off-large": ("off", lambda: OFF.replace(b"3 0 1 2", b"3 0 1 " + b"9" * 30), REFUSED),
    "off-long": ("off", lambda: OFF.replace(b"3 0 1 2", b"3 0 1 " + b"9" * 10**6), REFUSED),
    "obj-corner": ("obj", lambda: OBJ.replace(b"f 1 3 -1", b"f 1 3 1000000000"), "must use the vertices"),
    "obj-minus": ("obj", lambda: OBJ.replace(b"f 1 3 -1", b"f 1 3 -99"), "must use the vertices"),
    "obj-large": ("obj", lambda: OBJ.replace(b"f 1 3 -1", b"f 1 3 " + b"9" * 40), REFUSED),
    "obj-digits": ("obj", lambda: OBJ.replace(b"f 1 3 -1", b"f 1 3 " + b"9" * 5000), REFUSED),
    "obj-polygon": ("obj", lambda: OBJ + b"f" + b" 1" * 100_000 + b"\n", READ),
    "obj-short": ("obj", lambda: OBJ + b"f 1\nf\nf 1 2\n", READ),
    "obj-no-vertices": ("obj", lambda: b"f 1 2 3\n", "must hold vertices"),
    "obj-lines": ("obj", lambda: b"v 0 0 0\n" * 3 + b"f 1 2 3\n" * 100_000, EITHER),
    "stl-count": ("stl", lambda: bytes(80) + b"\xff" * 4 + bytes(50), "need"),
    "stl-text": ("stl", lambda: STL.replace(b"vertex 1 1 0", b"vertex 1 1"), REFUSED),
    "stl-lines": ("stl", lambda: b"solid\n" + b"vertex 0 0 0\n" * 30_000, EITHER),
    "stl-nan": ("stl", lambda: bytes(80) + struct.pack("<I", 1) + b"\xff" * 50, "finite"),
}


def triangle(size: float) -> bytes:
    """Return an STL file of one triangle: 84 bytes and 50 more."""
    corners = np.array([[0, 0, 0], [size, 0, 0], [0, size, 0]], "<f4")
    return bytes(80) + struct.pack("<I", 1) + bytes(12) + corners.tobytes() + bytes(2)


def needle() -> bytes:
    """Return an STL file of a triangle that is 5,000 times as long as the longest edge that it may have."""
    return triangle(0.01)[:-14] + np.array([100], "<f4").tobytes() + triangle(0.01)[-10:]


def needles(count: int) -> bytes:
    """Return triangles that are long and thin: their sides are divided, and their areas are tiny."""
    corners = np.zeros((count, 3, 3), "<f4")
    corners[:, 1, 0], corners[:, 2, 1] = 50, 1e-6
    rows = np.zeros(count, [("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attributes", "<u2")])
    rows["corners"] = corners
    return bytes(80) + struct.pack("<I", count) + rows.tobytes()


UNITS = [
    Crafted("kilometre.stl", "mesh", partial(triangle, 1000.0), "Its units look wrong"),
    Crafted("needle.stl", "mesh", needle, "Its units look wrong"),
    Crafted("light-year.stl", "mesh", partial(triangle, 1e30), "check the units"),
    Crafted("nanometre.stl", "mesh", partial(triangle, 1e-9), EITHER),
    Crafted("point.stl", "mesh", partial(triangle, 0.0), EITHER),
    Crafted("needles.stl", "mesh", partial(needles, 300), EITHER),
    Crafted("stray.npy", "predicted", lambda: saved(alone=np.diag([1e30, 1e30, 1e30])), EITHER),
    Crafted("spread.npy", "predicted", lambda: saved(alone=np.random.default_rng(0).random((3000, 4)) * 1e6), EITHER),
    Crafted("one-place.npy", "predicted", lambda: saved(alone=np.zeros((20_000, 4))), EITHER),
    Crafted("width.npy", "predicted", lambda: saved(alone=np.zeros((20, 9))), EITHER),
]
FILES = [
    *(Crafted(f"npy-{name}.npy", "points", make, fact) for name, (make, fact) in NPY.items()),
    *(Crafted(f"npz-{name}.npz", "arrays", partial(zipped, NPY[name][0]), EITHER) for name in list(NPY)[::3]),
    *(Crafted(f"ply-{name}.ply", "points", make, fact) for name, (make, fact) in PLY.items()),
    *(Crafted(f"pcd-{name}.pcd", "points", make, fact) for name, (make, fact) in PCD.items()),
    *(Crafted(f"{name}.{name[:3]}", "points", make, fact) for name, (make, fact) in LAS.items()),
    *(Crafted(f"text-{name}.{ending}", "points", make, fact) for name, (ending, make, fact) in TEXT.items()),
    *(Crafted(f"{name}.{ending}", "points", make, fact) for name, (ending, make, fact) in MESHES.items()),
    *UNITS,
]
