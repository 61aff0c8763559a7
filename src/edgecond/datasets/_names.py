"""Names that nobody knows, and those that were probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

_SHOWN = 60  # characters of a name in a sentence


def hint(name: str, known: Iterable[str]) -> str:
    """How a sentence about an unknown name ends.

    >>> hint("Sidney", ["sydney", "mnist"]), hint("cora", ["sydney", "mnist"])
    ('did you mean sydney?', 'there are sydney, mnist.')
    """
    known = list(known)
    near = difflib.get_close_matches(name.lower(), known, cutoff=0.5)
    return f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known)}."


def listed(names: Sequence[str], most: int = 20) -> str:
    """The names in a sentence, or the first of many.

    >>> listed(["smiles", "logS", "name"], most=2)
    'smiles, logS and 1 more'
    """
    shown = ", ".join(name[:_SHOWN] for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
