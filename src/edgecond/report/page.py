"""The page itself: sections, tables and figures as HTML that needs nothing but a browser."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from importlib.resources import files
from string import Template

from edgecond.errors import EdgecondError
from edgecond.report.figures import Panel, Picture


class ReportError(EdgecondError):
    """A report that cannot be written."""


def page(title: str, lead: str, sections: Iterable[str]) -> str:
    """All of it, with Plotly's script inside."""
    template = Template(files("edgecond.report").joinpath("page.html").read_text("utf-8"))
    body = "\n".join(sections)
    return template.substitute(title=html.escape(title), lead=html.escape(lead), body=body, plotly=plotly_script())


def plotly_script() -> str:
    """Plotly's JavaScript, as its Python package brings it."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise ReportError(
            "a report needs Plotly, which is not installed. Run `pip install 'edgecond[report]'`."
        ) from None
    return str(get_plotlyjs())


def section(title: str, lead: str, *parts: str) -> str:
    """A heading, a sentence or two, and what follows, which is HTML already."""
    return f"<section>\n<h2>{html.escape(title)}</h2>\n<p>{html.escape(lead)}</p>\n{''.join(parts)}</section>"


def cards(facts: Iterable[tuple[str, str]]) -> str:
    """Figures to see first, each with its name."""
    return f'<dl class="cards">{_terms(facts)}</dl>\n'


def facts(named: Iterable[tuple[str, str]]) -> str:
    """Names, and what they stand for."""
    return f'<dl class="facts">{_terms(named)}</dl>\n'


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first column names its rows."""
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in headers)
    lines = [
        f'<tr><th scope="row">{html.escape(first)}</th>{"".join(f"<td>{html.escape(cell)}</td>" for cell in rest)}</tr>'
        for first, *rest in rows
    ]
    body = "\n".join(lines)
    return f'<div class="scroll"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody>\n</table></div>\n'


def figures(panels: Iterable[Panel | Picture], *, wide: bool = False) -> str:
    """Figures beside each other where there is room, each with the sentence that tells what it shows."""
    shown = "\n".join(map(_figure, panels))
    return f'<div class="{"wide" if wide else "panels"}">\n{shown}\n</div>\n'


def _figure(panel: Panel | Picture) -> str:
    """The sentence is both caption and alternative text: it is read aloud once."""
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
