"""Measures explanations where the right answer is known, on real molecules and shapes; needs the data.

    python -m benchmarks.explanations --case nitro

| case | network | what is known |
|---|---|---|
| nitro, acid | molecules of Tox21 with and without a functional group | the atoms of the group decide the class |
| crippen | Crippen's logP of molecules of Tox21 | the contribution of each atom, for molecules of ESOL |
| chairs | chairs of ModelNet10, whole or without their upper part | the points of the upper part decide the class |
| backs | the same, half of those to train on without legs | the upper part decides, with or without legs |
| knobs | chairs with a small ball in place of a piece, or without it | the points of the ball decide the class |

All have the default settings of user data with fewer epochs, and molecules have no descriptors, among which there is
logP. Each case is an entry of results/benchmarks/explanations.json; its model is kept in --runs.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray as Array

from benchmarks.readme import filled
from benchmarks.records import circumstances, read, ROOT, write
from edgecond.data import datasets
from edgecond.data.formats.smiles import parse
from edgecond.errors import DataError
from edgecond.files import data_directory, write_atomic
from edgecond.runs import ensemble, user_data
from edgecond.runs.explanation import explain, explained, Explanation, Wanted

PAGE = ROOT / "docs" / "explain.md"
RECORD = ROOT / "results" / "benchmarks" / "explanations.json"
SEED = 0
TITLES = {
    "nitro": "nitro group, Tox21",
    "acid": "carboxylic acid, Tox21",
    "chairs": "upper part of chairs, ModelNet10",
    "backs": "upper part of chairs, with or without legs",
    "knobs": "ball on chairs, ModelNet10",
}
GROUPS = {"nitro": "[N+](=O)[O-]", "acid": "C(=O)[OX2H1]"}
MOST_ATOMS, MOLECULES, CHAIRS, POINTS = 40, 100, 400, 300
SHAPES = 40
EPOCHS = {"nitro": 40, "acid": 20, "crippen": 30, "chairs": 15, "backs": 25, "knobs": 40}
UPPER, LEGS, KNOB, RADIUS = 0.6, 0.35, 48, 0.12
"""Shares of the height of a chair: above the first is its upper part, below the second its legs. Points and radius of
a knob."""
BOTH = {"backs", "knobs"}
"""Cases in which each chair to train on is there with and without its part; else the network finds too few balls."""
ALONE = {"backs"}
"""Cases in which half of the chairs to train on have no legs, in both classes: nothing but the part says what they are.
Else a network may need the legs to see that there is more above them."""


def planted_group(name: str, folder: Path) -> dict[str, Any]:
    """Train on whether molecules have a group, and explain those of the test set that have it."""
    from rdkit import Chem

    pattern = Chem.MolFromSmarts(GROUPS[name])
    molecules = tox21()
    having = [smiles for smiles, molecule in molecules.items() if molecule.HasSubstructMatch(pattern)]
    lacking = [smiles for smiles in molecules if smiles not in set(having)]
    chosen = np.random.default_rng(SEED).permutation(len(lacking))[: len(having)]
    rows = [(smiles, "with") for smiles in having] + [(lacking[number], "without") for number in chosen]
    table = write_table(folder / f"{name}.csv", ("smiles", "group"), rows)
    data = user_data.read(table, target=("group",), descriptors=False, epochs=EPOCHS[name])
    trained = train(data, folder / name)
    yes = data.test.classes.index("with")
    numbers = np.flatnonzero(data.test.ys.numpy() == yes)[:MOLECULES].tolist()

    def group(explanation: Explanation) -> list[int]:
        matches = parse(explanation.description.name).GetSubstructMatches(pattern)
        return sorted({atom for match in matches for atom in match})

    found = explained(trained.model, data.test, numbers, Wanted(target="with", occlusion=True))
    return planted(found, group) | {"metrics": trained.metrics(), "training": len(data.train)}


def chairs(name: str, folder: Path) -> dict[str, Any]:
    """Train on whether a part of chairs was removed, and explain those of the test set that are whole."""
    choose, planted_points, rng = PARTS[name], {}, np.random.default_rng(SEED)
    for part, examples in zip(("train", "test"), datasets.load("modelnet10"), strict=True):
        kind = examples.classes.index("chair")
        for place, number in enumerate(np.flatnonzero(examples.ys.numpy() == kind)[:CHAIRS].tolist()):
            points, chosen = choose(examples.clouds[number].positions.numpy()[:POINTS], number)
            for whole in (True, False) if name in BOTH and part == "train" else (place % 2 == 0,):
                path = folder / f"{name}-shapes" / part / ("whole" if whole else "cut") / f"{number}.npy"
                path.parent.mkdir(parents=True, exist_ok=True)
                legless = name in ALONE and part == "train" and rng.random() < 0.5
                np.save(path, points[(whole | ~chosen) & ~(legless & legs(points))])
                planted_points[str(path.relative_to(folder / f"{name}-shapes"))] = np.flatnonzero(chosen).tolist()
    data = user_data.read(folder / f"{name}-shapes", epochs=EPOCHS[name])
    trained = train(data, folder / name)
    whole = np.flatnonzero(data.test.ys.numpy() == data.test.classes.index("whole"))[:SHAPES].tolist()

    def part(explanation: Explanation) -> list[int]:
        return next(points for path, points in planted_points.items() if path.endswith(explanation.description.name))

    found = explained(trained.model, data.test, whole, Wanted(target="whole", views=1))
    return planted(found, part) | {"metrics": trained.metrics(), "training": len(data.train)}


def upper(points: Float[Array, "n 3"], _: int) -> tuple[Float[Array, "n 3"], Bool[Array, " n"]]:
    """Return a shape, and which of its points are in its upper part."""
    height = points[:, 2] - points[:, 2].min()
    return points, height > UPPER * height.max()


def legs(points: Float[Array, "n 3"]) -> Bool[Array, " n"]:
    """Return which points of a shape are in its lower part."""
    height = points[:, 2] - points[:, 2].min()
    return height < LEGS * height.max()


def knob(points: Float[Array, "n 3"], seed: int) -> tuple[Float[Array, "p 3"], Bool[Array, " p"]]:
    """Return a shape with a small ball in place of what is at a random place, and which points are the ball."""
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(KNOB, 3))
    centre = points[rng.integers(len(points))]
    ball = centre + RADIUS * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    outside = points[np.linalg.norm(points - centre, axis=1) > RADIUS]
    both = np.concatenate([outside, ball.astype(points.dtype)])
    return both, np.arange(len(both)) >= len(outside)


PARTS = {"chairs": upper, "backs": upper, "knobs": knob}


def crippen(folder: Path) -> dict[str, Any]:
    """Train on Crippen's logP of molecules of Tox21, and explain molecules of ESOL that are not among them."""
    from rdkit.Chem import CanonSmiles
    from rdkit.Chem.Crippen import MolLogP
    from scipy.stats import spearmanr

    molecules = tox21()
    rows = [(smiles, f"{MolLogP(each):.4f}", each.GetNumAtoms()) for smiles, each in molecules.items()]
    table = write_table(folder / "tox.csv", ("smiles", "logp", "atoms"), rows)
    reading = {"features": ("atoms",), "descriptors": False}
    data = user_data.read(table, target=("logp",), epochs=EPOCHS["crippen"], **reading)
    trained = train(data, folder / "crippen")
    seen = set(map(CanonSmiles, molecules))
    new = [smiles for smiles in esol() if CanonSmiles(smiles) not in seen]
    chosen = [new[number] for number in np.random.default_rng(SEED).permutation(len(new))[:MOLECULES]]
    counts = {"atoms": [parse(smiles).GetNumAtoms() for smiles in chosen]}
    found = explain(trained.model, chosen, features=counts)
    truth = [contributions(smiles) for smiles in chosen]
    within = [spearmanr(e.total, t)[0] for e, t in zip(found, truth, strict=True) if len(t) > 2 and np.ptp(t) > 0]
    pooled = spearmanr(np.concatenate([e.total for e in found]), np.concatenate(truth))[0]
    error = np.mean([abs(e.output - t.sum()) for e, t in zip(found, truth, strict=True)])
    return completeness(found) | {
        "rank_correlation": float(pooled),
        "rank_correlation_within": float(np.mean(within)),
        "atoms": sum(map(len, truth)),
        "mean_error": float(error),
        "metrics": trained.metrics(),
        "training": len(data.train),
    }


def train(data: user_data.Dataset, directory: Path) -> Any:
    """Train as the command line does; a run that has ended is not repeated."""
    parts = (data.train, data.test)
    return ensemble.train(data.recipe, 0, SEED, directory=directory, parts=parts, split=data.split_digest)


def contributions(smiles: str) -> Float[Array, " n"]:
    """Return Crippen's contribution of each heavy atom to logP, with those of its hydrogens."""
    from rdkit.Chem import AddHs
    from rdkit.Chem.rdMolDescriptors import _CalcCrippenContribs

    heavy = parse(smiles)
    molecule = AddHs(heavy)
    found = np.zeros(heavy.GetNumAtoms())
    for atom, (logp, _) in zip(molecule.GetAtoms(), _CalcCrippenContribs(molecule), strict=True):
        number = atom.GetIdx()
        found[number if number < len(found) else atom.GetNeighbors()[0].GetIdx()] += logp
    return found


def planted(found: Iterator[Explanation], part: Callable[[Explanation], Sequence[int]]) -> dict[str, Any]:
    """Return how often the largest attribution is in the part that decides, how often it would be by chance, and how
    often the mean attribution of that part is larger than that of the rest.
    """
    explanations = list(found)
    parts = [part(each) for each in explanations]

    def hits(values: Callable[[Explanation], Float[Array, " u"]]) -> float:
        return float(np.mean([values(each).argmax() in some for each, some in zip(explanations, parts, strict=True)]))

    chance = [len(some) / len(each.total) for each, some in zip(explanations, parts, strict=True)]
    inside = [np.isin(np.arange(len(each.total)), some) for each, some in zip(explanations, parts, strict=True)]
    larger = [e.total[mask].mean() > e.total[~mask].mean() for e, mask in zip(explanations, inside, strict=True)]
    share = {
        "hits": hits(lambda each: each.total),
        "chance": float(np.mean(chance)),
        "larger": float(np.mean(larger)),
    }
    if explanations[0].region is not None:
        share["hits_of_regions"] = hits(lambda each: each.region)
    if explanations[0].occlusion is not None:
        share["hits_of_occlusion"] = hits(lambda each: each.occlusion)
    return completeness(explanations) | share


def completeness(explanations: Sequence[Explanation]) -> dict[str, Any]:
    """Return how far sums of attributions are from differences of outputs, and the steps that it took."""
    errors, steps = [each.error for each in explanations], [each.steps for each in explanations]
    within = float(np.mean([error <= 0.01 for error in errors]))
    return {
        "explained": len(explanations),
        "largest_error": max(errors),
        "within_1_percent": within,
        "mean_steps": float(np.mean(steps)),
        "most_steps": max(steps),
    }


def tox21() -> dict[str, Any]:
    """Return the molecules of Tox21 that are not very large, by their SMILES."""
    found = {}
    for smiles in column("tox21.csv"):
        try:
            molecule = parse(smiles)
        except DataError:
            continue
        if molecule.GetNumAtoms() <= MOST_ATOMS:
            found[smiles] = molecule
    return found


def esol() -> list[str]:
    """Return the molecules of ESOL, as SMILES."""
    return column("delaney-processed.csv")


def column(file: str) -> list[str]:
    with open(data_directory() / "moleculenet" / file, newline="") as table:
        return [row["smiles"].strip() for row in csv.DictReader(table)]


def write_table(path: Path, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> Path:
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


CASES: dict[str, Callable[[Path], dict[str, Any]]] = {
    **{name: partial(planted_group, name) for name in GROUPS},
    "crippen": crippen,
    **{name: partial(chairs, name) for name in PARTS},
}


def table(record: dict[str, Any]) -> str:
    """Return what the page shows of the record."""
    columns = (
        "case",
        "explained",
        "sum within 1 %",
        "largest error",
        "largest is planted",
        "largest region is",
        "by chance",
        "part above rest",
    )
    lines = [f"| {' | '.join(columns)} |", "|---|---:|---:|---:|---:|---:|---:|---:|"]
    for name, title in TITLES.items():
        if case := record.get(name):
            keys = ("hits", "hits_of_regions", "chance", "larger")
            shares = [f"{100 * case[key]:.0f} %" if key in case else "" for key in keys]
            lines.append(f"| {' | '.join([title, str(case['explained']), *_sums(case), *shares])} |")
    if "crippen" in record:
        case = record["crippen"]
        within, largest = _sums(case)
        lines += [
            "",
            f"Crippen's logP is a sum over atoms. A network trained on {case['training']:,} molecules of Tox21 was",
            f"explained on {case['explained']} molecules of ESOL that are not among them. The rank correlation of "
            "attributions with",
            f"the known contributions of {case['atoms']:,} atoms is {case['rank_correlation']:.2f}; in the mean over "
            f"molecules, each ranked by itself, it is {case['rank_correlation_within']:.2f}. The sum is within 1 % for",
            f"{within} of the molecules, with an error of {largest} at most.",
        ]
    return "\n".join(lines)


def _sums(case: dict[str, Any]) -> tuple[str, str]:
    return f"{100 * case['within_1_percent']:.0f} %", f"{100 * case['largest_error']:.2f} %"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", choices=CASES, action="append", help="all by default; may be repeated")
    parser.add_argument("--runs", type=Path, default=Path("runs", "explanations"), help="directory of the models")
    given = parser.parse_args()
    given.runs.mkdir(parents=True, exist_ok=True)
    for name in given.case or CASES:
        start = time.process_time()
        result = CASES[name](given.runs)
        result |= {"processor_seconds": round(time.process_time() - start, 1), **circumstances()}
        print(name, {key: value for key, value in result.items() if isinstance(value, float | int)}, flush=True)
        write(RECORD, read(RECORD) | {name: result})
        write_atomic(PAGE, filled(PAGE.read_text(), {"benchmarks.explanations": table(read(RECORD))}).encode())


if __name__ == "__main__":
    main()
