"""The data wing: files become labelled pyramids."""

MAX_SEED = 2**32 - 1
"""Largest random seed, which NumPy and scikit-learn set."""
