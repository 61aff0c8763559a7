"""The small graphs on which all algorithms are tested, and the comparison of two of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest
import torch
from hypothesis import strategies as st
from torch import Tensor

from edgecond.graph import Graph, Labels
from edgecond.nn.kernels.cpp import CPP

TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-4}  # relative to the largest value
ENGINES = ("avx512", "avx2", "plain", "torch")
U, S = 4, 3  # distinct labels of every graph, and their width

# d_in, d_out, k: narrow and wide on both sides, below, at and above the width of a vector register.
WIDTHS = [
    (1, 1, 1),
    (1, 8, 32),
    (8, 1, 5),
    (3, 7, 5),
    (7, 3, 32),
    (8, 16, 1),
    (16, 8, 32),
    (7, 16, 5),
    (16, 33, 1),
    (33, 64, 5),
    (64, 33, 32),
    (33, 3, 1),
    (3, 64, 32),
    (64, 7, 1),
]


def numbers(*shape: int, seed: int = 0) -> Tensor:
    """Normally distributed doubles that single precision holds exactly."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).double()


def graph_of(
    edges: Sequence[tuple[int, int]],
    n: int,
    *,
    sources: int | Tensor | None = None,
    sizes: Sequence[int] | None = None,
    u: int = U,
) -> Graph:
    """A graph of edges (j, i) with random distinct labels."""
    pairs = torch.tensor(edges, dtype=torch.long).reshape(-1, 2)
    index = torch.randint(u, (len(pairs),), generator=torch.Generator().manual_seed(len(pairs)))
    return Graph.from_edges(
        pairs[:, 0],
        pairs[:, 1],
        Labels(numbers(u, S, seed=1), index),
        num_vertices=n,
        sizes=None if sizes is None else torch.tensor(sizes),
        num_sources=sources,
    )


ZOO = {
    "no vertex": graph_of([], 0),
    "no edge": graph_of([], 4),
    "one vertex": graph_of([(0, 0)], 1),
    "a cycle": graph_of([(i, (i + 1) % 5) for i in range(5)], 5),
    "isolated vertices": graph_of([(1, 5), (5, 1), (5, 5)], 7),
    "duplicate edges": graph_of([(0, 1), (2, 1), (0, 1), (0, 1), (1, 0), (1, 0)], 3),
    "more sources than targets": graph_of([(8, 0), (3, 0), (0, 2), (7, 2), (5, 2), (1, 3)], 4, sources=9),
    "more targets than sources": graph_of([(2, 7), (0, 7), (1, 3), (2, 3), (2, 0), (0, 1)], 8, sources=3),
    "no source": graph_of([], 3, sources=0),
    "every degree to 12": graph_of([(j, i) for i in range(13) for j in range(i)], 13),
    "a batch": graph_of([(0, 1), (1, 0), (2, 2), (3, 4), (5, 4), (4, 4), (6, 6)], 8, sizes=[2, 1, 3, 2]),
}


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Any small graph: vertices without edges, duplicate edges, self-loops, and two sides of different size."""
    n = draw(st.integers(0, 6))
    sources = draw(st.none() | st.integers(0, 6))
    most = n if sources is None else sources
    pairs = st.tuples(st.integers(0, max(0, most - 1)), st.integers(0, max(0, n - 1)))
    edges = draw(st.lists(pairs, max_size=12 if n and most else 0))
    return graph_of(edges, n, sources=sources, u=draw(st.integers(1, 5)))


@contextmanager
def running_on(engine: str) -> Iterator[None]:
    """Compute with one instruction set of the C++ backend, or with the torch backend."""
    kernels = CPP.extension
    if engine not in engines_here():
        pytest.skip(f"this machine has no {engine} kernels")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CPP, "extension", None if engine == "torch" else kernels)
        patch.setattr(CPP, "set", 0 if engine == "torch" else CPP.sets.index(engine))
        yield


def engines_here() -> list[str]:
    """Return the engines of `ENGINES` that this machine has."""
    return [*CPP.sets, "torch"]


def evaluate(function: Callable[..., Tensor], **inputs: Tensor) -> dict[str, Tensor]:
    """Return the value of a function and its gradients with respect to every input, for a random output gradient."""
    leaves = {name: tensor.detach().requires_grad_() for name, tensor in inputs.items()}
    value = function(**leaves)
    gradients = [torch.zeros_like(leaf) for leaf in leaves.values()]
    if value.requires_grad:  # the output of the reference does not depend on its inputs if there is no edge
        received = numbers(*value.shape, seed=99).to(value.dtype)
        gradients = list(torch.autograd.grad(value, list(leaves.values()), received, materialize_grads=True))
    named = {f"the gradient of {name}": gradient for name, gradient in zip(leaves, gradients, strict=True)}
    return {"the value": value.detach(), **named}


def assert_agree(ours: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    """Check that all tensors agree to the tolerance of our precision, relative to the largest element.

    Terms may cancel, as in the gradient of the deviation of equal numbers: what is left is their rounding, which is
    relative to the largest element of all tensors.
    """
    assert ours.keys() == expected.keys()
    largest = max((float(exact.abs().max()) for exact in expected.values() if exact.numel()), default=0.0)
    for name, exact in expected.items():
        found = ours[name]
        assert found.shape == exact.shape, name
        if exact.numel():
            scale, error = float(exact.abs().max()), float((found.double() - exact.double()).abs().max())
            assert error <= TOLERANCE[found.dtype] * scale + 16 * torch.finfo(found.dtype).eps * largest, (
                f"{name} is off by {error:.1e} where the size is {scale:.1e}"
            )
