"""What verbs share that read many files and write a row for each example as it comes."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from os.path import isfile, samefile
from pathlib import Path
from typing import Annotated, cast, TextIO

import typer

from edgecond.cli.console import echo
from edgecond.errors import DataError, printable

ModelPath = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="A model file, the directory of a run, or a pretrained model, as model/esol."),
]
Files = Annotated[
    list[Path],
    typer.Argument(
        help="Clouds or meshes, or directories of them; for molecules, CSV files; for graphs, folders or zips of "
        "TU files, or the tensors of PyG batches."
    ),
]
Smiles = Annotated[str | None, typer.Option(help="Column of the SMILES in a CSV.")]
Processes = Annotated[
    int | None, typer.Option("--jobs", min=1, max=256, help="Number of processes; the number of cores by default.")
]


@contextmanager
def unread_reported() -> Iterator[Callable[[str], None]]:
    """Yield what prints a sentence about a file that cannot be read; if there was one, the exit status is 1."""
    unread = 0

    def report(sentence: str) -> None:
        nonlocal unread
        unread += 1
        echo(sentence, err=True)

    yield report
    if unread:
        raise typer.Exit(1)


def runs_over_the_terminal(out: Path | None) -> bool:
    """Return whether rows are written to a terminal, where they are progress enough."""
    return out is None and sys.stdout.isatty()


class _Terminal(io.TextIOBase):
    """Standard output, with control characters in names written out."""

    def write(self, text: str) -> int:
        return sys.stdout.write(printable(text))


def check_output(out: Path | None, inputs: Iterable[Path], option: str = "--out") -> None:
    """Refuse to write a file in the place of one that is read.

    Args:
        out: The file to write, if there is one.
        inputs: Files that are read, and directories.
        option: The option that names the file to write.
    """
    for path in inputs:
        if out is not None and isfile(out) and isfile(path) and samefile(out, path):
            raise DataError(
                f"{option} must be another file than those that are read: {out} is one of them. Choose another name."
            )


@contextmanager
def written_to(out: Path | None, inputs: Iterable[Path] = ()) -> Iterator[TextIO]:
    """Yield the stream of rows: standard output, or a file that is written whole or not at all.

    Args:
        out: The file; none for standard output.
        inputs: Files that are read, none of which may be written.
    """
    check_output(out, inputs)
    if out is None:
        yield cast(TextIO, _Terminal()) if sys.stdout.isatty() else sys.stdout
        return
    from edgecond.files import atomic_file

    with atomic_file(out) as file:
        text = io.TextIOWrapper(file, "utf-8", "backslashreplace", newline="")
        yield text
        text.detach()  # which writes what is left, and leaves the file open
