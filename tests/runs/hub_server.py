"""A server that answers as the Hugging Face Hub does, for one repository, on this machine."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class FakeHub(ThreadingHTTPServer):
    """Keeps the files of the repository `me/model`, and whether it was created as a private one."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.private: bool | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: FakeHub

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.path == "/api/repos/create":
            self.server.private = json.loads(text)["visibility"] == "private"
            return self._send({"url": f"{self.server.url}/me/model", "id": "me/model", "name": "me/model"})
        if self.path == "/api/validate-yaml":
            return self._send({"errors": [], "warnings": []})
        if self.path == "/api/models/me/model/preupload/main":
            names = [file["path"] for file in json.loads(text)["files"]]
            modes = [{"path": name, "uploadMode": "regular", "shouldIgnore": False} for name in names]
            return self._send({"files": modes})
        if self.path == "/api/models/me/model/commit/main":
            for line in map(json.loads, text.splitlines()):
                if line["key"] == "file":
                    self.server.files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
            return self._send({"commitUrl": f"{self.server.url}/me/model/commit/{COMMIT}", "commitOid": COMMIT})
        return self._send({"error": "Repository not found"}, 404)

    def do_HEAD(self) -> None:
        self._resolve(body=False)

    def do_GET(self) -> None:
        self._resolve(body=True)

    def _resolve(self, body: bool) -> None:
        content = self.server.files.get(self.path.rpartition("/")[2])
        if not self.path.startswith("/me/model/resolve/") or content is None:
            return self._send({"error": "Entry not found"}, 404)
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        if body:
            self.wfile.write(content)

    def _send(self, content: object, status: int = 200) -> None:
        text = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)


@contextmanager
def fake_hub() -> Iterator[FakeHub]:
    """Run the server while a block runs."""
    with FakeHub() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
