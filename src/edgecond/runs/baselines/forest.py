"""Random forests: on fingerprints and descriptors of molecules, and on simple features of the shape of a cloud."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from edgecond.data.examples import Examples
from edgecond.data.features import Encoder, Features
from edgecond.data.formats.smiles import parse
from edgecond.data.graphs import GraphExamples
from edgecond.data.preparation import no_progress, Progress, SampleSettings
from edgecond.data.shape import shape, SHARES
from edgecond.nn.tasks import Task
from edgecond.runs.baselines.base import Baseline, Predictor
from edgecond.runs.baselines.columns import fit_columns

Describe = Callable[[Any], Float[Array, "n d"]]
"""Returns the features of examples, a row each."""
BITS, RADIUS, TREES = 2048, 2, 500


class Forest(Baseline):
    """A forest of scikit-learn with its default settings, one for each target."""

    trees: int = TREES

    @property
    def settings(self) -> dict[str, Any]:
        return {"trees": self.trees}

    @abstractmethod
    def rows(self, examples: Any) -> Float[Array, "n d"]:
        """Return the features of each example."""

    def fit(
        self,
        examples: Any,
        task: Task,
        seed: int,
        *,
        settings: SampleSettings,
        progress: Progress = no_progress,
    ) -> Predictor:
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        forest = RandomForestClassifier if task.has_classes else RandomForestRegressor
        describe = self.describe(examples)
        make = partial(forest, self.trees, random_state=seed)
        predict = fit_columns(describe(examples), examples.ys.numpy(), len(examples.classes), task, make)
        return lambda new: predict(describe(new))

    def describe(self, examples: Any) -> Describe:
        """Return what returns the features of examples, given the training set."""
        return self.rows


class FingerprintForest(Forest):
    """A random forest on Morgan fingerprints and RDKit's descriptors, and on the columns that a model sees too."""

    name: ClassVar[str] = "forest"
    title: ClassVar[str] = "random forest on Morgan fingerprints and descriptors"
    needs: ClassVar[str] = "SMILES"
    packages: ClassVar[tuple[str, ...]] = ("scikit-learn", "rdkit")

    @property
    def settings(self) -> dict[str, Any]:
        return super().settings | {"bits": BITS, "radius": RADIUS}

    def rows(self, examples: GraphExamples) -> Float[Array, "n d"]:
        return fingerprints_and_descriptors([examples.smiles[number] for number in examples.numbers.tolist()])

    def describe(self, examples: GraphExamples) -> Describe:
        if examples.features is None or not examples.features.columns:
            return self.rows
        encoder = Encoder.fit(_columns(examples), examples.numbers)

        def beside(some: GraphExamples) -> Float[Array, "n d"]:
            encoded = encoder.encode(_columns(some))
            assert encoded is not None
            return np.concatenate([self.rows(some), encoded.numpy()[some.numbers]], axis=1)

        return beside


class ShapeForest(Forest):
    """A random forest on the size, the spread and the signal of a cloud."""

    name: ClassVar[str] = "shape"
    title: ClassVar[str] = "random forest on shape features"
    needs: ClassVar[str] = "positions"

    @property
    def settings(self) -> dict[str, Any]:
        return super().settings | {"percentiles": list(SHARES)}

    def rows(self, examples: Examples) -> Float[Array, "n d"]:
        rows = [list(shape(examples.clouds[number]).values()) for number in range(len(examples))]
        return single_precision(np.array(rows))


def fingerprints_and_descriptors(smiles: Sequence[str]) -> Float[Array, "n d"]:
    """Return Morgan fingerprints of radius 2 (2048 bits) and all descriptors of RDKit, side by side."""
    from rdkit.Chem.Descriptors import CalcMolDescriptors
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator
    from rdkit.rdBase import BlockLogs

    generator, silence = GetMorganGenerator(radius=RADIUS, fpSize=BITS), BlockLogs()
    rows = []
    for text in smiles:
        molecule = parse(text)
        described = np.array(list(CalcMolDescriptors(molecule, missingVal=0.0).values()))
        rows.append(np.concatenate([generator.GetFingerprintAsNumPy(molecule), described]))
    del silence
    return single_precision(np.array(rows))


def single_precision(x: Float[Array, "*n d"]) -> Float[Array, "*n d"]:
    """Return numbers as scikit-learn's trees need them: finite in single precision, with 0 for those that are unknown.

    Some descriptors, as the information content Ipc, grow exponentially with the number of atoms.
    """
    largest = float(np.finfo(np.float32).max)
    return np.nan_to_num(x, posinf=largest, neginf=-largest).clip(-largest, largest).astype(np.float32)


def _columns(examples: GraphExamples) -> Features:
    """Return the columns of the user; descriptors are among the features of every molecule anyway."""
    return Features({} if examples.features is None else examples.features.columns)
