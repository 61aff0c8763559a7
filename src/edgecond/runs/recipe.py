"""Recipes: one TOML file per data set of the paper, one row per number, and only what differs from its base."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PositiveInt,
    ValidationError,
)

from edgecond.errors import did_you_mean, RecipeError
from edgecond.notation import Architecture
from edgecond.runs.train import Train

_NOT_SETTINGS = {"paper", "minutes"}  # of a recipe
_LONGEST = 1000  # characters of an error: what is wrong in a file may have any length
_FORMER_TASKS = {
    "classes": "classification",
    "answers": "multilabel",
    "quantities": "regression",
    "vertices": "segmentation",
}


def _number(value: Any) -> Any:
    """Read a number as the paper may write it: 2.5/32."""
    if isinstance(value, str) and value.count("/") == 1:
        numerator, denominator = map(float, value.split("/"))
        if not denominator:
            raise ValueError(f"a fraction is of two numbers, the second not 0: got {value!r}")
        return numerator / denominator
    return value


def _architecture(value: Any) -> Any:
    return Architecture(value) if isinstance(value, str) else value


def _task(value: Any) -> Any:
    """Return the present name of a task, where the first model files had another."""
    return _FORMER_TASKS.get(value, value) if isinstance(value, str) else value


Number = Annotated[float, BeforeValidator(_number)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, allow_inf_nan=False)


class Input(_Part):
    """The input graph: VoxelGrid resolution r0 and radius rho0 of neighbourhoods.

    Edges connect points within the radius, or follow those of a mesh, which are halved until none is longer.
    """

    resolution: Number = Field(gt=0)
    radius: Number = Field(gt=0)
    edges: Literal["radius", "mesh"] = "radius"


class Augment(_Part):
    """Random changes of training clouds: see `edgecond.data.augment`."""

    rotate: bool = False
    scale: float = Field(default=1.0, ge=1)
    mirror: float = Field(default=0.0, ge=0, le=1)
    drop: float = Field(default=0.0, ge=0, lt=1)
    noise: float = Field(default=0.0, ge=0)


class Claim(_Part):
    """A number of the paper that a row reruns, with its table or section."""

    model_config = ConfigDict(frozen=True, extra="allow")
    table: int | None = None
    section: str | None = None
    row: str

    def __str__(self) -> str:
        where = f"Section {self.section}" if self.table is None else f"Table {self.table}"
        return f"{where}, {self.row}: {', '.join(f'{name} {value:g}' for name, value in self.metrics.items())}"

    @property
    def metrics(self) -> dict[str, float]:
        """The numbers, by the names of their metrics in records."""
        return {name: float(value) for name, value in (self.model_extra or {}).items()}


class Recipe(_Part):
    """All settings of a training.

    Attributes:
        name: Name of the row, or of the user data.
        paper: Numbers of the paper that it reruns.
        dataset: Data set of `edgecond.data.datasets`, loaded with `options`; or the form of user data.
        options: Options of the data set.
        folds: Number of test folds that the paper averages over.
        network: Network in the paper's notation.
        input: Input graph of clouds; none for general graphs, which are given.
        labels: Name of the edge labelling.
        attributes: Whether signal and edge labels of general graphs have the attributes beside the labels.
        standardised: Whether attributes are standardised over the training set.
        counts: Whether the first FC has the numbers of vertices, of edges and of vertices with each label of a general
            graph beside its pooled signal: a mean over vertices does not show the size.
        shape: Whether the first FC has size, spread and signal of a cloud as a whole beside its pooled signal; see
            `edgecond.data.shape`.
        task: What is predicted: a task of `edgecond.nn.tasks`.
        balanced: Whether rare classes count as much as frequent ones in the loss.
        class_weights: Weight of each class in the loss instead, by its name; 1 for those that are left out.
        ensemble: Number of networks in the model, trained with seeds that follow each other.
        calibration: Share of the training set that calibrates probabilities and intervals instead of being trained on.
        hidden: Hidden widths of the filter networks.
        radius_scale: Factor on all radii.
        identity: Whether convolutions have identity connections.
        degree_factor: Whether convolutions have a learned normalisation by degree.
        dropout: Dropout after each convolution.
        augment: Augmentation of the training clouds.
        train: Training schedule.
        orientations: Number of views of a test cloud, rotated about the up-axis.
        sparsifications: Number of pyramids of each general graph: all are trained on, and each is a view of a test
            graph.
        tries: Number of draws of a sparsification until the graph is connected, at most.
        minutes: Estimated duration of one fold on one thread, which orders long lists of rows.
    """

    name: str
    paper: tuple[Claim, ...]
    dataset: str
    options: dict[str, Any] = {}
    folds: int = 1
    network: Annotated[Architecture, BeforeValidator(_architecture), PlainSerializer(str)]
    input: Input | None = None
    labels: str = "cartesian+spherical"
    attributes: bool = False
    standardised: bool = False
    counts: bool = False
    shape: bool = False
    task: Annotated[str, BeforeValidator(_task)] = "classification"
    balanced: bool = False
    class_weights: dict[str, Annotated[float, Field(ge=0)]] = {}
    ensemble: int = Field(default=1, ge=1, le=100)
    calibration: float = Field(default=0.0, ge=0, le=0.5)
    hidden: tuple[PositiveInt, ...] = (16, 32)
    radius_scale: float = Field(default=1.0, gt=0)
    identity: bool = False
    degree_factor: bool = False
    dropout: float = Field(default=0.0, ge=0, lt=1)
    augment: Augment = Augment()
    train: Train
    orientations: int = Field(default=1, ge=1, le=1000)
    sparsifications: int = Field(default=1, ge=1, le=1000)
    tries: int = Field(default=10, ge=1, le=1000)
    minutes: float = Field(default=1.0, gt=0)

    def weights_of(self, classes: Sequence[str]) -> list[float]:
        """Return the weight of each class, or nothing if none is given."""
        given = self.class_weights
        if unknown := [name for name in given if name not in classes]:
            raise RecipeError(
                f"class_weights must be those of classes of the data: there is no {unknown[0][:60]!r}."
                f"{did_you_mean(unknown[0], classes)}"
            )
        weights = [given.get(name, 1.0) for name in classes]
        if not any(weights):
            raise RecipeError("class_weights must leave a class that counts: all are 0. Give one of them a weight.")
        return weights if given else []

    def settings(self) -> dict[str, Any]:
        """Return everything but the paper's numbers and the duration, as JSON."""
        return self.model_dump(mode="json", exclude=_NOT_SETTINGS)

    def dotted(self) -> dict[str, Any]:
        """Return all settings by their dotted names, as `train.learning_rate`."""
        return {name: table[key] for name, table, key in _dotted(self.settings())}


@cache
def recipes() -> dict[str, Recipe]:
    """Return all rows by name, in the order of their files."""
    rows: dict[str, Recipe] = {}
    for file in sorted(files("edgecond").joinpath("paper", "recipes").iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            rows |= read(file.read_text(encoding="utf-8"), file.name)
    return rows


def read(text: str, source: str) -> dict[str, Recipe]:
    """Return the rows of a file `DATASET.toml`, each under the name `DATASET/ROW`."""
    try:
        content = tomllib.loads(text)
        base, differences = content["base"], content["rows"]
    except (tomllib.TOMLDecodeError, KeyError) as error:
        raise RecipeError(f"{source} must be TOML with the tables [base] and [rows.NAME]: {error}.") from error
    rows = {}
    for row, changes in differences.items():
        name = f"{source.removesuffix('.toml')}/{row}"
        try:
            rows[name] = Recipe(name=name, **{**base, **changes})
        except ValueError as error:
            raise RecipeError(f"{source}, row {row}: {first_error(error)}") from error
    return rows


def find(name: str) -> Recipe:
    """Return the row of a name."""
    rows = recipes()
    if name not in rows:
        suggestion = did_you_mean(name, rows, cutoff=0.3, list_known=False)
        raise RecipeError(f"a row must be one of those that `edgecond list` shows: got {name!r}.{suggestion}")
    return rows[name]


def with_settings(recipe: Recipe, changes: Mapping[str, Any]) -> Recipe:
    """Return a recipe with other settings, by their names: `{"train.learning_rate": 0.05, "labels": "cartesian"}`."""
    content = recipe.settings()
    known = {name: (table, key) for name, table, key in _dotted(content)}
    content["train"] |= recipe.train.following(
        {name.removeprefix("train."): value for name, value in changes.items() if name.startswith("train.")}
    )
    for name, value in changes.items():
        if name in ("name", "dataset", "task"):
            raise RecipeError(f"{name} follows from the data and cannot be set: got {value!r}. Leave it out.")
        if name == "input" and recipe.input is None:
            raise RecipeError(
                f"input must be left out for {recipe.name}, whose graphs are given: resolution and radius are for "
                f"clouds. Got {value!r}."
            )
        if name not in known:
            last = name.rpartition(".")[2]  # people write rate for train.learning_rate
            within = [dotted for dotted in known if last and last in dotted.rpartition(".")[2]]
            suggestion = did_you_mean(name, within or known, cutoff=0.0 if within else 0.3, list_known=False)
            raise RecipeError(f"a setting must be one of those that `edgecond show` lists: got {name!r}.{suggestion}")
        table, key = known[name]
        table[key] = value
    try:
        changed = Recipe(paper=recipe.paper, **content) if changes else recipe
    except ValueError as error:
        raise RecipeError(f"the settings of {recipe.name} do not fit together: {first_error(error)}") from error
    return changed.model_copy(update={"minutes": recipe.minutes * changed.train.epochs / recipe.train.epochs})


def with_epochs(recipe: Recipe, epochs: int | None) -> Recipe:
    """Return the recipe with another number of epochs, of which each learning rate keeps its share.

    >>> with_epochs(find("sydney/ecc"), 50).train.drops  # 200 and 245 of 250
    (40, 49)
    """
    return recipe if epochs is None else with_settings(recipe, {"train.epochs": epochs})


def experiment(recipe: Recipe, changes: Mapping[str, Any]) -> Recipe:
    """Return a row with other settings, under the name `ROW/NAME=VALUE,NAME=VALUE`, without numbers of the paper."""
    if not changes:
        return recipe
    if "folds" in changes:
        raise RecipeError(
            f"the folds of {recipe.name} are those of its data set: got folds={changes['folds']}. "
            "Choose some with --fold."
        )
    changed = with_settings(recipe, changes)
    texts = format_settings(changed)
    what = ",".join(f"{name}={texts[name]}" for name in sorted(changes)).replace(" ", "")
    return changed.model_copy(update={"name": f"{recipe.name}/{quote(what, safe='=,+()[]{}')}", "paper": ()})


def parse_settings(changes: Sequence[str]) -> dict[str, Any]:
    """Read settings as people write them, NAME=VALUE: the value is TOML, or else text.

    >>> parse_settings(["train.learning_rate=0.05", "hidden=[64]", "labels=cartesian"])
    {'train.learning_rate': 0.05, 'hidden': [64], 'labels': 'cartesian'}
    """
    settings: dict[str, Any] = {}
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals:
            raise RecipeError(f"a setting must be NAME=VALUE, as train.learning_rate=0.05: got {change!r}.")
        try:
            settings[name.strip()] = tomllib.loads(f"value = {value}")["value"]
        except (tomllib.TOMLDecodeError, RecursionError):
            settings[name.strip()] = value.strip()
    return settings


def format_settings(recipe: Recipe) -> dict[str, str]:
    """Return the settings of a recipe as `parse_settings` reads them: dotted names, values as in TOML."""
    content = recipe.model_dump(mode="json", exclude=_NOT_SETTINGS, exclude_none=True)
    return {name: _toml(table[key]) for name, table, key in _dotted(content)}


_TABLES = ("options", "class_weights")  # settings that are a table as a whole


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_key(key)} = {json.dumps(each)}' for key, each in value.items())}}}"
    return value if isinstance(value, str) else json.dumps(value)


def _key(name: str) -> str:
    """Return a name as a key of TOML, in quotes where it needs them."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def _dotted(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield the settings of a table and of the tables in it: dotted name, table, and name there."""
    for key, value in table.items():
        if isinstance(value, dict) and key not in _TABLES:
            yield from _dotted(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", table, key


def first_error(error: Exception) -> str:
    """Return the first of several errors as a sentence, which is cut where what was found is long."""
    message = _first_error(error)
    return message if len(message) <= _LONGEST else f"{message[:_LONGEST]}..."


def _first_error(error: Exception) -> str:
    if isinstance(error, ValidationError):
        detail = error.errors()[0]
        parts = (".".join(map(str, detail["loc"])), detail["msg"].removeprefix("Value error, "))
        message = ": ".join(filter(None, parts))
        if detail["type"] == "value_error":  # of our own
            return message if message.endswith((".", "^")) else f"{message}."
        value = detail["input"]
        return f"{message}: got {value!r}." if isinstance(value, str | int | float) else f"{message}."
    return str(error)
