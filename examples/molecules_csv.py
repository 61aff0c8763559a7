"""Train on a table of SMILES and predict; `edgecond train TABLE --target COLUMN` and `edgecond predict` do the same.

    python examples/molecules_csv.py [TABLE COLUMN]

Without a table, small molecules are written to a temporary one first, with the molar refractivity that RDKit estimates
(Crippen's method) in place of a measured value.
"""

import sys
import tempfile
from itertools import product
from pathlib import Path

from edgecond.runs import user_data
from edgecond.runs.model import Model
from edgecond.runs.run import train

EPOCHS = 12
CHAINS = ["C" * n for n in range(1, 11)] + ["C=C", "C1CCCCC1", "c1ccccc1", "c1ccncc1"]
GROUPS = ["O", "N", "C(=O)O", "Cl"]
NEW = ["CCCCCCCCCCCO", "CCc1ccccc1"]  # undecanol, ethylbenzene


def write_table(path: Path) -> None:
    """Write a CSV of molecules and their estimated molar refractivity."""
    from rdkit.Chem import MolFromSmiles
    from rdkit.Chem.Crippen import MolMR

    molecules = [chain + group for chain, group in product(CHAINS, GROUPS)]
    rows = [f"{text},{MolMR(MolFromSmiles(text)):.3f}" for text in molecules]
    path.write_text("\n".join(["smiles,MR", *rows]) + "\n")


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        table, target = sys.argv[1:] if len(sys.argv) > 1 else (Path(temporary, "molecules.csv"), "MR")
        if len(sys.argv) == 1:
            write_table(Path(table))

        dataset = user_data.read(table, target=[target], epochs=EPOCHS, settings={"train.batch_size": 32})
        print(*dataset.notes, sep="\n")
        run = Path(temporary, "run")
        trained = train(dataset.recipe, directory=run, parts=(dataset.train, dataset.test))
        print(", ".join(f"{name} {value:.3g}" for name, value in trained.metrics().items()))

        model = Model.load(run)  # as another program would
        for smiles, row in zip(NEW, model.predict(NEW), strict=True):
            print(smiles, *[f"{name} {value:.2f}" for name, value in zip(model.classes, row, strict=True)])


if __name__ == "__main__":
    main()
