"""A test example as a report shows it: drawn by its kind, with its name, and how to read the drawing."""

from __future__ import annotations

from edgecond.data.graphs import GraphExamples
from edgecond.graph import Mesh
from edgecond.report import drawings
from edgecond.report.figures import Panel, Picture
from edgecond.report.molecules import molecule
from edgecond.runs.model import Learnable


def shown(test: Learnable, number: int, said: str) -> Panel | Picture:
    """An example, and what is said of it before its name."""
    name = called(test, number)
    caption = f"{said} ({name})." if name else f"{said}."
    if not isinstance(test, GraphExamples):
        return Panel(drawings.cloud(test.clouds[number]), caption)
    if test.smiles:
        return Picture(molecule(name), caption)
    return Panel(drawings.graph(test.graphs, int(test.numbers[number])), caption)


def called(test: Learnable, number: int) -> str:
    """The SMILES of a molecule, the number of another graph, the name of a cloud; nothing where there is none."""
    if isinstance(test, GraphExamples):
        graph = int(test.numbers[number])
        return test.smiles[graph] if test.smiles else f"graph {graph}"
    return str(test.names[number]) if test.names else ""


def legend(test: Learnable) -> str:
    """How to read the drawings."""
    if not isinstance(test, GraphExamples):
        if len(test) and isinstance(test.clouds[0], Mesh):
            return "They can be turned."
        return "Colour is the signal, or the height where that is constant; what has depth can be turned."
    if test.smiles:
        return "Atoms without a symbol are carbon."
    return drawings.legend(test.graphs.edge_values.tolist())
