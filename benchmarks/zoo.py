"""Trains the models to start from and writes them into the package; needs the data sets.

    python -m benchmarks.zoo                     # all that are missing
    python -m benchmarks.zoo esol nci1           # these, again if need be

zoo.toml lists them. Each has a record, results/models/NAME/fold0-seed0.json or that of the row that it is, and a
directory of src/edgecond/runs/pretrained with the model file and its card. A run that was stopped is resumed. Networks
are smaller and schedules shorter than those of the rows where that keeps a file below 2 MB and a training short; the
cards say so.
"""

from __future__ import annotations

import argparse
import json
import tomllib
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.records import ROOT
from edgecond.data.kinds import ReadOptions, Split
from edgecond.files import data_directory, sha256, write_atomic
from edgecond.paper.records import reproduce
from edgecond.runs import pretrained
from edgecond.runs.blocks import Facts
from edgecond.runs.model import Model
from edgecond.runs.recipe import find, with_epochs, with_settings
from edgecond.runs.source import FILE as SOURCE
from edgecond.runs.source import Source

RECORDS = ROOT / "results"


@dataclass(frozen=True)
class Starter:
    """A model to start from.

    Attributes:
        data: Name of the data set.
        card: What people state about it; see `Facts`.
        row: Row that it is trained by; none for a table of molecules.
        table: Table in `moleculenet` of the data directory.
        targets: Columns to predict.
        epochs: Number of epochs instead of that of the row.
        settings: Other settings by their dotted names.
    """

    data: str
    card: dict[str, str]
    row: str = ""
    table: str = ""
    targets: tuple[str, ...] = ()
    epochs: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """Folder of its run and its record: none of its own if it is trained as the row is."""
        return "models" if self.table or self.epochs or self.settings else ""

    def run(self, name: str) -> str:
        """Return the name of its run in that folder."""
        return name if self.folder else self.row


STARTERS = {
    name: Starter(**fields) for name, fields in tomllib.loads(Path(__file__).with_suffix(".toml").read_text()).items()
}


def train(name: str, starter: Starter, runs: Path, records: Path) -> tuple[Path, Source | None]:
    """Train and test a model, write its record, and return the directory of its run, and the source of a table."""
    options: dict[str, Any] = {"runs": runs / starter.folder, "results": records / starter.folder}
    source = None
    if starter.row:
        recipe = with_settings(with_epochs(find(starter.row), starter.epochs), starter.settings)
    else:
        path = data_directory() / "moleculenet" / starter.table
        source = Source(path, ReadOptions(target=tuple(starter.targets)), Split(method="scaffold"))
        dataset = source.read(epochs=starter.epochs, settings=starter.settings)
        recipe = dataset.recipe
        options |= {"parts": (dataset.train, dataset.test), "calibration": dataset.calibration, "compared": True}
        options["split"] = dataset.split_digest
    reproduce(recipe.model_copy(update={"name": starter.run(name)}), 0, 0, **options)
    return runs / starter.folder / starter.run(name) / "fold0-seed0", source


def pack(name: str, starter: Starter, run: Path, source: Source | None, folder: Path) -> pretrained.Entry:
    """Write the directory of a pretrained model, and return its line of the index."""
    target = folder / name
    label = f"{pretrained.PREFIX}{name}"
    record = Path("results", starter.folder, starter.run(name), "fold0-seed0.json").as_posix()
    said = {name: " ".join(text.split()) for name, text in starter.card.items()}  # the lines of a file are shorter
    facts = Facts(**said, name=label, spdx="MIT", record=record)
    trained = Model.load(run)
    model = replace(trained, about=trained.about | {"card": facts.model_dump()})
    model.save(target / pretrained.FILE)
    write_atomic(target / "README.md", Model.load(target).card().encode())
    if source is not None:
        source.save(target)
        content = json.loads((target / SOURCE).read_text())
        write_atomic(target / SOURCE, json.dumps(content | {"path": starter.table}).encode())  # wherever it is
    metrics, best = model.about["tested"]["metrics"], model.task.validation_metric
    shown = {best: metrics.get(f"{best}_scores", metrics[best])}
    files = {path.name: sha256(path) for path in sorted(target.iterdir()) if path.is_file()}
    size = (target / pretrained.FILE).stat().st_size
    return pretrained.Entry(starter.data, model.kind.name, model.task.name, model.task.written(shown), size, files)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="those that are missing by default")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="directory of checkpoints")
    options = parser.parse_args()
    index = pretrained.FOLDER / pretrained.INDEX
    content = json.loads(index.read_text("utf-8"))
    for name in options.names or [name for name in STARTERS if name not in content]:
        run, source = train(name, STARTERS[name], options.runs, RECORDS)
        entry = pack(name, STARTERS[name], run, source, pretrained.FOLDER)
        content[name] = asdict(entry)
        ordered = {known: content[known] for known in STARTERS if known in content}
        write_atomic(index, (json.dumps(ordered, indent=1) + "\n").encode())
        print(f"{pretrained.PREFIX}{name}: {entry.metric}, {entry.bytes / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
