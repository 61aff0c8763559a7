"""A cloud in a file of its own is read, and a file that is none is answered by a sentence."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from edgecond.datasets import DataError
from edgecond.datasets.points import read_cloud

POINTS = np.array([[0.0, 1.0, 2.0, 0.5], [3.0, 4.5, -5.0, 1.0]])


@pytest.mark.parametrize("delimiter", [",", " ", ", ", "\t"])
@pytest.mark.parametrize("ending", [".csv", ".txt", ".xyz"])
def test_a_table_of_numbers_is_a_cloud(tmp_path, ending, delimiter):
    path = tmp_path / f"cloud{ending}"
    np.savetxt(path, POINTS, delimiter=delimiter)

    cloud = read_cloud(path, 1)

    np.testing.assert_array_equal(cloud.positions, POINTS[:, :3])
    np.testing.assert_array_equal(cloud.signal, POINTS[:, 3:])


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int16])
def test_a_matrix_in_numpys_format_is_a_cloud(tmp_path, kind):
    np.save(tmp_path / "cloud.npy", POINTS.astype(kind))

    np.testing.assert_array_equal(read_cloud(tmp_path / "cloud.npy", 1).positions, POINTS[:, :3].astype(kind))


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("cloud.npy", None, "there is none"),
        ("cloud.obj", b"", "of the kinds .npy, .csv, .txt, .xyz"),
        ("cloud.npy", b"", "cannot be read"),
        ("cloud.npy", b"\x93NUMPY\x01\x00", "cannot be read"),
        ("cloud.npy", pickle.dumps(POINTS), "cannot be read"),
        ("cloud.txt", b"1 2 3 4\n1 2 3\n", "cannot be read"),
        ("cloud.txt", b"x y z i\n", "cannot be read"),
        ("cloud.txt", b"\xff\xfe\x00", "cannot be read"),
        ("cloud.txt", b"1 2 3\n", r"must have 4 columns of numbers, x, y, z and 1 of the signal: found"),
        ("cloud.txt", b"1 2 3 nan\n", "the signal of point 0 is"),
        ("cloud.txt", b"1 2 inf 4\n", "the position of point 0 is"),
    ],
)
def test_a_file_that_is_no_cloud_gives_a_sentence(tmp_path, name, content, sentence):
    if content is not None:
        (tmp_path / name).write_bytes(content)

    with pytest.raises(DataError, match=sentence):
        read_cloud(tmp_path / name, 1)


@pytest.mark.filterwarnings("ignore:loadtxt")
@pytest.mark.parametrize("points", [np.zeros((0, 4)), np.zeros(4), np.array([[None] * 4])])
def test_an_empty_file_a_vector_and_objects_are_no_cloud(tmp_path, points):
    np.save(tmp_path / "cloud.npy", points, allow_pickle=True)

    with pytest.raises(DataError, match=r"empty cloud|must have 4 columns|cannot be read"):
        read_cloud(tmp_path / "cloud.npy", 1)
