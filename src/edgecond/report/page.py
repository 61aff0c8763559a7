"""The HTML of a report: sections, tables and figures in one file that needs only a browser."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from importlib.resources import files
from string import Template
from typing import NamedTuple

from edgecond.errors import EdgecondError
from edgecond.report.figures import Panel, Picture


class ReportError(EdgecondError):
    """A report cannot be written."""


def page(title: str, lead: str, sections: Iterable[str]) -> str:
    """Return the whole page, with Plotly's script in it."""
    template = Template(files("edgecond.report").joinpath("page.html").read_text("utf-8"))
    body = "\n".join(sections)
    return template.substitute(title=html.escape(title), lead=html.escape(lead), body=body, plotly=plotly_script())


def plotly_script() -> str:
    """Return Plotly's JavaScript, which is part of its Python package."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise ReportError(
            "a report needs Plotly, which is not installed. Run `pip install 'edgecond[report]'`."
        ) from None
    return str(get_plotlyjs())


def section(title: str, lead: str, *parts: str) -> str:
    """Return a section: a heading, a sentence or two, and parts that are HTML already."""
    return f"<section>\n<h2>{html.escape(title)}</h2>\n<p>{html.escape(lead)}</p>\n{''.join(parts)}</section>"


def cards(facts: Iterable[tuple[str, str]]) -> str:
    """Return a few facts to see first, each with its name."""
    return f'<dl class="cards">{_terms(facts)}</dl>\n'


def facts(named: Iterable[tuple[str, str]]) -> str:
    """Return names and their values as a list."""
    return f'<dl class="facts">{_terms(named)}</dl>\n'


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose first column names its rows."""
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in headers)
    lines = [
        f'<tr><th scope="row">{html.escape(first)}</th>{"".join(f"<td>{html.escape(cell)}</td>" for cell in rest)}</tr>'
        for first, *rest in rows
    ]
    body = "\n".join(lines)
    return f'<div class="scroll"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody>\n</table></div>\n'


class Sign(NamedTuple):
    """A sign on a figure, its colour, and what it means."""

    letter: str
    colour: str
    meaning: str


def key(signs: Iterable[Sign]) -> str:
    """Return what the signs on a figure mean, as a list that flows around as text does."""
    items = "\n".join(
        f'<li><span style="color:{colour}" aria-hidden="true">{letter}</span> {html.escape(meaning)}</li>'
        for letter, colour, meaning in signs
    )
    return f'<ul class="key">{items}</ul>\n'


def figures(panels: Iterable[Panel | Picture], *, wide: bool = False) -> str:
    """Return figures side by side where there is room, each with its caption."""
    shown = "\n".join(map(_figure, panels))
    return f'<div class="{"wide" if wide else "panels"}">\n{shown}\n</div>\n'


def _figure(panel: Panel | Picture) -> str:
    """Return a figure; its caption is the alternative text too, and read aloud once."""
    caption = html.escape(panel.caption)
    if isinstance(panel, Picture):
        return (
            f'<figure><div class="picture" role="img" aria-label="{caption}">{panel.svg}</div>'
            f'<figcaption aria-hidden="true">{caption}</figcaption></figure>'
        )
    # In a script `</script>` ends it wherever it stands, and <!-- begins a comment.
    data = json.dumps(panel.figure, allow_nan=False, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    return (
        f'<figure><div class="plot" role="img" aria-label="{caption}" style="aspect-ratio:{panel.ratio:g}"></div>'
        f'<script type="application/json">{data}</script>'
        f'<figcaption aria-hidden="true">{caption}</figcaption></figure>'
    )


def _terms(named: Iterable[tuple[str, str]]) -> str:
    return "\n".join(
        f"<div><dt>{html.escape(name)}</dt><dd>{html.escape(meaning)}</dd></div>" for name, meaning in named
    )
