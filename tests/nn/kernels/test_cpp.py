"""The C++ module reads its arguments by name and refuses a call in which one is missing, unknown or of another kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from edgecond.graph import Rows
from edgecond.nn.kernels.cpp import CPP
from edgecond.nn.kernels.interface import Activations, Gradients, Runs
from tests.nn.convolution.zoo import graph_of, numbers

GRAPH = graph_of([(0, 1), (1, 1), (1, 0)], 2)
OPERATIONS: dict[str, Callable[[], object]] = {
    "gather": lambda: CPP.gather(GRAPH.by_target, layered(), numbers(5, 3, 2), numbers(2, 2)),
    "spread": lambda: CPP.spread(
        GRAPH.by_target, layered(), numbers(5, 3, 2), numbers(2, 3), numbers(2, 2), Gradients(numbers(2, 2))
    ),
    "products": lambda: CPP.products(runs(), numbers(1, 1, 3, 2), numbers(2, 2), 2),
    "outer_sums": lambda: CPP.outer_sums(runs(), numbers(2, 3), numbers(2, 2)),
}
pytestmark = pytest.mark.skipif(not CPP.available, reason="this machine has no C++ kernels")
operations = pytest.mark.parametrize("name", OPERATIONS)


def layered() -> Activations:
    return Activations(numbers(3, 4), None, [numbers(5, 4)], [numbers(5)])


def runs() -> Runs:
    return Runs(torch.tensor([0, 3]), GRAPH.source, GRAPH.target)


class Changed:
    """The compiled module, with a change to the arguments of every call."""

    def __init__(self, module: Any, change: Callable[[list[Any]], None]) -> None:
        self.module, self.change = module, change

    def __getattr__(self, name: str) -> Callable[..., None]:
        def call(*arguments: Any) -> None:
            changed = list(arguments)
            self.change(changed)
            getattr(self.module, name)(*changed)

        return call


def run_with(change: Callable[[list[Any]], None], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CPP, "extension", Changed(CPP.extension, change))
    OPERATIONS[name]()


@operations
def test_the_names_that_python_passes_are_those_that_the_kernels_read(name: str, monkeypatch: pytest.MonkeyPatch):
    run_with(lambda arguments: None, name, monkeypatch)


@operations
@pytest.mark.parametrize(("position", "argument"), [(2, "threads"), (2, "channels"), (3, "pointer"), (3, "weight")])
def test_a_missing_argument_is_named(name: str, position: int, argument: str, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(TypeError, match=f"needs the argument '{argument}'"):
        run_with(lambda arguments: arguments[position].pop(argument), name, monkeypatch)


@operations
@pytest.mark.parametrize(
    ("position", "kind", "surplus"),
    [(2, "numbers", "depth"), (2, "numbers", "weight"), (3, "addresses", "depth"), (3, "addresses", "threads")],
)
def test_a_surplus_argument_is_named(
    name: str, position: int, kind: str, surplus: str, monkeypatch: pytest.MonkeyPatch
):
    """Even if it is the name of an argument of the other kind."""
    with pytest.raises(TypeError, match=f"no argument '{surplus}' among its {kind}"):
        run_with(lambda arguments: arguments[position].update({surplus: 1}), name, monkeypatch)


@operations
def test_a_number_among_the_addresses_is_refused(name: str, monkeypatch: pytest.MonkeyPatch):
    """A number and an address are both integers: they travel in separate dicts."""

    def move(arguments: list[Any]) -> None:
        arguments[3]["threads"] = arguments[2].pop("threads")

    with pytest.raises(TypeError, match="needs the argument 'threads' among its numbers"):
        run_with(move, name, monkeypatch)


@operations
@pytest.mark.parametrize(
    ("position", "argument", "value", "error"),
    [
        (2, "row_width", 2.0, "'row_width' must be a number: got 2.0"),
        (2, "row_width", None, "'row_width' must be a number: got None"),
        (3, "column_signal", "here", "'column_signal' must be an address or None: got 'here'"),
    ],
    ids=["a fraction", "no number", "a word"],
)
def test_a_value_of_another_type_is_named(
    name: str, position: int, argument: str, value: object, error: str, monkeypatch: pytest.MonkeyPatch
):
    with pytest.raises(TypeError, match=error):
        run_with(lambda arguments: arguments[position].update({argument: value}), name, monkeypatch)


@pytest.mark.parametrize(
    ("position", "argument", "value", "error"),
    [
        (3, "pointer", -8, "'pointer' must be an address: got -8"),
        (3, "biases", (), "1 hidden layers need as many weights and biases: got 1 and 0"),
        (2, "widths", (4, *[5] * 9), "'widths' has at most 9 elements"),
    ],
    ids=["a negative address", "a missing bias", "too many layers"],
)
def test_a_value_that_cannot_be_right_is_named(
    position: int, argument: str, value: object, error: str, monkeypatch: pytest.MonkeyPatch
):
    with pytest.raises(ValueError, match=error):
        run_with(lambda arguments: arguments[position].update({argument: value}), "gather", monkeypatch)


NEEDS: list[tuple[str, int, str, object]] = [  # operation, position among its arguments, name, value
    *[(name, 2, size, value) for name in OPERATIONS for size in ("channels", "row_width") for value in (0, -1, 2**39)],
    *[(name, 2, "edges", -1) for name in OPERATIONS],
    *[(name, 3, "pointer", None) for name in OPERATIONS],
    *[(name, 3, "column_signal", None) for name in OPERATIONS],
    *[(name, 2, "rows", -1) for name in ("gather", "spread")],
    *[(name, 2, "hidden_width", value) for name in ("gather", "spread") for value in (-1, 0, 4, 7)],
    *[(name, 2, "widths", value) for name in ("gather", "spread") for value in ((4, 0), (-4, 5), (4, 6))],
    *[(name, 3, field, None) for name in ("gather", "spread") for field in ("column", "hidden", "weight")],
    *[(name, 3, "index", 8) for name in ("gather", "spread")],
    *[(name, 3, "weights", (0,)) for name in ("gather", "spread")],
    *[(name, 3, field, None) for name in ("products", "outer_sums") for field in ("source", "target")],
    *[(name, 2, "channels", 2) for name in ("products", "outer_sums")],
    ("spread", 3, "row_signal", None),
    ("products", 3, "weight", None),
    ("outer_sums", 3, "row_signal", None),
]


@pytest.mark.parametrize(("name", "position", "argument", "value"), NEEDS)
def test_sizes_and_addresses_that_no_tensors_have_are_refused(
    name: str, position: int, argument: str, value: object, monkeypatch: pytest.MonkeyPatch
):
    """None stands for an address that is missing. Lengths are those of the caller's tensors, and are trusted."""
    with pytest.raises(ValueError, match=r"must|needs?\b"):
        run_with(lambda arguments: arguments[position].update({argument: value}), name, monkeypatch)


@operations
def test_an_address_between_numbers_is_refused(name: str, monkeypatch: pytest.MonkeyPatch):
    def move(arguments: list[Any]) -> None:
        arguments[3]["column_signal"] += 1

    with pytest.raises(ValueError, match=r"'column_signal' must begin at a multiple of 8 bytes .*\.clone\(\)"):
        run_with(move, name, monkeypatch)


def test_a_tensor_that_begins_between_numbers_is_refused():
    """torch.frombuffer makes such tensors."""
    data = torch.frombuffer(bytearray(33), dtype=torch.double, offset=1).view(2, 2)

    with pytest.raises(ValueError, match=r"must begin at a multiple of 8 bytes .*\.clone\(\)"):
        CPP.gather(GRAPH.by_target, layered(), numbers(5, 3, 2), data)
    CPP.gather(GRAPH.by_target, layered(), numbers(5, 3, 2), data.clone())


def test_weights_that_repeat_their_elements_overflow_no_size():
    """By hand: 2^30 * 2^16 * 2^16 elements of eight bytes are 2^65 bytes, of which 64 bits hold 0. One edge and one
    element in memory are enough to ask for them."""
    one = torch.ones(1, 1, 1, dtype=torch.double)
    rows, a = Rows(torch.tensor([0, 1]), torch.tensor([0])), Activations(None, torch.tensor([0]))
    edge = Runs(torch.tensor([0, 1]), torch.tensor([0]), torch.tensor([0]))

    with pytest.raises(ValueError, match=r"from 1 to 274877906944 elements: got 1073741824 x 65536 x 65536\."):
        CPP.gather(rows, a, one.expand(2**30, 2**16, 2**16), numbers(1, 2**16))
    with pytest.raises(ValueError, match=r"from 1 to 274877906944 elements: got 1 x 8388608 x 65536\."):
        CPP.products(edge, one[None].expand(1, 1, 2**23, 2**16), numbers(1, 2**16), 1)


@pytest.mark.parametrize("p", [-1.0, 0.0, 1.0, 2.0, float("nan"), float("inf")])
def test_dropout_needs_a_probability_between_0_and_1(p: float):
    """From others, the gap between zeros is no number of elements."""
    elements = numbers(5)

    with pytest.raises(ValueError, match="a probability between 0 and 1"):
        CPP.drop_(elements, p, 0)
    assert elements.equal(numbers(5))


@pytest.mark.parametrize(("elements", "count"), [(0, 1), (8, -1), (-8, 1), (3, 1)])
def test_dropout_needs_elements(elements: int, count: int):
    with pytest.raises(ValueError, match="the address of its elements"):
        CPP.extension.drop(double=True, elements=elements, count=count, p=0.5, seed=0)


@pytest.mark.parametrize("widths", [(4, 0, 5), (4, 6, 0)])
def test_networks_with_an_empty_layer_are_left_to_torch(widths: tuple[int, int, int]):
    """An empty tensor has no address. By hand: a layer without inputs returns its biases."""
    s, first, second = widths
    weights = [numbers(first, s, seed=1), numbers(second, first, seed=2)]
    biases = [numbers(first, seed=3), numbers(second, seed=4)]
    weight, y = numbers(second + 1, 3, 2, seed=5), numbers(2, 2, seed=6)

    ours = CPP.gather(GRAPH.by_target, Activations(numbers(3, s), None, weights, biases), weight, y)

    a = torch.cat([torch.relu(biases[1]) if first == 0 else torch.zeros(0), torch.ones(1)]).double()
    messages = torch.einsum("c,crj,ej->er", a, weight, y[GRAPH.source])
    torch.testing.assert_close(ours, torch.zeros(2, 3).double().index_add(0, GRAPH.target, messages))


def test_an_output_without_an_address_is_refused(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(ValueError, match="must have an address"):
        run_with(lambda arguments: arguments.__setitem__(4, 0), "gather", monkeypatch)


def test_spread_needs_a_dict_of_gradients(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(TypeError, match="spread needs a dict"):
        run_with(lambda arguments: arguments.__setitem__(4, 1), "spread", monkeypatch)


@pytest.mark.parametrize("depth", [8, 9])
def test_networks_with_more_layers_than_the_kernels_take_are_left_to_torch(depth: int):
    """Eight layers are computed by the kernels, nine by torch: both by the formula of `Activations`."""
    weights, biases = [numbers(4, 4, seed=i) for i in range(depth)], [numbers(4, seed=20 + i) for i in range(depth)]
    labels, weight, y = numbers(3, 4, seed=40), numbers(4, 3, 2, seed=41), numbers(2, 2, seed=42)

    ours = CPP.gather(GRAPH.by_target, Activations(labels, None, weights, biases), weight, y)

    a = labels
    for layer, bias in zip(weights, biases, strict=True):
        a = torch.relu(a @ layer.T + bias)
    messages = torch.einsum("ec,crj,ej->er", a, weight, y[GRAPH.source])
    torch.testing.assert_close(ours, torch.zeros(2, 3).double().index_add(0, GRAPH.target, messages))
