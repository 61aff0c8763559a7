"""Both networks are trained on the same batches, and without data nothing is measured. Nothing depends on time."""

import pytest
import torch

from edgecond.errors import DataError
from edgecond.runs.recipe import read

pytest.importorskip("torch_geometric")

from benchmarks import network, records

RECIPE = """
[base]
dataset = "synthetic"
network = "C(8)-MP(0.5,1)-C(8)-GMP-FC(8)-D(0.2)-FC(6)"
input = { resolution = 0.2, radius = 0.5 }
train = { epochs = 2, batch_size = 8, learning_rate = 0.05 }
augment = { rotate = true, drop = 0.1 }
[rows.ecc]
paper = [{ table = 1, row = "ECC", f1 = 0.9 }]
options = { train = 24, test = 6, points = 60 }
"""


@pytest.fixture
def row():
    threads = torch.get_num_threads()
    yield read(RECIPE, "synthetic.toml")["synthetic/ecc"]
    torch.set_num_threads(threads)


def test_both_networks_have_the_same_losses_on_the_training_batches(row):
    """Both have the same clouds and the same dropout in every step, so losses stay close."""
    rivals = network.Rivals(row)

    losses = [
        [rivals.step(rival, rivals.suited(rival, sample)).loss for rival in network.RIVALS]
        for sample in rivals.built(workers=0)
    ]

    theirs, ours = torch.tensor(losses).T
    assert len(losses) == 6  # two epochs of three batches
    torch.testing.assert_close(theirs, ours, rtol=1e-2, atol=1e-2)
    torch.testing.assert_close(theirs[0], ours[0], rtol=1e-5, atol=1e-5)


def test_an_interleaved_run_covers_all_batches(row):
    found = network.interleaved(row, threads=1)

    assert found["batches"] == 6
    assert len(found["vertices"]) == len(found["edges"]) == 2
    assert found["first_loss"]["NNConv"] == pytest.approx(found["first_loss"]["ECConv"], rel=1e-5)
    assert found["step_milliseconds"].keys() == set(network.RIVALS)
    assert 0 < found["build_share"] < 1


def test_a_loop_with_a_worker_waits_for_some_share_of_its_time(row):
    assert 0 <= network.waiting_share(row, threads=1) <= 1


def test_without_data_the_error_names_the_command_and_no_record_is_written(monkeypatch, tmp_path):
    monkeypatch.setenv("EDGECOND_DATA", str(tmp_path))
    monkeypatch.setattr(records, "NETWORK", tmp_path / "network.json")

    with pytest.raises(DataError, match="edgecond fetch sydney"):
        network.main()

    assert not (tmp_path / "network.json").exists()
