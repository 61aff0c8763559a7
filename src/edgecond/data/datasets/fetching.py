"""Downloads of data files over https; a file appears in the data directory only after it has been verified."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgecond.errors import DataError
from edgecond.files import AGAIN, data_directory, data_file, Progress, sha256

TIMEOUT = 30.0  # seconds without data


@dataclass(frozen=True)
class Source:
    """A file of a dataset, its address and how to verify it.

    Attributes:
        file: Name of the file in the directory of the dataset.
        url: Public address of the file.
        check: Function that raises `DataError` unless it is given the path of the right file.
        most: Upper bound of the size in bytes.
    """

    file: str
    url: str
    check: Callable[[Path], None]
    most: int


def sum_is(expected: str) -> Callable[[Path], None]:
    """Return a function that checks that a file has this SHA-256 sum."""

    def check(path: Path) -> None:
        if (actual := sha256(path)) != expected:
            raise DataError(f"{path} must have the SHA-256 sum {expected}: found {actual}.{AGAIN}")

    return check


def obtain(
    dataset: str, sources: Sequence[Source], progress: Progress | None = None, folder: Path | None = None
) -> str:
    """Verify the files of a dataset that exist, download the others, and return a summary."""
    folder = folder or data_directory() / dataset
    missing = []
    for source in sources:
        if (folder / source.file).exists():
            source.check(folder / source.file)
        else:
            missing.append(source)
    for source in missing:
        download(source.url, folder / source.file, check=source.check, most=source.most, progress=progress)
    if missing:
        return f"{dataset} is in {folder}: {', '.join(source.file for source in missing)} downloaded and verified."
    return f"{dataset} is in {folder} already: verified, nothing to download."


def download(
    url: str, target: Path, *, check: Callable[[Path], None], most: int, progress: Progress | None = None
) -> None:
    """Download a file, which appears at `target` only after `check` has accepted it.

    Args:
        url: An https address; redirects must stay on https.
        target: Path of the file.
        check: Function that raises `DataError` unless it is given the path of the right file.
        most: Largest number of bytes to accept.
        progress: Function that is called for every piece that arrives.
    """
    with data_file(target) as file:
        for piece in _pieces(url, target, most, progress):
            file.write(piece)
        file.flush()
        arrived = Path(file.name)
        try:
            check(arrived)
        except DataError as error:
            reason = str(error).replace(str(arrived), target.name).removesuffix(AGAIN)
            raise DataError(f"{url} did not serve the expected file, so it was discarded: {reason}") from error


def _pieces(url: str, target: Path, most: int, progress: Progress | None) -> Iterator[bytes]:
    _check_https(url)
    try:
        request = urllib.request.Request(url, headers={"User-Agent": "edgecond"})
        with urllib.request.build_opener(_HttpsOnly).open(request, timeout=TIMEOUT) as response:
            length = response.headers.get("Content-Length")
            total = int(length) if length and length.isdigit() else None
            done = 0
            if (total or 0) > most:
                raise _too_large(url, target, most)
            while piece := response.read(2**16):
                if (done := done + len(piece)) > most:
                    raise _too_large(url, target, most)
                if progress:
                    progress(done, total)
                yield piece
            if total is not None and done < total:
                raise EOFError(f"the connection ended after {done:,} of {total:,} bytes")
    except (OSError, EOFError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise DataError(
            f"{url} could not be downloaded: {str(reason).rstrip('.')}. Check the network, or put the file at {target}."
        ) from error


def _too_large(url: str, target: Path, most: int) -> DataError:
    return DataError(f"{url} must serve at most {most:,} bytes for {target.name}: it serves more.")


class _HttpsOnly(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        _check_https(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _check_https(url: str) -> None:
    if not url.startswith("https://"):
        raise DataError(f"data are downloaded over https only: got {url}.")
