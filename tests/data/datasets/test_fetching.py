"""Files are downloaded over https and verified, or nothing is left behind."""

from __future__ import annotations

import errno
import hashlib
import shutil
import urllib.error
import urllib.request
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

from edgecond import files as _files
from edgecond.data.datasets import fetching as _fetching
from edgecond.data.datasets.fetching import download, Source, sum_is
from edgecond.errors import DataError
from tests.data.datasets.answers import Answer, everything
from tests.sentences import refused

URL = "https://example.org/data.bin"


def good(path: Path) -> None:
    sum_is(hashlib.sha256(b"good").hexdigest())(path)


def test_a_download_appears_under_its_name_and_reports_its_progress(serve: Any, tmp_path: Path):
    asked, steps = serve(Answer(b"good", 4)), []

    download(URL, tmp_path / "new/data.bin", check=good, most=4, progress=lambda *step: steps.append(step))

    assert (tmp_path / "new/data.bin").read_bytes() == b"good"
    assert everything(tmp_path) == {"new", "new/data.bin"}
    assert (asked, steps) == ([URL], [(4, 4)])


def test_a_file_with_a_wrong_sum_is_an_error_and_discarded(serve: Any, tmp_path: Path):
    """Sums by hashlib."""
    serve(Answer(b"evil"))
    actual, expected = (hashlib.sha256(data).hexdigest() for data in (b"evil", b"good"))

    with refused(
        f"{URL} did not serve the expected file, so it was discarded: "
        f"data.bin must have the SHA-256 sum {expected}: found {actual}.",
        DataError,
    ):
        download(URL, tmp_path / "data.bin", check=good, most=100)

    assert not everything(tmp_path)


@pytest.mark.parametrize("length", [None, 200], ids=["unannounced", "announced"])
def test_a_download_that_exceeds_its_limit_is_an_error_and_discarded(serve: Any, tmp_path: Path, length: int | None):
    serve(Answer(bytes(200), length))

    with pytest.raises(DataError, match=rf"^{URL} must serve at most 100 bytes for data\.bin"):
        download(URL, tmp_path / "data.bin", check=good, most=100)

    assert not everything(tmp_path)


FAILURES = {
    "no network": (urllib.error.URLError("Name or service not known"), "Name or service not known"),
    "not found": (urllib.error.HTTPError(URL, 404, "Not Found", Message(), None), "Not Found"),
    "timeout": (TimeoutError("timed out"), "timed out"),
    "cut short": (Answer(b"go", 4), "the connection ended after 2 of 4 bytes"),
}


@pytest.mark.parametrize(("answer", "reason"), FAILURES.values(), ids=FAILURES)
def test_a_network_failure_is_an_error_that_says_what_to_do(serve: Any, tmp_path: Path, answer: Any, reason: str):
    serve(answer)

    with refused(
        f"{URL} could not be downloaded: {reason}. Check the network, or put the file at {tmp_path / 'data.bin'}.",
        DataError,
    ):
        download(URL, tmp_path / "data.bin", check=good, most=100)

    assert not everything(tmp_path)


def test_an_interrupted_download_leaves_nothing_behind(serve: Any, tmp_path: Path):
    """Ctrl-C raises KeyboardInterrupt, which is not an Exception."""
    serve(Answer(b"good"))

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        download(URL, tmp_path / "data.bin", check=good, most=100, progress=interrupt)

    assert not everything(tmp_path)


@pytest.mark.parametrize("url", ["http://example.org/a", "file:///etc/passwd", "ftp://example.org/a"])
def test_data_are_downloaded_over_https_only(serve: Any, tmp_path: Path, url: str):
    asked = serve(Answer(b"good"))

    with refused(f"data are downloaded over https only: got {url}.", DataError):
        download(url, tmp_path / "data.bin", check=good, most=100)
    with refused(f"data are downloaded over https only: got {url}.", DataError):  # by a redirect
        _fetching._HttpsOnly().redirect_request(urllib.request.Request(URL), None, 302, "Found", Message(), url)

    assert not asked


@pytest.mark.parametrize("place", ["mkdtemp", "fsync", "replace"])
@pytest.mark.parametrize("failure", [errno.EROFS, errno.ENOSPC])
def test_a_read_only_or_full_disk_is_an_error_and_nothing_is_left_behind(
    serve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, failure: int
):
    """The disk fails at the first step, after the data are written, or at the last step."""
    serve(Answer(b"good"))
    reason = OSError(failure, {errno.EROFS: "Read-only file system", errno.ENOSPC: "No space left on device"}[failure])

    def fail(*_: Any, **__: Any) -> None:
        raise reason

    owner = {"mkdtemp": _files.tempfile, "fsync": _files.os, "replace": Path}[place]
    monkeypatch.setattr(owner, place, fail)

    with pytest.raises(
        DataError,
        match=rf"data.bin cannot be written: {reason.strerror}. "
        "Set EDGECOND_DATA to a directory with space that you may write to.$",
    ):
        download(URL, tmp_path / "data.bin", check=good, most=100)

    assert not everything(tmp_path)


def test_a_file_in_place_of_the_directory_is_an_error(serve: Any, tmp_path: Path):
    serve(Answer(b"good"))
    (tmp_path / "mnist").write_text("a file")

    with pytest.raises(DataError, match=r"mnist/data.bin cannot be written: (File exists|Not a directory)"):
        download(URL, tmp_path / "mnist/data.bin", check=good, most=100)


def test_an_existing_file_is_verified_and_not_downloaded_again(serve: Any, folder: Path):
    asked = serve(Answer(b"good"))
    source = Source("data.bin", URL, good, most=100)
    place = folder / "toy"

    first, second = _fetching.obtain("toy", [source]), _fetching.obtain("toy", [source])

    assert first == f"toy is in {place}: data.bin downloaded and verified."
    assert second == f"toy is in {place} already: verified, nothing to download."
    assert len(asked) == 1


def test_an_existing_file_with_other_contents_is_an_error_and_not_overwritten(serve: Any, folder: Path):
    asked = serve(Answer(b"good"))
    (folder / "toy").mkdir()
    (folder / "toy/data.bin").write_bytes(b"mine")

    with pytest.raises(DataError, match=r"toy/data.bin must have the SHA-256 sum .* Remove it and fetch it again\.$"):
        _fetching.obtain("toy", [Source("data.bin", URL, good, most=100)])

    assert (folder / "toy/data.bin").read_bytes() == b"mine"
    assert not asked
    shutil.rmtree(folder / "toy")
