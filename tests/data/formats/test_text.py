"""Points as text: with any separator, with and without names, counts and comments."""

from __future__ import annotations

import pytest

from edgecond.data.formats.text import read
from tests.sentences import mentions, refused


def columns(text: str) -> dict[str, list[float]]:
    return {name: column.tolist() for name, column in read(text.encode()).columns.items()}


@pytest.mark.parametrize(
    "text",
    [
        "1 2 3 4\n5 6 7.5 8\n",
        "1,2,3,4\r\n5,6,7.5,8\r\n",
        "1\t2\t3\t4\n5\t6\t7.5\t8",
        " 1 , 2,3 ,4\n\n5, 6,7.5,8,\n",
        "1;2;3;4\n5;6;7,5;8\n",
        "# a comment\n1 2 3 4 # another\n// and one more\n5 6 7.5 8\n",
        "\ufeff1e0 2 3 4\n5 6 75e-1 8\n",
    ],
    ids=["blanks", "commas", "tabs", "both", "semicolons and decimal commas", "comments", "byte order mark"],
)
def test_separators_comments_and_line_ends_do_not_matter(text: str):
    assert columns(text) == {"x": [1, 5], "y": [2, 6], "z": [3, 7.5], "column 4": [4, 8]}


@pytest.mark.parametrize(
    "header",
    [
        "intensity,x,y,z",
        'Intensity;"X";"Y";"Z"',
        "I X Y Z",
        "# i x y z",
        "//I X Y Z",
        "# written in 2020\n# i\tx\ty\tz",
    ],
)
def test_a_header_names_the_columns(header: str):
    assert columns(f"{header}\n4 1 2 3\n8 5 6 7\n") == {"intensity": [4, 8], "x": [1, 5], "y": [2, 6], "z": [3, 7]}


@pytest.mark.parametrize("header", ["e,n,h", "first second third", "# relative_x relative_y relative_z"])
def test_names_need_not_be_x_y_and_z(header: str):
    """`axes.arrange` decides later which of them are x, y and z."""
    titles = header.removeprefix("# ").replace(",", " ").split()

    assert columns(f"{header}\n1 2 3\n") == dict(zip(titles, [[1], [2], [3]], strict=True))


def test_a_comment_with_other_words_names_no_columns():
    assert list(columns("# three plain words\n1 2 3\n")) == [*"xyz"]


def test_names_may_have_blanks_between_commas():
    assert list(columns("x,y,z,scan angle,R,G,B\n1,2,3,4,5,6,7\n")) == [*"xyz", "scan angle", "red", "green", "blue"]


@pytest.mark.parametrize(
    "text",
    [
        ",x,y,z\n0,1,2,3\n1,4,5,6\n",
        '"";x;y;z\n0;1;2;3\n1;4;5;6\n',
        "x,y,z,\n1,2,3,\n4,5,6,\n",
        "x,y,z,,\n1,2,3,,\n4,5,6\n",
        "x,y,z\n1,2,3,\n4,5,6,\n",
        ",x,,y,z,\n0,1,8,2,3,\n1,4,9,5,6,\n",
    ],
    ids=["index of pandas", "quotes", "comma at the end", "commas at the end", "only below", "several"],
)
def test_columns_without_a_name_are_left_out(text: str):
    """As `DataFrame.to_csv` writes the numbers of rows, which are no measurement."""
    assert columns(text) == {"x": [1, 4], "y": [2, 5], "z": [3, 6]}


@pytest.mark.parametrize(
    ("row", "names"),
    [
        ("1 2 3", []),
        ("1 2 3 -100", ["intensity"]),
        ("1 2 3 4 5 6", ["red", "green", "blue"]),
        ("1 2 3 4 5 6 7", ["intensity", "red", "green", "blue"]),
        ("1 2 3 4 5", ["column 4", "column 5"]),
    ],
)
def test_a_count_in_the_first_line_means_the_columns_of_pts(row: str, names: list[str]):
    assert list(columns(f"2\n{row}\n{row}\n")) == [*"xyz", *names]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it must hold at least one point: it is empty"),
        ("# nothing\n", "it must hold at least one point: it is empty"),
        ("x y z\n", "it must hold at least one point: it is empty"),
        ("1 2 3\n1 2\n", "line 2 must hold 3 numbers ... 2"),
        ("1 2 3\n\n# here\n1 two 3\n", "line 4 must hold numbers ... 'two'"),
        ("1 2\n", "it must have columns x, y, z and perhaps others ... (1, 2)"),
        ("in 1 line\n1 2 3\n", "line 1 must hold numbers or the names of the columns: found 'in 1 line'"),
        ("x,y,z,i\n1,2,3\n", "line 2 must hold a number for each of x, y, z, i: found 3"),
        ("x,y,z,i\n1,2,3,\n", "line 2 must hold a number for each of x, y, z, i: found 3"),
        ("x,y,z,i\n1,2,3,\n1,2,3,4\n", "line 2 must hold 4 numbers: found 3"),
        ("x,y,z,i\n1,2,3,4\n1,2,,4\n", "line 3 must hold a number between two commas: found none in '1,2,,4'"),
        ("1, 2, , 4\n", "line 1 must hold a number between two commas: found none in '1, 2, , 4'"),
        (",1,2,3\n", "line 1 must hold a number before its first comma: found none in ',1,2,3'"),
        ("1;2;;4\n", "line 1 must hold a number between two semicolons: found none in '1;2;;4'"),
        ("1,5 2,5 3,5\n", "line 1 must have commas or blanks between its numbers, not both: found '1,5 2,5 3,5'"),
        ("1,5\t2,5\t3,5\n", "line 1 must have commas or blanks between its numbers, not both"),
        ("1 2 3\n1 2, 3\n", "line 2 must have commas or blanks between its numbers, not both: found '1 2, 3'"),
        ("1 000;2;3\n", "line 1 must have semicolons or blanks between its numbers, not both: found '1 000;2;3'"),
        ("x,y,z,Z\n1,2,3,4\n", "its columns must have different names: two are called 'z'"),
        ("3\n1 2 3\n1 2 3\n", "line 1 announces 3 points: found 2"),
    ],
)
def test_text_that_is_no_cloud_is_reported(text: str, reason: str):
    with mentions(reason):
        read(text.encode())


def test_bytes_that_are_no_text_are_reported():
    with refused("it must be text in UTF-8: byte 4 is 0xff"):
        read(b"1 2 \xff")
