"""Over HTTP: only this machine's own page and programs are answered, and every refusal is a sentence as JSON."""

from __future__ import annotations

import http.client
import json
import re
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from edgecond.report.serve import Server, ServerError
from edgecond.report.serve import server as module
from edgecond.runs.prediction import predicted

pytest.importorskip("rdkit")

JSON = {"Content-Type": "application/json"}
CCO = b'{"rows": ["CCO"]}'


@pytest.fixture(scope="module")
def server(regression: Any) -> Iterator[Server]:
    with Server(regression.model, 0).running() as running:
        yield running


def asked(server: Server, method: str, path: str, body: bytes | None = None, **headers: str) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response, content


def test_a_client_that_sends_too_much_reads_why_it_is_refused(server: Server):
    """`http.client` sends the whole body before it reads the reply."""
    response, content = asked(server, "POST", "/predict?name=big.csv", b"smiles\n" + b"C\n" * (26 * 2**20))

    assert response.status == 413
    assert "a file must have at most 50 MB" in json.loads(content)["error"]


def sent(server: Server, request: bytes) -> tuple[int, Any]:
    """Send bytes as they are, and return the status and the JSON of the reply."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=60) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        reply = b"".join(iter(lambda: connection.recv(2**16), b""))
    head, _, body = reply.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def test_the_page_is_whole_and_may_ask_only_this_server(server: Server):
    response, page = asked(server, "GET", "/")

    policy = response.headers["Content-Security-Policy"]
    (nonce,) = re.findall(r"'nonce-([^']+)'", policy)
    assert response.status == 200
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert f'<script nonce="{nonce}">'.encode() in page
    assert not re.search(
        rb"""(?:src|href)=["'](?!data:)|https?://|@import|url\(""", page.replace(b'src: "/plotly.js"', b"")
    )
    other = asked(server, "GET", "/")[0].headers["Content-Security-Policy"]
    assert other != policy  # a nonce is used once


def test_predictions_of_rows_and_of_a_file_are_those_of_the_library(server: Server, regression: Any):
    rows, files = (
        asked(server, "POST", "/predict", CCO, **JSON),
        asked(server, "POST", "/predict?name=new.csv&views=1", b"smiles\nCCO\n"),
    )

    (expected,) = predicted(regression.model, ["CCO"])
    for response, content in (rows, files):
        assert response.status == 200
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert json.loads(content)["rows"][0]["prediction"] == pytest.approx(expected, rel=1e-4)


def test_an_explanation_and_a_description_are_json(server: Server):
    explained = json.loads(asked(server, "POST", "/explain", CCO, **JSON)[1])
    about = json.loads(asked(server, "GET", "/model")[1])

    assert explained["target"] == about["classes"][0]
    assert {row["element"] for row in explained["elements"]} >= {"atom", "bond"}


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status", "sentence"),
    [
        ("GET", "/etc/passwd", None, {}, 404, "there is no '/etc/passwd' here"),
        ("POST", "/", b"", {}, 404, "POST /predict"),
        ("GET", "/predict", None, {}, 405, "send them with POST"),
        ("DELETE", "/model", None, {}, 501, "DELETE"),
        ("GET", "/", None, {"Host": "evil.example:8000"}, 403, "host of a request must be 127.0.0.1 or localhost"),
        ("POST", "/predict", CCO, {**JSON, "Host": "127.0.0.1.evil.example"}, 403, "host of a request"),
        ("POST", "/predict", CCO, {**JSON, "Origin": "https://evil.example"}, 403, "from another"),
        ("POST", "/predict", CCO, {**JSON, "Origin": "null"}, 403, "from another"),
        ("POST", "/predict", CCO, {}, 400, "/predict?name=new.csv"),
        ("POST", "/predict", b"CCO", JSON, 400, "must be JSON as"),
        ("POST", "/predict", b"[" * 100_000, JSON, 400, "must be JSON as"),
        ("POST", "/predict", b'{"rows": [1]}', JSON, 400, "must be JSON as"),
        ("POST", "/predict", b'{"rows": [], "path": "/etc/passwd"}', JSON, 400, "must be JSON as"),
        ("POST", "/predict", b'{"rows": ["nonsense"]}', JSON, 400, "'nonsense' is not a molecule"),
        ("POST", "/predict?coverage=0.9", CCO, JSON, 400, "need a calibration set"),
        ("POST", "/predict?coverage=high", CCO, JSON, 400, "the option coverage must be a number: got 'high'."),
        ("POST", "/predict?views=1&views=2", CCO, JSON, 400, "the option views must be"),
        ("POST", "/predict?views=0", CCO, JSON, 400, "the option views must be a whole number from 1: got '0'."),
        ("POST", "/predict?view=1", CCO, JSON, 400, "there is no option 'view'. Did you mean views?"),
        ("POST", "/predict?name=../../etc/passwd", b"x", {}, 400, "the name of a file must end in .csv"),
        ("POST", "/predict?name=model.pkl", b"x", {}, 400, "the name of a file must end in .csv"),
        ("POST", "/predict?name=%2Fetc%2Fpasswd.csv", b"", {}, 400, "upload.csv"),
        ("POST", "/explain?target=logD", CCO, JSON, 400, "it has no 'logD'"),
    ],
)  # fmt: skip
def test_a_refusal_is_a_sentence(
    server: Server, method: str, path: str, body: bytes, headers: dict[str, str], status: int, sentence: str
):
    response, content = asked(server, method, path, body, **headers)

    assert response.status == status, content
    assert set(answer := json.loads(content)) == {"error"}
    assert sentence in answer["error"]
    assert "Traceback" not in answer["error"]
    assert "/tmp" not in answer["error"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (b"Content-Length: 52428801", 413),
        (b"Content-Length: " + b"9" * 5000, 413),
        (b"Content-Length: -1", 400),
        (b"Content-Length: 3\r\nContent-Length: 4", 400),
        (b"Transfer-Encoding: chunked", 411),
        (b"X-None: 1", 411),
    ],
)
def test_a_length_that_is_wrong_is_refused_before_the_body_is_read(server: Server, headers: bytes, status: int):
    request = b"POST /predict?name=a.csv HTTP/1.1\r\nHost: localhost\r\n" + headers + b"\r\n\r\n"

    assert sent(server, request)[0] == status


def test_a_body_that_is_cut_short_and_what_is_no_http_are_refused(server: Server):
    cut = b"POST /predict?name=a.csv HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nsmiles"

    assert sent(server, cut) == (400, {"error": "the body must have 100 bytes: 94 are missing."})
    assert sent(server, b"GET / HTTP/1.1\r\n\r\n")[0] == 403  # no host
    assert sent(server, b"GET / of another HTTP/1.1\r\n\r\n")[0] == 400


def test_a_defect_is_a_sentence_without_a_trace(server: Server, monkeypatch: pytest.MonkeyPatch, capsys: Any):
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("secret of /home/somebody")

    monkeypatch.setattr(server.answers, "predict", fail)

    response, content = asked(server, "POST", "/predict", CCO, **JSON)

    assert response.status == 500
    assert b"secret" not in content
    assert "RuntimeError: secret" in capsys.readouterr().err


def test_requests_beyond_those_that_fit_into_memory_are_refused(server: Server):
    for _ in range(module.TOGETHER):
        assert server.slots.acquire(blocking=False)
    try:
        assert asked(server, "POST", "/predict", CCO, **JSON)[0].status == 503
    finally:
        server.slots.release(module.TOGETHER)
    assert asked(server, "POST", "/predict", CCO, **JSON)[0].status == 200


def test_a_client_that_sends_nothing_is_left_alone_after_a_while(regression: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module._Handler, "timeout", 0.2)
    with (
        Server(regression.model, 0).running() as server,
        socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as connection,
    ):
        assert connection.recv(1) == b""


def test_only_this_machine_is_listened_to_and_a_port_that_is_taken_is_a_sentence(server: Server, regression: Any):
    assert server.server_address[0] == "127.0.0.1"
    with pytest.raises(ServerError, match=f"port {server.server_port} of 127.0.0.1 must be free"):
        Server(regression.model, server.server_port)
