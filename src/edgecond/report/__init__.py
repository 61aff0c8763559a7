"""A page about a run in a single HTML file: learning curves, metrics, mistakes, pyramid, filters and settings."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from edgecond.data import datasets
from edgecond.data.kinds import LabelledExamples
from edgecond.files import atomic_file, check_regular
from edgecond.report.contents import Contents
from edgecond.report.page import plotly_script, ReportError
from edgecond.runs.blocks import read_history
from edgecond.runs.comparison import kept
from edgecond.runs.model import Model
from edgecond.runs.recipe import first_error
from edgecond.runs.source import FILE as SOURCE
from edgecond.runs.source import Source

__all__ = ["FILE", "LOG", "ReportError", "write"]

FILE = "report.html"
LOG = "log.jsonl"


def write(run: Path, out: Path | None = None, test: LabelledExamples | None = None) -> Path:
    """Write the report of a run, and return its path.

    Args:
        run: Directory of the run, with its model and the log of its epochs.
        out: The file to write; `report.html` in that directory by default.
        test: Test set instead of the one that the model's recipe names.
    """
    plotly_script()  # before anything that takes long
    model, epochs = Model.load(run), history(run)
    if missing := [epoch["epoch"] for epoch in epochs if model.task.training_metric not in epoch]:
        raise ReportError(
            f"{run / LOG} must have the {model.task.training_metric} of each epoch: epoch {missing[0]} has none."
        )
    if test is None:
        _, test = datasets.load(model.recipe.dataset, model.about.get("fold", 0), **model.recipe.options)
    file = out or run / FILE
    with atomic_file(file) as page:
        page.write(Contents(model, epochs, test, leakage(run), kept(run, model, test)).html().encode())
    return file


def leakage(run: Path) -> tuple[str, ...]:
    """Return what a run on user data has noted about test examples that are in the training set, too."""
    return Source.load(run).leakage if (run / SOURCE).exists() else ()


def history(run: Path) -> list[dict[str, float]]:
    """Return the metrics of each epoch, from the log of a run."""
    path = run / LOG
    try:
        check_regular(path)
        epochs = read_history([json.loads(line) for line in path.read_text("utf-8").splitlines()])
    except (FileNotFoundError, NotADirectoryError):
        raise ReportError(
            f"a run must have a log of its epochs, {path}: there is none. Name a directory that `edgecond train` wrote."
        ) from None
    except ValidationError as error:
        raise ReportError(
            f"{path} must have epoch, loss and learning rate of at least one epoch, and of each: {first_error(error)}"
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise ReportError(f"{path} must be a line of JSON for each epoch: it cannot be read ({error}).") from error
    if not epochs:
        raise ReportError(f"{path} must have epoch, loss and learning rate of at least one epoch: it is empty.")
    return epochs
