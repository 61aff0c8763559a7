"""The exceptions that callers catch, and what an unknown name was probably meant to be."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

_SHOWN = 60  # characters of a name in a sentence


class EdgecondError(Exception):
    """An error whose message is a sentence for the user: what must hold, what was found, what to do next."""


class DataError(EdgecondError, ValueError):
    """Something is wrong with a data file, its place or its contents."""


class RecipeError(EdgecondError, ValueError):
    """A recipe does not exist, or its settings do not fit together."""


class CheckpointError(EdgecondError):
    """A model file or a checkpoint cannot be written or read."""


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


def meant(name: str, known: Iterable[str], near: float = 0.3) -> str:
    """A question after those of the known names that are this near, at most three; nothing if there is none."""
    close = difflib.get_close_matches(name, known, n=3, cutoff=near)
    return f" Did you mean {' or '.join(close)}?" if close else ""
