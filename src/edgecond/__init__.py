"""Edge-conditioned convolution on graphs and point clouds (Simonovsky and Komodakis, CVPR 2017).

A public name is imported on its first use, so that `import edgecond` and `edgecond --help` answer at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what `_MODULE_OF` says, for type checkers and editors
    from edgecond.estimator import EdgeCondClassifier as EdgeCondClassifier
    from edgecond.estimator import EdgeCondRegressor as EdgeCondRegressor
    from edgecond.graph import Cloud as Cloud
    from edgecond.graph import collate as collate
    from edgecond.graph import Graph as Graph
    from edgecond.graph import Labels as Labels
    from edgecond.graph import Pyramid as Pyramid
    from edgecond.graph import Sample as Sample
    from edgecond.nn.convolution import plan as plan
    from edgecond.nn.layers import ECConv as ECConv
    from edgecond.nn.layers import FilterNetwork as FilterNetwork
    from edgecond.nn.network import Network as Network
    from edgecond.notation import Architecture as Architecture

__version__ = "0.1.0"

_MODULE_OF = {
    "Architecture": "edgecond.notation",
    "Cloud": "edgecond.graph",
    "Labels": "edgecond.graph",
    "Graph": "edgecond.graph",
    "Pyramid": "edgecond.graph",
    "Sample": "edgecond.graph",
    "collate": "edgecond.graph",
    "plan": "edgecond.nn.convolution",
    "ECConv": "edgecond.nn.layers",
    "FilterNetwork": "edgecond.nn.layers",
    "Network": "edgecond.nn.network",
    "EdgeCondClassifier": "edgecond.estimator",
    "EdgeCondRegressor": "edgecond.estimator",
}

__all__ = ["__version__", *_MODULE_OF]


def __getattr__(name: str) -> object:
    if name == "nn":  # for `edgecond.nn.swap` after `import edgecond`
        return import_module("edgecond.nn")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'edgecond' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value  # the next use finds it without coming here
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
