"""Settings in TOML files, by the dotted names that `--set` takes: recipes, and the space that a search covers."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from edgecond.data.kinds.searching import Range, Space
from edgecond.errors import RecipeError
from edgecond.files import reading

_ENDS = {"low", "high"}


def read_settings(path: Path) -> dict[str, Any]:
    """Return the settings of a recipe file by their dotted names; tables, as `[train]`, are the same as dots."""
    return dict(_dotted(_read(path), path))


def read_space(path: Path) -> Space:
    """Return what a file asks to search: for each setting a list of values, or a range `{ low = 1, high = 9 }`."""
    space: Space = {}
    for name, value in _dotted(_read(path), path):
        if isinstance(value, list) and value:
            space[name] = tuple(value)
        elif isinstance(value, Mapping):
            space[name] = _range(value, f"{path}, {name}")
        else:
            raise RecipeError(
                f"{path}, {name} must be a list of values, or a range as {{ low = 0.001, high = 0.1, log = true }}: "
                f"got {str(value)[:60]}."
            )
    if not space:
        raise RecipeError(f"{path} must name at least one setting to search: it is empty.")
    return space


def settings_text(settings: Mapping[str, Any]) -> str:
    """Return settings as `read_settings` reads them, a line each."""
    return "".join(f"{name} = {value_text(value)}\n" for name, value in settings.items())


def space_text(space: Space) -> str:
    """Return a space as `read_space` reads it; each value of a long list has a line."""
    lines = []
    for name, what in space.items():
        if isinstance(what, Range):
            log = ", log = true" if what.log else ""
            text = f"{{ low = {value_text(what.low)}, high = {value_text(what.high)}{log} }}"
        else:
            values = [value_text(value) for value in what]
            short = f"[{', '.join(values)}]"
            text = short if len(short) <= 80 else "[\n" + "".join(f"  {value},\n" for value in values) + "]"
        lines.append(f"{name} = {text}\n")
    return "".join(lines)


def value_text(value: Any) -> str:
    """Return a value in TOML: numbers, truth values, texts, and lists of them are written as in JSON."""
    return json.dumps(value, ensure_ascii=False)


def _read(path: Path) -> dict[str, Any]:
    with reading(path):
        text = path.read_bytes()
    try:
        return tomllib.loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise RecipeError(f"{path} must be TOML with a setting in each line, as train.epochs = 50: {error}.") from error


def _dotted(table: Mapping[str, Any], path: Path, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the settings of a table and of the tables in it; ranges and options are no such tables."""
    for key, value in table.items():
        if isinstance(value, Mapping) and not _ENDS & value.keys() and key != "options":
            yield from _dotted(value, path, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _range(value: Mapping[str, Any], where: str) -> Range:
    low, high, log = value.get("low"), value.get("high"), value.get("log", False)
    numbers = all(isinstance(end, int | float) and not isinstance(end, bool) for end in (low, high))
    if value.keys() - _ENDS - {"log"} or not numbers or not isinstance(log, bool) or not low < high:  # type: ignore[operator]
        raise RecipeError(f"{where} must be a range as {{ low = 0.001, high = 0.1, log = true }}: got {value}.")
    if log and low <= 0:  # type: ignore[operator]
        raise RecipeError(f"{where} must begin above 0 for a search of equal ratios: got {low}. Leave log out.")
    return Range(low, high, log)  # type: ignore[arg-type]
