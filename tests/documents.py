"""Runs the blocks of a page of the documentation from top to bottom, as a reader would, and compares their output."""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from glob import glob
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

from edgecond.cli import app

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
RUN = ("python", "console", "sh")
"""Languages of blocks that are run: Python, commands after `$ ` with their output, and commands alone."""
SHORTENED = ("demo", "train", "reproduce", "fair", "tune")
"""Verbs with the option --epochs."""
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]

_FENCE = re.compile(r"^```(?P<kind>\w*)[^\n]*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_NOTES = {"not run": "not_run", "tested with": "options", "numbers vary": "varies"}
_NOTE = re.compile(rf"<!-- ({'|'.join(_NOTES)}): ([^>]*?) -->\s*$")
_NUMBER = re.compile(r"-?\d[\d.]*(?:e[-+]?\d+)?|·")
_LENGTH = re.compile(r"(?<=epoch)s(?=, batch size| of warm-up)|, divided by 10 after epochs? [\d, and]*\d")
_PROGRESS = re.compile(r"^.*, \d+ min left\n", re.MULTILINE)
_SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A fenced block of a page.

    Attributes:
        page: The file.
        line: Number of its first line.
        kind: Language of the fence.
        text: Its content.
        not_run: Reason not to run it, from a comment before it: `<!-- not run: takes hours -->`.
        options: Options that shorten trainings in it: `<!-- tested with: --epochs 1 -->`, and a pattern of predicted
            classes, which then differ too: `<!-- tested with: --epochs 1; predictions differ: cone|torus -->`.
        varies: Reason why numbers from here on differ from machine to machine: `<!-- numbers vary: ... -->`.
    """

    page: Path
    line: int
    kind: str
    text: str
    not_run: str = ""
    options: str = ""
    varies: str = ""

    def __str__(self) -> str:
        return f"{os.path.relpath(self.page, ROOT)}:{self.line}"

    @property
    def predictions(self) -> str:
        return self.options.partition("predictions differ: ")[2]

    def commands(self) -> Iterator[tuple[str, str | None]]:
        """Yield each command with the output that is shown for it, or None where none is shown."""
        if self.kind == "sh":
            yield from ((line.split(" #")[0].strip(), None) for line in self.text.splitlines() if line.strip())
            return
        for part in re.split(r"^\$ ", self.text, flags=re.MULTILINE)[1:]:
            line, _, shown = part.partition("\n")
            yield line.split(" #")[0].strip(), shown or None


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page, in order."""
    text, fenced = page.read_text("utf-8"), []
    for match in _FENCE.finditer(text):
        note = _NOTE.search(text[: match.start()])
        notes = {_NOTES[note[1]]: note[2]} if note else {}
        fenced.append(Block(page, text.count("\n", 0, match.start()) + 1, match["kind"], match["text"], **notes))
    return fenced


@dataclass
class Reader:
    """Runs the blocks of a page in the current directory; Python blocks share their names.

    Attributes:
        names: Names that Python blocks have defined.
        predictions: Pattern of predicted classes, which are compared no longer once a training was shortened.
        exact: Whether numbers in outputs are compared; no longer once a training was shortened or numbers vary.
    """

    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    exact: bool = True
    predictions: str = "#"

    def follow(self, page: Path) -> int:
        """Run the blocks of a page, check that each prints what is shown, and return their number."""
        fenced, count = blocks(page), 0
        for block, after in zip(fenced, [*fenced[1:], None], strict=True):
            if block.kind not in RUN or block.not_run:
                continue
            self.exact = self.exact and not (block.options or block.varies)
            self.predictions = block.predictions or self.predictions
            if block.kind == "python":
                output = after.text if after and after.kind == "text" else None
                self.compare(block, output, self.python(block))
            else:
                for command, shown in block.commands():
                    self.compare(block, shown, self.command(block, command))
            count += 1
        return count

    def python(self, block: Block) -> str:
        code = compile("\n" * block.line + block.text, str(block.page), "exec")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, self.names)
        return printed.getvalue()

    def command(self, block: Block, line: str) -> str:
        """Run a command and return what it prints; `make demo` runs `edgecond demo`, and nothing is installed."""
        line = "edgecond demo" if line == "make demo" else line
        words, _, to = line.partition(" > ")
        first, *arguments = [name for word in shlex.split(words) for name in sorted(glob(word)) or [word]]
        if first in ("pip", "source"):
            assert set(extras(line)) <= set(EXTRAS), f"{block}: {line} names an extra that does not exist"
            return ""
        if first != "edgecond":
            done = subprocess.run(line, shell=True, capture_output=True, text=True)
            assert done.returncode == 0, f"{block}: {line}\n{done.stdout}{done.stderr}"
            return done.stdout
        if arguments[0] in SHORTENED:
            arguments += shlex.split(block.options.partition(";")[0])
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, f"{block}: {line}\n{done.output}{done.exception or ''}"
        if to:
            Path(to).write_text(done.stdout)
        return "" if to else done.output

    def compare(self, block: Block, shown: str | None, printed: str) -> None:
        if shown is None:
            return
        printed = _PROGRESS.sub("", printed)
        agree = doctest.OutputChecker().check_output(self.lasting(shown), self.lasting(printed), _SAME)
        assert agree, f"{block} shows\n{shown}\nand prints\n{printed}"

    def lasting(self, text: str) -> str:
        """Return the part of an output that is the same on every machine and for every length of training."""
        text = re.sub("─+", "─", text)
        return text if self.exact else re.sub(self.predictions, "#", _NUMBER.sub("#", _LENGTH.sub("", text)))


def extras(line: str) -> list[str]:
    """Return the extras of edgecond that a command installs."""
    return [name for names in re.findall(r"\[([\w,]+)\]", line) for name in names.split(",")]


def parse(line: str) -> None:
    """Parse a command without running it; raise an error if it is not one of edgecond's."""
    words = shlex.split(line.partition(" > ")[0])
    if "edgecond" in words[:6]:  # torchrun has its own options first
        verb, *arguments = words[words.index("edgecond") + 1 :]
        group = typer.main.get_command(app)
        group.commands[verb].make_context(verb, arguments)  # type: ignore[attr-defined]
