"""Which user data a run was trained on, in a file of its directory, so that its test set can be read again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from edgecond.data import MAX_SEED
from edgecond.data.kinds import kind_of_path, LabelledExamples, ReadOptions, Split
from edgecond.errors import DataError
from edgecond.files import reading, write_atomic
from edgecond.runs.model import Model, shown
from edgecond.runs.recipe import Recipe
from edgecond.runs.sampling import kind_for
from edgecond.runs.user_data import Dataset, load, Loaded

FILE = "data.json"
_TEXT, _WHOLE = (str, type(None)), (int, type(None))
_OPTIONS: dict[str, tuple[type, ...]] = {
    "smiles": _TEXT,
    "target": (list, type(None)),
    "meshes": (bool,),
    "vertices": _TEXT,
    "columns": (dict,),
    "up": (str,),
    "numbers": (bool,),
    "features": (list,),
    "descriptors": (bool, type(None)),
    "group": _TEXT,
    "time": _TEXT,
    "split_column": _TEXT,
    "weights": _TEXT,
}
_SPLIT: dict[str, tuple[type, ...]] = {
    "folds": _WHOLE,
    "fold": (int,),
    "seed": (int,),
    "method": _TEXT,
    "file": _TEXT,
    "test": _TEXT,
    "validation": _TEXT,
    "share": (float, int),
}
_PATHS = ("file", "test", "validation")
_TYPES = {
    "path": (str,),
    **_OPTIONS,
    **_SPLIT,
    "final": (bool,),
    "leakage": (list,),
    "scaffold": (bool,),
}  # the last one in former files


@dataclass(frozen=True)
class Source:
    """Where user data are, how they are read, and how they are split.

    Attributes:
        path: Their path.
        options: How they are read.
        split: How they are split.
        final: Whether a model is trained on all of them.
        leakage: Sentences about test examples that are in the training set, too.
    """

    path: Path
    options: ReadOptions = field(default_factory=ReadOptions)
    split: Split = field(default_factory=Split)
    final: bool = False
    leakage: tuple[str, ...] = ()

    def load_data(self) -> Loaded:
        """Read the data."""
        return load(self.path, self.options, self.split)

    def read(self, *, epochs: int | None = None, settings: Mapping[str, Any] | None = None) -> Dataset:
        """Read the data and split them; see `edgecond.runs.user_data.read`."""
        return self.load_data().split(self.split, epochs=epochs, settings=settings)

    def save(self, run: Path) -> None:
        """Write the file into the directory of a run."""
        content: dict[str, Any] = {"path": str(self.path.resolve()), "final": self.final, "leakage": list(self.leakage)}
        content |= {name: getattr(self.options, name) for name in _OPTIONS}
        content |= {"target": list(self.options.target) or None, "columns": dict(self.options.columns)}
        content["features"] = list(self.options.features)
        for name in _SPLIT:
            value = getattr(self.split, name)
            content[name] = str(value.resolve()) if isinstance(value, Path) else value
        write_atomic(run / FILE, json.dumps(content).encode())

    @staticmethod
    def load(run: Path) -> Source:
        """Read the file of a run's directory."""
        file = run / FILE
        try:
            with reading(file):
                content = json.loads(file.read_text("utf-8"))
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict) or content.keys() - _TYPES.keys() or "path" not in content:
            raise DataError(
                f"{run} must be the directory of a run, with a file {FILE} that names its training data: there is none "
                "that can be read."
            )
        for name, value in content.items():
            texts = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
            truth = isinstance(value, bool) and bool not in _TYPES[name]  # Python takes a truth value for a number
            hollow = name in ("path", *_PATHS) and "\0" in str(value)  # no path has a zero byte
            if not isinstance(value, _TYPES[name]) or truth or hollow or not all(isinstance(t, str) for t in texts):
                raise DataError(f"{file} must have {name} as `edgecond train` wrote it: got {str(value)[:60]}.")
        if not 0 <= content.get("seed", 0) <= MAX_SEED:
            raise DataError(f"{file} must have a seed from 0 to {MAX_SEED}: got {str(content['seed'])[:60]}.")
        split = {name: content[name] for name in _SPLIT if name in content}
        split |= {name: Path(split[name]) for name in _PATHS if split.get(name) is not None}
        if content.get("scaffold"):  # a scaffold split had the folds of a random one, and did not use them
            split |= {"method": "scaffold", "folds": None, "fold": 0}
        options = {name: content[name] for name in _OPTIONS if name in content}
        options |= {name: tuple(content.get(name) or ()) for name in ("target", "features")}
        found = tuple(content.get("leakage", ()))
        return Source(Path(content["path"]), ReadOptions(**options), Split(**split), content.get("final", False), found)


def read_parts(
    run: Path, model: Model, *, moved: Path | None = None, fold: int | None = None
) -> tuple[LabelledExamples, LabelledExamples]:
    """Read the training set and the test set of a run on user data again.

    Args:
        run: Directory of the run.
        model: Its model.
        moved: Where the data are now, if they were moved.
        fold: Another fold to test on.
    """
    source = Source.load(run)
    if source.final:
        raise DataError(
            f"{run} must be a run with a test set: it was trained on all of its data. Its metrics are those of "
            f"{run.resolve().parent}."
        )
    path = Path(moved or source.path)
    if not path.exists():
        raise DataError(
            f"the data of {run} must still be there to test it: {path} does not exist. If they were moved, name their "
            "new place with --data."
        )
    split = source.split if fold is None else replace(source.split, fold=fold)
    trained = _summary(model.recipe, model.classes)
    if (kind := kind_of_path(path, source.options)) == model.kind:
        dataset = replace(source, path=path, split=split).read()
        found = _summary(dataset.recipe, dataset.test.classes)
        if found == trained:
            train, test = (model.kind.extended(part, model.learned) for part in (dataset.train, dataset.test))
            return train, test
    else:
        found = kind.name  # which may not take the options of the run
    raise DataError(
        f"{path} must hold the data that {run} was trained on, {trained}: it holds {found}. "
        "Name their place with --data."
    )


def _summary(recipe: Recipe, classes: tuple[str, ...]) -> str:
    return f"{kind_for(recipe).name} ({recipe.task}: {shown(classes)})"
