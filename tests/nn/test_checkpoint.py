"""A checkpoint is written whole or not at all, and nothing in it is executed."""

import json
import multiprocessing
import os
import pickle
import resource

import pytest
import torch
from safetensors.torch import save_file

from edgecond import files
from edgecond.errors import CheckpointError
from edgecond.nn.checkpoint import KEY, load_checkpoint, save_checkpoint
from tests.sentences import refused

TENSORS = {"a": torch.arange(6.0).view(2, 3), "b": torch.tensor([True, False]), "c": torch.tensor(3)}


def test_what_is_saved_is_loaded(tmp_path):
    save_checkpoint(tmp_path / "deep" / "c.safetensors", TENSORS, {"epoch": 3, "names": ["x", "y"]})

    tensors, about = load_checkpoint(tmp_path / "deep" / "c.safetensors")

    assert about == {"epoch": 3, "names": ["x", "y"]}
    assert all(torch.equal(tensors[name], tensor) for name, tensor in TENSORS.items())
    assert os.listdir(tmp_path / "deep") == ["c.safetensors"]


def test_tensors_that_are_views_are_saved_as_they_look(tmp_path):
    save_checkpoint(tmp_path / "c", {"turned": TENSORS["a"].T}, {})

    assert torch.equal(load_checkpoint(tmp_path / "c")[0]["turned"], TENSORS["a"].T)


@pytest.mark.parametrize("moment", ["fsync", "replace"])
def test_a_failure_while_saving_keeps_the_checkpoint_before_it(tmp_path, monkeypatch, moment):
    """A full disk shows itself when the file is flushed; a read-only directory when it is renamed."""
    path = tmp_path / "c"
    save_checkpoint(path, TENSORS, {"epoch": 1})

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full) if moment == "fsync" else monkeypatch.setattr(
        files.Path, "replace", full
    )
    with pytest.raises(CheckpointError, match="No space left on device"):
        save_checkpoint(path, TENSORS, {"epoch": 2})

    assert load_checkpoint(path)[1] == {"epoch": 1}
    assert os.listdir(tmp_path) == ["c"]


def save_on_a_small_disk(path, size):
    """Files may grow to `size` bytes and no further; the status is 0 if that gives a sentence."""
    torch.set_num_threads(1)  # the threads of the parent are not there
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    with refused(
        f"{path} must be written: File too large. "
        "The previous file, if any, is unchanged; free some space or name another directory.",
        CheckpointError,
    ):
        save_checkpoint(path, {"large": torch.zeros(100_000)}, {"epoch": 2})


def test_a_file_that_is_cut_short_by_the_kernel_keeps_the_checkpoint_before_it(tmp_path):
    """No error is injected: the first part of the file is written, the rest is not."""
    path = tmp_path / "c"
    save_checkpoint(path, TENSORS, {"epoch": 1})

    child = multiprocessing.get_context("fork").Process(target=save_on_a_small_disk, args=(path, 65536))
    child.start()
    child.join()

    assert child.exitcode == 0
    assert load_checkpoint(path)[1] == {"epoch": 1}
    assert os.listdir(tmp_path) == ["c"]


def test_a_directory_that_is_a_file_gives_a_sentence(tmp_path):
    (tmp_path / "taken").write_text("")

    with pytest.raises(CheckpointError, match="must be written"):
        save_checkpoint(tmp_path / "taken" / "c", TENSORS, {})


def test_there_must_be_a_file(tmp_path):
    with pytest.raises(CheckpointError, match="there is none"):
        load_checkpoint(tmp_path / "nothing")


@pytest.mark.parametrize("length", [0, 4, 8, 40, 200])
def test_a_truncated_file_gives_a_sentence(tmp_path, length):
    path = tmp_path / "c"
    save_checkpoint(path, TENSORS, {"epoch": 1})
    path.write_bytes(path.read_bytes()[:length])

    with pytest.raises(CheckpointError, match="it cannot be read"):
        load_checkpoint(path)


def test_a_pickle_is_refused_unread(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    path = tmp_path / "c.safetensors"
    path.write_bytes(pickle.dumps(Trap()))

    with pytest.raises(CheckpointError, match="it cannot be read"):
        load_checkpoint(path)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("header", [None, "[]", "nonsense", json.dumps({"version": 99})])
def test_somebody_elses_safetensors_file_gives_a_sentence(tmp_path, header):
    path = tmp_path / "c"
    save_file(TENSORS, path, None if header is None else {KEY: header})

    with pytest.raises(CheckpointError, match="must be a checkpoint"):
        load_checkpoint(path)


@pytest.mark.parametrize("length", [0, 8, 16, 24, 40])
def test_tensors_that_are_read_are_aligned_as_those_of_torch(tmp_path, length):
    """Matrix products round differently elsewhere: `evaluate` differed from `train` in the last bits.

    The tensors in a file begin behind its header, at a multiple of 8 bytes; torch allocates at multiples of 64.
    """
    save_checkpoint(tmp_path / "c", {"a": torch.ones(3, 5), "b": torch.ones(7)}, {"text": "x" * length})

    tensors, _ = load_checkpoint(tmp_path / "c")

    assert [tensor.data_ptr() % 64 for tensor in tensors.values()] == [0, 0]
