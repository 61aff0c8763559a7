"""Fixtures of the tests of layers."""

import pytest
import torch


@pytest.fixture(autouse=True)
def seed() -> None:
    """Seed torch, so that random layers and graphs are the same from run to run."""
    torch.manual_seed(0)
