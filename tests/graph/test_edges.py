"""Edges are sorted stably, distinct rows found, and changes of a tensor noticed, with and without C++."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from edgecond.graph import edges


@pytest.fixture(params=["C++", "torch"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test with the extension and without it."""
    if request.param == "torch":
        monkeypatch.setattr(edges, "_extension", None)
    elif edges._extension is None:
        pytest.skip("the extension is not built")
    return str(request.param)


needs_extension = pytest.mark.skipif(edges._extension is None, reason="the extension is not built")


@pytest.mark.parametrize("m", [0, 1, 7, 300])
def test_edges_are_sorted_as_numpy_sorts_them(backend: str, m: int):
    """Another method: NumPy's stable argsort."""
    generator = torch.Generator().manual_seed(m)
    vertex, other = torch.randint(0, 9, (2, m), generator=generator)

    found = edges.sort(vertex, other, 11)

    order = np.argsort(vertex.numpy(), kind="stable")
    assert found.order.tolist() == order.tolist()
    assert found.vertex.tolist() == vertex[order].tolist()
    assert found.other.tolist() == other[order].tolist()
    assert found.pointer.tolist() == [int((vertex < v).sum()) for v in range(12)]


def test_columns_of_a_table_are_sorted_like_vectors(backend: str):
    """A column is a strided view, of which the extension reads a copy."""
    pairs = torch.tensor([[5, 2], [6, 0], [7, 1]])

    found = edges.sort(pairs[:, 1], pairs[:, 0], 3)

    assert found.other.tolist() == [6, 7, 5]
    assert found.order.tolist() == [1, 2, 0]


@needs_extension
@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0.0, -0.0, 1.5]), st.integers(0, 3)), max_size=60), st.integers(1, 12))
def test_rows_are_numbered_in_the_order_of_their_first_appearance(rows: list[tuple[float, int]], most: int):
    """Another method: a dict, with the sign of a zero as part of the row."""
    table = torch.tensor(rows, dtype=torch.float32).view(-1, 2)

    found = edges.distinct(table, most)

    numbers: dict[bytes, int] = {}
    index = [numbers.setdefault(row.numpy().tobytes(), len(numbers)) for row in table]
    if len(numbers) > min(most, len(rows)):
        assert found is None
    else:
        assert found is not None
        first, numbered = found
        assert numbered.tolist() == index
        assert table[first].tolist() == [table[index.index(u)].tolist() for u in range(len(numbers))]


@needs_extension
def test_rows_of_any_width_and_precision_are_compared_whole():
    """By hand: rows that differ in one element, at any place, are different."""
    for width in (1, 3, 8, 17):
        for dtype in (torch.float16, torch.float32, torch.float64):
            rows = torch.cat([torch.zeros(1, width), torch.eye(width), torch.eye(width)]).to(dtype)

            found = edges.distinct(rows, 100)

            assert found is not None
            assert found[1].tolist() == [0, *range(1, width + 1), *range(1, width + 1)]


@needs_extension
def test_a_fingerprint_changes_with_every_element():
    """No two tensors that differ in a single element share it."""
    tensor = torch.arange(1.0, 41)
    seen = {edges.fingerprint(tensor)}
    for position in range(40):
        changed = tensor.clone()
        changed[position] *= -1
        seen.add(edges.fingerprint(changed))

    assert len(seen) == 41
    assert edges.fingerprint(tensor.clone()) in seen
    assert edges.fingerprint(tensor[:39]) not in seen


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_not_finite_are_found(backend: str, dtype: torch.dtype, value: float):
    """As torch.isfinite finds them; the largest number of a type is finite."""
    tensor = torch.full((7, 3), torch.finfo(dtype).max, dtype=dtype)
    assert edges.finite(tensor)

    tensor[4, 1] = value

    assert not edges.finite(tensor)


def test_tensors_with_a_gradient_can_be_read(backend: str):
    """Labels may need a gradient."""
    rows = torch.ones(4, 2, requires_grad=True)

    assert edges.finite(rows)
    assert (edges.fingerprint(rows) is None) == (backend == "torch")
    assert (edges.distinct(rows, 4) is None) == (backend == "torch")
