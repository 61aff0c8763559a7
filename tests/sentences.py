"""Errors are sentences, and tests read them to the last letter."""

import re

import pytest


def refused(sentence: str, kind: type[Exception] = ValueError) -> pytest.RaisesExc:
    """Expect an error that says exactly this."""
    return pytest.raises(kind, match=f"^{re.escape(sentence)}$")
