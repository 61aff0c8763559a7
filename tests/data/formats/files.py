"""Small valid files of every format, written by hand or by another library."""

from __future__ import annotations

import io
import struct
from typing import Any

import laspy
import numpy as np

POINTS = np.array([[0.0, 1.0, 2.0], [3.0, 4.5, -5.0], [-6.5, 7.25, 8.0], [9.0, 0.125, 1.0]])
INTENSITY = np.array([7, 0, 255, 128])
VERTICES = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]  # of a square


def ply(form: str = "ascii", faces: bytes = b"") -> bytes:
    """The points with intensities, and one element of faces after them."""
    header = (
        f"ply\nformat {form} 1.0\ncomment by hand\nelement vertex 4\nproperty float x\nproperty float y\n"
        "property float z\nproperty uchar intensity\n"
    ).encode()
    if faces:
        header += b"element face 2\nproperty list uchar int vertex_indices\n"
    order = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}[form]
    rows = zip(POINTS.tolist(), INTENSITY.tolist(), strict=True)
    if not order:
        body = "".join(f"{x} {y} {z} {i}\n" for (x, y, z), i in rows).encode()
    else:
        body = b"".join(struct.pack(f"{order}fffB", *point, i) for point, i in rows)
    return header + b"end_header\n" + body + faces


def ply_faces(form: str, *polygons: list[int]) -> bytes:
    if form == "ascii":
        return "".join(f"{len(corners)} {' '.join(map(str, corners))}\n" for corners in polygons).encode()
    order = "<" if form == "binary_little_endian" else ">"
    return b"".join(struct.pack(f"{order}B{len(corners)}i", len(corners), *corners) for corners in polygons)


def pcd(
    data: str = "ascii", *, types: str = "F F F U", sizes: str = "4 4 4 1", names: str = "x y z intensity"
) -> bytes:
    """The points with intensities."""
    header = (
        f"# .PCD v0.7\nVERSION 0.7\nFIELDS {names}\nSIZE {sizes}\nTYPE {types}\nCOUNT 1 1 1 1\n"
        f"WIDTH 4\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS 4\nDATA {data}\n"
    ).encode()
    rows = list(zip(POINTS.tolist(), INTENSITY.tolist(), strict=True))
    if data == "ascii":
        return header + "".join(f"{x} {y} {z} {i}\n" for (x, y, z), i in rows).encode()
    if data == "binary":
        return header + b"".join(struct.pack("<fffB", *point, i) for point, i in rows)
    plain = POINTS.T.astype("<f4").tobytes() + INTENSITY.astype("u1").tobytes()
    packed = b"".join(bytes([len(part) - 1]) + part for part in (plain[k : k + 32] for k in range(0, len(plain), 32)))
    return header + struct.pack("<II", len(packed), len(plain)) + packed


def las(
    *, form: int = 0, version: str = "1.2", compressed: bool = False, colours: Any = None, classes: Any = (0, 0, 0, 0)
) -> bytes:
    """The points with intensities, a millimetre apart from their rounding, by laspy."""
    file = laspy.create(point_format=form, file_version=version)
    file.header.scales, file.header.offsets = [0.001] * 3, [100.0, 0.0, 0.0]
    file.x, file.y, file.z = POINTS.T
    file.intensity = INTENSITY
    file.classification = classes
    if colours is not None:
        file.red, file.green, file.blue = np.transpose(colours)
    buffer = io.BytesIO()
    file.write(buffer, do_compress=compressed, laz_backend=laspy.LazBackend.Lazrs)
    return buffer.getvalue()


def saved(**arrays: np.ndarray) -> bytes:
    """As .npz, or as .npy when there is but one array called `alone`."""
    buffer = io.BytesIO()
    if "alone" in arrays:
        np.save(buffer, arrays["alone"], allow_pickle=True)
    else:
        np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def stl() -> bytes:
    """The square in binary."""
    corners = [[VERTICES[k] for k in triangle] for triangle in ((0, 1, 2), (0, 2, 3))]
    rows = [struct.pack("<12fH", 0, 0, 1, *np.ravel(triangle), 0) for triangle in corners]
    return b"by hand".ljust(80) + struct.pack("<I", 2) + b"".join(rows)


OFF = b"OFF\n4 2 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 3\n"
OBJ = b"# square\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvn 0 0 1\nf 1//1 2//1 3//1\nf 1 3 -1\n"
STL = (
    b"solid square\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 1 1 0\nendloop\nendfacet\n"
    b"facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 1 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid square\n"
)
TABLE = np.column_stack([POINTS, INTENSITY])
SQUARE = [[0, 1, 2], [0, 2, 3]]


def every_kind() -> dict[str, tuple[str, bytes]]:
    """A file of each variant of each format: its ending and its bytes."""
    forms = ("ascii", "binary_little_endian", "binary_big_endian")
    return {
        **{f"ply {form}": (".ply", ply(form)) for form in forms},
        **{f"ply mesh {form}": (".ply", ply(form, ply_faces(form, *SQUARE))) for form in forms},
        **{f"ply polygons {form}": (".ply", ply(form, ply_faces(form, [0, 1, 2], [0, 1, 2, 3]))) for form in forms},
        **{f"pcd {data}": (".pcd", pcd(data)) for data in ("ascii", "binary", "binary_compressed")},
        "pcd rgb": (".pcd", pcd("ascii", types="F F F U", sizes="4 4 4 4", names="x y z rgb")),
        "las": (".las", las(form=2)),
        "las 1.4": (".las", las(form=7, version="1.4")),
        "laz": (".laz", las(form=3, compressed=True)),
        "laz 1.4": (".laz", las(form=7, version="1.4", compressed=True)),
        "off": (".off", OFF),
        "obj": (".obj", OBJ),
        "stl": (".stl", stl()),
        "stl text": (".stl", STL),
        "text": (".xyz", b"# by hand\n0 1 2 7\n3 4.5 -5 0\n"),
        "text with names": (".csv", b"x,y,z,intensity\n0,1,2,7\n3,4.5,-5,0\n"),
        "text with a count": (".pts", b"2\n0 1 2 7\n3 4.5 -5 0\n"),
        "npy": (".npy", saved(alone=TABLE)),
        "npz": (".npz", saved(points=POINTS, features=INTENSITY)),
    }
