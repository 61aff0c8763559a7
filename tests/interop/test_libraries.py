"""Both libraries are optional: they are imported where they are used, and a missing one is named."""

from __future__ import annotations

import subprocess
import sys

import pytest
from torch.nn import Linear

from edgecond.interop import graph_to_networkx, graph_to_pyg, to_hetero
from tests.interop.graphs import random_graph
from tests.sentences import refused


@pytest.mark.parametrize(
    ("library", "convert", "message"),
    [
        (
            "torch_geometric",
            lambda _: to_hetero(Linear(1, 1), ([], [])),
            "PyTorch Geometric is not installed: pip install edgecond[pyg].",
        ),
        ("torch_geometric", graph_to_pyg, "PyTorch Geometric is not installed: pip install edgecond[pyg]."),
        ("networkx", graph_to_networkx, "NetworkX is not installed: pip install networkx."),
    ],
)
def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, library: str, convert, message: str):
    for name in [name for name in sys.modules if name.partition(".")[0] == library]:
        monkeypatch.setitem(sys.modules, name, None)

    with refused(message, ImportError):
        convert(random_graph())


def test_interop_imports_neither_library():
    code = "import sys, edgecond.interop; print({'torch_geometric', 'networkx'} & set(sys.modules))"

    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert run.stdout == "set()\n"
