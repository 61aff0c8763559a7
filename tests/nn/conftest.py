"""Fixtures of the tests of convolutions and kernels."""

from collections.abc import Iterator

import pytest
import torch

from tests.nn.convolution.zoo import ENGINES, running_on


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every instruction set of the C++ backend, and the torch backend."""
    with running_on(request.param):
        yield request.param


@pytest.fixture(params=[torch.float64, torch.float32], ids=["double", "float"])
def dtype(request: pytest.FixtureRequest) -> torch.dtype:
    """Both precisions of the kernels."""
    return request.param


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Small sums gain nothing from threads, and lose much where cores are shared; a test may set another number."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
