"""Files that cannot be read never end a `predict` of others: each has a sentence, and the status is 1."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from typer.testing import CliRunner

from edgecond.cli import app
from tests.crafted.archives import lying_zip, tar
from tests.crafted.clouds import wrapping_pcd
from tests.crafted.graphs import tensors


def write_bad(folder: Path) -> int:
    """Write files and folders that cannot be read, and return their number."""
    contents = {
        "subarray.npy": b"",
        "lzma.npz": lying_zip(14),
        "damaged.npz": lying_zip(14)[:-40],
        "wrapping.pcd": wrapping_pcd(),
        "empty.ply": b"",
        "pickle.npy": b"\x80\x04N.",
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    np.save(folder / "subarray.npy", np.zeros(4, [("x", "f4"), ("y", "f4"), ("z", "f4", (2, 2))]))
    Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.npy")).write_bytes(b"none")
    os.mkfifo(folder / "pipe.xyz")
    (folder / "loop.xyz").symlink_to("loop.xyz")
    return len(contents) + 3


def test_every_bad_file_has_a_sentence_and_the_good_ones_have_rows(trained: tuple[Path, str], tmp_path: Path):
    """A pipe would be waited for; names need not be UTF-8; a record of 4 GiB would be read beyond its buffer."""
    (folder := tmp_path / "mixed").mkdir()
    count = write_bad(folder)
    np.save(folder / "good.npy", np.random.default_rng(0).random((20, 3)))

    result = CliRunner().invoke(app, ["predict", str(trained[0]), str(folder), "a" * 5000])

    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 1
    assert len(result.stderr.splitlines()) == count + 1
    assert [line.split(",")[0] for line in result.stdout.splitlines()] == ["file", str(folder / "good.npy")]


def test_folders_3_000_deep_are_walked_or_reported(trained: tuple[Path, str], tmp_path: Path):
    """A path has at most 4,096 bytes on Linux; each folder is created in the one before."""
    np.save(tmp_path / "good.npy", np.random.default_rng(0).random((20, 3)))
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("a", dir_fd=here)
        deeper = os.open("a", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)
    try:
        result = CliRunner().invoke(app, ["predict", str(trained[0]), str(tmp_path)])
    finally:
        subprocess.run(["rm", "-rf", str(tmp_path / "a")], check=True)

    assert result.exit_code == 1
    assert "File name too long" in result.stderr
    assert len(result.stdout.splitlines()) == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable for the superuser")
def test_a_sub_folder_that_may_not_be_listed_is_reported(trained: tuple[Path, str], clouds: Path, tmp_path: Path):
    shutil.copytree(clouds, tmp_path / "shapes")
    (tmp_path / "shapes" / "box").chmod(0)
    try:
        result = CliRunner().invoke(app, ["predict", str(trained[0]), str(tmp_path / "shapes")])
    finally:
        (tmp_path / "shapes" / "box").chmod(0o755)

    assert result.exit_code == 1
    assert "box cannot be read: Permission denied" in result.stderr
    assert len(result.stdout.splitlines()) == 7


def test_a_table_with_a_field_of_131_073_characters_does_not_end_the_prediction_of_another(tmp_path: Path):
    """131,072 is the limit of Python's csv module."""
    pytest.importorskip("rdkit")
    words = [
        "--folds",
        "3",
        "--fold",
        "0",
        "--epochs",
        "1",
        "--set",
        "network=C(4)-GAP-FC(2)",
        "--out",
        str(tmp_path / "run"),
    ]
    rows = "".join(f"{'C' * (n + 1)}O,{'ab'[n % 2]}\n" for n in range(12))
    (tmp_path / "good.csv").write_text(f"smiles,kind\n{rows}")
    (tmp_path / "long.csv").write_text(f"smiles\n{'C' * 131_073}\n")
    result = CliRunner().invoke(app, ["train", str(tmp_path / "good.csv"), "--target", "kind", *words])
    assert result.exit_code == 0, result.output

    files = [str(tmp_path / "long.csv"), str(tmp_path / "good.csv")]
    result = CliRunner().invoke(app, ["predict", str(tmp_path / "run"), *files])

    assert result.exit_code == 1
    assert "long.csv, row 2 must be a row of a table" in result.stderr
    assert len(result.stdout.splitlines()) == 13


def test_tensors_in_bfloat16_are_predicted_and_those_of_64_dimensions_do_not_end_it(tmp_path: Path):
    (tmp_path / "many.safetensors").write_bytes(tensors(x=torch.zeros([1] * 70)))
    (tmp_path / "tar.tar").write_bytes(tar(b"~", 156))
    ends = torch.tensor([[0, 1], [1, 0]])
    batch = {"edge_index": torch.cat([ends + 2 * k for k in range(12)], 1), "ptr": torch.arange(0, 25, 2)}
    x = torch.linspace(0, 1, 24).bfloat16()[:, None]
    save_file(batch | {"x": x, "y": torch.arange(12) % 2}, tmp_path / "good.safetensors")
    words = [
        "--folds",
        "3",
        "--fold",
        "0",
        "--epochs",
        "1",
        "--set",
        "network=C(4)-GAP-FC(2)",
        "--out",
        str(tmp_path / "run"),
    ]
    assert CliRunner().invoke(app, ["train", str(tmp_path / "good.safetensors"), *words]).exit_code == 0

    files = [str(tmp_path / name) for name in ("many.safetensors", "tar.tar", "good.safetensors")]
    result = CliRunner().invoke(app, ["predict", str(tmp_path / "run"), *files])

    assert result.exit_code == 1, result.output
    assert len(result.stderr.splitlines()) == 2
    assert len(result.stdout.splitlines()) == 13


def test_a_link_at_a_guessed_name_of_a_temporary_file_is_not_written_through(
    trained: tuple[Path, str], clouds: Path, tmp_path: Path
):
    """`ln -s ~/.bashrc .rows.csv.part` made `predict --out rows.csv` overwrite the target."""
    (tmp_path / "precious").write_text("kept")
    for name in (".rows.csv.part", ".rows.csv", "rows.csv"):
        (tmp_path / name).symlink_to("precious")

    words = ["-m", "edgecond", "predict", str(trained[0]), str(clouds), "--out", str(tmp_path / "rows.csv")]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "precious").read_text() == "kept"
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 13
