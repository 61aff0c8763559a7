"""The graph datasets of Table 3: their training and test sets, and the files they are downloaded from."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgecond.data import datasets
from edgecond.data.datasets import table3
from edgecond.data.formats import tu
from edgecond.data.graphs import GraphExamples
from edgecond.errors import DataError
from tests.data.datasets.answers import everything
from tests.data.datasets.tiny import write

TU = "https://www.chrsmrrs.com/graphkerneldatasets/"
GITHUB = "https://raw.githubusercontent.com/"


@pytest.fixture
def copied(folder: Path, real: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Callable[..., bytes]:
    """Return the contents of a real file, after copying it to `name` in an empty data directory if a name is given."""

    def copy(file: str, name: str | None = None) -> bytes:
        path = real(file)
        monkeypatch.setenv("EDGECOND_DATA", str(folder))
        if name:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, folder / name)
        return path.read_bytes()

    return copy


# Training and test sets


@pytest.mark.parametrize(
    ("name", "split", "sizes"),
    [
        ("nci1", "stratified", (3699, 411)),
        ("nci109", "stratified", (3714, 413)),
        ("mutag", "stratified", (169, 19)),
        ("mutag11", "dgcnn", (170, 18)),
        ("enzymes", "fair", (540, 60)),
        ("enzymes", "fair-selection", (486, 54)),
    ],
)
def test_a_fold_is_loaded_by_name(whole: Any, name: str, split: str, sizes: tuple[int, int]):
    """Arithmetic: a tenth in the test set, rounded as the split does; `fair-selection` takes a tenth of the rest."""
    graphs = whole(name)

    train, test = datasets.load(name, 0, split=split)

    assert isinstance(train, GraphExamples)
    assert isinstance(test, GraphExamples)
    assert (len(train), len(test)) == sizes
    assert (train.name, train.digest) == (test.name, test.digest) == (name, table3.DIGESTS[name])
    assert train.ys.tolist() == graphs.ys[train.numbers].tolist()
    assert not set(train.numbers.tolist()) & set(test.numbers.tolist())


def test_the_folds_of_a_dataset_share_its_arrays_until_the_file_changes(copied: Any, folder: Path):
    copied("tu/MUTAG.zip", "tu/MUTAG.zip")

    (train, test), (other, _) = datasets.load("mutag", 0), datasets.load("mutag", 1)
    assert train.graphs is test.graphs is other.graphs

    with (folder / "tu/MUTAG.zip").open("r+b") as file:
        file.truncate(1000)
    with pytest.raises(DataError, match="damaged or cut short"):
        datasets.load("mutag", 2)


# Fetching


@pytest.mark.parametrize("name", tu.RELEASES)
def test_the_local_copy_is_verified_by_its_contents(real: Callable[[str], Path], name: str):
    path = real(f"tu/{tu.RELEASES[name].file}.zip")

    assert datasets.fetch(name) == f"{name} is in {path.parent} already: verified, nothing to download."


@pytest.mark.parametrize("name", ["mutag", "enzymes"])
def test_the_release_of_tu_has_the_same_contents_as_the_local_copy(copied: Any, serve: Any, folder: Path, name: str):
    """README-graphs.md: the local copies are packed differently; ENZYMES has public folds."""
    file = name.upper()
    folds = f"{GITHUB}diningphil/gnn-comparison/master/data_splits/CHEMICAL/ENZYMES_splits.json"
    site = {f"{TU}{file}.zip": copied(f"tu/raw/{file}_TU_release.zip")}
    if name == "enzymes":
        site[folds] = copied("tu/splits/gnn-comparison_ENZYMES_splits.json")
    requests = serve(site)

    summary = datasets.fetch(name)

    files = [f"{file}.zip", "splits/gnn-comparison_ENZYMES_splits.json"][: len(site)]
    assert summary == f"{name} is in {folder / 'tu'}: {', '.join(files)} downloaded and verified."
    assert requests == list(site)
    assert datasets.load(name)[0].digest == table3.DIGESTS[name]


@pytest.mark.parametrize(
    ("name", "file", "address"),
    [
        pytest.param(
            *("nci109", "raw/NCI109.mat", "muhanzhang/pytorch_DGCNN/master/data/NCI109/NCI109.mat"),
            marks=pytest.mark.slow,
        ),
        ("mutag11", "raw/MUTAG.mat", "muhanzhang/DGCNN/master/data/raw_data/MUTAG.mat"),
    ],
)
def test_edge_labels_that_tu_lacks_come_from_the_matlab_files(
    copied: Any, serve: Any, folder: Path, name: str, file: str, address: str
):
    """The digest is that of the local copies, which were converted by another program."""
    requests = serve({GITHUB + address: copied(f"tu/{file}")})

    summary = datasets.fetch(name)

    packed = f"{tu.RELEASES[name].file}.zip"
    assert summary == f"{name} is in {folder / 'tu'}: {packed} converted from {file} and verified."
    assert requests == [GITHUB + address]
    assert everything(folder / "tu") == {"raw", file, packed}
    assert datasets.load(name)[0].digest == table3.DIGESTS[name]
    assert datasets.fetch(name) == f"{name} is in {folder / 'tu'} already: verified, nothing to download."


@pytest.mark.slow
def test_an_existing_matlab_file_is_converted_without_network(copied: Any, serve: Any, folder: Path):
    copied("tu/raw/NCI1.mat", "tu/raw/NCI1.mat")
    copied("tu/splits/gnn-comparison_NCI1_splits.json", "tu/splits/gnn-comparison_NCI1_splits.json")
    requests = serve(OSError("no network"))

    assert datasets.fetch("nci1") == f"nci1 is in {folder / 'tu'}: NCI1.zip converted from raw/NCI1.mat and verified."
    assert not requests


def test_a_damaged_matlab_file_is_not_converted(folder: Path):
    path = folder / "tu/raw/NCI1.mat"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"MATLAB 5.0 MAT-file")

    with pytest.raises(DataError, match=rf"^{path} must have the SHA-256 sum 03b8244b\w+: found \w+"):
        datasets.fetch("nci1")
    assert everything(folder / "tu") == {"raw", "raw/NCI1.mat"}


def test_another_dataset_of_the_same_size_is_not_accepted(copied: Any, folder: Path):
    """One graph has another class."""
    copied("tu/MUTAG.zip", "MUTAG.zip")
    shutil.unpack_archive(folder / "MUTAG.zip", folder / "tu")
    path = folder / "tu/MUTAG/MUTAG_graph_labels.txt"
    assert datasets.fetch("mutag") == f"mutag is in {folder / 'tu'} already: verified, nothing to download."
    path.write_text("-1" + path.read_text()[1:])

    with pytest.raises(DataError, match=rf"{path.parent} must have the digest {table3.DIGESTS['mutag']}: found \w+\."):
        datasets.fetch("mutag")


def test_a_web_page_in_place_of_a_dataset_is_discarded(serve: Any, folder: Path):
    serve({f"{TU}DD.zip": b"<html>moved</html>"})

    with pytest.raises(DataError, match=rf"^{TU}DD.zip did not serve the expected file, so it was discarded: DD.zip"):
        datasets.fetch("dd")
    assert everything(folder) == {"tu"}


def test_a_dataset_of_another_size_is_not_accepted(folder: Path):
    path = write(folder, "DD")
    for function in (datasets.load, datasets.fetch):
        with pytest.raises(DataError, match=rf"{path}.* 1178 graphs of 2 classes .*: found 2 graphs of 2 classes"):
            function("dd")
