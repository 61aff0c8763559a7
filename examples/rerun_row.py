"""Rerun a row of the paper and read its record; `edgecond reproduce ROW` does the same, with a progress bar.

    python examples/rerun_row.py [ROW EPOCHS]

Without a row, the script runs that of scikit-learn's digits, which needs no download, for two epochs.
"""

import json
import sys
import tempfile
from pathlib import Path

from edgecond.paper.records import reproduce
from edgecond.runs.recipe import find


def main() -> None:
    row, epochs = (sys.argv[1], int(sys.argv[2])) if len(sys.argv) > 1 else ("digits/ecc", 2)
    recipe = find(row)
    print(f"{recipe.name}: {recipe.network}")
    for claim in recipe.paper:
        print(f"the paper, Table {claim.table}: {claim.metrics}")

    with tempfile.TemporaryDirectory() as temporary:
        results = Path(temporary, "results")
        reproduce(recipe, fold=0, seed=0, runs=Path(temporary, "runs"), results=results, epochs=epochs)
        record = json.loads((results / row / "fold0-seed0.json").read_text("utf-8"))
    print(f"fold 0 of {recipe.folds}, {record['epochs']} of {recipe.train.epochs} epochs, {record['seconds']} seconds")
    for metric, value in record["metrics"].items():
        print(f"{metric}: {value:.3f}")
    print(f"data {record['data'][:12]}, recipe {record['recipe']}, {record['versions']}")


if __name__ == "__main__":
    main()
