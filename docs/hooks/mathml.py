"""Converts formulas to MathML when the pages are built; browsers show it without scripts or requests."""

import html
import re
from typing import Any

from latex2mathml.converter import convert

FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\(?:\((?P<inline>.*?)\\\)|\[(?P<display>.*?)\\\])</(?P=tag)>',
    re.DOTALL,
)


def on_page_content(page: str, /, **_: Any) -> str:
    """Replace every formula that arithmatex has marked."""
    return FORMULA.sub(to_mathml, page)


def to_mathml(formula: re.Match[str]) -> str:
    """Return a formula in LaTeX as MathML."""
    inline = formula["inline"] is not None
    latex = html.unescape(formula["inline"] if inline else formula["display"]).strip()
    return convert(latex, display="inline" if inline else "block")
