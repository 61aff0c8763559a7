"""Structural formulas: RDKit's drawings in colours that are visible on white and on black."""

from __future__ import annotations

import re
from typing import Any

from edgecond.data.formats.smiles import parse
from edgecond.report.figures import SHADES, Shades

WIDTH, HEIGHT = 300, 225
"""Size of the drawing in its own units; a page scales it."""
COLOURS = {
    7: "#3b82c4",
    8: "#d9534f",
    15: "#c76a1a",
    16: "#9a8412",
    **dict.fromkeys((9, 17, 35, 53), "#2f9a5a"),
}
"""Colours of nitrogen, oxygen, phosphorus, sulphur and halogens; the rest has the colour of the text around it."""


def molecule(smiles: str, shades: Shades | None = None) -> str:
    """Return the drawing of a molecule as SVG for a page, its atoms and bonds coloured by attributions if given."""
    from rdkit.Chem.Draw.rdMolDraw2D import MolDraw2DSVG, PrepareMolForDrawing

    canvas = MolDraw2DSVG(WIDTH, HEIGHT)
    options: Any = canvas.drawOptions()
    options.clearBackground = False
    options.bondLineWidth = 1.5
    options.setAtomPalette({-1: (0, 0, 0)} | {element: _shares(colour) for element, colour in COLOURS.items()})
    parsed = parse(smiles)
    canvas.DrawMolecule(PrepareMolForDrawing(parsed), **({} if shades is None else _highlights(parsed, shades)))
    canvas.FinishDrawing()
    drawn = re.sub(r"^.*?(?=<svg)|<!--.*?-->", "", canvas.GetDrawingText(), flags=re.DOTALL)
    return str(drawn.replace("#000000", "currentColor").strip())


def _highlights(molecule: Any, shades: Shades) -> dict[str, Any]:
    """Return discs and bands behind atoms and bonds: the larger an attribution, the less transparent."""
    bonds = [(bond.GetIdx(), bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds()]
    values = {number: shades.edges.get((min(i, j), max(i, j)), 0.0) for number, i, j in bonds}
    atoms = dict(enumerate(shades.units.tolist()))
    return {
        "highlightAtoms": list(atoms),
        "highlightAtomColors": {number: _translucent(value) for number, value in atoms.items()},
        "highlightAtomRadii": dict.fromkeys(atoms, 0.4),
        "highlightBonds": list(values),
        "highlightBondColors": {number: _translucent(value) for number, value in values.items()},
    }


def _translucent(value: float) -> tuple[float, ...]:
    return (*_shares(SHADES[-(value > 0)]), 0.75 * min(abs(value), 1.0))


def _shares(colour: str) -> tuple[float, ...]:
    """Return red, green and blue from 0 to 1."""
    return tuple(int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
