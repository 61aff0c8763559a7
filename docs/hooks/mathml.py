"""Converts formulas to MathML when the pages are built; browsers show it without scripts or requests."""

import html
import re
from typing import Any

from latex2mathml.converter import convert

FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\(?:\((?P<inline>.*?)\\\)|\[(?P<display>.*?)\\\])</(?P=tag)>',
    re.DOTALL,
)
FUNCTION = re.compile(r"(<mi>(?:ln|log|exp|sin|cos|arctan|arccos)</mi>)(?=<m(?:i|n|sub|sup|frac|row))")
BAR = re.compile(r'<mo(?: stretchy="false")?>(&#x0007C;|&#x02016;)</mo>')


def on_page_content(page: str, /, **_: Any) -> str:
    """Replace every formula that arithmatex has marked."""
    return FORMULA.sub(to_mathml, page)


def to_mathml(formula: re.Match[str]) -> str:
    """Return a formula in LaTeX as MathML."""
    inline = formula["inline"] is not None
    latex = html.unescape(formula["inline"] if inline else formula["display"]).strip()
    return spaced(convert(latex, display="inline" if inline else "block"))


def spaced(mathml: str) -> str:
    """Space functions, colons and bars as LaTeX does: a pair of bars encloses what is between them."""
    mathml = FUNCTION.sub(r'\1<mspace width="0.17em"></mspace>', mathml).replace("<mi>:</mi>", "<mo>:</mo>")
    for bar in set(BAR.findall(mathml)):
        before, *parts = re.split(rf'<mo(?: stretchy="false")?>{bar}</mo>', mathml)
        if len(parts) % 2 == 0:
            forms = ("prefix", "postfix") * (len(parts) // 2)
            bars = (f'<mo form="{form}" stretchy="false">{bar}</mo>' for form in forms)
            mathml = before + "".join(f"{mark}{part}" for mark, part in zip(bars, parts, strict=True))
    return mathml
