"""The sum over edges that are sorted by filter is that of every edge with the filter of its run."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import pytest
import torch
from torch import Tensor

from edgecond.nn.convolution.grouped import grouped
from edgecond.nn.kernels import products, Runs
from edgecond.nn.kernels import torch as torch_backend
from tests.nn.convolution.zoo import assert_agree, evaluate, numbers

SIZES = [[300], [2, 3], [0, 4, 1, 0, 200], [1, 1, 1, 1, 1], [97, 96, 95], [1500] * 3]
# At a block of the kernels, and around it, and beyond a round of 2,048 edges.
N_SRC, N = 6, 4


def runs_of(sizes: list[int], scale: Tensor | None = None) -> Runs:
    """Runs of edges between any two vertices."""
    generator = torch.Generator().manual_seed(0)
    source = torch.randint(N_SRC, (sum(sizes),), generator=generator)
    target = torch.randint(N, (sum(sizes),), generator=generator)
    return Runs(torch.tensor([0, *accumulate(sizes)]), source, target, scale)


def inputs_of(sizes: list[int], scaled: bool, d_in: int = 3, d_out: int = 5) -> dict[str, Tensor]:
    inputs = {"x": numbers(N_SRC, d_in), "matrices": numbers(len(sizes), 1 + scaled, d_out, d_in, seed=1)}
    return inputs | ({"scale": numbers(sum(sizes), seed=2)} if scaled else {})


def by_run(sizes: list[int]) -> Any:
    return lambda x, matrices, scale=None: grouped(x, matrices, runs_of(sizes, scale), N)


def by_edge(sizes: list[int]) -> Any:
    """The definition: every edge has a copy of the filter of its run."""
    runs, run = runs_of(sizes), torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))

    def function(x: Tensor, matrices: Tensor, scale: Tensor | None = None) -> Tensor:
        theta = matrices[run, 0] if scale is None else matrices[run, 0] + scale[:, None, None] * matrices[run, 1]
        messages = torch.einsum("eoi,ei->eo", theta, x[runs.source])
        return torch.zeros(N, matrices.shape[2], dtype=x.dtype).index_add(0, runs.target, messages)

    return function


@pytest.mark.parametrize("scaled", [False, True], ids=["", "linear in a scale"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_every_edge_has_the_filter_of_its_run(sizes: list[int], scaled: bool, dtype: torch.dtype, engine: str):
    """Values and gradients of signal, matrices and scales; a run may be empty."""
    inputs = inputs_of(sizes, scaled)

    ours = evaluate(by_run(sizes), **{key: tensor.to(dtype) for key, tensor in inputs.items()})

    assert_agree(ours, evaluate(by_edge(sizes), **inputs))


@pytest.mark.parametrize("widths", [(1, 1), (1, 64), (8, 7), (16, 33), (33, 16), (64, 1), (48, 48)], ids=str)
@pytest.mark.parametrize("scaled", [False, True], ids=["", "linear in a scale"])
def test_every_width_is_served(widths: tuple[int, int], scaled: bool, dtype: torch.dtype, engine: str):
    """Widths that fill vector registers, and that leave a remainder, on both sides."""
    inputs = inputs_of([7, 100], scaled, *widths)

    ours = evaluate(by_run([7, 100]), **{key: tensor.to(dtype) for key, tensor in inputs.items()})

    assert_agree(ours, evaluate(by_edge([7, 100]), **inputs))


@pytest.mark.parametrize("scaled", [False, True], ids=["", "linear in a scale"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("engine", ["torch"], indirect=True)
def test_the_sizes_of_runs_need_not_be_read(sizes: list[int], scaled: bool, engine: str, monkeypatch):
    """As on devices that would have to wait: runs are multiplied in pieces, of which some are empty."""
    monkeypatch.setattr(torch_backend, "READABLE", ())
    inputs = inputs_of(sizes, scaled)

    assert_agree(evaluate(by_run(sizes), **inputs), evaluate(by_edge(sizes), **inputs))


def test_no_run_at_all_gives_zeros(engine: str):
    assert grouped(torch.ones(N_SRC, 3), torch.empty(0, 1, 5, 3), runs_of([]), N).equal(torch.zeros(N, 5))


@pytest.mark.parametrize("sizes", [[3000, 0, 5000], [17_000, 18_000], [0, *[60] * 60]], ids=["", "rounds", "many"])
@pytest.mark.parametrize("threads", [2, 3, 16])
@pytest.mark.parametrize("engine", ["avx512", "avx2", "plain"], indirect=True)
def test_the_number_of_threads_changes_no_bit_in_the_cpp_backend(threads: int, sizes: list[int], engine: str):
    """Products are added in the order of the edges, on any thread; few runs or many, in one round or two.

    The torch backend makes no such promise: torch's matrix products may depend on the number of threads.
    """
    inputs = {key: tensor.float() for key, tensor in inputs_of(sizes, True, 48, 50).items()}
    alone = evaluate(by_run(sizes), **inputs)

    torch.set_num_threads(threads)

    assert all(tensor.equal(alone[key]) for key, tensor in evaluate(by_run(sizes), **inputs).items())


@pytest.mark.parametrize("scaled", [False, True], ids=["", "linear in a scale"])
def test_second_derivatives_agree_with_differences(scaled: bool):
    """The derivative of the gradient, as torch checks it."""
    inputs = [tensor.requires_grad_() for tensor in inputs_of([2, 0, 3], scaled).values()]

    assert torch.autograd.gradgradcheck(by_run([2, 0, 3]), inputs)


@pytest.mark.parametrize("halved", ["x", "matrices"])
def test_a_half_from_autocast_is_multiplied_in_the_wider_precision(halved: str):
    """bfloat16 and float32 give float32, and every gradient has the precision of its input."""
    inputs = {key: tensor.float() for key, tensor in inputs_of([2, 3], False).items()}
    inputs[halved] = inputs[halved].bfloat16()

    with torch.autocast("cpu", torch.bfloat16):
        ours = evaluate(by_run([2, 3]), **inputs)

    assert ours["the value"].dtype == torch.float32
    assert ours[f"the gradient of {halved}"].dtype == torch.bfloat16
    assert ours["the value"].equal(by_run([2, 3])(**{key: tensor.float() for key, tensor in inputs.items()}))


@pytest.mark.parametrize(
    ("changes", "facts"),
    [
        (
            {"matrices": torch.zeros(2, 2, 5, 3)},
            r"the matrices must have shape \(2, 1, 5, 3\), .*: got \(2, 2, 5, 3\)\.",
        ),
        ({"x": torch.zeros(N_SRC, 4)}, r"the matrices must have shape \(2, 1, 5, 4\), .*: got \(2, 1, 5, 3\)\."),
        ({"target": torch.zeros(4).long()}, r"runs need .* one source, one target .* per edge: got \[4, 5\]"),
        (
            {"scale": torch.zeros(4), "matrices": torch.zeros(2, 2, 5, 3)},
            r"runs need .* one scale per edge: got ",
        ),
    ],
    ids=["two matrices without a scale", "another width", "too few targets", "too few scales"],
)
def test_tensors_that_do_not_fit_are_refused(changes: dict[str, Tensor], facts: str):
    """The kernels trust every size, so the sizes are checked before."""
    given = {"x": torch.zeros(N_SRC, 3), "matrices": torch.zeros(2, 1, 5, 3), **changes}
    right = runs_of([2, 3])
    runs = Runs(right.pointer, right.source, changes.get("target", right.target), changes.get("scale"))

    with pytest.raises(ValueError, match=facts):
        products(runs, given["matrices"], given["x"], N)
