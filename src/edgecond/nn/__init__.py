"""The model wing: labelled pyramids become predictions."""
