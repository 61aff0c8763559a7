"""How files come where data live: fetched over https, checked, and there only if they are right."""

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

TIMEOUT = 30.0  # seconds without a byte


@dataclass(frozen=True)
class Source:
    """A file of a dataset, the address that serves it, and how to know it.

    Attributes:
        file: Its name in the directory of the dataset.
        url: The public address.
        check: Raises `DataError` when handed the path of anything but the file.
        most: A size in bytes that it does not exceed.
    """

    file: str
    url: str
    check: Callable[[Path], None]
    most: int


def sum_is(expected: str) -> Callable[[Path], None]:
    """The check that a file has this SHA-256 sum."""

    def check(path: Path) -> None:
        if (found := sha256(path)) != expected:
            raise DataError(f"{path} has the SHA-256 sum {found} instead of {expected}.{AGAIN}")

    return check


def obtain(
    dataset: str, sources: Sequence[Source], progress: Progress | None = None, folder: Path | None = None
) -> str:
    """Check the files of a dataset that are there, download the others, and say in a sentence what was done."""
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
    """Fetch a file over https into its place, where it appears only after `check` has accepted it.

    Args:
        url: An https address; redirections must stay on https.
        target: The path to be.
        check: Raises `DataError` when handed the path of a wrong file.
        most: The most bytes to accept.
        progress: Told of every piece that arrives.
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
            raise DataError(f"{url} served another file than expected, which was not kept: {reason}") from error


def _pieces(url: str, target: Path, most: int, progress: Progress | None) -> Iterator[bytes]:
    _check_https(url)
    try:
        request = urllib.request.Request(url, headers={"User-Agent": "edgecond"})
        with urllib.request.build_opener(_HttpsOnly).open(request, timeout=TIMEOUT) as answer:
            length = answer.headers.get("Content-Length")
            total = int(length) if length and length.isdigit() else None
            done = 0
            if (total or 0) > most:
                raise _too_large(url, target, most)
            while piece := answer.read(2**16):
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
            f"{url} could not be fetched: {str(reason).rstrip('.')}. Check the network, or put the file at {target}."
        ) from error


def _too_large(url: str, target: Path, most: int) -> DataError:
    return DataError(f"{url} serves more than the {most:,} bytes that {target.name} may have.")


class _HttpsOnly(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        _check_https(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _check_https(url: str) -> None:
    if not url.startswith("https://"):
        raise DataError(f"{url} is refused: data are fetched over https only.")
