"""Tensors without numbers, and computations that torch transforms, are recognised."""

from __future__ import annotations

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad

from edgecond.graph.transforms import abstract, transformed

X = torch.ones(3)


def seen_by(transform) -> list[bool]:
    """What `transformed` and `abstract` return inside a function that is transformed."""
    seen: list[bool] = []

    def function(x: torch.Tensor) -> torch.Tensor:
        seen.extend([transformed(), abstract(x)])
        return x.sum()

    transform(function)
    return seen


def test_a_plain_tensor_can_be_read():
    assert seen_by(lambda function: function(X)) == [False, False]
    assert seen_by(lambda function: function(X.clone().requires_grad_()).backward()) == [False, False]


def test_every_transform_is_noticed_while_it_is_active():
    """Those of torch.func, and forward-mode differentiation by torch.autograd."""

    def forward_mode(function) -> None:
        with forward_ad.dual_level():
            function(forward_ad.make_dual(X, X))

    assert seen_by(lambda function: torch.func.grad(function)(X)) == [True, True]
    assert seen_by(lambda function: torch.func.vmap(function)(torch.stack([X, X]))) == [True, True]
    assert seen_by(lambda function: torch.func.jvp(function, (X,), (X,))) == [True, True]
    assert seen_by(forward_mode) == [True, True]
    assert not transformed()


def test_tensors_without_numbers_are_noticed():
    """Those of the meta device, of a fake mode, and of a compiled program."""
    with FakeTensorMode() as mode:
        fake = mode.from_tensor(X)

    def function(x: torch.Tensor) -> torch.Tensor:
        return x + abstract(x)

    assert abstract(X.to("meta"))
    assert abstract(fake)
    assert not transformed()
    assert torch.equal(torch.compile(function, backend="eager", fullgraph=True)(X), X + 1)
