"""Fixtures of the tests of the Triton backend, which run in Triton's interpreter, on the CPU."""

from __future__ import annotations

import pytest

from edgecond.nn import kernels
from edgecond.nn.kernels.torch import TORCH
from edgecond.nn.kernels.triton import Triton


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> Triton:
    """The backend that computes in the interpreter, in place of that for the CPU."""
    pytest.importorskip("triton")
    backend = Triton(devices=("cpu",))
    monkeypatch.setattr(kernels, "BACKENDS", (backend, TORCH))
    return backend


@pytest.fixture
def bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    """Widen the factors of products: Triton 3.9's interpreter keeps bfloat16 as bits and multiplies those."""
    from triton import language
    from triton.runtime.interpreter import InterpreterBuilder

    multiply = InterpreterBuilder.create_dot

    def create_dot(self, a, b, *rest):  # type: ignore[no-untyped-def]
        def widened(factor):  # type: ignore[no-untyped-def]
            return self.cast_impl(factor, language.float32) if factor.dtype.scalar == language.bfloat16 else factor

        return multiply(self, widened(a), widened(b), *rest)

    monkeypatch.setattr(InterpreterBuilder, "create_dot", create_dot)
