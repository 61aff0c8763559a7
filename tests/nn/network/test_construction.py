"""A network has the layers of its notation."""

import pytest
import torch
from torch import nn

from edgecond import Architecture, Network
from edgecond.nn.layers import ECConv
from edgecond.nn.network import Convolution
from edgecond.nn.pooling import AveragePooling, GlobalMaxPooling
from tests.nn.network.zoo import paper_batch, paper_network, settled
from tests.pyramids import random_batch


class TestConstruction:
    def test_the_network_for_sydney_has_the_parameters_counted_by_hand(self):
        """C(16)-C(32)-MP-C(32)-C(32)-MP-C(64)-MP-GAP-FC(64)-D-FC(14) with d0 = 1, s = 6 and F = FC(16)-FC(32)-FC(.).

        F of one convolution: 6*16+16 + 16*32+32 = 656, and 32 * d_in * d_out without bias; five of them:
        5*656 + 32 * (1*16 + 16*32 + 32*32 + 32*32 + 32*64) = 3280 + 147968. Bias and the two of normalisation:
        3 * (16+32+32+32+64) = 528. FC(64): 64*64+64 and 2*64 of normalisation = 4288. FC(14): 64*14+14 = 910.
        """
        network = paper_network("Sydney")

        assert sum(parameter.numel() for parameter in network.parameters()) == 3280 + 147968 + 528 + 4288 + 910

    def test_all_layers_but_the_last_are_normalised(self):
        """The paper after each convolution, the authors' code after FC(64), too."""
        network = paper_network("Sydney")

        normalised = [module.num_features for module in network.modules() if isinstance(module, nn.BatchNorm1d)]

        assert normalised == [16, 32, 32, 32, 64, 64]
        assert [type(module) for module in network.layers[-1]] == [nn.Linear]

    def test_layers_follow_each_other_as_written(self):
        """The layers of a small network, called one after the other by hand."""
        written = "C(4)-AP-C(5)-GMP-FC(6)-FC(3)"
        batch = random_batch(written, (12, 9), d0=2, s=3)
        network = settled(Network(written, d0=2, s=3, hidden=(8,)), batch)
        first, _, second, _, third, last = network.layers
        fine, coarse = batch.pyramid.graphs

        x = torch.relu(first.norm(first.conv(batch.x, fine)))
        x = AveragePooling()(x, batch.pyramid, 0)
        x = torch.relu(second.norm(second.conv(x, coarse)))
        x = GlobalMaxPooling()(x, batch.pyramid, 1)
        x = torch.relu(third[1](third[0](x)))
        expected = last[0](x)

        assert torch.equal(network(batch.x, batch.pyramid), expected)

    def test_a_network_without_fc_gives_features(self):
        batch = random_batch("C(4)-GAP-FC(2)", (12, 9), d0=2, s=3)

        assert Network("C(4)-GAP", d0=2, s=3)(batch.x, batch.pyramid).shape == (2, 4)
        assert Network("C(4)-C(5)", d0=2, s=3)(batch.x, batch.pyramid).shape == (21, 5)

    def test_identity_connections_are_where_the_graph_has_one_set_of_vertices(self):
        """Appendix E: an identity where widths agree, a linear map elsewhere; none on the strided convolution."""
        sydney, mnist = paper_network("Sydney", identity=True), paper_network("MNIST", identity=True)

        kinds = [[type(conv.identity) for conv in convolutions(network)] for network in (sydney, mnist)]

        assert kinds[0] == [nn.Linear, nn.Linear, nn.Identity, nn.Identity, nn.Linear]
        assert kinds[1] == [nn.Linear, nn.Linear, nn.Linear, type(None)]
        for name, network in (("Sydney", sydney), ("MNIST", mnist)):
            batch = paper_batch(name)
            assert network(batch.x, batch.pyramid).isfinite().all()

    def test_degree_factors_are_in_every_convolution(self):
        """Appendix G: FC(32)-FC(1)."""
        network, batch = paper_network("NCI1", degree_factor=True), paper_batch("NCI1")

        network(batch.x, batch.pyramid).sum().backward()

        factors = [conv.degree_factor for conv in convolutions(network)]
        assert [factor[-1].out_features for factor in factors] == [1] * 6
        assert all(parameter.grad is not None for factor in factors for parameter in factor.parameters())

    def test_dropout_follows_every_convolution(self):
        """Section 4.3: with probability 0.05, besides the D(0.1) of the notation; none in evaluation."""
        network, batch = paper_network("NCI1", dropout=0.05), paper_batch("NCI1")

        first, second = (network(batch.x, batch.pyramid) for _ in range(2))
        network.eval()
        third, fourth = (network(batch.x, batch.pyramid) for _ in range(2))

        assert [module.p for module in network.modules() if isinstance(module, nn.Dropout)] == [0.05] * 6 + [0.1]
        assert not torch.equal(first, second)
        assert torch.equal(third, fourth)

    def test_the_low_memory_mode_gives_the_same_scores(self):
        network, batch = paper_network("Sydney").eval(), paper_batch("Sydney")
        small = paper_network("Sydney", low_memory=True).eval()
        small.load_state_dict(network.state_dict())

        assert all(conv.low_memory for conv in convolutions(small))
        torch.testing.assert_close(small(batch.x, batch.pyramid), network(batch.x, batch.pyramid))

    def test_an_architecture_may_be_given_as_text_or_as_value(self):
        network = Network(Architecture("C(4)-GAP-FC(2)"), d0=2, s=3)

        assert str(network.architecture) == str(Network("C(4)-GAP-FC(2)", d0=2, s=3).architecture)

    def test_a_pyramid_of_another_height_is_refused(self):
        network, batch = paper_network("Sydney"), paper_batch("ModelNet10")

        with pytest.raises(ValueError, match="a pyramid of 4 levels: got 3 levels"):
            network(batch.x, batch.pyramid)

    def test_labels_need_a_width_at_each_level(self):
        with pytest.raises(ValueError, match=r"a width at each of the 2 levels: got \[4, 1, 1\]"):
            Network("C(4)-MP-C(4)-GAP-FC(2)", d0=2, s=[4, 1, 1])


def convolutions(network: Network) -> list[ECConv]:
    return [module.conv for module in network.layers if isinstance(module, Convolution)]
