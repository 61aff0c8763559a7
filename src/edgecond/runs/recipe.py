"""Recipes: one TOML file per family of datasets, one row per number of the paper, and what differs from its base."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Annotated, Any, Literal, Self
from urllib.parse import quote

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
    PlainSerializer,
    PositiveInt,
    ValidationError,
)

from edgecond.errors import did_you_mean, RecipeError
from edgecond.notation import Architecture


def _number(value: Any) -> Any:
    """A number as the paper may write it: 2.5/32."""
    if isinstance(value, str) and value.count("/") == 1:
        numerator, denominator = map(float, value.split("/"))
        if not denominator:
            raise ValueError(f"a fraction is of two numbers, the second not 0: got {value!r}")
        return numerator / denominator
    return value


def _architecture(value: Any) -> Any:
    return Architecture(value) if isinstance(value, str) else value


Number = Annotated[float, BeforeValidator(_number)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, allow_inf_nan=False)


class Input(_Part):
    """How the input graph is made: VoxelGrid resolution r0 and radius of neighbourhoods rho0.

    Edges lead to points within the radius, or else along a mesh, whose edges are then halved until none is longer.
    """

    resolution: Number = Field(gt=0)
    radius: Number = Field(gt=0)
    edges: Literal["radius", "mesh"] = "radius"


class Train(_Part):
    """Stochastic gradient descent: see `edgecond.nn.training.Schedule`."""

    epochs: int = Field(gt=0)
    batch: int = Field(gt=0)
    rate: float = Field(gt=0)
    drops: tuple[int, ...] = ()
    momentum: float = Field(default=0.9, ge=0, lt=1)
    weight_decay: float = Field(default=5e-4, ge=0)


class Augment(_Part):
    """Random changes of training clouds: see `edgecond.data.augment`."""

    rotate: bool = False
    scale: float = Field(default=1.0, ge=1)
    mirror: float = Field(default=0.0, ge=0, le=1)
    drop: float = Field(default=0.0, ge=0, lt=1)
    noise: float = Field(default=0.0, ge=0)


class Claim(_Part):
    """A number of the paper, by table or section, that a row reruns."""

    model_config = ConfigDict(frozen=True, extra="allow")
    table: int | None = None
    section: str | None = None
    row: str

    def __str__(self) -> str:
        where = f"Section {self.section}" if self.table is None else f"Table {self.table}"
        return f"{where}, {self.row}: {', '.join(f'{name} {value:g}' for name, value in self.metrics.items())}"

    @property
    def metrics(self) -> dict[str, float]:
        """The numbers, by the name that records have for them."""
        return {name: float(value) for name, value in (self.model_extra or {}).items()}


class Recipe(_Part):
    """Everything that a row of the paper's tables is made of.

    Attributes:
        name: How the command line calls it.
        paper: Where the paper gives its numbers.
        dataset: Of `edgecond.data.datasets`, loaded with `options`.
        folds: Test folds that the paper averages over.
        network: In the paper's notation.
        input: The input graph of clouds; none for general graphs, which are given.
        labels: Name of the edge labelling.
        attributes: Whether signal and edge labels of general graphs have the attributes beside the labels.
        standardised: Whether attributes are in units of their mean and deviation over the training graphs.
        task: One class of several, answers to questions with yes or no, or quantities; or a class of each vertex,
            and then the network has V.
        balanced: Whether rare classes count as much as frequent ones.
        hidden: Hidden widths of the filter networks.
        radius_scale: Factor on all radii.
        identity: Identity connections.
        degree_factor: Learned normalisation.
        dropout: After each convolution.
        augment: Of the training clouds.
        train: Of the network.
        orientations: Looks at each test cloud, about the up-axis.
        sparsifications: Pyramids of each general graph: all are learned from, and each is a look at a test graph.
        tries: Draws of a sparsification until the graph is connected, at most.
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
    task: Literal["classes", "answers", "quantities", "vertices"] = "classes"
    balanced: bool = False
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

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        if (self.task == "vertices") != self.network.per_vertex:
            raise ValueError(
                f"the task is vertices where the network has V, and nowhere else: got the task {self.task} for "
                f"{self.network}"
            )
        return self

    @property
    def looks(self) -> int:
        """At each test example."""
        return self.sparsifications if self.input is None else self.orientations


def recipes() -> dict[str, Recipe]:
    """All rows, by name, in the order of their files."""
    found: dict[str, Recipe] = {}
    for file in sorted(files("edgecond").joinpath("paper", "recipes").iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            found |= read(file.read_text(encoding="utf-8"), file.name)
    return found


def read(text: str, source: str) -> dict[str, Recipe]:
    """The rows of one file, `DATASET.toml`, each called `DATASET/ROW`."""
    try:
        content = tomllib.loads(text)
        base, rows = content["base"], content["rows"]
    except (tomllib.TOMLDecodeError, KeyError) as error:
        raise RecipeError(f"{source} must be TOML with the tables [base] and [rows.NAME]: {error}.") from error
    found = {}
    for row, differences in rows.items():
        name = f"{source.removesuffix('.toml')}/{row}"
        try:
            found[name] = Recipe(name=name, **{**base, **differences})
        except ValueError as error:
            raise RecipeError(f"{source}, row {row}: {first_fault(error)}") from error
    return found


def find(name: str) -> Recipe:
    """The row of a name."""
    known = recipes()
    if name not in known:
        raise RecipeError(
            f"a row is one of those that `edgecond list` shows: there is no {name!r}."
            f"{did_you_mean(name, known, cutoff=0.3, list_known=False)}"
        )
    return known[name]


def changed(recipe: Recipe, changes: Mapping[str, Any]) -> Recipe:
    """The same with other settings, by their names: `{"train.rate": 0.05, "labels": "cartesian"}`."""
    content = recipe.model_dump(mode="json", exclude={"paper"})
    known = {name: (table, key) for name, table, key in _dotted(content)}
    for name, value in changes.items():
        if name in ("name", "dataset", "task"):
            raise RecipeError(
                f"{name} is what the data say, and no setting: got {value!r}. Leave it out, or name other data."
            )
        if name not in known:
            raise RecipeError(
                f"a setting is one of those that `edgecond show` lists: there is no {name!r}."
                f"{did_you_mean(name, known, cutoff=0.3, list_known=False)}"
            )
        table, key = known[name]
        table[key] = value
    try:
        return Recipe(paper=recipe.paper, **content) if changes else recipe
    except ValueError as error:
        raise RecipeError(f"the settings of {recipe.name} must hold together: {first_fault(error)}") from error


def varied(recipe: Recipe, changes: Mapping[str, Any]) -> Recipe:
    """An experiment: a row with other settings, called `ROW/NAME=VALUE,NAME=VALUE`, that is no number of the paper."""
    if not changes:
        return recipe
    other = changed(recipe, changes)
    said = spelled(other)
    what = ",".join(f"{name}={said[name]}" for name in sorted(changes)).replace(" ", "")
    return other.model_copy(update={"name": f"{recipe.name}/{quote(what, safe='=,+()[]{}')}", "paper": ()})


def written(changes: Sequence[str]) -> dict[str, Any]:
    """Settings as people write them, NAME=VALUE: the value is that of TOML, or else a text.

    >>> written(["train.rate=0.05", "hidden=[64]", "labels=cartesian"])
    {'train.rate': 0.05, 'hidden': [64], 'labels': 'cartesian'}
    """
    found: dict[str, Any] = {}
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals:
            raise RecipeError(f"a setting is written NAME=VALUE, as train.rate=0.05: got {change!r}.")
        try:
            found[name.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            found[name.strip()] = value.strip()
    return found


def spelled(recipe: Recipe) -> dict[str, str]:
    """The settings that a recipe has, as `written` takes them: by their dotted names, values as in TOML."""
    content = recipe.model_dump(mode="json", exclude={"paper"}, exclude_none=True)
    return {name: _spelled(table[key]) for name, table, key in _dotted(content)}


def _spelled(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} = {json.dumps(each)}' for key, each in value.items())}}}"
    return value if isinstance(value, str) else json.dumps(value)


def _dotted(table: dict[str, Any], before: str = "") -> Iterator[tuple[str, dict[str, Any], str]]:
    """The settings of a table and those of the tables within: dotted name, table, and name there."""
    for key, value in table.items():
        if isinstance(value, dict) and key != "options":
            yield from _dotted(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", table, key


def first_fault(error: Exception) -> str:
    """The first thing that is wrong, as a sentence."""
    if isinstance(error, ValidationError):
        detail = error.errors()[0]
        said = ": ".join(filter(None, (".".join(map(str, detail["loc"])), detail["msg"].removeprefix("Value error, "))))
        if detail["type"] == "value_error":  # of our own
            return said if said.endswith((".", "^")) else f"{said}."
        found = detail["input"]
        return f"{said}: got {found!r}." if isinstance(found, str | int | float) else f"{said}."
    return str(error)
