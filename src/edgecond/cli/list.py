"""The verb that lists the rows of the paper."""

from __future__ import annotations

from edgecond.cli._app import verb
from edgecond.cli.console import print_table


@verb
def list_rows() -> None:
    """List the rows of the paper's tables that can be rerun.

    Example: edgecond list
    """
    from edgecond.runs.recipe import recipes

    rows = []
    for name, recipe in recipes().items():
        if recipe.paper:
            places = [f"Table {c.table}" if c.table else f"Section {c.section}" for c in recipe.paper]
            rows.append([name, ", ".join(dict.fromkeys(places)), recipe.paper[0].row])
    print_table(["row", "in the paper", "as"], rows)
