"""What the tests of layers share."""

import pytest
import torch


@pytest.fixture(autouse=True)
def seed() -> None:
    """Layers start at random, and graphs are random, too: the same from run to run."""
    torch.manual_seed(0)
