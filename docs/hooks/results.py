"""Writes the tables of the results page from the records in results/ when the pages are built."""

from pathlib import Path
from typing import Any

from edgecond.paper.fair import assessments, MODELS
from edgecond.paper.tables import entries, Entry, experiments, gains, plus, tables

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
METRICS = {
    "f1": "F1",
    "accuracy": "accuracy",
    "class_accuracy": "mean class accuracy",
    "train_accuracy": "training accuracy",
}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Insert the tables at the mark of the page."""
    if MARK not in markdown:
        return markdown
    return markdown.replace(MARK, "\n\n".join([state(), *map(table, tables()), gained(), today(), fair(), varied()]))


def state() -> str:
    """Return how many numbers have been rerun."""
    all_entries = [entry for number in tables() for entry in entries(number, RECORDS)]
    done = sum(entry.rerun is not None for entry in all_entries)
    started = sum(bool(entry.folds) for entry in all_entries)
    return f"**Of {len(all_entries)} numbers, {done} have been rerun, and {started - done} in part.**"


def table(number: int) -> str:
    """Return the section of a table of the paper."""
    rows = "\n".join(map(line, entries(number, RECORDS)))
    return (
        f"## Table {number}: {SUBJECTS[number]}\n\n"
        "| in the paper | row | metric | paper | rerun | records |\n"
        f"|---|---|---|---:|---:|---|\n{rows}"
    )


def today() -> str:
    """Return the section of the rows with the training practice of today."""
    rows = "\n".join(map(line, plus(RECORDS)))
    return (
        "## The training practice of today\n\n"
        "The same operator and folds with AdamW, averaged weights, label smoothing and the mean scores of all views "
        "(`edgecond table plus`), beside the best number that the paper has for ECC on these data. Settings were "
        "chosen on validation parts of training sets.\n\n"
        "| best in the paper | row | metric | paper | today | records |\n"
        f"|---|---|---|---:|---:|---|\n{rows}"
    )


def line(entry: Entry) -> str:
    """Return the line of one number of the paper and its rerun, as far as it has records."""
    rerun = "not yet" if not entry.folds else "partly" if entry.rerun is None else f"**{entry.written(entry.rerun)}**"
    if entry.rerun is not None and entry.spread is not None:
        rerun += f" ± {entry.written(entry.spread)}"
    metric = METRICS[entry.metric.removesuffix("_votes").removesuffix("_scores")]
    row = entry.row.replace("|", "‖")  # lengths of offsets, which would end a cell
    return f"| {row} | `{entry.recipe.name}` | {metric} | {entry.written(entry.paper)} | {rerun} | {records(entry)} |"


def records(entry: Entry) -> str:
    """Return the number of folds and seeds of a rerun, and its epochs."""
    if entry.epochs is None:
        return ""
    epochs = "–".join(map(str, dict.fromkeys(entry.epochs)))
    counts = [(len(entry.folds), entry.recipe.folds, "fold"), (entry.seeds, None, "seed")]
    parts = [f"{n}{f' of {of}' if of else ''} {noun}{'s' if (of or n) > 1 else ''}" for n, of, noun in counts]
    return ", ".join([*parts, f"{epochs} epochs"])


def fair() -> str:
    """Return the section of the fair protocol, beside the numbers that its authors report."""
    rows = [
        f"| `{assessment.network}` | {' | '.join(map(assessment.quoted, MODELS))} | "
        f"{assessment.rerun if assessment.folds else 'not yet'} | {assessment.choices} |"
        for assessment in assessments(RECORDS)
    ]
    return (
        "## The fair protocol\n\n"
        "Accuracy over the ten outer folds of Errica et al. (ICLR 2020), who report the quoted numbers; their baseline "
        "does not see the edges.\n\n"
        f"| networks | {', quoted | '.join(MODELS)}, quoted | ECC, rerun | selected |\n"
        "|---|---:|---:|---:|---:|---|\n" + "\n".join(rows)
    )


def gained() -> str:
    """Return the section of the gains of the paper's changes to the plain network, as far as they have been rerun."""
    rows = [
        f"| `{gain.change}` | {METRICS[gain.metric]} | {gain.in_the_paper} | {gain.cells[2]} | {len(gain.folds)} |"
        for gain in gains(RECORDS)
        if gain.folds
    ]
    return (
        "## Gains over the plain network\n\n"
        "Points above the plain ECC of the same data, in the paper and here (`edgecond table gains`), on the folds "
        "and seeds that both rows have; ± is the standard error over folds.\n\n"
        "| row | metric | gain in the paper | gain here | folds |\n"
        "|---|---|---:|---:|---:|\n" + "\n".join(rows)
    )


def varied() -> str:
    """Return the section of rows with other settings, beside the rows themselves."""
    rows = [
        f"| `{trial.recipe.name}` | `{trial.change}` | {' | '.join(trial.cells)} | {len(trial.folds)} |"
        for trial in experiments(RECORDS)
    ]
    return (
        "## Experiments\n\n"
        "Rows with other settings (`edgecond reproduce ROW --set NAME=VALUE`), beside the rows on the same folds; ± is "
        "the standard error of the difference over folds.\n\n"
        "| row | change | row's | changed | difference | folds |\n"
        "|---|---|---:|---:|---:|---:|\n" + "\n".join(rows)
    )
