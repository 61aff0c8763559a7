"""A model served to this machine: a page to try it on new examples, and the same as JSON."""

from __future__ import annotations

from edgecond.report.serve.server import Server, ServerError

__all__ = ["Server", "ServerError"]
