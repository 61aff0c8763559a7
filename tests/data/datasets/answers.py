"""Responses of a simulated server, and the contents of a folder."""

from __future__ import annotations

import io
from email.message import Message
from pathlib import Path


class Answer(io.BytesIO):
    """Bytes that a server sends, and the number of bytes that it announces."""

    def __init__(self, data: bytes, length: int | None = None) -> None:
        super().__init__(data)
        self.headers = Message()
        if length is not None:
            self.headers["Content-Length"] = str(length)


def everything(folder: Path) -> set[str]:
    """Return the relative paths of all files and folders in a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}
