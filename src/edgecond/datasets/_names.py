"""Names that nobody knows, and those that were probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def hint(name: str, known: Iterable[str]) -> str:
    """How a sentence about an unknown name ends.

    >>> hint("Sidney", ["sydney", "mnist"]), hint("cora", ["sydney", "mnist"])
    ('did you mean sydney?', 'there are sydney, mnist.')
    """
    known = list(known)
    near = difflib.get_close_matches(name.lower(), known, cutoff=0.5)
    return f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known)}."
