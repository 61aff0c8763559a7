"""Every network of the paper classifies graphs, one by one or in batches, in any order and precision."""

from copy import deepcopy

import pytest
import torch
from torch import nn

from edgecond import collate
from tests.nn.network.zoo import CLOUDS, GENERAL, paper_batch, paper_network, renumber, settled, SIZES, widths_of
from tests.paper.test_networks import NETWORKS
from tests.pyramids import random_samples

every_network = pytest.mark.parametrize("name", NETWORKS)


class TestNetworksOfThePaper:
    @every_network
    def test_it_scores_the_classes_of_each_sample_and_learns_with_every_parameter(self, name: str):
        network, batch = paper_network(name), paper_batch(name)

        scores = network(batch.x, batch.pyramid)
        nn.functional.cross_entropy(scores, batch.y).backward()

        assert scores.shape == (len(SIZES), NETWORKS[name].classes)
        assert all(parameter.grad.isfinite().all() for parameter in network.parameters())
        assert all(parameter.grad.any() for name, parameter in network.named_parameters() if "norm" not in name)

    @every_network
    def test_a_batch_gives_what_its_graphs_give_one_by_one(self, name: str):
        """In evaluation mode no sample sees another."""
        samples = random_samples(NETWORKS[name].written, SIZES, **widths_of(name), categorical=int(name in GENERAL))
        batch = collate(samples)
        network = settled(paper_network(name), batch)

        together = network(batch.x, batch.pyramid)

        alone = torch.cat([network(sample.x, sample.pyramid) for sample in samples])
        torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-4)
        assert together.std(0).min() > 1e-3  # and samples do differ

    @every_network
    def test_the_order_of_vertices_does_not_matter(self, name: str):
        """Section 3.1: the aggregation is commutative; at every level, vertices may have any numbers."""
        batch = paper_batch(name, sizes=(60,))
        network = settled(paper_network(name), paper_batch(name))

        renumbered = renumber(batch)

        assert not torch.equal(renumbered.x, batch.x)
        torch.testing.assert_close(
            network(renumbered.x, renumbered.pyramid), network(batch.x, batch.pyramid), rtol=1e-4, atol=1e-4
        )

    def test_the_order_of_samples_is_the_order_of_scores(self):
        samples = random_samples(NETWORKS["Sydney"].written, SIZES, **CLOUDS)
        one, other = collate(samples), collate(samples[::-1])
        network = settled(paper_network("Sydney"), one)

        torch.testing.assert_close(
            network(other.x, other.pyramid), network(one.x, one.pyramid).flip(0), rtol=1e-4, atol=1e-4
        )


class TestPrecision:
    @pytest.mark.parametrize("name", ["Sydney", "MNIST", "NCI1"])
    def test_double_precision_works(self, name: str):
        network, batch = paper_network(name).double(), paper_batch(name).to(torch.float64)

        scores = network(batch.x, batch.pyramid)
        scores.sum().backward()

        assert scores.dtype == torch.float64

    @pytest.mark.parametrize("name", ["Sydney", "MNIST", "NCI1"])
    def test_half_precision_is_near_single_precision(self, name: str):
        batch = paper_batch(name)
        network = settled(paper_network(name), batch)
        half, half_batch = deepcopy(network).to(torch.bfloat16), batch.to(torch.bfloat16)

        scores = half(half_batch.x, half_batch.pyramid)

        assert scores.dtype == torch.bfloat16
        torch.testing.assert_close(scores.float(), network(batch.x, batch.pyramid), rtol=0, atol=0.1)

    def test_autocast_is_near_single_precision(self):
        batch = paper_batch("Sydney")
        network = settled(paper_network("Sydney"), batch)

        with torch.autocast("cpu", dtype=torch.bfloat16):
            scores = network(batch.x, batch.pyramid)

        torch.testing.assert_close(scores.float(), network(batch.x, batch.pyramid), rtol=0, atol=0.1)
