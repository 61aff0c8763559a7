"""What a network that is not there answers, and what is left in a folder afterwards."""

from __future__ import annotations

import io
from email.message import Message
from pathlib import Path


class Answer(io.BytesIO):
    """Some bytes, and how many of them the server promises."""

    def __init__(self, data: bytes, length: int | None = None) -> None:
        super().__init__(data)
        self.headers = Message()
        if length is not None:
            self.headers["Content-Length"] = str(length)


def everything(folder: Path) -> set[str]:
    """Names of all that is in a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}
