"""People's own data: what a path holds, how it is divided, and a recipe whose settings are derived from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from edgecond.datasets import DataError, folder, smiles, tu
from edgecond.datasets.graphs import GraphExamples
from edgecond.datasets.molecule_splits import scaffold_split
from edgecond.datasets.splits import stratified_folds
from edgecond.model import Learnable
from edgecond.recipe import Input, Recipe, Train

CLOUDS = "C(16)-C(32)-MP({1:.3g},{2:.3g})-C(32)-C(32)-MP({2:.3g},{3:.3g})-C(64)-GMP-FC(64)-D(0.2)-FC({outputs})"
"""The paper's network for ModelNet10 (Section 4.2), with its lengths in units of the spacing of points."""
LENGTHS = (1.0, 2.5, 7.5, 22.5)
GRAPHS = "C(48)-C(48)-C(48)-MP-C(48)-C(64)-MP-C(64)-GAP-FC(64)-D(0.1)-FC({outputs})"
"""The paper's network for NCI1 (Section 4.3)."""
STEPS = 4000
"""About how many steps the training on clouds takes, if the paper's 50 to 250 epochs allow it."""
UNBALANCED = 3.0
"""Classes count equally if the most frequent occurs this many times as often as the rarest."""


@dataclass(frozen=True, eq=False)
class Own:
    """Data of one's own, ready to train on.

    Attributes:
        recipe: With settings that fit the data.
        parts: Training and test examples.
        said: What was found and what was chosen, in sentences.
    """

    recipe: Recipe
    parts: tuple[Learnable, Learnable]
    said: tuple[str, ...]


def read(
    path: str | Path,
    *,
    smiles: str | None = None,
    target: Sequence[str] = (),
    scaffold: bool = False,
    folds: int = 5,
    fold: int = 0,
    seed: int = 0,
) -> Own:
    """What a path holds: a folder with a sub-folder of clouds or meshes per class, a CSV of SMILES, or TU files.

    Args:
        path: The folder, or the .csv or .zip file.
        smiles: Column of the SMILES.
        target: Columns to predict.
        scaffold: Test molecules with scaffolds that are rare, a tenth of all, instead of a fold.
        folds: Parts into which the examples are divided; of classes each has its share.
        fold: The part to test on.
        seed: Of that division.
    """
    path = Path(path)
    if not path.exists():
        raise DataError(f"{path} must be a folder, a .csv or a .zip file: there is none.")
    division = {"folds": folds, "fold": fold, "seed": seed}
    if not 0 <= fold < folds:
        raise DataError(f"the folds are numbered from 0 to {folds - 1}: got {fold}.")
    if path.suffix.lower() in (".csv", ".gz", ".tsv"):
        return _molecules(path, smiles, target, scaffold, division)
    if path.is_file() or any(path.glob("*_graph_indicator.txt")):
        return _graphs(path, division)
    return _clouds(path, division)


def _clouds(path: Path, division: dict[str, int]) -> Own:
    found = folder.read(path)
    examples = found.examples
    spacing = folder.point_spacing(examples.clouds)
    lengths = [length * spacing for length in LENGTHS]
    epochs = int(np.clip(STEPS * 32 // len(examples), 50, 250))
    recipe = _recipe(
        path,
        "folder",
        {"columns": list(found.columns)},
        network=CLOUDS.format(*lengths, outputs=len(examples.classes)),
        input=Input(resolution=lengths[0], radius=2 * lengths[0]),
        balanced=_unbalanced(examples.ys.numpy()),
        train=_train(epochs, 32),
        augment={"rotate": True, "scale": 1.1, "drop": 0.1},
    )
    said = [
        f"{len(examples)} clouds in {len(examples.classes)} classes: {', '.join(examples.classes)}",
        f"signal: {', '.join(found.columns) or 'none, so 1 everywhere'}",
        f"points are {spacing:.3g} apart: resolutions and radii are multiples of it",
        *[f"skipped: {sentence}" for _, sentence in found.skipped],
    ]
    train, test = _divided(examples.ys.numpy(), division)
    return _told(recipe, (examples.take(train.tolist()), examples.take(test.tolist())), said)


def _graphs(path: Path, division: dict[str, int]) -> Own:
    graphs = tu.read(path)
    recipe = _recipe(
        path,
        "tu",
        {},
        network=GRAPHS.format(outputs=len(graphs.classes)),
        balanced=_unbalanced(graphs.ys),
        attributes=graphs.vertex_attributes.shape[1] > 0,
        **_FOR_GRAPHS,
    )
    train, test = _divided(graphs.ys, division)
    return _told(recipe, (GraphExamples(graphs, train), GraphExamples(graphs, test)), [repr(graphs)])


def _molecules(path: Path, column: str | None, target: Sequence[str], scaffold: bool, division: dict[str, int]) -> Own:
    found = smiles.read(path, smiles=column, target=target or None)
    kinds = set(found.tasks)
    if len(kinds) > 1 or (len(found.classes) > 1 and any(len(names) > 2 for names in found.classes)):
        raise DataError(
            f"{path} must have targets of one kind, quantities or answers of yes or no, or a single one of classes: "
            f"got {', '.join(f'{name} ({task})' for name, task in zip(found.target_names, found.tasks, strict=True))}. "
            "Train a network for each kind."
        )
    single = kinds == {"classification"} and len(found.target_names) == 1
    numbers, outcomes = found.targets, found.classes[0] if single else found.target_names
    if single:
        if np.isnan(numbers).any():
            raise DataError(
                f"{path}, column {found.target_names[0]!r} must tell the class of every molecule: row "
                f"{found.rows[int(np.isnan(numbers[:, 0]).argmax())]} is blank. Remove such rows."
            )
        graphs = replace(found.graphs, ys=numbers[:, 0].astype(np.int64), classes=np.arange(len(outcomes)))
        whole = GraphExamples(graphs, np.arange(len(found)), None, outcomes)
        ys = graphs.ys
    else:
        whole = GraphExamples(found.graphs, np.arange(len(found)), numbers, outcomes)
        ys = np.zeros(len(found), np.int64)
    task = "classes" if single else "answers" if kinds == {"classification"} else "quantities"
    recipe = _recipe(
        path,
        "smiles",
        {},
        network=GRAPHS.format(outputs=len(outcomes)),
        balanced=single and _unbalanced(ys),
        attributes=True,
        task=task,
        **_FOR_GRAPHS | ({"train": _train_graphs(0.01)} if task == "quantities" else {}),
    )
    said = [
        f"{len(found)} molecules; {len(found.skipped)} rows skipped",
        *[f"skipped row {row}: {sentence}" for row, sentence in found.skipped[:10]],
        f"predicts {', '.join(found.target_names)} ({task})",
    ]
    if scaffold:
        train, _, test = scaffold_split(found.smiles, (0.9, 0.0, 0.1))
    else:
        train, test = _divided(ys, division)
    return _told(recipe, (whole.take(train), whole.take(test)), said)


def _train_graphs(rate: float) -> Train:
    """Section 4.3; squared errors are not bounded as other losses are, and need a lower rate."""
    return Train(epochs=50, batch=64, rate=rate, drops=(25, 35, 45))


_FOR_GRAPHS: dict[str, Any] = {
    "labels": "given",
    "hidden": (64,),
    "dropout": 0.05,
    "sparsifications": 5,
    "train": _train_graphs(0.1),
}


def _recipe(path: Path, kind: str, options: dict[str, Any], **settings: Any) -> Recipe:
    return Recipe(name=path.resolve().stem, paper=(), dataset=kind, options=options, **settings)


def _train(epochs: int, batch: int) -> Train:
    return Train(epochs=epochs, batch=batch, rate=0.1, drops=(int(0.6 * epochs), int(0.9 * epochs)))


def _unbalanced(ys: np.ndarray) -> bool:
    counts = np.bincount(ys)
    return bool(counts.max() > UNBALANCED * counts[counts > 0].min())


def _divided(ys: np.ndarray, division: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    chosen = stratified_folds(ys, division["folds"], division["seed"])[division["fold"]]
    return chosen.train, chosen.test


def _told(recipe: Recipe, parts: tuple[Learnable, Learnable], said: list[str]) -> Own:
    train, test = parts
    more = [f"{len(train)} to learn from, {len(test)} to test", f"network: {recipe.network}"]
    if recipe.balanced:
        more.append("rare classes count as much as frequent ones")
    return Own(recipe, parts, (*said, *more))
