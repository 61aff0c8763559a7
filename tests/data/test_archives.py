"""Archives are checked while they are read, and hostile ones are refused."""

from __future__ import annotations

import gzip
import io
import stat
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from edgecond.data.archives import decompressed, iterate_archive, read_archive, read_npz
from edgecond.errors import DataError
from tests.sentences import mentions, refused


def tar(path: Path, *members: tuple[str, bytes] | tarfile.TarInfo, mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                archive.addfile(info, io.BytesIO(member[1]))
    return path


def pack(path: Path, *members: tuple[str | zipfile.ZipInfo, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return path


def entry(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize("name", ["good.zip", "good.tar", "good.tar.gz", "good.tgz"])
def test_an_honest_archive_is_read_completely(tmp_path: Path, name: str):
    files = (("a.txt", b"one"), ("deep/er/b.txt", b"two"))
    modes = {".tar": "w", ".gz": "w:gz", ".tgz": "w:gz"}
    path = tmp_path / name
    archive = pack(path, *files) if name.endswith("zip") else tar(path, *files, mode=modes[path.suffix])

    assert read_archive(archive) == dict(files)
    assert read_archive(archive, lambda name: name.startswith("deep")) == {"deep/er/b.txt": b"two"}


OUTSIDE = ["../evil", "a/../../evil", "/etc/evil", "..\\evil", "C:\\evil", "C:evil", "\\\\host\\evil"]


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("kind", ["evil.zip", "evil.tar.gz"])
def test_a_name_that_leads_out_is_refused(tmp_path: Path, kind: str, name: str):
    files = (("good.txt", b"good"), (name, b"evil"))
    archive = pack(tmp_path / kind, *files) if kind.endswith("zip") else tar(tmp_path / kind, *files)

    with refused(f"{archive} is refused: the name {name!r} leads out of the archive.", DataError):
        read_archive(archive)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_in_a_tar_are_refused(tmp_path: Path, kind: bytes):
    archive = tar(tmp_path / "evil.tar.gz", ("good.txt", b"good"), entry("evil", kind, "/etc/passwd"))

    with refused(f"{archive} is refused: 'evil' is a link or a device, not a file.", DataError):
        read_archive(archive)


def test_a_link_in_a_zip_is_refused(tmp_path: Path):
    link = zipfile.ZipInfo("evil")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    archive = pack(tmp_path / "evil.zip", ("good.txt", b"good"), (link, b"/etc/passwd"))

    with refused(f"{archive} is refused: 'evil' is a link or a device, not a file.", DataError):
        read_archive(archive)


@pytest.mark.parametrize("kind", ["bomb.zip", "bomb.tar.gz"])
def test_a_bomb_is_refused(tmp_path: Path, kind: str):
    """8 MB of zeros shrink about a thousandfold; the least that any archive may unpack to is 2^20 bytes."""
    files = (("good.txt", b"good"), ("zeros", bytes(2**23)))
    archive = pack(tmp_path / kind, *files) if kind.endswith("zip") else tar(tmp_path / kind, *files)
    size = archive.stat().st_size

    with refused(f"{archive} is refused: its {size:,} bytes would unpack to more than 1,048,576.", DataError):
        read_archive(archive)


def test_an_archive_beyond_the_cap_is_refused_whatever_its_ratio(tmp_path: Path):
    archive = pack(tmp_path / "large.zip", ("noise", np.random.default_rng(0).bytes(5000)))

    with pytest.raises(DataError, match="would unpack to more than 4,096"):
        list(iterate_archive(archive, most=4096))


def test_a_tar_header_cannot_fill_the_memory(tmp_path: Path):
    """A long name is stored as a file of its own, which tar readers hold in memory before anyone sees its size."""
    path = tmp_path / "evil.tar"
    header = entry("././@LongLink", tarfile.GNUTYPE_LONGNAME)
    header.size = 2**40
    path.write_bytes(header.tobuf(tarfile.GNU_FORMAT) + bytes(1024))

    with refused(
        f"{path} is damaged or cut short (a header of 1,099,511,627,776 bytes). Remove it and fetch it again.",
        DataError,
    ):
        read_archive(path)


@pytest.mark.parametrize("size", [2**60, 2**75, -1])
def test_a_tar_of_a_file_larger_than_any_archive_is_refused(tmp_path: Path, size: int):
    """Python skips to the end of a file block by block, also beyond the end of the archive: for years."""
    path = tmp_path / "evil.tar"
    header = bytearray(entry("a", tarfile.REGTYPE).tobuf(tarfile.GNU_FORMAT))
    header[124:136] = (size % 2**96 | 2**95).to_bytes(12, "big")
    header[148:156] = b"%06o\0 " % (sum(header[:148]) + 8 * 32 + sum(header[156:512]))
    path.write_bytes(bytes(header) + bytes(1024))

    with mentions(f"{path} is damaged or cut short", f"{size:,} bytes", kind=DataError):
        read_archive(path, lambda _: False)


@pytest.mark.parametrize("kind", ["twice.zip", "twice.tar.gz"])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_may_occur_once(tmp_path: Path, kind: str):
    """On systems that ignore case, `A` would overwrite `a`."""
    files = (("a", b"1"), ("A", b"2"))
    archive = pack(tmp_path / kind, *files) if kind.endswith("zip") else tar(tmp_path / kind, *files)

    with refused(f"{archive} is refused: it holds 'A' twice.", DataError):
        read_archive(archive)


@pytest.mark.parametrize("kind", ["a.zip", "a.tar", "a.tar.gz"])
@pytest.mark.parametrize("damage", ["cut", "flip"])
def test_a_damaged_archive_is_reported(tmp_path: Path, kind: str, damage: str):
    """Cut in the middle; or one bit wrong in the middle, or in the head of the second member of a plain tar."""
    files = (("a", np.random.default_rng(0).bytes(3000)), ("b", np.random.default_rng(1).bytes(3000)))
    path = tmp_path / kind
    archive = pack(path, *files) if kind == "a.zip" else tar(path, *files, mode="w" if kind == "a.tar" else "w:gz")
    data = bytearray(archive.read_bytes())
    if damage == "cut":
        archive.write_bytes(data[: len(data) * 2 // 5])
    else:
        data[3600 if kind == "a.tar" else 2000] ^= 4
        archive.write_bytes(data)

    with pytest.raises(
        DataError, match=rf"^{archive} is damaged or cut short \(.+\)\. Remove it and fetch it again\.$"
    ):
        read_archive(archive)


def test_only_known_archives_are_opened(tmp_path: Path):
    with mentions(tmp_path / "a.rar", "must be a zip, tar or tar.gz archive", kind=DataError):
        read_archive(tmp_path / "a.rar")
    with refused(f"{tmp_path / 'a.zip'} cannot be read: No such file or directory.", DataError):
        read_archive(tmp_path / "a.zip")


# Arrays


def test_a_pickle_is_never_read(tmp_path: Path):
    """An array of Python objects is a pickle inside; so is a file that has no array at all."""
    np.savez(tmp_path / "a.npz", points=np.array([{"evil": 1}], dtype=object))
    with pytest.raises(DataError, match=r"a.npz .*Python objects, which are never unpickled"):
        read_npz(tmp_path / "a.npz")
    pack(tmp_path / "b.npz", ("points.npy", b"cos\nsystem\n(S'false'\ntR."))
    with pytest.raises(DataError, match=r"b.npz is damaged or cut short"):
        read_npz(tmp_path / "b.npz")


def test_an_array_that_promises_more_than_it_holds_is_damaged(tmp_path: Path):
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(1000))
    pack(tmp_path / "a.npz", ("points.npy", buffer.getvalue().replace(b"(1000,)", b"(9999,)")))

    with pytest.raises(DataError, match=r"a.npz is damaged or cut short \(.+\)\. Remove it and fetch it again\.$"):
        read_npz(tmp_path / "a.npz")


def test_a_gzip_bomb_stops_at_the_cap(tmp_path: Path):
    (tmp_path / "zeros.gz").write_bytes(gzip.compress(bytes(2**22)))

    with (
        pytest.raises(DataError, match="would unpack to more than 1,048,576"),
        decompressed(tmp_path / "zeros.gz") as stream,
    ):
        stream.read()
