"""Molecules are drawn in colours that are visible on both backgrounds."""

import re

import pytest

from edgecond.report.molecules import COLOURS, molecule
from tests.report.conftest import SMILES

SHEETS = ("#ffffff", "#14181e")
"""The background of a page, light or dark."""


def luminance(colour):
    """Relative luminance by the definition of WCAG 2."""
    shares = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("colour", sorted(set(COLOURS.values())))
@pytest.mark.parametrize("sheet", SHEETS)
def test_colours_have_the_contrast_that_graphics_need(colour, sheet):
    """WCAG 2.1, criterion 1.4.11: 3 to 1."""
    dark, light = sorted([luminance(colour), luminance(sheet)])

    assert (light + 0.05) / (dark + 0.05) >= 3


@pytest.mark.parametrize("smiles", SMILES)
def test_a_drawing_has_only_those_colours_and_that_of_the_text(smiles):
    svg = molecule(smiles)

    assert svg.startswith("<svg")
    assert svg.endswith("</svg>")
    assert "currentColor" in svg
    assert {colour.lower() for colour in re.findall(r"#[0-9a-fA-F]{6}", svg)} <= set(COLOURS.values())
    assert "<rect" not in svg  # a background would hide that of the page


def test_every_bond_between_heavy_atoms_is_drawn():
    """Acetaminophen has 11 bonds between heavy atoms."""
    assert len(set(re.findall(r"bond-\d+", molecule("CC(=O)Nc1ccc(O)cc1")))) == 11
