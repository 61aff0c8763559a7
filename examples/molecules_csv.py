"""A table of SMILES, from a CSV to predictions; `edgecond train TABLE --target COLUMN` and its like do the same.

    python examples/molecules_csv.py [TABLE COLUMN]

Without a table, small molecules are written to a temporary one first, with the logP that RDKit estimates (Crippen's
method) in place of a measured quantity.
"""

import sys
import tempfile
from itertools import product
from pathlib import Path

import numpy as np

from edgecond.data.formats import smiles
from edgecond.data.graphs import GraphExamples
from edgecond.runs import user_data
from edgecond.runs import run as experiment
from edgecond.runs.model import Model

EPOCHS = 12
CHAINS = ["C" * n for n in range(1, 11)] + ["C=C", "C1CCCCC1", "c1ccccc1", "c1ccncc1"]
GROUPS = ["O", "N", "C(=O)O", "Cl"]


def write_table(path: Path) -> None:
    from rdkit.Chem import MolFromSmiles
    from rdkit.Chem.Crippen import MolLogP

    molecules = [chain + group for chain, group in product(CHAINS, GROUPS)]
    rows = [f"{text},{MolLogP(MolFromSmiles(text)):.3f}" for text in molecules]
    path.write_text("\n".join(["smiles,logP", *rows]) + "\n")


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        table, target = sys.argv[1:] if len(sys.argv) > 1 else (Path(temporary, "molecules.csv"), "logP")
        if len(sys.argv) == 1:
            write_table(Path(table))

        found = user_data.read(table, target=[target], epochs=EPOCHS, settings={"train.batch_size": 32})
        print(*found.notes, sep="\n")
        run = Path(temporary, "run")
        trained = experiment.train(found.recipe, directory=run, parts=(found.train, found.test))
        print(", ".join(f"{name} {value:.3g}" for name, value in trained.metrics().items()))

        model = Model.load(run)  # as another program would
        new = Path(temporary, "new.csv")
        new.write_text("smiles\nCCCCCCCCCCCO\nCCc1ccccc1\n")  # undecanol, ethylbenzene
        molecules = smiles.read(new, target=())
        scores = model.outputs_per_view(GraphExamples(molecules.graphs, np.arange(len(molecules))))
        for text, output in zip(molecules.smiles, np.mean(scores, axis=0), strict=True):
            print(text, *[f"{name} {value:.2f}" for name, value in zip(model.classes, output, strict=True)])


if __name__ == "__main__":
    main()
