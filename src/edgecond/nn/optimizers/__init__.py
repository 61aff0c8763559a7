"""Optimizers by name; a recipe's `train.optimizer` chooses one."""

from edgecond.nn.optimizers.adamw import AdamW
from edgecond.nn.optimizers.base import Optimizer
from edgecond.nn.optimizers.sgd import SGD

__all__ = ["OPTIMIZERS", "SGD", "AdamW", "Optimizer"]

OPTIMIZERS: dict[str, type[Optimizer]] = {optimizer.name: optimizer for optimizer in (SGD, AdamW)}
