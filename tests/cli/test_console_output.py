"""Output that cannot be written gives a sentence, and characters that its encoding does not have are written out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

COMMAND = [sys.executable, "-m", "edgecond"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("verb", ["list", "--help", "predict"])
def test_a_full_disk_gives_a_sentence(verb: str, trained: tuple[Path, str], clouds: Path):
    words = [verb, str(trained[0]), str(clouds)] if verb == "predict" else [verb]
    with open("/dev/full", "w") as full:
        result = subprocess.run([*COMMAND, *words], stdout=full, stderr=subprocess.PIPE, text=True)

    assert result.returncode == 2
    assert result.stderr == "the output must be written: No space left on device. Send it to another place.\n"


def test_names_are_written_out_where_the_encoding_is_ascii(trained: tuple[Path, str], tmp_path: Path):
    """ß is U+00DF, and π U+03C0."""
    np.save(tmp_path / "Straße π.npy", np.random.default_rng(0).random((20, 3), np.float32))
    (tmp_path / "damaged ß.npy").write_bytes(b"none")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}

    words = [*COMMAND, "predict", str(trained[0]), str(tmp_path)]
    result = subprocess.run(words, capture_output=True, env=environment)

    assert result.returncode == 1
    assert rb"/Stra\xdfe \u03c0.npy," in result.stdout
    assert b"Traceback" not in result.stderr
    assert b"damaged" in result.stderr


def test_a_reader_that_has_seen_enough_gives_no_error():
    result = subprocess.run(f"{sys.executable} -m edgecond list | head -1", shell=True, capture_output=True, text=True)

    assert result.stderr == ""
    assert result.stdout.count("\n") == 1


@pytest.mark.parametrize("closed", [">&-", "2>&-"])
def test_a_closed_output_is_no_error(closed: str):
    assert (
        subprocess.run(f"{sys.executable} -m edgecond list {closed}", shell=True, stdout=-3, stderr=-3).returncode == 0
    )
