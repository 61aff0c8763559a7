"""The data wing: files become labelled pyramids."""

MAX_SEED = 2**32 - 1
"""Largest random seed, which NumPy and scikit-learn set."""

COARSE = 2**14
"""Coordinates beyond are too coarse in single precision, whose steps are 0.002 there and 0.5 at 5 million."""
