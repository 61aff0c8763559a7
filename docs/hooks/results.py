"""Writes the tables of the results page from the records in results/ when the pages are built."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from edgecond.paper.baselines import columns
from edgecond.paper.fair import assessments, MODELS
from edgecond.paper.tables import entries, Entry, experiments, gains, METRICS, plus, tables, TITLES
from edgecond.report import plots

RECORDS = Path(__file__).parents[2] / "results"
RECORDED = ("folds", "seeds", "epochs")
MARK = "<!-- the tables, from the records -->"
FIGURES = {
    "filters": (
        plots.filters,
        "The filters of the first layer of the MNIST network for sparse input, over offsets in integer steps and in "
        "steps of 0.1 (Section 4.4; `edgecond plot filters`).",
    ),
    "robustness": (
        plots.robustness,
        "F1 on Sydney where points are removed from the test clouds, or noise is added to them, for the plain network "
        "and for one trained with noise of 2.5 cm (Appendix C; `edgecond plot robustness`).",
    ),
}


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add a file for each picture: of every table, and of the figures that have records."""
    drawings = {f"table-{number}": partial(plots.table, number) for number in tables()}
    drawings |= {name: draw for name, (draw, _) in FIGURES.items() if (RECORDS / name).is_dir()}
    for name, draw in drawings.items():
        files.append(File.generated(config, f"pictures/{name}.svg", content=plots.rendered(draw(RECORDS), "svg")))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Insert the figures and tables at the mark of the page."""
    if MARK not in markdown:
        return markdown
    parts = [state(), *map(table, tables()), figures(), gained(), today(), fair(), varied()]
    return markdown.replace(MARK, "\n\n".join(parts))


def figures() -> str:
    """Return the section of the paper's figures, as far as they have records."""
    shown = [
        f"![{name.capitalize()}](pictures/{name}.svg)\n\n{text}"
        for name, (_, text) in FIGURES.items()
        if (RECORDS / name).is_dir()
    ]
    return "\n\n".join(["## Filters and robustness", *shown])


def state() -> str:
    """Return how many numbers have been rerun."""
    all_entries = [entry for number in tables() for entry in entries(number, RECORDS)]
    done = sum(entry.rerun is not None for entry in all_entries)
    started = sum(bool(entry.folds) for entry in all_entries)
    return f"**Of {len(all_entries)} numbers, {done} have been rerun, and {started - done} in part.**"


def table(number: int) -> str:
    """Return the section of a table of the paper."""
    return (
        f"## Table {number}: {TITLES[number]}\n\n"
        f"![Table {number}, paper and rerun](pictures/table-{number}.svg)\n\n"
        f"{lines('in the paper', 'rerun', entries(number, RECORDS))}"
    )


def lines(named: str, rerun: str, found: Sequence[Entry]) -> str:
    """Return a table of numbers of the paper and their reruns, with a column for each baseline that has records."""
    baselines = columns(found, RECORDS)
    headers = [named, "row", "metric", "paper", rerun, *(f"`{name}`" for name in baselines), *RECORDED]
    rules = ["---"] * 3 + ["---:"] * (2 + len(baselines) + len(RECORDED))
    rows = [line(entry, [column[number] for column in baselines.values()]) for number, entry in enumerate(found)]
    return "\n".join([f"| {' | '.join(headers)} |", f"|{'|'.join(rules)}|", *rows])


def today() -> str:
    """Return the section of the rows with the training practice of today."""
    return (
        "## The training practice of today\n\n"
        "The same operator and folds with AdamW, averaged weights, label smoothing and the mean scores of all views "
        "(`edgecond table plus`), beside the best number that the paper has for ECC on these data. Settings were "
        "chosen on validation parts of training sets.\n\n"
        f"{lines('best in the paper', 'today', plus(RECORDS))}"
    )


def line(entry: Entry, baselines: Sequence[str] = ()) -> str:
    """Return the line of one number of the paper and its rerun, as far as it has records, and of baselines."""
    rerun = "not yet" if not entry.folds else "partly" if entry.rerun is None else f"**{entry.written(entry.rerun)}**"
    if entry.rerun is not None and entry.spread is not None:
        rerun += f" ± {entry.written(entry.spread)}"
    metric = METRICS[entry.metric.removesuffix("_votes").removesuffix("_scores")]
    row = entry.row.replace("|", "‖")  # lengths of offsets, which would end a cell
    cells = [row, f"`{entry.recipe.name}`", metric, entry.written(entry.paper), rerun, *baselines, *records(entry)]
    return f"| {' | '.join(cells)} |"


def records(entry: Entry) -> list[str]:
    """Return how many folds and seeds of a rerun have records, and their epochs."""
    if entry.epochs is None:
        return [""] * len(RECORDED)
    epochs = "–".join(map(str, dict.fromkeys(entry.epochs)))
    return [f"{len(entry.folds)}/{entry.recipe.folds}", str(entry.seeds), epochs]


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
