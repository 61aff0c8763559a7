"""The sums behind the algorithms: one interface, one module per backend (see `cpp`)."""

from edgecond.nn.kernels.cpp import (
    Activations,
    available,
    drop_,
    gather,
    Gradients,
    instruction_set,
    outer_sums,
    products,
    Runs,
    serves,
    spread,
)

__all__ = [
    "Activations",
    "Gradients",
    "Runs",
    "available",
    "drop_",
    "gather",
    "instruction_set",
    "outer_sums",
    "products",
    "serves",
    "spread",
]
