"""Tables of spreadsheets and databases are read alike, and their columns decide between classes and real numbers."""

from __future__ import annotations

import codecs
import gzip
from pathlib import Path

import numpy as np
import pytest

from edgecond.data.formats.columns import interpret, interpret_feature, parse_names, read_csv
from edgecond.errors import DataError
from tests.sentences import mentions, refused

TEXT = 'name,smiles,µM\n"N,N\'-dimethylurea",CNC(=O)NC,3.5\n"""pure"" water",O,1\n'
ROWS = (("N,N'-dimethylurea", "CNC(=O)NC", "3.5"), ('"pure" water', "O", "1"))


def write(folder: Path, data: bytes) -> Path:
    path = folder / "own.csv"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        codecs.BOM_UTF8 + TEXT.encode(),
        TEXT.encode("utf-16"),
        TEXT.encode("latin-1"),
        TEXT.replace("\n", "\r\n").encode(),
        b'name;smiles;\xc2\xb5M\nN,N\'-dimethylurea;CNC(=O)NC;3.5\n"""pure"" water";O;1',
        b'name\tsmiles\t\xc2\xb5M\nN,N\'-dimethylurea\tCNC(=O)NC\t3.5\n"""pure"" water"\tO \t1\n',
    ],
    ids=["plain", "mark", "UTF-16", "Latin-1", "Windows", "semicolons", "tabs"],
)
def test_one_table_can_be_saved_in_many_ways(data: bytes, tmp_path: Path):
    table = read_csv(write(tmp_path, data))

    assert (table.header, table.rows, table.numbers) == (("name", "smiles", "µM"), ROWS, (2, 3))
    assert (table.column("µM"), table.numeric()) == (("3.5", "1"), ["µM"])


@pytest.mark.parametrize(
    ("line", "header"),
    [
        (b"smiles;logS, mol/L", ("smiles", "logS, mol/L")),
        (b"smiles\tlogS, mol/L", ("smiles", "logS, mol/L")),
        (b'smiles,"x;y"', ("smiles", "x;y")),
        (b'"logS, mol/L";smiles', ("logS, mol/L", "smiles")),
        (b"smiles,x;y,z", ("smiles", "x;y", "z")),
        (b"smiles", ("smiles",)),
    ],
)
def test_commas_may_be_part_of_the_names_of_columns(line: bytes, header: tuple[str, ...], tmp_path: Path):
    """Spreadsheets quote the delimiter, so a name with a comma needs no quotes beside semicolons and tabs."""
    assert read_csv(write(tmp_path, line + b"\nC\n")).header == header


def test_a_compressed_table_is_read(tmp_path: Path):
    path = tmp_path / "own.csv.gz"
    path.write_bytes(gzip.compress(TEXT.encode()))

    assert read_csv(path).rows == ROWS


def test_rows_are_numbered_as_a_spreadsheet_shows_them(tmp_path: Path):
    """By hand: a field with a line break is one row, an empty line is one too, and a short row is left out."""
    table = read_csv(write(tmp_path, b'a,b\n"1\n2",x\n\n3\n,\n4,y\n'))

    assert (table.numbers, table.column("b")) == ((2, 6), ("x", "y"))
    assert table.uneven == ((4, "the row must have 2 fields, one for each column: found 1."),)


def test_what_is_no_table_is_reported(tmp_path: Path):
    for data, sentence in {
        b"": "{} must name its columns in the first line: the line is empty.",
        b"PK\3\4\0\0": "{} must be text: found binary data. Save the table as CSV.",
        b'a,b\n1,2\n"3,4\n5,6\n': "{}, row 3 must be a row of a table: unexpected end of data. "
        "Close its quotes, or shorten its fields.",
        b"a,b\n1," + b"C" * 200_000: "{}, row 2 must be a row of a table: field larger than field limit (131072). "
        "Close its quotes, or shorten its fields.",
    }.items():
        path = write(tmp_path, data)
        with refused(sentence.format(path), DataError):
            read_csv(path)
    with refused(f"{tmp_path / 'absent.csv'} cannot be read: No such file or directory.", DataError):
        read_csv(tmp_path / "absent.csv")


def test_columns_that_are_unknown_or_share_a_name_are_reported(tmp_path: Path):
    table = read_csv(write(tmp_path, b"smiles,dose,dose\nC,1,2\n"))
    with refused(f"{table.path} must name each column once: 2 columns are called 'dose'.", DataError):
        table.column("dose")
    with refused(f"{table.path} has no column 'Smile'. Did you mean smiles?", DataError):
        table.column("Smile")


# Targets


@pytest.mark.parametrize(
    ("texts", "values", "classes"),
    [
        (["0", "1", "1.0", ""], [0, 1, 1, np.nan], ("0", "1")),
        (["1", "1"], [1, 1], ("0", "1")),
        (["-1", "1", "NaN"], [0, 1, np.nan], ("-1", "1")),
        (["0.5", "-nan", "+NaN"], [0.5, np.nan, np.nan], ()),
        (["a", "-nan", "b"], [0, np.nan, 1], ("a", "b")),
        (["30", "7", "30"], [1, 0, 1], ("7", "30")),
        (["toxic", "none", "N/A", "toxic"], [1, 0, np.nan, 1], ("none", "toxic")),
        (["0.5", "1e3", "-2"], [0.5, 1000, -2], ()),
        ([str(count) for count in range(11)], list(range(11)), ()),
    ],
)
def test_the_fields_decide_on_classes_or_numbers(texts: list[str], values: list[float], classes: tuple[str, ...]):
    """By hand: classes are numbered in ascending order, as numbers if they are; 11 distinct counts are real numbers."""
    found, names = interpret("column", texts, range(len(texts)))

    np.testing.assert_array_equal(found, values)
    assert names == classes


def test_few_whole_numbers_are_numbers_where_those_are_asked_for():
    values, classes = interpret("rings", ["1", "2", "2"], range(3), numbers=True)

    assert (values.tolist(), classes) == ([1, 2, 2], ())


def test_numbers_may_have_decimal_commas_beside_semicolons(tmp_path: Path):
    table = read_csv(write(tmp_path, b"smiles;logP\nC;1,09\n"))

    assert (table.comma, table.numeric()) == (True, ["logP"])
    assert interpret("logP", table.column("logP"), table.numbers, comma=table.comma)[0].tolist() == [1.09]


def test_what_cannot_be_predicted_is_reported():
    for texts, numbers, sentence in (
        (["", "NA"], False, "c must hold values to predict: all of its 2 fields are blank."),
        (
            ["1.5", "<5"],
            False,
            "c must hold either numbers or names of classes: found '<5' in row 3. Blank it, or write a number.",
        ),
        (["a", "b"], True, "c must hold numbers: found 'a' in row 2. Blank it, or write a number."),
        (["1", "inf"], False, "c must hold finite numbers: found inf in row 3."),
        (
            [f"id{row}" for row in range(101)],
            False,
            "c must hold at most 100 classes: found 101. Choose another column to predict.",
        ),
    ):
        with refused(sentence, DataError):
            interpret("c", texts, range(2, 2 + len(texts)), numbers=numbers)


# Columns beside graphs


def test_a_column_of_numbers_is_a_feature_of_numbers_and_others_of_texts():
    """Whole numbers are numbers too, however few: unlike a target, a feature is never a class by its numbers."""
    whole = interpret_feature("here", ["0", "1", "NA", "1"], [2, 3, 4, 5])
    german = interpret_feature("here", ["3,14", ""], [2, 3], comma=True)
    words = interpret_feature("here", ["water", "", "1,4-dioxane"], [2, 3, 4])

    np.testing.assert_equal(whole, [0, 1, np.nan, 1])
    np.testing.assert_equal(german, [3.14, np.nan])
    assert words.tolist() == ["water", "", "1,4-dioxane"]


def test_features_that_are_blank_mixed_infinite_or_of_too_many_texts_are_refused():
    for texts, facts in (
        (["", "na"], ("all of its 2 fields are blank", "Leave it out")),
        (["1", "warm"], ("either numbers or names", "'warm' in row 3")),
        (["1", "inf"], ("finite numbers", "row 3")),
        ([f"t{n}" for n in range(101)], ("at most 100 different texts", "found 101")),
    ):
        with mentions("here", *facts, kind=DataError):
            interpret_feature("here", texts, list(range(2, 2 + len(texts))))


def test_names_of_columns_are_separated_by_commas_and_may_be_quoted():
    """As in a row of CSV."""
    assert parse_names('temperature, solvent,"yield, %",solvent') == ("temperature", "solvent", "yield, %")
