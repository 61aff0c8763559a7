"""A folder of labelled clouds, from files to predictions; `edgecond train FOLDER` and its like do the same.

    python examples/lidar_folder.py [FOLDER]

The folder has a sub-folder per class. Without one, noisy shapes are written to a temporary folder first.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from edgecond.data.datasets import synthetic
from edgecond.data.formats import read_points
from edgecond.data.points import to_cloud
from edgecond.runs import user_data
from edgecond.runs import run as experiment
from edgecond.runs.model import Model

EPOCHS = 15


def write_shapes(folder: Path) -> None:
    """120 shapes of six classes, as files of x, y and z."""
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

        found = user_data.read(folder, epochs=EPOCHS, settings={"train.batch_size": 16})
        print(*found.notes, sep="\n")
        run = Path(temporary, "run")
        trained = experiment.train(found.recipe, directory=run, parts=(found.train, found.test))
        print(f"accuracy on {len(trained.test)} test clouds: {trained.metrics()['accuracy']:.2f}")

        model = Model.load(run)  # as another program would
        for file in sorted(folder.rglob("*.npy"))[::40]:
            cloud = to_cloud(read_points(file), model.recipe.options["columns"], file)
            ((probabilities,),) = model.outputs_per_view([(cloud, 0)])  # the 0 stands for a class that is not known
            best = probabilities.argmax()
            print(f"{file.parent.name}/{file.name}: {model.classes[best]}, probability {probabilities[best]:.2f}")


if __name__ == "__main__":
    main()
