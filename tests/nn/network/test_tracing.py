"""Networks are compiled and exported in one piece, and batches are saved."""

import os
import subprocess
import sysconfig
from copy import deepcopy
from pathlib import Path

import pytest
import torch
import torch._inductor.config
from torch import nn, Tensor

from edgecond import Network, Sample
from tests.nn.network.zoo import learn, paper_batch, paper_network, settled


def without_dropout(network: Network) -> Network:
    for module in network.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return network


def can_compile() -> bool:
    """Whether Inductor finds a compiler and the headers of Python."""
    try:
        subprocess.run([os.environ.get("CXX", "g++"), "--version"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return False
    return (Path(sysconfig.get_path("include")) / "Python.h").exists()


class TestTracing:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("name", "backend"),
        [
            ("Sydney", "aot_eager"),
            ("NCI1", "aot_eager"),
            pytest.param(
                "MNIST", "inductor", marks=pytest.mark.skipif(not can_compile(), reason="Inductor needs a compiler")
            ),
        ],
    )
    def test_a_compiled_network_learns_as_the_eager_one(self, name: str, backend: str):
        """In one piece, in training mode, and for a batch of other sizes without being compiled again.

        In double precision, where rounding does not decide which of two nearly equal values is the maximum.
        """
        torch._dynamo.reset()
        network = without_dropout(paper_network(name)).double()
        copied = deepcopy(network)
        compiled = torch.compile(network, fullgraph=True, dynamic=True, backend=backend)

        for single in (paper_batch(name), paper_batch(name, sizes=(75, 68, 99), seed=1)):
            batch = single.to(torch.float64)
            expected = learn(copied, copied, batch)
            # Without duck shapes, four samples and labels of width four do not become the same symbol.
            with (
                torch._dynamo.config.patch(error_on_recompile=True),
                torch._inductor.config.patch(compile_threads=1),  # a pool of processes would import torch first
                torch.fx.experimental._config.patch(use_duck_shape=False),
            ):
                found = learn(compiled, network, batch)
            for key, value in expected.items():
                torch.testing.assert_close(
                    found[key], value, rtol=1e-6, atol=1e-9, msg=lambda text, key=key: f"{key}: {text}"
                )
        for key, value in copied.state_dict().items():  # the statistics of batch normalisation, too
            torch.testing.assert_close(network.state_dict()[key], value, rtol=1e-6, atol=1e-9)

    @pytest.mark.parametrize("name", ["Sydney", "MNIST", "NCI1"])
    def test_an_exported_network_serves_batches_of_other_sizes(self, name: str, tmp_path: Path):
        """Numbers of vertices, edges and samples may vary, before and after saving."""
        first, second = paper_batch(name), paper_batch(name, sizes=(75, 68, 99), seed=1)
        network = settled(paper_network(name), first)
        shapes = torch.export.ShapesCollection()
        for tensor in free_tensors(first):
            shapes[tensor] = {0: torch.export.Dim.DYNAMIC}

        # A batch of one sample must not be a special case.
        with torch.fx.experimental._config.patch(backed_size_oblivious=True):
            program = torch.export.export(network, (first.x, first.pyramid), dynamic_shapes=shapes)
        torch.export.save(program, tmp_path / "network.pt2")
        loaded = torch.export.load(tmp_path / "network.pt2").module()

        for batch in (first, second, paper_batch(name, sizes=(66,), seed=2)):
            torch.testing.assert_close(
                loaded(batch.x, batch.pyramid), network(batch.x, batch.pyramid), rtol=1e-5, atol=1e-5
            )


def test_a_batch_can_be_saved_and_loaded_without_trusting_the_file(tmp_path: Path):
    """`torch.load` builds only tensors and the values of this library, including the cached sorted edges."""
    batch = paper_batch("NCI1")
    network = settled(paper_network("NCI1"), batch)
    _ = batch.pyramid.graphs[0].by_source

    torch.save(batch, tmp_path / "batch.pt")
    loaded = torch.load(tmp_path / "batch.pt", weights_only=True)

    assert torch.equal(network(loaded.x, loaded.pyramid), network(batch.x, batch.pyramid))


def free_tensors(sample: Sample) -> list[Tensor]:
    """All tensors whose number of rows changes from batch to batch: not the table of distinct labels."""
    tables = [graph.labels.values for graph in sample.pyramid.graphs if graph.labels.index is not None]
    leaves = torch.utils._pytree.tree_leaves((sample.x, sample.pyramid))
    return [leaf for leaf in leaves if isinstance(leaf, Tensor) and not any(leaf is table for table in tables)]
