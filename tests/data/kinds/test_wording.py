"""Skipped files are named one by one until they are many."""

from edgecond.data.kinds.wording import SHOWN, skipped


def test_many_skipped_files_are_counted():
    lines = skipped([f"file {number}" for number in range(SHOWN + 3)])

    assert (lines[0], lines[-1], len(lines)) == ("skipped: file 0", "skipped: 3 more", SHOWN + 1)
    assert skipped(["file 0"]) == ["skipped: file 0"]
