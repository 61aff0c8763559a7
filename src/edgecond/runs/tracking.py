"""Trackers: callbacks that write the metrics of a run for other programs to show, by name."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from edgecond.errors import did_you_mean, RecipeError
from edgecond.runs.run import Callback, Run, Trained

FOLDER = "tensorboard"
"""Directory of the event files, in that of a run."""
_EVENTS = "events.out.tfevents.*"


class TensorBoard:
    """Writes a curve for each metric, and the settings of the run, as event files of TensorBoard.

    A run that is resumed has its former epochs written again, into a file that replaces the others: every epoch is in
    the curves once, though some may have been trained twice.
    """

    def __init__(self) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise RecipeError(
                "--log tensorboard needs TensorBoard, which is not installed. Run `pip install 'edgecond[track]'`."
            ) from None
        self._open: type[Any] = SummaryWriter
        self._writer: Any = None  # while a run is followed
        self._begun = 0.0

    def begin(self, run: Run) -> None:
        """Start the event file of a run with its settings and the epochs of its history."""
        if run.directory is None:
            raise RecipeError("--log tensorboard writes into the directory of a run: this one has none. Name one.")
        folder = run.directory / FOLDER
        for former in folder.glob(_EVENTS):
            former.unlink()
        # A TensorBoard that is watching forgets what it has read of these epochs: they follow.
        self._writer = self._open(str(folder), purge_step=1)
        self._begun = time.time() - run.seconds
        self._writer.add_text("settings", _table(run.settings["recipe"]), 0)
        for metrics in run.history:
            self._add(metrics)
        self._writer.flush()

    def epoch(self, metrics: Mapping[str, float]) -> None:
        """Write a point of each curve."""
        self._add(metrics)
        self._writer.flush()

    def end(self, trained: Trained) -> None:
        """Close the event file."""
        self._writer.close()

    def _add(self, metrics: Mapping[str, float]) -> None:
        for name, value in metrics.items():
            if name not in ("epoch", "seconds"):
                when = self._begun + metrics["seconds"]
                self._writer.add_scalar(name, value, int(metrics["epoch"]), walltime=when)


def _table(settings: Mapping[str, Any]) -> str:
    """Return settings as a table of Markdown."""
    rows = [f"| {name} | `{value}` |" for name, value in settings.items()]
    return "\n".join(["| setting | value |", "|---|---|", *rows])


TRACKERS: dict[str, type[Callback]] = {"tensorboard": TensorBoard}


def trackers(name: str | None) -> tuple[Callback, ...]:
    """Return the tracker of a name, if one is given."""
    if name is None:
        return ()
    if name not in TRACKERS:
        raise RecipeError(
            f"--log must be one of {', '.join(TRACKERS)}: got {name!r}.{did_you_mean(name, TRACKERS, list_known=False)}"
        )
    return (TRACKERS[name](),)
