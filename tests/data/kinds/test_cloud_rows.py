"""Clouds in memory are read as those of the training set."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from edgecond.data.kinds import check_rows, KINDS
from edgecond.data.kinds.cloud_rows import CloudReader, is_cloud
from edgecond.errors import DataError
from tests.sentences import refused


def test_arrays_must_have_the_columns_of_the_training_set():
    rows = [np.random.default_rng(0).random((5, 4)), np.random.default_rng(1).random((6, 4))]
    reader = CloudReader.of(rows)

    (cloud,) = reader.unlabelled(rows[:1]).clouds

    assert (reader.width, len(reader.about["columns"])) == (4, 1)
    torch.testing.assert_close(cloud.signal[:, 0], torch.tensor(rows[0][:, 3], dtype=torch.float32))
    with pytest.raises(DataError, match="row 0 of X must have 4 columns, as in training: it has 3"):
        reader.unlabelled([rows[0][:, :3]])
    with pytest.raises(DataError, match="clouds must have the same columns: row 0 of X has 4, and row 1 has 3"):
        CloudReader.of([rows[0], rows[1][:, :3]])


def test_arrays_take_the_columns_of_files_in_their_order():
    """A model of the command line has names of columns; an array has none."""
    reader = CloudReader(("intensity", "red"))
    row = np.array([[0, 0, 0, 7, 9], [1, 1, 1, 8, 10]], float)

    (cloud,) = reader.unlabelled([row]).clouds

    assert cloud.signal.tolist() == [[7, 9], [8, 10]]


def test_a_text_that_ends_as_a_file_of_points_is_its_path(tmp_path):
    """Whether it is a `Path` or not makes no difference; a file that does not exist is reported as such."""
    np.save(path := tmp_path / "a.npy", np.random.default_rng(0).random((5, 4)))
    reader = CloudReader.of([path, str(path)])

    one, other = reader.unlabelled([path, str(path)]).clouds

    assert one.positions.equal(other.positions)
    assert one.signal.equal(other.signal)
    check_rows([str(path), path], KINDS["clouds"])
    with refused(f"{tmp_path}/b.ply must be a file with a cloud: there is no such file.", DataError):
        reader.unlabelled([f"{tmp_path}/b.ply"])


def test_a_cloud_without_points_is_reported():
    with refused("row 1 of X holds an empty cloud: at least one point is needed.", DataError):
        CloudReader(("column 4",), 4).unlabelled([np.ones((2, 4)), np.empty((0, 4))])


@pytest.mark.parametrize("row", [np.zeros(3), "CCO", b"CCO", [], [1.0, 2.0], None])
def test_what_is_no_table_is_no_cloud(row):
    assert not is_cloud(row)
