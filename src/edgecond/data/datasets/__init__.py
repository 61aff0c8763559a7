"""Named datasets of labelled point clouds and graphs: `load("sydney", fold=0)`, `load("nci1", fold=0)` (Section 4).

A dataset is a module with a number of `FOLDS`, a function `load` and a function `fetch`; `_REGISTER` lists them.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from edgecond.data import MAX_SEED
from edgecond.data.examples import Examples, PointExamples
from edgecond.data.graphs import GraphExamples
from edgecond.errors import DataError, did_you_mean
from edgecond.files import Progress
from edgecond.graph import Cloud

_REGISTER: dict[str, tuple[str, dict[str, Any]]] = {
    "sydney": ("sydney", {}),
    "modelnet10": ("modelnet", {"classes": 10}),
    "modelnet40": ("modelnet", {"classes": 40}),
    "mnist": ("mnist", {}),
    "digits": ("digits", {}),
    "synthetic": ("synthetic", {}),
    "scenes": ("scenes", {}),
    "nci1": ("table3", {"dataset": "nci1"}),
    "nci109": ("table3", {"dataset": "nci109"}),
    "mutag": ("table3", {"dataset": "mutag"}),
    "mutag11": ("table3", {"dataset": "mutag11"}),
    "enzymes": ("table3", {"dataset": "enzymes"}),
    "dd": ("table3", {"dataset": "dd"}),
}


def names() -> list[str]:
    """Return the names of all datasets."""
    return list(_REGISTER)


def folds(name: str) -> int:
    """Return the number of splits of a dataset into training and test set."""
    return _module(name).FOLDS


def load(
    name: str, fold: int = 0, /, **options: Any
) -> tuple[Examples, Examples] | tuple[PointExamples, PointExamples] | tuple[GraphExamples, GraphExamples]:
    """Load the training and test examples of a dataset: clouds, clouds with labelled points, or graphs.

    Args:
        name: Name of the dataset, one of `names()`.
        fold: Number of the split, below `folds(name)`.
        options: Options of this dataset's `load`, such as `sparse=True` for MNIST or `split="fair"` for NCI1.
    """
    module, preset = _module(name), _REGISTER[name][1]
    if not 0 <= fold < module.FOLDS:
        raise DataError(f"the folds of {name} are numbered from 0 to {module.FOLDS - 1}: got {fold}.")
    parameters = inspect.signature(module.load).parameters
    known = [option for option in parameters if option not in ("fold", *preset)]
    for option, value in options.items():
        if option not in known:
            raise DataError(f"{name} has no option {option!r}: it has {', '.join(known) or 'none'}.")
        default = parameters[option].default
        types = (int, float) if isinstance(default, float) else (type(default),)
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise DataError(
                f"the option {option} of {name} must have the type of its default {default!r}: got {str(value)[:60]!r}."
            )
        if isinstance(value, int | float) and not 0 <= value <= MAX_SEED:
            raise DataError(f"the option {option} of {name} must be from 0 to {MAX_SEED}: got {str(value)[:60]}.")
    return module.load(fold=fold, **preset, **options)


def adapt(name: str, cloud: Cloud, options: Mapping[str, Any]) -> Cloud:
    """Return a cloud of any origin as a dataset would have it, loaded with these options."""
    change = getattr(_module(name), "adapt", None)
    return cloud if change is None else change(cloud, options)


def signal_is_one(name: str) -> bool:
    """Return whether the clouds of a dataset have the signal 1: of other clouds, x, y and z are enough."""
    return getattr(_module(name), "SIGNAL_IS_ONE", False)


def extra_metrics(name: str) -> tuple[str, ...]:
    """Return the names of metrics that are shown for a dataset alone."""
    return getattr(_module(name), "METRICS", ()) if name in _REGISTER else ()


def fetch(name: str, progress: Progress | None = None) -> str:
    """Download the missing files of a dataset, verify all files, and return a summary."""
    module, preset = _module(name), _REGISTER[name][1]
    return module.fetch(progress=progress, **preset)


def _module(name: str) -> ModuleType:
    if name not in _REGISTER:
        raise DataError(f"there is no dataset {name!r}.{did_you_mean(name, names())}")
    return import_module(f"{__name__}.{_REGISTER[name][0]}")
