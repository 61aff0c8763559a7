"""A folder of clouds with a column of classes becomes examples for segmentation."""

from pathlib import Path

import pytest

from edgecond.data.segmented import read
from edgecond.errors import DataError


def test_classes_are_numbered_in_ascending_order_over_all_files(tmp_path: Path):
    """By hand: the classes 3, 7 and 9 become 0, 1 and 2; -1 is unknown; sub-folders are read in the order of names."""
    (tmp_path / "b").mkdir()
    (tmp_path / "b/two.csv").write_text("x,y,z,label\n0,0,0,9\n1,0,0,3\n")
    (tmp_path / "a.csv").write_text("x,y,z,label\n0,0,0,7\n1,0,0,-1\n2,0,0,3\n")

    examples = read(tmp_path, "label").examples

    assert examples.classes == ("3", "7", "9")
    assert [examples[index][0].y.tolist() for index in range(2)] == [[1, -1, 0], [2, 0]]


def test_a_column_with_a_single_class_is_an_error(tmp_path: Path):
    (tmp_path / "a.csv").write_text("x,y,z,label\n0,0,0,1\n1,0,0,1\n")

    with pytest.raises(DataError, match=r"the column 'label' must .* 2 to 256 classes"):
        read(tmp_path, "label")
