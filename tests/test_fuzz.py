"""Reading a damaged file gives something consistent or one of our own errors, never anything else."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from edgecond.data.datasets import matlab
from edgecond.data.datasets.fetching import sum_is
from edgecond.data.formats import smiles, tu
from edgecond.files import sha256
from tests.fuzzing import MUTATIONS
from tests.readers import matlab_file, READERS


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGECOND_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("name", READERS)
def test_the_file_to_be_damaged_is_whole(tmp_path: Path, name: str):
    """Otherwise all mutations would be refused for the same reason."""
    reader = READERS[name]
    reader.prepare(tmp_path)
    (tmp_path / reader.file).write_bytes(reader.pack(reader.whole()))

    reader.use(tmp_path / reader.file)


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_read_or_refused(tmp_path: Path, name: str):
    """With EDGECOND_FUZZ=5000, as many mutations of each file; `python -m benchmarks.fuzz` survives crashes too."""
    reader = READERS[name]
    reader.prepare(tmp_path)
    for number in range(MUTATIONS):
        try:
            reader.read(tmp_path, reader.mutation(name, number))
        except Exception as error:
            raise AssertionError(f"mutation {number} of {name} escaped") from error


def test_the_graphs_of_the_matlab_file_can_be_read(tmp_path: Path):
    """Its reader in `READERS` accepts no other file, so it would accept one without graphs."""
    (tmp_path / "whole.mat").write_bytes(matlab_file())

    matlab.rewrite(tmp_path / "whole.mat", tmp_path / "WHOLE.zip", check=sum_is(sha256(matlab_file())))

    assert len(tu.read(tmp_path / "WHOLE.zip")) == 2


def test_any_text_is_a_molecule_or_is_skipped():
    pytest.importorskip("rdkit")
    for number in range(MUTATIONS):
        random = Random(number)
        text = "".join(random.choices("CNOc1()=#[]@+-/\\%.*HBrl2 |", k=random.randint(0, 40)))

        graphs, skipped = smiles.featurise([text])

        assert len(graphs) + len(skipped) == 1
