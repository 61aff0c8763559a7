"""The paper's notation of networks, such as `C(16)-MP(0.25,0.5)-GAP-FC(14)` (Section 4.1)."""

import re
from collections import deque
from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from itertools import accumulate
from math import inf
from typing import Self

from edgecond.errors import EdgecondError


class Number(float):
    """A number that is printed the way it was written, such as 2.5/32."""

    written: str

    def __new__(cls, written: str | float) -> Self:
        numerator, _, denominator = str(written).partition("/")
        number = super().__new__(cls, float(numerator) / float(denominator or 1))
        number.written = str(written)
        return number

    def __repr__(self) -> str:
        return self.written

    __str__ = __repr__


@dataclass(frozen=True, repr=False)
class Layer:
    """A layer of a network, printed the way the paper writes it."""

    def __repr__(self) -> str:
        values = ",".join(str(value) for value in vars(self).values() if value is not None)
        return f"{type(self).__name__}({values})" if values else type(self).__name__


@dataclass(frozen=True, repr=False)
class Parametric(Layer):
    """A layer with learned weights and `width` output channels."""

    width: int


@dataclass(frozen=True, repr=False)
class Pooling(Layer):
    """Pooling to the next graph; for point clouds with its grid resolution r and neighbourhood radius ρ."""

    resolution: float | None = None
    radius: float | None = None


class GlobalPooling(Layer):
    """Pooling of all vertices of a graph into one."""


class C(Parametric):
    """ECC, followed by batch normalisation and ReLU."""


class MP(Pooling):
    """Max-pooling onto a coarser graph."""


class AP(Pooling):
    """Average pooling onto a coarser graph."""


class GAP(GlobalPooling):
    """Global average pooling."""


class GMP(GlobalPooling):
    """Global max pooling."""


class V(Layer):
    """Unpooling: every vertex of level 0 is given its signals of all levels, for segmentation."""


class FC(Parametric):
    """Fully-connected layer."""


@dataclass(frozen=True, repr=False)
class D(Layer):
    """Dropout with probability p."""

    p: float


class NotationError(EdgecondError, ValueError):
    """A network that breaks a rule of the notation; `position` is the index of the character where it does."""

    def __init__(self, notation: str, position: int, rule: str, advice: str = "") -> None:
        super().__init__(notation, position, rule, advice)
        self.position = position

    def __str__(self) -> str:
        notation, position, rule, advice = self.args
        token = _TOKEN.match(notation, position)
        name = repr(token[0]) if token and token[0] else "the end"
        printable = "".join(character if character.isprintable() else " " for character in notation)
        message = f"{rule}: found {name} at character {position + 1}. {advice}".rstrip()
        return f"{message}\n  {printable}\n  {' ' * position}^"


class Architecture(tuple[Layer, ...]):
    """The layers of a network, in order; parsing and printing are inverse to each other.

    Examples:
        >>> network = Architecture("C(16)-C(32)-MP(2.5/32,7.5/32)-GMP-FC(10)")
        >>> network[2], Architecture(str(network)) == network
        (MP(2.5/32,7.5/32), True)
    """

    __slots__ = ()

    def __new__(cls, notation: str) -> Self:
        if not isinstance(notation, str):
            raise TypeError(
                f"a network must be a string: got {type(notation).__name__}. "
                "Write it as in Architecture('C(16)-GAP-FC(2)')."
            )
        return super().__new__(cls, _parse(notation))

    def __getnewargs__(self) -> tuple[str]:  # arguments of __new__ for pickle and copy
        return (str(self),)

    def __str__(self) -> str:
        return "-".join(map(str, self))

    def __repr__(self) -> str:
        return f"Architecture({str(self)!r})"

    @property
    def poolings(self) -> tuple[Pooling, ...]:
        """The pooling layers from each level of the pyramid to the next."""
        return tuple(layer for layer in self if isinstance(layer, Pooling))

    @property
    def parametric_layers(self) -> int:
        """Number of layers with weights: C and FC."""
        return sum(isinstance(layer, Parametric) for layer in self)

    @property
    def resolutions(self) -> int:
        """Number of levels of the pyramid: the input, and one for each pooling layer."""
        return 1 + len(self.poolings)

    @property
    def levels(self) -> tuple[int, ...]:
        """Level h of the input of each layer: that after the pooling layers before it, and 0 after V."""

        def after(level: int, layer: Layer) -> int:
            return 0 if isinstance(layer, V) else level + isinstance(layer, Pooling)

        return tuple(accumulate(self[:-1], after, initial=0))

    @property
    def classes(self) -> int | None:
        """Width of the last FC, if there is one."""
        return next((layer.width for layer in reversed(self) if isinstance(layer, FC)), None)

    @property
    def per_vertex(self) -> bool:
        """Whether the network predicts classes of vertices, with V in place of global pooling."""
        return any(isinstance(layer, V) for layer in self)

    @property
    def strided(self) -> bool:
        """Whether FC follows C, without global pooling or V.

        The last convolution is then strided and maps all points to a single one (Section 4.4): the last graph of the
        pyramid is bipartite.
        """
        return self.classes is not None and not any(isinstance(layer, GlobalPooling | V) for layer in self)


MOST_CHARACTERS = 10_000  # a thousand layers
_LAYERS: dict[str, tuple[type[Layer], str]] = {
    "C": (C, "C(width)"),
    "MP": (MP, "MP or MP(resolution,radius)"),
    "AP": (AP, "AP or AP(resolution,radius)"),
    "GAP": (GAP, "GAP"),
    "GMP": (GMP, "GMP"),
    "V": (V, "V"),
    "FC": (FC, "FC(width)"),
    "D": (D, "D(p)"),
}
_VALUES: dict[str, tuple[Callable[[str], float], Callable[[float], bool], str]] = {
    "width": (int, lambda width: width > 0, "a width must be a positive integer"),
    "resolution": (Number, lambda r: 0 < r < inf, "a resolution must be a positive number or fraction"),
    "radius": (Number, lambda rho: 0 < rho < inf, "a radius must be a positive number or fraction"),
    "p": (Number, lambda p: 0 <= p < 1, "a dropout probability must be at least 0 and below 1"),
}
_DECIMAL = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_NUMBER = rf"(?P<number>{_DECIMAL}(?:/{_DECIMAL})?)"
_TOKEN = re.compile(rf"{_NUMBER}|[A-Za-z]+|\S|(?=\s*\Z)")  # the end is an empty token


def _parse(notation: str) -> list[Layer]:
    if len(notation) > MOST_CHARACTERS:
        rule = f"a network must have at most {MOST_CHARACTERS:,} characters, and this one has {len(notation):,}"
        raise NotationError(notation[:60], 0, rule)
    tokens = deque(_TOKEN.finditer(notation))

    def take(allowed: Container[str], rule: str) -> str:
        if tokens[0][0] not in allowed:
            raise NotationError(notation, tokens[0].start(), rule)
        return tokens.popleft()[0]

    def take_value(name: str) -> float:
        convert, is_valid, rule = _VALUES[name]
        written = tokens[0]["number"] or ""
        with suppress(ValueError, ZeroDivisionError):
            value = convert(written)
            if is_valid(value) and str(value) == written:  # 016 is invalid, as it would be printed as 16
                tokens.popleft()
                return value
        raise NotationError(notation, tokens[0].start(), rule)

    layers: list[Layer] = []
    while True:
        position = tokens[0].start()
        name = take(_LAYERS, f"a layer is one of {', '.join(_LAYERS)}")
        kind, form = _LAYERS[name]
        values = []
        if fields(kind) and (tokens[0][0] == "(" or not issubclass(kind, Pooling)):
            for mark, field in zip("(,", fields(kind), strict=False):
                take([mark], f"{name} is written {form}")
                values.append(take_value(field.name))
            take([")"], f"{name} is written {form}")
        layer = kind(*values)
        if objection := _objection(layer, layers):
            raise NotationError(notation, position, *objection)
        layers.append(layer)
        if not take(["-", ""], f"{name} is written {form}, then a dash or the end"):
            break
    if any(isinstance(layer, V) for layer in layers) and not any(isinstance(layer, FC) for layer in layers):
        rule = "V must be followed by FC, which scores the classes"
        raise NotationError(notation, len(notation.rstrip()), rule, "Add it, as in V-FC(8).")
    return layers


def _objection(layer: Layer, before: Sequence[Layer]) -> tuple[str, str] | None:
    """Return the rule that a layer breaks by following those before it, and advice."""
    after_graph = any(isinstance(earlier, GlobalPooling | V | FC) for earlier in before)
    pooling = next((earlier for earlier in before if isinstance(earlier, Pooling)), None)
    previous = next((earlier for earlier in reversed(before) if not isinstance(earlier, D)), None)
    match layer:
        case C() | Pooling() | GlobalPooling() | V() if after_graph:
            return "convolution, pooling and V must come before GAP, GMP, V and FC", "Move it before them."
        case Pooling() if pooling and (pooling.radius is None) != (layer.radius is None):
            return "all pooling layers or none must have a resolution and a radius", "Write it like the first."
        case FC() if not isinstance(previous, C | GlobalPooling | V | FC):
            return "FC follows C, GAP, GMP, V or another FC", "Pool globally before it, as in GAP-FC(2)."
    return None
