"""What a server answers: the description, the predictions and the explanations of a model, ready for JSON."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any

from edgecond.errors import DataError, DataWarning
from edgecond.nn.tasks.conformal import CoverageError
from edgecond.nn.tasks.uncertainty import LEVELS
from edgecond.report import drawings
from edgecond.report.explanations import caption, LEGEND, shades
from edgecond.report.figures import Picture
from edgecond.runs.explanation import Explanation, explanations
from edgecond.runs.explanation import Wanted as Explained
from edgecond.runs.model import Model, versions
from edgecond.runs.prediction import predictions, Wanted

Answer = dict[str, Any]

MOST_BYTES = 50 * 2**20
"""Size of a file, at most."""
MOST_ROWS = 1000
"""Predictions in an answer, and rows that cannot be read, at most."""
MOST_ELEMENTS = 100
"""Atoms, bonds, points or edges in an explanation: those with the largest attributions."""


@dataclass(frozen=True)
class Upload:
    """A file from a client: how its name ends, and its bytes. Nothing else of its name is ever used."""

    suffix: str
    content: bytes


@dataclass
class Answers:
    """Answers the requests of several threads, one after the other.

    Attributes:
        model: A trained model.
    """

    model: Model
    _lock: Lock = field(default_factory=Lock)

    def about(self) -> Answer:
        """Return what the model is, and what it takes."""
        model = self.model
        return {
            "name": model.recipe.name,
            "kind": model.kind.name,
            "task": model.task.name,
            "network": str(model.recipe.network),
            "networks": len(model.networks),
            "classes": list(model.classes),
            "notation": model.kind.notation,
            "suffixes": list(model.kind.suffixes),
            "features": [column["name"] for column in model.preparation.encoding.get("columns", ())],
            "views": model.views(),
            "per": model.kind.unit if model.task.per_vertex else None,
            "coverage": self._levels(),
            "distance": model.uncertainty.applicability is not None,
            "most_bytes": MOST_BYTES,
            "most_rows": MOST_ROWS,
            "epochs": model.about.get("epochs"),
            "data": model.about.get("data"),
            "versions": versions(),
        }

    def file_of(self, lines: Sequence[str]) -> Upload:
        """Return lines in the notation of the model's kind of data as a file."""
        kind = self.model.kind
        if kind.notation is None:
            raise DataError(f"{kind.name} are read from files: got rows of text. Send a file.")
        if not any(line.strip() for line in lines) or len(lines) > MOST_ROWS:
            raise DataError(f"rows must be from 1 to {MOST_ROWS:,} lines of {kind.notation}: got {len(lines):,}.")
        suffix, text = kind.file_of(lines)
        return Upload(suffix, text.encode("utf-8", "replace"))

    def file_named(self, name: str, content: bytes) -> Upload:
        """Return the contents of a file, whose name must end as those that the model reads."""
        endings = self.model.kind.suffixes
        suffix = max((end for end in endings if name.lower().endswith(end)), key=len, default=None)
        if suffix is None:
            raise DataError(f"the name of a file must end in {', '.join(endings)}: got {name[-60:]!r}.")
        return Upload(suffix, content)

    def predict(self, upload: Upload, *, coverage: float | None = None, views: int | None = None) -> Answer:
        """Return the prediction for each example, with probabilities and how sure it is."""
        model = self.model
        with self._working(upload) as (path, unread, remarks):
            applicability = model.uncertainty.applicability is not None
            wanted = Wanted(model, probabilities=model.task.has_classes, coverage=coverage, applicability=applicability)
            found = predictions(model, [path], views=views, wanted=wanted, report=unread)
            with closing(found):  # type: ignore[type-var]
                rows = list(islice(found, MOST_ROWS + 1))
            if not rows:
                raise DataError(unread.first or "the file must hold an example: it holds none.")
        shown = [self._row(row) for row in rows[:MOST_ROWS]]
        return {"rows": shown, "more": len(rows) > MOST_ROWS, "unread": unread.sentences, "remarks": remarks}

    def explain(
        self, upload: Upload, *, example: str | None = None, target: str | None = None, views: int | None = None
    ) -> Answer:
        """Return why the model predicts what it does for one example: the first, or that of a row of `predict`."""
        with self._working(upload) as (path, unread, remarks):
            wanted = Explained(target=target, views=views)
            chosen = (lambda place: True) if example is None else (lambda place: self._key(place) == example)
            found = explanations(self.model, [path], wanted, chosen=chosen, report=unread)
            with closing(found):  # type: ignore[type-var]
                explanation = next(found, None)
            if explanation is None:
                raise DataError(
                    unread.first or f"the file must hold the example {(example or '')[:60]!r}: it does not."
                )
        return self._explained(explanation) | {"remarks": remarks}

    def finish(self, seconds: float) -> None:
        """Wait until the work in progress has ended, at most for so many seconds."""
        if self._lock.acquire(timeout=seconds):
            self._lock.release()

    @contextmanager
    def _working(self, upload: Upload) -> Iterator[tuple[Path, _Unread, list[str]]]:
        """Yield a file with a name of ours, what collects sentences about it, and remarks; one thread at a time."""
        remarks: list[str] = []
        with TemporaryDirectory(prefix="edgecond-") as directory, self._lock:
            path = Path(directory) / f"upload{upload.suffix}"
            path.write_bytes(upload.content)
            try:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always", DataWarning)
                    yield path, _Unread(directory), remarks
                messages = [each.message for each in caught if issubclass(each.category, DataWarning)]
                remarks += dict.fromkeys(_without(directory, str(message)) for message in messages)
            except ValueError as error:
                raise DataError(_without(directory, str(error))) from error

    def _levels(self) -> list[float]:
        """Return the usual coverages that the calibration set is large enough for."""
        found, targets = [], self.model.task.targets(self.model.classes)
        for level in LEVELS:
            with suppress(CoverageError):
                self.model.uncertainty.limits(level, targets)
                found.append(level)
        return found

    def _row(self, row: Answer) -> Answer:
        """Return the cells of a prediction by what they are."""
        task, names, kind = self.model.task, self.model.classes, self.model.kind
        places = {name: row.pop(name) for name in (*kind.place, kind.unit) if name in row and name != "file"}
        first = {name: row[name] for name in task.columns(names)}
        probabilities = {name: row[column] for name, column in task.probability_columns(names).items()}
        used = {*task.columns(names, True), "file"}
        return {
            "example": self._key(places),
            "place": places,
            "prediction": first,
            "probabilities": probabilities,
            "uncertainty": {name: value for name, value in row.items() if name not in used},
        }

    def _key(self, place: Answer) -> str:
        """Return what tells an example of a file from the others."""
        return " ".join(str(place[name]) for name in self.model.kind.place if name != "file")

    def _explained(self, explanation: Explanation) -> Answer:
        kind = self.model.kind
        same = {*kind.place, "target"}
        elements = [
            {name: value for name, value in row.items() if name not in same and value != ""}
            for row in explanation.rows(kind.unit, kind.link)
            if row["element"] not in ("baseline", "rest")
        ]
        elements.sort(key=lambda row: -abs(row["attribution"]))
        text = caption(explanation)
        panel = drawings.drawn(explanation.description.picture, text, shades(explanation))
        drawn = {"svg": panel.svg} if isinstance(panel, Picture) else {"figure": panel.figure}
        return {
            "example": self._key(explanation.place),
            "target": explanation.target,
            "meaning": explanation.meaning,
            "prediction": explanation.prediction,
            "output": explanation.output,
            "baseline": explanation.baseline,
            "error": explanation.error,
            "steps": explanation.steps,
            "elements": elements[:MOST_ELEMENTS],
            "left_out": max(0, len(elements) - MOST_ELEMENTS),
            "drawing": drawn | {"caption": text, "legend": LEGEND},
        }


class _Unread:
    """Collects sentences about what cannot be read, and refuses a file with too many of them."""

    def __init__(self, directory: str) -> None:
        self.sentences: list[str] = []
        self._directory = directory

    @property
    def first(self) -> str | None:
        """The first sentence, if there is one."""
        return self.sentences[0] if self.sentences else None

    def __call__(self, sentence: str) -> None:
        if len(self.sentences) == MOST_ROWS:
            raise DataError(f"more than {MOST_ROWS:,} rows cannot be read; the first: {self.first}")
        self.sentences.append(_without(self._directory, sentence))


def _without(directory: str, sentence: str) -> str:
    """Return a sentence without the place of a temporary file."""
    return sentence.replace(f"{directory}/", "")
