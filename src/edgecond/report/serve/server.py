"""HTTP for one model on this machine only: who may ask, how much, and in which form.

Nothing of a request is used as a path, every refusal is a sentence as JSON, and a page of another site can neither read
an answer nor send a file.
"""

from __future__ import annotations

import json
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from socket import SHUT_WR
from socketserver import TCPServer
from threading import BoundedSemaphore, Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

from edgecond.errors import did_you_mean, EdgecondError
from edgecond.report.page import plotly_script, ReportError
from edgecond.report.serve.answers import Answers, MOST_BYTES, Upload
from edgecond.runs.model import Model

HOST = "127.0.0.1"
NAMES = (HOST, "localhost")
"""Names of this machine. A page whose own name was made to lead here sends that name, and is refused."""
PATIENCE = 30
"""Seconds without a byte after which a connection is closed."""
LONGEST = 120
"""Seconds that a body may take to arrive."""
TOGETHER = 8
"""Requests with a body that are in memory at a time."""
SPARED = 3
"""Seconds in which what a client still sends is taken after a refusal: most read the reply only then."""
ENDING = 10
"""Seconds that work in progress has to end when the server does."""

Reply = tuple[str, bytes]
"""Type and content."""


def _count(text: str) -> int:
    if (number := int(text)) < 1:
        raise ValueError(text)
    return number


PREDICT, EXPLAIN = "/predict", "/explain"
_VIEWS, _TEXT = (_count, "a whole number from 1"), (str, "given once")
OPTIONS: dict[str, dict[str, tuple[Callable[[str], Any], str]]] = {
    PREDICT: {"name": _TEXT, "coverage": (float, "a number"), "views": _VIEWS},
    EXPLAIN: {"name": _TEXT, "example": _TEXT, "target": _TEXT, "views": _VIEWS},
}
"""Options of a request by their names: how each is read, and what it must be."""


class ServerError(EdgecondError):
    """A server cannot be started."""


class _RefusedError(EdgecondError):
    """A request is refused, with a status of HTTP."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Server(ThreadingHTTPServer):
    """Serves a model at a port of this machine; 0 for any that is free."""

    daemon_threads = True

    def __init__(self, model: Model, port: int = 8000) -> None:
        self.answers, self.slots = Answers(model), BoundedSemaphore(TOGETHER)
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            raise ServerError(
                f"port {port} of {HOST} must be free: {error.strerror or error}. Name another with --port."
            ) from error

    def server_bind(self) -> None:
        """Bind without a look at the names of this machine, which may take long."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, self.server_address[1]

    @property
    def url(self) -> str:
        """Address of the page."""
        return f"http://{HOST}:{self.server_port}/"

    @contextmanager
    def running(self) -> Iterator[Server]:
        """Answer requests in threads until the block ends, and work in progress with it."""
        thread = Thread(target=self.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.shutdown()
            thread.join()
            self.server_close()
            self.answers.finish(ENDING)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print what went wrong as a line; clients that leave are no error."""
        error = sys.exc_info()[1]
        if not isinstance(error, ConnectionError | TimeoutError):
            print(f"a request failed: {type(error).__name__}: {error}", file=sys.stderr)


class _Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = PATIENCE
    server_version, sys_version = "edgecond", ""

    def do_GET(self) -> None:
        self._reply(self._get)

    def do_POST(self) -> None:
        self._reply(self._post)

    def _get(self) -> Reply:
        match urlsplit(self.path).path:
            case "/":
                return "text/html; charset=utf-8", _page().replace(b"{{nonce}}", self._nonce.encode())
            case "/model":
                return _json(self.server.answers.about())
            case "/plotly.js":
                return "text/javascript; charset=utf-8", _script()
            case path if path in OPTIONS:
                raise _RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, f"{path} takes a file or rows: send them with POST.")
        raise self._not_found()

    def _post(self) -> Reply:
        answers, address = self.server.answers, urlsplit(self.path)
        if (known := OPTIONS.get(address.path)) is None:
            raise self._not_found()
        options = _options(address.query, known)
        length = self._length()
        if not self.server.slots.acquire(blocking=False):
            raise _RefusedError(
                HTTPStatus.SERVICE_UNAVAILABLE,
                f"{TOGETHER} requests are in progress, the most at a time. Try again later.",
            )
        try:
            upload = self._upload(options.pop("name", None), length)
            work: Callable[..., Any] = answers.predict if address.path == PREDICT else answers.explain
            return _json(work(upload, **options))
        finally:
            self.server.slots.release()

    def _not_found(self) -> _RefusedError:
        paths = "GET /, GET /model, POST /predict and POST /explain"
        return _RefusedError(HTTPStatus.NOT_FOUND, f"there is no {urlsplit(self.path).path[:60]!r} here, only {paths}.")

    # Requests

    def _check_sender(self) -> None:
        """Refuse requests that a page of another site has sent."""
        hosts, origins = self.headers.get_all("Host", []), self.headers.get_all("Origin", [])
        if len(hosts) != 1 or hosts[0].partition(":")[0].lower() not in NAMES:
            raise _RefusedError(
                HTTPStatus.FORBIDDEN, f"the host of a request must be {' or '.join(NAMES)}: it is another."
            )
        if any(origin.lower() != f"http://{hosts[0].lower()}" for origin in origins):
            raise _RefusedError(
                HTTPStatus.FORBIDDEN, "a request must come from this server's page: it is from another."
            )

    def _length(self) -> int:
        """Return the length of the body, before any of it is read."""
        lengths = self.headers.get_all("Content-Length", [])
        if not lengths or "Transfer-Encoding" in self.headers:
            raise _RefusedError(HTTPStatus.LENGTH_REQUIRED, "a request must state its Content-Length: it does not.")
        if len(lengths) > 1 or not (lengths[0].isascii() and lengths[0].isdecimal()):
            raise _RefusedError(HTTPStatus.BAD_REQUEST, f"Content-Length must be a number: got {lengths[0][:20]!r}.")
        if len(lengths[0]) > 15 or int(lengths[0]) > MOST_BYTES:
            raise _RefusedError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"a file must have at most {MOST_BYTES // 2**20} MB here: it has more. `edgecond predict` takes any.",
            )
        return int(lengths[0])

    def _upload(self, name: str | None, length: int) -> Upload:
        """Read the body: a file if it has a name, rows as JSON otherwise."""
        answers = self.server.answers
        if name is not None:
            answers.file_named(name, b"")  # before the file is read
            return answers.file_named(name, self._body(length))
        if self.headers.get_content_type() != "application/json":
            raise _RefusedError(
                HTTPStatus.BAD_REQUEST,
                'a request must have a file and its name, as in /predict?name=new.csv, or JSON as {"rows": [...]}.',
            )
        return answers.file_of(_rows(self._body(length)))

    def _body(self, length: int) -> bytes:
        parts, left, end = [], length, time.monotonic() + LONGEST
        while left:
            part = self.rfile.read1(min(left, 2**20))
            if not part:
                raise _RefusedError(HTTPStatus.BAD_REQUEST, f"the body must have {length} bytes: {left} are missing.")
            if time.monotonic() > end:
                raise _RefusedError(HTTPStatus.REQUEST_TIMEOUT, f"a body must arrive within {LONGEST} seconds.")
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    # Replies

    def _reply(self, work: Callable[[], Reply]) -> None:
        """Send what a function returns, or one sentence on why there is nothing."""
        self._nonce = secrets.token_urlsafe(16)
        status = HTTPStatus.OK
        try:
            self._check_sender()
            kind, content = work()
        except (ConnectionError, TimeoutError):
            raise
        except _RefusedError as error:
            status, (kind, content) = error.status, _json({"error": str(error)})
        except (EdgecondError, ValueError) as error:
            status, (kind, content) = HTTPStatus.BAD_REQUEST, _json({"error": str(error)})
        except Exception as error:
            print(f"{urlsplit(self.path).path!r} failed: {type(error).__name__}: {error}", file=sys.stderr)
            sentence = f"this example made the server fail ({type(error).__name__}), which is a defect of edgecond."
            status, (kind, content) = HTTPStatus.INTERNAL_SERVER_ERROR, _json({"error": sentence})
        self._send(status, kind, content)
        if status != HTTPStatus.OK and self.command == "POST":
            self._drain()

    def _drain(self) -> None:
        """Take what is left of a body that was refused: closing the connection now would discard the reply."""
        self.close_connection = True
        end = time.monotonic() + SPARED
        with suppress(OSError):
            self.connection.shutdown(SHUT_WR)
            self.connection.settimeout(SPARED)
            while time.monotonic() < end and self.rfile.read1(2**20):
                pass

    def _send(self, status: int, kind: str, content: bytes) -> None:
        self.send_response(status)
        headers = {
            "Content-Type": kind,
            "Content-Length": str(len(content)),
            "Content-Security-Policy": _policy(self._nonce),
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Send a refusal of the base class, of what is no HTTP or an unknown method, as JSON too."""
        self._nonce = ""
        self.close_connection = True
        with suppress(ConnectionError):
            self._send(code, *_json({"error": f"{(message or HTTPStatus(code).phrase)[:200].rstrip('.')}."}))

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: requests are those of the person at this machine."""


def _policy(nonce: str) -> str:
    """Return what the page may do: run its own script, draw, and ask this server."""
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; img-src data: blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _json(answer: dict[str, Any]) -> Reply:
    return "application/json", json.dumps(answer, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")


def _options(query: str, known: Mapping[str, tuple[Callable[[str], Any], str]]) -> dict[str, Any]:
    """Return the options of a query by their names; each may be given once."""
    options: dict[str, Any] = {}
    for name, values in parse_qs(query, keep_blank_values=True, max_num_fields=20).items():
        if name not in known:
            raise ValueError(f"there is no option {name[:60]!r}.{did_you_mean(name, known)}")
        read, must_be = known[name]
        try:
            (value,) = values
            options[name] = read(value)
        except ValueError:
            raise ValueError(f"the option {name} must be {must_be}: got {', '.join(values)[:60]!r}.") from None
    return options


def _rows(body: bytes) -> list[str]:
    """Return the rows of a request in JSON."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        content = None
    rows = content.get("rows") if isinstance(content, dict) and len(content) == 1 else None
    if not isinstance(rows, list) or not rows or not all(isinstance(row, str) for row in rows):
        raise ValueError('the body must be JSON as {"rows": ["CCO", "CCN"]}: it is something else.')
    return [" ".join(row.splitlines()) for row in rows]


@lru_cache(maxsize=1)
def _page() -> bytes:
    return files("edgecond.report.serve").joinpath("page.html").read_bytes()


@lru_cache(maxsize=1)
def _script() -> bytes:
    try:
        return plotly_script().encode()
    except ReportError as error:
        raise _RefusedError(HTTPStatus.NOT_FOUND, str(error)) from error
