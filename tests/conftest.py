"""What all tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import torch

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # a command that a test starts need not compile every module again
os.environ.setdefault("TRITON_INTERPRET", "1")  # read where Triton is imported: its kernels then run on a CPU


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Small networks are slow with more, and torch's own sums depend on their number; a test may set another."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
