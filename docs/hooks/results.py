"""The tables of the results page are written when the pages are built, from the records in results/."""

from pathlib import Path
from typing import Any

from edgecond.paper.fair import assessments, MODELS
from edgecond.paper.tables import entries, Entry, experiments, gains, tables

RECORDS = Path(__file__).parents[2] / "results"
MARK = "<!-- the tables, from the records -->"
SUBJECTS = {
    1: "Sydney Urban Objects: F1, weighted by class frequency",
    2: "ModelNet: mean accuracy of classes and of instances",
    4: "Graph classification, 10 folds",
    5: "MNIST",
    6: "Edge labels on Sydney, F1",
    7: "Identity connections",
    8: "Vertex degrees in edge labels",
    9: "Learned normalisation by degree",
}
FIGURES = {
    "f1": "F1",
    "accuracy": "accuracy",
    "class_accuracy": "mean of classes",
    "train_accuracy": "training accuracy",
}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Puts the tables where the page wants them."""
    if MARK not in markdown:
        return markdown
    return markdown.replace(MARK, "\n\n".join([state(), *map(table, tables()), gained(), fair(), varied()]))


def state() -> str:
    """How far the reruns are."""
    found = [entry for number in tables() for entry in entries(number, RECORDS)]
    done = sum(entry.rerun is not None for entry in found)
    begun = sum(bool(entry.folds) for entry in found)
    return f"**Of {len(found)} numbers, {done} have been rerun, and {begun - done} in part.**"


def table(number: int) -> str:
    rows = "\n".join(map(line, entries(number, RECORDS)))
    return (
        f"## Table {number}: {SUBJECTS[number]}\n\n"
        "| in the paper | row | figure | paper | rerun | records |\n"
        f"|---|---|---|---:|---:|---|\n{rows}"
    )


def line(entry: Entry) -> str:
    """One number of the paper, with what there is of its rerun."""
    rerun = "not yet" if not entry.folds else "partly" if entry.rerun is None else f"**{entry.written(entry.rerun)}**"
    if entry.rerun is not None and entry.spread is not None:
        rerun += f" ± {entry.written(entry.spread)}"
    figure = FIGURES[entry.metric.removesuffix("_votes").removesuffix("_scores")]
    row = entry.row.replace("|", "‖")  # lengths of offsets, which would end a cell
    return f"| {row} | `{entry.recipe.name}` | {figure} | {entry.written(entry.paper)} | {rerun} | {records(entry)} |"


def records(entry: Entry) -> str:
    """What a rerun is the mean of."""
    if entry.epochs is None:
        return ""
    epochs = "–".join(map(str, dict.fromkeys(entry.epochs)))
    counts = [(len(entry.folds), entry.recipe.folds, "fold"), (entry.seeds, None, "seed")]
    told = [f"{n}{f' of {of}' if of else ''} {what}{'s' if (of or n) > 1 else ''}" for n, of, what in counts]
    return ", ".join([*told, f"{epochs} epochs"])


def fair() -> str:
    """What the fair protocol found, beside what its authors report."""
    rows = [
        f"| {found.dataset} | {' | '.join(map(found.quoted, MODELS))} | "
        f"{found.rerun if found.folds else 'not yet'} | {found.choices} |"
        for found in assessments(RECORDS)
    ]
    return (
        "## The fair protocol\n\n"
        "Accuracy over the ten outer folds of Errica et al. (ICLR 2020), who report the quoted figures; their baseline "
        "does not see the edges.\n\n"
        f"| data set | {', quoted | '.join(MODELS)}, quoted | ECC, rerun | selected |\n"
        "|---|---:|---:|---:|---:|---|\n" + "\n".join(rows)
    )


def gained() -> str:
    """What the paper's changes to the plain network gain, as far as they have been rerun."""
    rows = [
        f"| `{found.change}` | {FIGURES[found.metric]} | {found.in_the_paper} | {found.told[2]} | {len(found.folds)} |"
        for found in gains(RECORDS)
        if found.folds
    ]
    return (
        "## What changes to the plain network gain\n\n"
        "Points beside the plain ECC of the same data, in the paper and here (`edgecond table gains`), on the folds "
        "and seeds that both rows have; ± is the standard error over folds.\n\n"
        "| row | figure | gain in the paper | gain here | folds |\n"
        "|---|---|---:|---:|---:|\n" + "\n".join(rows)
    )


def varied() -> str:
    """Rows with other settings, beside the rows themselves."""
    rows = [
        f"| `{found.recipe.name}` | `{found.change}` | {' | '.join(found.told)} | {len(found.folds)} |"
        for found in experiments(RECORDS)
    ]
    return (
        "## Experiments\n\n"
        "Rows with other settings (`edgecond reproduce ROW --set NAME=VALUE`), beside the rows on the same folds; ± is "
        "the standard error of the difference over folds.\n\n"
        "| row | change | row's | changed | difference | folds |\n"
        "|---|---|---:|---:|---:|---:|\n" + "\n".join(rows)
    )
