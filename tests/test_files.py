"""Data live where the environment says, and a digest is what other tools would compute."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from edgecond.errors import DataError
from edgecond.files import data_directory, digest, locate
from tests.sentences import refused


def test_data_live_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """EDGECOND_DATA first, then the cache directory of the XDG specification, then ~/.cache."""
    monkeypatch.setenv("EDGECOND_DATA", str(tmp_path))
    assert data_directory() == tmp_path
    monkeypatch.delenv("EDGECOND_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert data_directory() == Path("/somewhere/edgecond")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert data_directory() == Path.home() / ".cache" / "edgecond"


def test_a_missing_file_is_a_sentence_that_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("EDGECOND_DATA", str(tmp_path))
    with refused(
        f"sydney needs {tmp_path / 'sydney' / 'a.tar.gz'}, which is not there. Run `edgecond fetch sydney`, "
        "or set EDGECOND_DATA to the directory that holds your copy.",
        DataError,
    ):
        locate("sydney", "a.tar.gz")


def test_the_digest_is_the_sum_of_the_list_that_sha256sum_prints(tmp_path: Path):
    """By hand: two spaces between sum and name, one line each, sorted by name."""
    one, two = hashlib.sha256(b"1").hexdigest(), hashlib.sha256(b"2").hexdigest()
    expected = hashlib.sha256(f"{two}  a\n{one}  b\n".encode()).hexdigest()

    assert digest({"b": one, "a": two}) == expected
