"""The network on PyG that the benchmark times computes what ours computes."""

import pytest
import torch
from torch import nn, Tensor

from edgecond import Network, Sample
from edgecond.nn.network import Convolution
from tests.paper.test_networks import NETWORKS
from tests.pyramids import random_batch
from tests.sentences import mentions

pytest.importorskip("torch_geometric")

from benchmarks.pyg import as_pyg_orders_them, as_pyg_takes_it, check, PyGNetwork

CLOUDS = {"d0": 1, "s": 6}
VARIANTS = {  # a network of the paper, the widths of its input, and its options
    "Sydney": ("Sydney", CLOUDS, {}),  # GAP
    "MNIST": ("MNIST", CLOUDS, {}),  # a strided convolution, and dropout of a half
    "ModelNet10": ("ModelNet10", CLOUDS, {}),  # GMP
    "ECC-resnet": ("Sydney", CLOUDS, {"identity": True, "dropout": 0.1}),
    "NCI1": ("NCI1", {"d0": 7, "s": (4, 1, 1)}, {"hidden": (64,)}),  # one-hot labels, which have an index
}
every_variant = pytest.mark.parametrize("name", VARIANTS)


def rivals(name: str) -> tuple[Network, PyGNetwork, Sample]:
    paper, widths, options = VARIANTS[name]
    written = NETWORKS[paper].written
    torch.manual_seed(0)
    ours = Network(written, **widths, **options)
    for layer in ours.layers:
        if isinstance(layer, Convolution):
            nn.init.normal_(layer.conv.bias)  # a bias of zero would agree whatever became of it
    return ours, PyGNetwork(ours), random_batch(written, (70, 90, 65, 80), **widths, categorical=int(name == "NCI1"))


def trained_once(network: nn.Module, sample: Sample) -> tuple[Tensor, list[Tensor]]:
    """Scores with the dropout of seed 1, and the gradients of the loss."""
    torch.manual_seed(1)
    scores = network.train()(sample.x, sample.pyramid)
    nn.functional.cross_entropy(scores, sample.y).backward()
    return scores, [parameter.grad for parameter in network.parameters()]


@every_variant
def test_it_gives_the_same_scores_and_gradients(name: str):
    """Two methods: NNConv forms every filter, ECConv none."""
    ours, theirs, batch = rivals(name)

    expected, gradients = trained_once(ours, batch)
    found, their_gradients = trained_once(theirs, as_pyg_takes_it(batch))

    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    for a, b in zip(their_gradients, as_pyg_orders_them(ours, gradients), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)
    assert sum(float(gradient.abs().max()) > 1e-2 for gradient in gradients) > len(gradients) / 2  # 1e-4 is small


@every_variant
def test_its_batch_normalisations_have_the_same_statistics(name: str):
    ours, theirs, batch = rivals(name)

    trained_once(ours, batch)
    trained_once(theirs, as_pyg_takes_it(batch))

    for a, b in zip(theirs.buffers(), ours.buffers(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


@every_variant
def test_the_check_before_timing_passes_and_changes_neither_network(name: str):
    ours, theirs, batch = rivals(name)
    before = [tensor.clone() for network in (ours, theirs) for tensor in network.state_dict().values()]

    check(ours, theirs, batch)

    after = [tensor for network in (ours, theirs) for tensor in network.state_dict().values()]
    assert all(torch.equal(a, b) for a, b in zip(after, before, strict=True))


@every_variant
def test_the_check_fails_if_a_filter_differs(name: str):
    ours, theirs, batch = rivals(name)
    last = theirs.layers[0].conv.nn[-1].weight
    with torch.no_grad():
        last.copy_(last.flip(0))

    with pytest.raises(AssertionError, match="not close"):
        check(ours, theirs, batch)


def test_a_degree_factor_is_an_error():
    """NNConv has none (Appendix G)."""
    ours = Network(NETWORKS["Sydney"].written, d0=1, s=6, degree_factor=True)

    with mentions("degree factor", "sydney/ecc"):
        PyGNetwork(ours)
