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
from edgecond.runs.model import kind_for, Model, shown
from edgecond.runs.recipe import Recipe
from edgecond.runs.user_data import Dataset, read_split

FILE = "data.json"
_TYPES: dict[str, type | tuple[type, ...]] = {
    "path": str,
    "smiles": (str, type(None)),
    "target": (list, type(None)),
    "meshes": bool,
    "vertices": (str, type(None)),
    "columns": dict,
    "up": str,
    "numbers": bool,
    "features": list,
    "descriptors": (bool, type(None)),
    "scaffold": bool,
    "group": (str, type(None)),
    "folds": int,
    "fold": int,
    "seed": int,
}


@dataclass(frozen=True)
class Source:
    """Where user data are, how they are read, and how they are split."""

    path: Path
    options: ReadOptions = field(default_factory=ReadOptions)
    split: Split = field(default_factory=Split)

    def read(self, *, epochs: int | None = None, settings: Mapping[str, Any] | None = None) -> Dataset:
        """Read the data; see `edgecond.runs.user_data.read`."""
        return read_split(self.path, self.options, self.split, epochs=epochs, settings=settings)

    def save(self, run: Path) -> None:
        """Write the file into the directory of a run."""
        options, split = self.options, self.split
        content = {
            "path": str(self.path.resolve()),
            "smiles": options.smiles,
            "target": list(options.target) or None,
            "meshes": options.meshes,
            "vertices": options.vertices,
            "columns": dict(options.columns),
            "up": options.up,
            "numbers": options.numbers,
            "features": list(options.features),
            "descriptors": options.descriptors,
            "scaffold": split.scaffold,
            "group": options.group,
            "folds": split.folds,
            "fold": split.fold,
            "seed": split.seed,
        }
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
            truth = isinstance(value, bool) and _TYPES[name] is int  # Python takes a truth value for a number
            hollow = name == "path" and "\0" in str(value)  # no path has a zero byte
            if not isinstance(value, _TYPES[name]) or truth or hollow or not all(isinstance(t, str) for t in texts):
                raise DataError(f"{file} must have {name} as `edgecond train` wrote it: got {str(value)[:60]}.")
        if not 0 <= content.get("seed", 0) <= MAX_SEED:
            raise DataError(f"{file} must have a seed from 0 to {MAX_SEED}: got {str(content['seed'])[:60]}.")
        split = {name: content[name] for name in ("folds", "fold", "seed", "scaffold") if name in content}
        options = {
            name: content[name]
            for name in ("smiles", "meshes", "vertices", "group", "columns", "up", "numbers", "descriptors")
            if name in content
        }
        target, features = (tuple(content.get(name) or ()) for name in ("target", "features"))
        return Source(Path(content["path"]), ReadOptions(target=target, features=features, **options), Split(**split))


def read_test_set(run: Path, model: Model, *, moved: Path | None = None, fold: int | None = None) -> LabelledExamples:
    """Read the test set of a run on user data again.

    Args:
        run: Directory of the run.
        model: Its model.
        moved: Where the data are now, if they were moved.
        fold: Another fold to test on.
    """
    source = Source.load(run)
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
            return dataset.test
    else:
        found = kind.name  # which may not take the options of the run
    raise DataError(
        f"{path} must hold the data that {run} was trained on, {trained}: it holds {found}. "
        "Name their place with --data."
    )


def _summary(recipe: Recipe, classes: tuple[str, ...]) -> str:
    return f"{kind_for(recipe).name} ({recipe.task}: {shown(classes)})"
