"""The environment sets the directories, digests are those of other tools, and writing is atomic."""

from __future__ import annotations

import fcntl
import hashlib
import multiprocessing
import os
import stat
import tempfile
from pathlib import Path

import pytest

from edgecond.data.archives import read_archive
from edgecond.data.formats import batch, read_points, tu
from edgecond.data.formats.columns import read_csv
from edgecond.errors import CheckpointError, DataError
from edgecond.files import (
    atomic_file,
    cache_directory,
    data_directory,
    data_file,
    digest,
    locate,
    path_text,
    scratch_directory,
    sha256,
    walk,
    write_atomic,
)
from tests.sentences import mentions


def test_the_environment_sets_the_data_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """EDGECOND_DATA first, then the cache directory of the XDG specification, then ~/.cache."""
    monkeypatch.setenv("EDGECOND_DATA", str(tmp_path))
    assert data_directory() == tmp_path
    monkeypatch.delenv("EDGECOND_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert data_directory() == Path("/somewhere/edgecond")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert data_directory() == Path.home() / ".cache" / "edgecond"


def test_the_environment_sets_the_cache_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """EDGECOND_CACHE first, then the cache directory of the XDG specification."""
    monkeypatch.setenv("EDGECOND_CACHE", str(tmp_path))
    assert cache_directory() == tmp_path
    monkeypatch.delenv("EDGECOND_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_directory() == Path("/somewhere/edgecond/pyramids")


def test_the_error_about_a_missing_file_gives_its_path_and_the_command_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("EDGECOND_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"sydney/a\.tar\.gz.*`edgecond fetch sydney`.*EDGECOND_DATA"):
        locate("sydney", "a.tar.gz")


def test_the_digest_is_the_sum_of_the_list_that_sha256sum_prints():
    """By hand: two spaces between sum and name, one line each, sorted by name."""
    one, two = hashlib.sha256(b"1").hexdigest(), hashlib.sha256(b"2").hexdigest()
    expected = hashlib.sha256(f"{two}  a\n{one}  b\n".encode()).hexdigest()

    assert digest({"b": one, "a": two}) == expected


@pytest.mark.parametrize(
    ("name", "text"), [(b"a/b.ply", "a/b.ply"), ("Straße".encode(), "Straße"), (b"Stra\xdfe", r"Stra\xdfe")]
)
def test_a_path_as_text_can_always_be_encoded(name: bytes, text: str):
    """File names are bytes; those of older systems are Latin-1, in which ß is the byte DF."""
    assert path_text(Path(os.fsdecode(name))) == text
    assert text.encode()


# Atomic writes


def test_a_file_appears_when_it_is_complete(tmp_path: Path):
    path = tmp_path / "deep" / "file"
    with atomic_file(path) as file:
        file.write(b"new")
        assert not path.exists()

    assert path.read_bytes() == b"new"
    assert os.listdir(path.parent) == ["file"]


def test_a_new_file_has_the_permissions_that_the_user_wants(tmp_path: Path):
    """As any program's: those of the umask, not those of a private temporary file."""
    before = os.umask(0o027)
    try:
        write_atomic(tmp_path / "file", b"")
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, OSError])
def test_an_error_while_writing_keeps_the_file_and_leaves_nothing(tmp_path: Path, error: type[BaseException]):
    write_atomic(tmp_path / "file", b"old")

    def write() -> None:
        with atomic_file(tmp_path / "file") as file:
            file.write(b"new")
            raise error

    with pytest.raises(CheckpointError if error is OSError else error):
        write()

    assert (tmp_path / "file").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("name", [".file.part", ".file.edgecond", ".file.00000000.edgecond"])
@pytest.mark.parametrize("to", ["victim", "victim/file"])
def test_a_link_at_the_name_of_a_temporary_file_is_not_followed(tmp_path: Path, name: str, to: str):
    """Who may write to the directory could otherwise make us overwrite any file of ours."""
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").write_bytes(b"precious")
    (tmp_path / name).symlink_to(tmp_path / to)

    write_atomic(tmp_path / "file", b"new")

    assert (victim / "file").read_bytes() == b"precious"
    assert (tmp_path / "file").read_bytes() == b"new"


def test_a_link_in_the_place_of_the_file_is_replaced_and_not_followed(tmp_path: Path):
    (tmp_path / "victim").write_bytes(b"precious")
    (tmp_path / "file").symlink_to(tmp_path / "victim")

    write_atomic(tmp_path / "file", b"new")

    assert (tmp_path / "victim").read_bytes() == b"precious"
    assert not (tmp_path / "file").is_symlink()


def test_two_writers_at_once_leave_the_file_of_the_last(tmp_path: Path):
    with atomic_file(tmp_path / "file") as one, atomic_file(tmp_path / "file") as two:
        one.write(b"one" * 1000)
        two.write(b"two" * 1000)

    assert (tmp_path / "file").read_bytes() == b"one" * 1000
    assert os.listdir(tmp_path) == ["file"]


def write_often(path: Path, letter: bytes) -> None:
    for _ in range(50):
        write_atomic(path, letter * 100_000)


def test_processes_that_write_one_file_leave_one_whole_file(tmp_path: Path):
    fork = multiprocessing.get_context("fork")
    writers = [fork.Process(target=write_often, args=(tmp_path / "file", letter)) for letter in (b"a", b"b", b"c")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert (tmp_path / "file").read_bytes() in {letter * 100_000 for letter in (b"a", b"b", b"c")}
    assert os.listdir(tmp_path) == ["file"]


def leave_behind(parent: Path) -> None:
    (scratch_directory(parent, "file")[0] / "file").write_bytes(b"half")
    os._exit(0)  # as if killed


def test_the_next_writer_removes_what_a_killed_one_left_and_nothing_else(tmp_path: Path):
    process = multiprocessing.get_context("fork").Process(target=leave_behind, args=(tmp_path,))
    process.start()
    process.join()
    assert len(os.listdir(tmp_path)) == 1
    (tmp_path / ".mine.part").mkdir()

    write_atomic(tmp_path / "file", b"new")

    assert sorted(os.listdir(tmp_path)) == [".mine.part", "file"]


@pytest.mark.parametrize("moment", ["created", "opened"])
def test_a_writer_whose_scratch_directory_another_removes_before_it_is_locked_takes_a_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
):
    """Processes that begin to write to one folder at once each look for what killed ones left there."""
    function, owner = (tempfile.mkdtemp, tempfile) if moment == "created" else (fcntl.flock, fcntl)
    removed: list[str] = []

    def overtaken(*arguments, **options):
        result = function(*arguments, **options)
        if not removed:
            removed.extend(each for each in os.listdir(tmp_path) if each.endswith(".edgecond"))
            os.rmdir(tmp_path / removed[0])
        return result

    monkeypatch.setattr(owner, function.__name__, overtaken)

    write_atomic(tmp_path / "file", b"whole")

    assert len(removed) == 1
    assert os.listdir(tmp_path) == ["file"]


def test_a_name_may_be_as_long_as_the_file_system_allows(tmp_path: Path):
    """255 bytes on Linux: a temporary name must not be longer."""
    write_atomic(tmp_path / ("ß" * 127), b"")

    assert os.listdir(tmp_path) == ["ß" * 127]


def test_a_directory_is_refused_before_anything_is_written(tmp_path: Path):
    """The whole wording of the two families of errors about writing is checked here."""
    (tmp_path / "here").mkdir()
    (tmp_path / "taken").write_bytes(b"")
    cases = {
        tmp_path / "here": "it is a directory",
        tmp_path / "taken" / "file": "Not a directory",
    }
    for path, reason in cases.items():
        with pytest.raises(CheckpointError) as error, atomic_file(path):
            pytest.fail("nothing can be written")
        assert str(error.value) == (
            f"{path} must be written: {reason}. "
            "The previous file, if any, is unchanged; free some space or name another directory."
        )
        with pytest.raises(DataError) as refusal, data_file(path):
            pytest.fail("nothing can be written")
        assert str(refusal.value) == (
            f"{path} cannot be written: {reason}. Set EDGECOND_DATA to a directory with space that you may write to."
        )


# Folders and files that cannot be read


def deep_folder(folder: Path, depth: int) -> None:
    """Make folders in folders, deeper than the path of a file can be long."""
    at = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d" * 20, dir_fd=at)
        inner = os.open("d" * 20, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)


def test_a_folder_that_cannot_be_listed_is_an_error_or_is_reported(tmp_path: Path):
    """Its files would be missing without a word; here it is one whose path is too long, which root cannot list."""
    deep_folder(tmp_path, 300)
    (tmp_path / "a.ply").touch()
    sentences: list[str] = []

    assert list(walk(tmp_path, sentences.append)) == [tmp_path / "a.ply"]
    assert len(sentences) == 1
    assert sentences[0].endswith("cannot be read: File name too long.")
    with mentions("cannot be read: File name too long", kind=DataError):
        list(walk(tmp_path))


@pytest.mark.parametrize("read", [sha256, read_points, read_csv, read_archive, tu.read, batch.read])
def test_a_pipe_is_refused_instead_of_waited_for(tmp_path: Path, read):
    name = {read_csv: "a.csv", read_archive: "a.zip", tu.read: "a.zip", batch.read: "a.safetensors"}.get(read, "a.ply")
    os.mkfifo(tmp_path / name)

    with mentions(tmp_path / name, "pipe or a device", kind=DataError):
        read(tmp_path / name)


@pytest.mark.parametrize("read", [sha256, read_points, read_csv, read_archive])
def test_a_name_that_is_too_long_is_reported(tmp_path: Path, read):
    name = "a" * 5000 + {read_csv: ".csv", read_archive: ".zip"}.get(read, ".ply")

    with mentions("File name too long", kind=DataError):
        read(tmp_path / name)
