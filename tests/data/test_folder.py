"""A folder with a sub-folder per class: its clouds and classes, files that cannot be read, and mistakes."""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from edgecond.data.folder import point_spacing, read
from edgecond.data.formats import ENDINGS
from edgecond.errors import DataError, RecipeError
from edgecond.files import digest, sha256
from edgecond.graph import Cloud
from tests.sentences import mentions


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


@pytest.fixture
def street(tmp_path: Path) -> Path:
    """Two trees and a car, each with an intensity."""
    table = "x,y,z,intensity\n0,0,{k},{k}\n1,0,0,7\n"
    files = {f"{name}.csv": table.format(k=k) for name, k in (("tree/b", 1), ("tree/a", 2), ("car/c", 3))}
    return write(tmp_path, files)


def test_classes_are_the_folders_and_examples_the_files_in_order(street: Path):
    examples = read(street).examples

    assert examples.name == street.name
    assert examples.classes == ("car", "tree")
    assert examples.names == ["car/c.csv", "tree/a.csv", "tree/b.csv"]
    assert examples.ys.tolist() == [0, 1, 1]
    assert [cloud.positions[0, 2].item() for cloud, _ in examples] == [3, 2, 1]
    assert [cloud.signal[:, 0].tolist() for cloud, _ in examples] == [[3, 7], [2, 7], [1, 7]]


def test_clouds_that_are_no_examples_because_of_their_place_are_counted(street: Path):
    """In sub-folders of classes, beside them, and links to nothing; not other files, hidden ones, and runs."""
    others = ("tree/b/1.csv", "tree/b/2/1.PLY", "car/scan2/1.csv", "stray.xyz", "README.md", "tree/.a.csv")
    write(street, dict.fromkeys((*others, ".git/a.csv", "runs/a.csv", "runs/model.safetensors"), "0 0 0"))
    (street / "car" / "gone.las").symlink_to(street / "nowhere.las")

    contents = read(street)

    assert contents.unread == [
        "not read: 1 broken link, as car/gone.las",
        "not read: 3 files in sub-folders of classes, as car/scan2/1.csv",
        "not read: 1 file beside the folders of classes, as stray.xyz",
    ]
    assert contents.examples.names == ["car/c.csv", "tree/a.csv", "tree/b.csv"]


def test_columns_that_only_some_files_have_are_named_with_a_file_that_lacks_them(street: Path):
    write(street, {"car/d.csv": "x,y,z,ring\n1,2,3,4\n", "tree/a.csv": "x,y,z,intensity,gain\n1,2,3,4,5\n"})

    contents = read(street)

    assert contents.columns == ()
    assert contents.left_out == [
        "intensity is left out: 1 of 4 files lack it, as car/d.csv",
        "ring is left out: 3 of 4 files lack it, as car/c.csv",
        "gain is left out: 3 of 4 files lack it, as car/c.csv",
    ]
    write(street, {"car/d.csv": "x,y,z\n1,2,3\n", "car/c.csv": "x,y,z\n1,2,3\n", "tree/b.csv": "x,y,z\n1,2,3\n"})
    assert read(street).left_out == ["intensity, gain are left out: 3 of 4 files lack them, as car/c.csv"]


def test_the_digest_is_of_names_and_contents(street: Path, tmp_path_factory: pytest.TempPathFactory):
    names = ("car/c.csv", "tree/a.csv", "tree/b.csv")
    first = read(street).examples.digest

    assert first == digest({name: sha256((street / name).read_bytes()) for name in names})
    copy = tmp_path_factory.mktemp("copy")
    shutil.copytree(street, copy, dirs_exist_ok=True)
    assert read(copy).examples.digest == first
    write(copy, {"tree/a.csv": "x,y,z,intensity\n1,2,3,4\n"})
    assert read(copy).examples.digest != first


def test_hidden_files_and_files_of_other_kinds_are_ignored(street: Path):
    names = ("README.md", "tree/.DS_Store", "tree/notes.docx", "tree/._a.csv", ".git/config", "__MACOSX/tree/a.csv")
    write(street, dict.fromkeys(names, "hello"))

    folder = read(street)

    assert len(folder.examples) == 3
    assert folder.unread == []
    assert folder.skipped == []


def test_runs_among_the_classes_are_no_class(street: Path):
    """`edgecond train .` may be called there, and then again."""
    first = read(street).examples
    write(street, {"runs/train/street/model.safetensors": "", "runs/train/street/points.csv": "x,y,z\n1,2,3\n"})

    again = read(street).examples

    assert (again.classes, again.digest) == (first.classes, first.digest)


def test_files_that_cannot_be_read_are_skipped_and_reported(street: Path):
    write(street, {"tree/bad.ply": "ply\n", "car/empty.xyz": ""})

    folder = read(street)

    assert folder.examples.names == ["car/c.csv", "tree/a.csv", "tree/b.csv"]
    (empty, no_points), (bad, no_header) = folder.skipped
    assert (empty, bad) == (street / "car/empty.xyz", street / "tree/bad.ply")
    assert no_points.startswith(f"{empty} cannot be read: it must hold at least one point")
    assert no_header.startswith(f"{bad} cannot be read: it must begin with the header of a PLY file")


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ("x,y,z,red,intensity", ("intensity",)),
        ("intensity,z,y,x,red", ("intensity",)),
        ("x,y,z,red,green", ()),
    ],
)
def test_the_signal_is_what_all_files_have_in_common(street: Path, header: str, columns: tuple[str, ...]):
    write(street, {"car/d.csv": f"{header}\n1,2,3,4,5\n"})

    folder = read(street)

    assert folder.columns == columns
    assert {cloud.signal.shape[1] for cloud, _ in folder.examples} == {1}
    if not columns:
        assert all(cloud.signal.eq(1).all() for cloud, _ in folder.examples)


def test_an_intensity_that_is_zero_everywhere_is_no_signal(tmp_path: Path):
    """Equation 1 turns zeros into its bias alone; scanners without intensities write them."""
    write(tmp_path, {"a/a.csv": "x,y,z,i\n1,2,3,0\n", "b/b.csv": "x,y,z,i\n4,5,6,0\n"})

    folder = read(tmp_path)

    assert folder.columns == ()
    assert folder.examples.clouds[1].signal.tolist() == [[1]]


def test_clouds_are_those_of_the_first_reading_and_travel_to_workers(street: Path):
    clouds = read(street).examples.clouds
    (street / "car/c.csv").unlink()

    assert clouds[0].signal.tolist() == [[3], [7]]
    assert pickle.loads(pickle.dumps(clouds))[0].signal.tolist() == [[3], [7]]


def test_columns_and_the_axis_that_points_up_are_those_of_all_files(tmp_path: Path):
    """By hand: x stays, y points up and becomes z, and z becomes -y."""
    write(tmp_path, {"a/a.csv": "e,n,h\n1,2,3\n", "b/b.csv": "e,n,h\n4,5,6\n"})

    clouds = read(tmp_path, columns={"x": "e", "y": "h", "z": "n"}, up="y").examples.clouds

    assert [cloud.positions.tolist() for cloud in (clouds[0], clouds[1])] == [[[1, -2, 3]], [[4, -5, 6]]]


def test_a_wrong_axis_is_no_fault_of_the_files(street: Path):
    with mentions("must be x, y or z", "'up'", kind=RecipeError):
        read(street, up="up")


def test_progress_is_reported_for_every_file(street: Path):
    steps = []

    read(street, progress=lambda done, total: steps.append((done, total)))

    assert steps == [(1, 3), (2, 3), (3, 3)]


def test_names_in_another_encoding_are_spelled_out(tmp_path: Path):
    """As an archive packed under Windows leaves them: Straße in Latin-1."""
    names = ("a/a.xyz", "b/b.xyz", "a/Stra\udcdfe.xyz")
    try:
        write(tmp_path, dict.fromkeys(names, "1 2 3\n"))
    except OSError:
        pytest.skip("this file system takes UTF-8 only")

    examples = read(tmp_path).examples

    assert examples.names == [r"a/Stra\xdfe.xyz", "a/a.xyz", "b/b.xyz"]


# Mistakes


def test_a_folder_must_exist(tmp_path: Path):
    with mentions(f"{tmp_path}/no must be a folder with a sub-folder per class", kind=DataError):
        read(tmp_path / "no")


@pytest.mark.parametrize(("file", "found"), [("a.xyz", "none"), ("tree/a.xyz", "only tree")])
def test_two_classes_are_needed(tmp_path: Path, file: str, found: str):
    write(tmp_path, {file: "1 2 3"})

    sentence = f"must hold two or more sub-folders ... found {found}. Sort the files ... --vertices"
    with mentions(f"{tmp_path} {sentence}", kind=DataError):
        read(tmp_path)


def test_an_empty_class_is_reported(street: Path):
    (street / "bus").mkdir()

    with mentions(f"{street}/bus must hold", ", ".join(ENDINGS), "found 0", "Fill it, or remove it.", kind=DataError):
        read(street)


def test_folders_in_a_folder_are_no_files(street: Path):
    """As in train/tree/a.csv, where the classes are one level below."""
    (street / "train/tree").mkdir(parents=True)

    with pytest.raises(DataError, match=r"train must hold .* found 1 other files and folders\."):
        read(street)


def test_a_class_without_a_readable_file_is_reported(street: Path):
    write(street, {"bus/a.xyz": "", "bus/b.xyz": "1 2 x\n"})

    with mentions(f"{street}/bus must hold a file that can be read", "2 files", f"{street}/bus/a.xyz", kind=DataError):
        read(street)


# Spacing


def cloud(positions: object) -> Cloud:
    rows = torch.as_tensor(np.asarray(positions), dtype=torch.float32)
    return Cloud(rows, torch.ones(len(rows), 1))


def test_the_spacing_of_a_grid_is_its_step():
    grid = np.stack(np.meshgrid(*[np.arange(5) * 0.25] * 3), -1).reshape(-1, 3)

    assert point_spacing([cloud(grid), cloud(grid + 7)]) == pytest.approx(0.25)


def test_every_cloud_counts_the_same_and_points_twice_at_a_place_count_once():
    """By hand: spacings 1, 2 and 10, so the median is 2, however many points have it."""
    ones, twos, tens = ([[k * step, 0, 0] for k in range(n) for _ in (0, 1)] for step, n in ((1, 2), (2, 5), (10, 500)))

    assert point_spacing([cloud(ones), cloud(twos), cloud(tens)]) == pytest.approx(2)


def test_the_measured_clouds_are_spread_evenly():
    """The first, the middle and the last of 101."""
    asked = []

    class Clouds:
        def __len__(self) -> int:
            return 101

        def __getitem__(self, index: int, /) -> Cloud:
            asked.append(index)
            return cloud([[0, 0, 0], [1, 0, 0]])

    assert point_spacing(Clouds(), most=3) == 1
    assert asked == [0, 50, 100]


def test_a_spacing_needs_two_places():
    with mentions("needs a cloud with points at two positions", "1 clouds", kind=DataError):
        point_spacing([cloud([[1, 2, 3], [1, 2, 3]])])


# Real files


def test_a_folder_of_real_files_of_all_formats(real: Callable[[str], Path], tmp_path: Path):
    for name, kind in (
        ("lamppost.ascii.pcd", "lamp"),
        ("car6.binary_compressed.pcd", "car"),
        ("bun_zipper_res4.ascii.ply", "bunny"),
        ("bunny.ascii.pcd", "bunny"),
        ("simple.laz", "ground"),
    ):
        (tmp_path / kind).mkdir(exist_ok=True)
        shutil.copyfile(real(f"pointcloud-io/{name}"), tmp_path / kind / name)

    folder = read(tmp_path, count=100)

    assert folder.examples.classes == ("bunny", "car", "ground", "lamp")
    assert [len(cloud) for cloud, _ in folder.examples] == [100, 397, 10031, 1065, 1771]
    assert folder.columns == ()
    assert not folder.skipped
