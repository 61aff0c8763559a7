"""The verb `serve`."""

from __future__ import annotations

import re
import signal
import socket
import time
from pathlib import Path
from urllib.request import urlopen

import pytest
from typer.testing import CliRunner

from edgecond.cli import app
from tests.cli.test_running_signals import started


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_server_cleanly(kind: signal.Signals, trained: tuple[Path, str], tmp_path: Path):
    with started(["-m", "edgecond", "serve", str(trained[0]), "--port", "0"], tmp_path) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        (url,) = re.findall(r"http://127\.0\.0\.1:\d+/", line)
        with urlopen(url) as page:
            assert b"<title>" in page.read()
        began = time.monotonic()
        process.send_signal(kind)
        output, errors = process.communicate(timeout=30)

    assert (process.returncode, errors) == (0, "")
    assert "The server has ended." in output
    assert time.monotonic() - began < 20


def test_a_port_that_is_taken_is_a_sentence(trained: tuple[Path, str]):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        result = CliRunner().invoke(app, ["serve", str(trained[0]), "--port", str(port)])

    assert result.exit_code == 2
    assert f"port {port} of 127.0.0.1 must be free: Address already in use. Name another with --port." in result.stderr
