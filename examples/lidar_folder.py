"""Train on a folder of labelled clouds and predict; `edgecond train FOLDER` and `edgecond predict` do the same.

    python examples/lidar_folder.py [FOLDER]

The folder has a sub-folder per class. Without one, noisy shapes are written to a temporary folder first.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from edgecond.data.datasets import synthetic
from edgecond.runs import user_data
from edgecond.runs.model import Model
from edgecond.runs.run import train

EPOCHS = 15


def write_shapes(folder: Path) -> None:
    """Write 120 shapes of six classes, as files of x, y and z."""
    shapes, _ = synthetic.load(train=120, test=0, points=96)
    for number, (cloud, y) in enumerate(shapes):
        path = folder / shapes.classes[y] / f"{number:03}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, cloud.positions)


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(temporary, "shapes")
        if len(sys.argv) == 1:
            write_shapes(folder)

        dataset = user_data.read(folder, epochs=EPOCHS, settings={"train.batch_size": 16})
        print(*dataset.notes, sep="\n")
        run = Path(temporary, "run")
        trained = train(dataset.recipe, directory=run, parts=(dataset.train, dataset.test))
        print(f"accuracy on {len(trained.test)} test clouds: {trained.metrics()['accuracy']:.2f}")

        model = Model.load(run)  # as another program would
        files = [path for path in sorted(folder.rglob("*")) if path.is_file()][::40]
        for file, probabilities in zip(files, model.predict(files), strict=True):
            best = probabilities.argmax()
            print(f"{file.parent.name}/{file.name}: {model.classes[best]}, probability {probabilities[best]:.2f}")


if __name__ == "__main__":
    main()
