"""A crafted file, and what is to become of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

READ = "read"
REFUSED = "refused"
EITHER = "either"


class Crafted(NamedTuple):
    """A file that somebody made to do harm.

    Attributes:
        name: Its name.
        reader: What is done with it, a key of `readers.READERS`.
        content: Function that returns its bytes; or, of a directory, those of each file by name.
        fact: What the sentence that refuses it has; or `REFUSED` for any sentence, `READ` if it can be used, or
            `EITHER`.
    """

    name: str
    reader: str
    content: Callable[[], bytes | dict[str, bytes]]
    fact: str = REFUSED

    def write(self, folder: Path) -> Path:
        """Write it into a folder of its own."""
        path, content = folder / self.name, self.content()
        files = {"": content} if isinstance(content, bytes) else content
        for name, data in files.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(data)
        return path
