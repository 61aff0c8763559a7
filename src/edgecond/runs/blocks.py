"""The blocks of JSON in checkpoints, logs, records and files of estimators, validated before they are used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

WIDEST = 1_000_000  # most columns of a table in memory


class Block(BaseModel):
    """A table of JSON: numbers are finite, no text is a number, and no number is a truth value."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


class Epoch(Block):
    """A line of the log: epoch, loss and learning rate, and the other metrics of the epoch, all numbers."""

    model_config = ConfigDict(frozen=True, strict=True, extra="allow", allow_inf_nan=False)
    __pydantic_extra__: dict[str, float]
    epoch: PositiveInt
    loss: float
    learning_rate: float


class Position(Block):
    """The next step of a run."""

    epoch: NonNegativeInt
    batch: NonNegativeInt
    seed: int


class Settings(Block):
    """What a run was started with; those of another version may have more."""

    model_config = ConfigDict(frozen=True, strict=True, extra="allow", allow_inf_nan=False)
    recipe: dict[str, Any] = {}


class Best(Block):
    """The best epoch so far, from 1, and its metric on the validation set."""

    epoch: PositiveInt
    value: float


class Checkpoint(Block):
    """The checkpoint of a run, apart from its tensors."""

    settings: Settings
    seconds: NonNegativeFloat
    history: list[Any]
    sums: Annotated[list[float], Field(min_length=3, max_length=3)]
    position: Position
    best: Best | None = None


class Record(Block):
    """What tables use of the record of a rerun, or of a baseline, which has no epochs; it has more."""

    model_config = ConfigDict(frozen=True, strict=True, extra="allow", allow_inf_nan=False)
    fold: NonNegativeInt
    seed: NonNegativeInt
    epochs: PositiveInt = 1
    metrics: dict[str, float]
    seconds: NonNegativeFloat = 0.0
    recipe: str = ""
    selected: str = ""
    baseline: dict[str, Any] = {}
    parameters: dict[str, list[Any]] = {}


class Tested(Block):
    """A test of a model, in its file: number of examples, digest of the data, and metrics."""

    examples: PositiveInt
    data: str
    metrics: dict[str, float]


class Compared(Block):
    """A baseline on the test set of a run: its name, the digest of the data, the fold, and metrics."""

    name: str
    data: str
    fold: NonNegativeInt
    metrics: dict[str, float]


class Facts(Block):
    """What people state about a model, in its file, as Markdown; the rest of its card is measured.

    Attributes:
        name: Name to load it by.
        title: Title of the card.
        data: The training data, and where they are from.
        licence: Licence of the model, and that of the data.
        spdx: Identifier of the model's licence.
        use: What it is for.
        limits: What it is not for.
        training: What differs from the usual training.
        record: Where the record of its test is.
    """

    name: str = ""
    title: str = ""
    data: str = ""
    licence: str = ""
    spdx: Annotated[str, Field(pattern=r"^[A-Za-z0-9.-]*$")] = ""
    use: str = ""
    limits: str = ""
    training: str = ""
    record: str = ""


class Parameters(Block):
    """The parameters of an estimator, as JSON; those that are not given are not in the file."""

    epochs: PositiveInt | None = None
    batch_size: PositiveInt | None = None
    learning_rate: PositiveFloat | None = None
    network: str | None = None
    labels: str | None = None
    views: PositiveInt | None = None
    class_weight: Literal["auto", "balanced"] | dict[str, float] | None = None
    settings: dict[str, Any] | None = None
    random_state: int | None = None
    device: str | None = None
    verbose: bool | int = False


class Form(Block):
    """The form of the rows that an estimator was fitted to; each kind of data has some of these."""

    columns: list[str] = []
    width: Annotated[int, Field(ge=3, le=WIDEST)] | None = None
    vertex_attributes: Annotated[int, Field(ge=0, le=WIDEST)] = 0
    edge_attributes: Annotated[int, Field(ge=0, le=WIDEST)] = 0


class Targets(Block):
    """What an estimator keeps of y: the classes and their type, or whether y had a single column."""

    dtype: str | None = None
    classes: list[str | bool | int | float] | None = None
    single: bool | None = None


class Estimator(Block):
    """The block of an estimator in a model file."""

    params: dict[str, Any]
    form: Annotated[dict[str, Form], Field(min_length=1, max_length=1)] | None = None
    targets: Targets
    history: list[Any]


def read_history(epochs: Sequence[Any]) -> list[dict[str, float]]:
    """Return the epochs of a log, which must be numbered from 1; the learning rate was called `rate` before."""
    history = [
        {"learning_rate" if name == "rate" else name: value for name, value in epoch.items()}
        if isinstance(epoch, Mapping)
        else epoch
        for epoch in epochs
    ]
    for number, epoch in enumerate(history, 1):
        if (found := Epoch.model_validate(epoch).epoch) != number:
            raise ValueError(f"the epochs of a log must be numbered from 1: found {found} in place of {number}.")
    return history
