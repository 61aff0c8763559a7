"""Parse the HTML of a report."""

import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path


@dataclass
class Page(HTMLParser):
    """Headings, definitions, rows of tables, figures, captions and scripts of a page."""

    headings: list[str] = field(default_factory=list)
    named: dict[str, str] = field(default_factory=dict)
    rows: list[list[str]] = field(default_factory=list)
    figures: list[dict] = field(default_factory=list)
    captions: list[str] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    attributes: list[tuple[str, str, str]] = field(default_factory=list)
    leads: list[str] = field(default_factory=list)
    _inside: str = ""
    _kind: str = ""
    _text: str = ""
    _term: str = ""

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag, attributes):
        self.attributes += [(tag, name, value or "") for name, value in attributes]
        self._inside, self._kind, self._text = tag, dict(attributes).get("type", ""), ""
        if tag == "tr":
            self.rows.append([])

    def handle_data(self, data):
        self._text += data

    def handle_endtag(self, tag):
        match tag:
            case "h1" | "h2":
                self.headings.append(self._text)
            case "p":
                self.leads.append(self._text)
            case "dt":
                self._term = self._text
            case "dd":
                self.named[self._term] = self._text
            case "th" | "td":
                self.rows[-1].append(self._text)
            case "figcaption":
                self.captions.append(self._text)
            case "svg":
                self.figures.append({"svg": True})
            case "script" if self._kind == "application/json":
                self.figures.append(json.loads(self._text))
            case "script":
                self.scripts.append(self._text)

    def row(self, name: str) -> list[str]:
        """Return the cells after the first, in the row of a table that begins with a name."""
        return next(cells for first, *cells in self.rows if first == name)

    def figure(self, caption: str) -> dict:
        """Return the figure whose caption begins so."""
        return next(
            figure for figure, text in zip(self.figures, self.captions, strict=True) if text.startswith(caption)
        )


def read(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text("utf-8"))
    page.close()
    return page
