"""The verb that writes embeddings, for one file or thousands, a batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from edgecond.cli._app import verb
from edgecond.cli.console import counting, users_errors
from edgecond.cli.streaming import (
    check_output,
    Files,
    ModelPath,
    Processes,
    runs_over_the_terminal,
    Smiles,
    unread_reported,
    written_to,
)
from edgecond.errors import DataError
from edgecond.files import csv_line

Write = Callable[[Mapping[str, Any]], None]


@verb
def embed(
    model: ModelPath,
    files: Files,
    smiles: Smiles = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The file to write instead of stdout, whole or not at all: CSV, or a matrix alone if its name ends "
            "with .npy."
        ),
    ] = None,
    jobs: Processes = None,
) -> None:
    """Write the embedding of each cloud, molecule or graph: the signal before the last FC, as vectors.

    CSV has the place of each example and columns e0, e1, and so on; an NPY file has the rows alone, in the same order.

    Examples that are alike to the model are close to each other. Where points or vertices have predictions there is a
    vector for each. Files that cannot be read are reported and left out, and the exit status is then 1.

    Example: edgecond embed runs/train/solubility new.csv --out vectors.npy
    """
    from edgecond.data.processes import cores
    from edgecond.runs.model import Model
    from edgecond.runs.prediction import columns, Embedding, predictions

    with unread_reported() as report, users_errors():
        check_output(out, [model, *files])
        if out is not None and out.suffix not in ("", ".csv", ".npy", ".txt"):
            raise DataError(f"--out must be a file that ends in .csv or .npy: got {out}. Choose another name.")
        loaded = Model.load(model)
        embedding = Embedding(loaded)
        if out is not None and out.suffix == ".npy":
            writing = _matrix(out, embedding.columns())
        else:
            writing = _table(out, columns(loaded, embedding))
        with writing as write, counting(loaded.recipe.name, seen=not runs_over_the_terminal(out)) as progress:
            options: dict[str, Any] = {"jobs": jobs or cores(), "report": report, "progress": progress}
            for row in predictions(loaded, files, views=1, smiles=smiles, wanted=embedding, **options):
                write(row)


@contextmanager
def _table(out: Path | None, names: Sequence[str]) -> Iterator[Write]:
    """Yield what writes a row of CSV."""
    with written_to(out) as stream:
        stream.write(csv_line(names))
        yield lambda row: print(csv_line([row[name] for name in names]), end="", file=stream)


@contextmanager
def _matrix(out: Path, names: Sequence[str]) -> Iterator[Write]:
    """Yield what writes a row of an NPY file; the number of rows is written into its header in the end."""
    import numpy as np
    from numpy.lib import format as npy

    from edgecond.files import atomic_file

    rows = 0
    with atomic_file(out) as file:

        def write_header() -> None:
            file.seek(0)
            npy.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (rows, len(names))})

        def write(row: Mapping[str, Any]) -> None:
            nonlocal rows
            rows += 1
            file.write(np.array([row[name] for name in names], "<f4").tobytes())

        write_header()
        yield write
        write_header()  # as long as before: NumPy leaves room for the digits of the first axis
