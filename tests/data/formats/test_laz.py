"""Compressed points: what lazrs would trust is checked first, and points are compressed as they were."""

from __future__ import annotations

import struct
import sys

import pytest

from edgecond.data.formats import laz
from edgecond.data.formats.las import header, laszip, read
from tests.data.formats.files import las
from tests.data.formats.test_las import changed, COLOURS
from tests.sentences import mentions


def test_false_tables_of_chunks_are_reported():
    """lazrs would allocate memory for as many chunks as the table announces."""
    data = las(compressed=True)
    (start,) = struct.unpack_from("<I", data, 96)
    (table,) = struct.unpack_from("<q", data, start)

    with mentions("its 4294967295 chunks of compressed points must fit"):
        read(changed(data, table + 4, "<I", 2**32 - 1))
    with mentions("must have a table of chunks"):
        read(changed(data, start, "<q", 2**40))


def test_compressed_points_cut_short_are_reported(real):
    """The table of chunks moved to the middle, and the file cut behind it: half of the points are gone."""
    data = real("pointcloud-io/simple.laz").read_bytes()
    (start,) = struct.unpack_from("<I", data, 96)
    (table,) = struct.unpack_from("<q", data, start)
    middle = (start + table) // 2

    with pytest.raises(ValueError, match=r"^its compressed points are damaged \(.+\)$"):
        read(changed(data, start, "<q", middle)[:middle] + data[table:])


def test_without_lazrs_the_extra_to_install_is_named(monkeypatch: pytest.MonkeyPatch):
    data = las(compressed=True)
    monkeypatch.setitem(sys.modules, "lazrs", None)

    with mentions("need lazrs ... pip install 'edgecond[clouds]'"):
        read(data)


def test_layers_that_claim_more_than_their_chunk_are_reported():
    """lazrs would allocate 4 GiB; the sizes of the layers follow eight bytes, an uncompressed point and a count."""
    data = las(form=7, version="1.4", compressed=True, colours=COLOURS)
    (start,), (size,) = struct.unpack_from("<I", data, 96), struct.unpack_from("<H", data, 105)

    with pytest.raises(ValueError, match=r"^its compressed points are damaged \(.*layers of 4,294,967,"):
        read(changed(data, start + 8 + size + 4, "<I", 2**32 - 1))


@pytest.mark.parametrize("form", [0, 3, 6, 8])
def test_a_record_is_kept_if_it_compresses_the_same_points(form: int):
    """The record of laspy, with chunks of 1,000 points; not with more bytes per point, or chunks of different sizes."""
    data = las(form=form, version="1.4" if form > 3 else "1.2", compressed=True)
    like = changed(laszip(data, header(data)), 12, "<I", 1000)

    assert laz.new_record(form, 0, like) == like
    assert struct.unpack_from("<I", laz.new_record(form, 4, like), 12)[0] == 50_000
    assert struct.unpack_from("<I", laz.new_record(form, 0, changed(like, 12, "<I", 2**32 - 1)), 12)[0] == 50_000
    assert laz.new_record(form, 0)[32:] == like[32:]
