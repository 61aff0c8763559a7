"""The options of verbs that read and split user data, and what they ask for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from edgecond.data.kinds import ReadOptions
    from edgecond.runs.source import Source

DATA, SPLIT, TRAINING, OUTPUT = "Data", "Split", "Training", "Output"

Smiles = Annotated[str | None, typer.Option(help="Column of the SMILES in a CSV.", rich_help_panel=DATA)]
Target = Annotated[list[str] | None, typer.Option(help="Column to predict; may be repeated.", rich_help_panel=DATA)]
Numbers = Annotated[
    bool,
    typer.Option(
        "--numbers", help="Predict targets as numbers, even where they are few and whole.", rich_help_panel=DATA
    ),
]
Features = Annotated[
    str | None,
    typer.Option(
        help="Columns of a CSV that the network sees beside the molecules, as temperature,solvent.",
        rich_help_panel=DATA,
    ),
]
Descriptors = Annotated[
    bool | None,
    typer.Option(
        help="Let the network see all of RDKit's descriptors of molecules, or none; size and polarity else.",
        rich_help_panel=DATA,
    ),
]
Weights = Annotated[
    str | None, typer.Option(help="Column of a CSV with the weight of each row in the loss.", rich_help_panel=DATA)
]
Meshes = Annotated[
    bool,
    typer.Option(
        "--meshes",
        help="Read meshes as graphs along their edges instead of sampling points.",
        rich_help_panel=DATA,
    ),
]
Vertices = Annotated[
    str | None,
    typer.Option(
        help="Column (of clouds) or tensor (of a batch) with a target for each point or vertex.",
        rich_help_panel=DATA,
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        help="Columns of point files with other names, as x=relative_x,y=relative_y,z=height.",
        rich_help_panel=DATA,
    ),
]
Up = Annotated[str, typer.Option(help="Axis that points up in point files: x, y or z.", rich_help_panel=DATA)]
Test = Annotated[
    Path | None,
    typer.Option(help="The test set, data of the same kind; all of DATA is for training.", rich_help_panel=SPLIT),
]
Validation = Annotated[
    str | None,
    typer.Option(
        metavar="PATH|SHARE",
        help="Data to choose the best epoch on, or the share of the training set to take for it, as 0.1.",
        rich_help_panel=SPLIT,
    ),
]
Split = Annotated[
    str | None,
    typer.Option(
        metavar="HOW|FILE",
        help="random, scaffold, scaffold-balanced, group or time; or a CSV with the columns row, file or graph, "
        "and part: train, validation or test.",
        rich_help_panel=SPLIT,
    ),
]
Scaffold = Annotated[bool, typer.Option("--scaffold", help="Short for --split scaffold.", rich_help_panel=SPLIT)]
Group = Annotated[
    str | None,
    typer.Option(help="Column of a CSV; rows with equal values stay in one part of the split.", rich_help_panel=SPLIT),
]
Time = Annotated[
    str | None,
    typer.Option(help="Column of a CSV with numbers or dates; the latest rows are tested.", rich_help_panel=SPLIT),
]
SplitColumn = Annotated[
    str | None,
    typer.Option(help="Column of a CSV with the part of each row: train, validation or test.", rich_help_panel=SPLIT),
]
Folds = Annotated[
    int | None,
    typer.Option(min=2, help="Cross-validation: number of folds, all of which are run.", rich_help_panel=SPLIT),
]
Fold = Annotated[
    int | None,
    typer.Option(min=0, help="The single fold to test on; the others are the training set.", rich_help_panel=SPLIT),
]


def read_options(given: Mapping[str, Any]) -> ReadOptions:
    """Return how to read user data, from the options of a verb by their names."""
    from edgecond.data.formats.axes import parse_columns
    from edgecond.data.formats.columns import parse_names
    from edgecond.data.kinds import ReadOptions

    return ReadOptions(
        smiles=given["smiles"],
        target=tuple(given["target"] or ()),
        group=given["group"],
        vertices=given["vertices"],
        meshes=given["meshes"],
        columns=parse_columns(given["columns"]) if given["columns"] else {},
        up=given["up"],
        numbers=given["numbers"],
        features=parse_names(given["features"]) if given["features"] else (),
        descriptors=given["descriptors"],
        time=given["time"],
        split_column=given["split_column"],
        weights=given["weights"],
    )


def source_of(given: Mapping[str, Any]) -> Source:
    """Return where user data are, and how they are read and split, from the options of a verb by their names."""
    from edgecond.errors import RecipeError
    from edgecond.runs.source import Source
    from edgecond.runs.user_data import split_of

    how = given["split"]
    if given["scaffold"]:
        if how not in (None, "scaffold"):
            raise RecipeError(f"--scaffold is short for --split scaffold: got --split {how} too. Leave one out.")
        how = "scaffold"
    fields = {"folds": given["folds"], "fold": given["fold"] or 0, "seed": given["seed"], "test": given["test"]}
    return Source(Path(given["data"]), read_options(given), split_of(how, given["validation"], **fields))
