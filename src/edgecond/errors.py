"""The exceptions that callers catch, and the parts that error messages share."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

_SHOWN = 60  # characters of a name in a message
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, marks that change the direction of text, other line breaks, and bytes that are not UTF-8."""


class EdgecondError(Exception):
    """Base class of all errors of the package; the message gives what must hold, what was found and what to do next."""


class DataError(EdgecondError, ValueError):
    """A data file is missing, cannot be read, or holds something unusable."""


class RecipeError(EdgecondError, ValueError):
    """A recipe does not exist, or its settings do not fit together."""


class CheckpointError(EdgecondError):
    """A model file or a checkpoint cannot be written or read."""


class ReportedError(EdgecondError):
    """Another process that runs the same command cannot go on, and reports why."""


class DataWarning(UserWarning):
    """Data are used although they differ from those of the training set, as the message says."""


def did_you_mean(name: str, known: Iterable[str], *, cutoff: float = 0.5, list_known: bool = True) -> str:
    """Return a sentence, after a space, that suggests known names: similar to an unknown one, or those it abbreviates.

    >>> did_you_mean("Sidney", ["sydney", "mnist"])
    ' Did you mean sydney?'
    >>> did_you_mean("train.lr", ["train.learning_rate", "dropout"])
    ' Did you mean train.learning_rate?'
    >>> did_you_mean("cora", ["sydney", "mnist"])
    ' Known names: sydney, mnist.'

    Args:
        name: The unknown name.
        known: The names that exist.
        cutoff: Least similarity of a suggestion, from 0 to 1, as in `difflib.get_close_matches`.
        list_known: List the known names if none is similar; otherwise return an empty string.
    """
    by_lower = {each.lower(): each for each in known}
    close = difflib.get_close_matches(name.lower(), by_lower, cutoff=cutoff)
    short = [each for each in by_lower if len(_initials(each)) > 1 and _initials(each) == name.lower().split(".")[-1]]
    similar = [by_lower[each] for each in short or close]
    if similar:
        return f" Did you mean {' or '.join(each[:_SHOWN] for each in similar)}?"
    return f" Known names: {listed(list(by_lower.values()))}." if list_known and by_lower else ""


def _initials(name: str) -> str:
    """Return the first letters of the words of a setting, without the group that it is in."""
    return "".join(word[:1] for word in name.split(".")[-1].split("_"))


def listed(names: Sequence[str], most: int = 20) -> str:
    """Join names for a message, at most `most` of them.

    >>> listed(["smiles", "logS", "name"], most=2)
    'smiles, logS and 1 more'
    """
    shown = ", ".join(name[:_SHOWN] for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def counted(number: int, noun: str) -> str:
    """Return a number with a noun, whose plural ends in s.

    >>> counted(1, "test example"), counted(1200, "file")
    ('1 test example', '1200 files')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def printable(text: str) -> str:
    r"""Return a text for a terminal, in which control characters other than tabs and line breaks are written out.

    Names of files, classes and columns may hold sequences that move the cursor, rename the window or reverse the text.

    >>> print(printable("ball\x1b[31m, \u202egnp.exe"))
    ball\x1b[31m, \u202egnp.exe
    """
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
