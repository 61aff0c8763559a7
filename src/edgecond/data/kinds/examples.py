"""What all kinds of data share: examples with their targets, batches to predict, and readers of rows in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from numpy.typing import NDArray
from torch import Tensor

from edgecond.data.preparation import Preparation, SampleSettings

Rows = list[Any]
Report = Callable[[str], None]
"""Called with a sentence about a file or a row that cannot be used."""
Total = Callable[[int], None]
"""Called with the number of all examples, where it is known in advance."""


class LabelledExamples(Protocol):
    """Examples with their targets: the training set or the test set."""

    @property
    def name(self) -> str:
        """Name of the data set."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Name of each class, or of each target."""

    @property
    def ys(self) -> Tensor:
        """Targets of all examples, or of all their vertices."""

    @property
    def weights(self) -> Tensor | None:
        """Weight of each example in the loss; none for equal weights."""

    @property
    def digest(self) -> str:
        """Digest of the whole data set."""

    def __len__(self) -> int: ...

    def take(self, indices: Any, /) -> Self:
        """Return some of the examples, in the given order."""


@dataclass(frozen=True)
class Learned:
    """What a model has learned of its data, as far as reading other data alike needs it."""

    settings: SampleSettings
    preparation: Preparation
    dataset: str
    d0: int
    batch_size: int
    per_vertex: bool


@dataclass(frozen=True, eq=False)
class Batch:
    """Some examples to predict, where each of them is from, and the number of its points or vertices."""

    places: list[dict[str, Any]]
    examples: Any
    sizes: Sequence[int]

    def __len__(self) -> int:
        return len(self.places)

    def singles(self) -> Iterator[Batch]:
        """Yield the examples one by one."""
        for number, (place, size) in enumerate(zip(self.places, self.sizes, strict=True)):
            yield Batch([place], self.examples.take([number]), [size])


class RowReader(Protocol):
    """Reads rows in memory: clouds, graphs or SMILES."""

    @property
    def width(self) -> int | None:
        """Number of columns of a point, if the rows are arrays of points."""

    @property
    def about(self) -> dict[str, Any]:
        """What a model file holds of it, for `Kind.restore_reader`."""

    def examples(self, rows: Rows, ys: NDArray[Any], names: Sequence[str]) -> Any:
        """Return examples with their targets, and the names of the classes or of the targets."""

    def unlabelled(self, rows: Rows) -> Any:
        """Return examples without targets."""
