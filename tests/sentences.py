"""Expect errors by the facts in their messages, or by the whole wording."""

import re

import pytest


def refused(sentence: str, kind: type[Exception] = ValueError) -> pytest.RaisesExc:
    """Expect an error whose message is exactly this."""
    return pytest.raises(kind, match=f"^{re.escape(sentence)}$")


def mentions(*facts: object, kind: type[Exception] = ValueError) -> pytest.RaisesExc:
    """Expect an error whose message has these facts, in this order: a name, a value, the next step."""
    return pytest.raises(kind, match="(?s)" + ".*".join(re.escape(str(fact)) for fact in facts))
