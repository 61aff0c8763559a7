"""V: every vertex is classified, by its signals of all levels."""

from copy import deepcopy

import pytest
import torch
from torch import nn

from edgecond import collate, Network, Sample
from tests.nn.network.zoo import learn, renumber, settled
from tests.pyramids import random_batch, random_samples

VERTICES = "C(4)-MP-C(5)-AP-C(6)-V-FC(7)-D(0.2)-FC(3)"


class TestVertices:
    """V: every vertex is classified, by its signals of all levels."""

    def network(self, written: str = VERTICES) -> Network:
        torch.manual_seed(0)
        return Network(written, d0=2, s=3, hidden=(8,))

    def batch(self, sizes: tuple[int, ...] = (30, 25, 40)) -> Sample:
        return random_batch(VERTICES, sizes, d0=2, s=3)

    def test_it_scores_the_classes_of_each_vertex_and_learns_with_every_parameter(self):
        network, batch = self.network(), self.batch()

        scores = network(batch.x, batch.pyramid)
        nn.functional.cross_entropy(scores, batch.y).backward()

        assert scores.shape == (95, 3)
        assert all(parameter.grad.isfinite().all() for parameter in network.parameters())
        assert all(parameter.grad.any() for name, parameter in network.named_parameters() if "norm" not in name)

    def test_a_vertex_has_the_signal_of_every_level_before_its_pooling(self):
        """The layers, called one after the other by hand; 4 + 5 + 6 channels enter the first FC."""
        batch = self.batch()
        network = settled(self.network(), batch)
        first, maximum, second, mean, third, _, hidden, _, last = network.layers
        pyramid, (one, two) = batch.pyramid, batch.pyramid.pool_maps

        fine = first(batch.x, pyramid, 0)
        middle = second(maximum(fine, pyramid, 0), pyramid, 1)
        coarse = third(mean(middle, pyramid, 1), pyramid, 2)
        together = torch.cat([fine, middle[one], coarse[two][one]], 1)

        assert hidden[0].in_features == 15
        assert torch.equal(network(batch.x, batch.pyramid), last(hidden(together, pyramid, 0), pyramid, 0))

    def test_with_a_single_level_it_is_a_perceptron_on_every_vertex(self):
        batch = random_batch("C(4)-V-FC(3)", (12, 9), d0=2, s=3)
        network = settled(self.network("C(4)-V-FC(5)-FC(3)"), batch)
        encoder = Network("C(4)", d0=2, s=3, hidden=(8,)).eval()
        encoder.load_state_dict({k: v for k, v in network.state_dict().items() if k.startswith("layers.0.")})

        perceptron = nn.Sequential(*[module for layer in network.layers[2:] for module in layer])
        signals = encoder(batch.x, batch.pyramid)

        alone = torch.cat([perceptron(signal[None]) for signal in signals])
        torch.testing.assert_close(network(batch.x, batch.pyramid), alone)

    def test_a_batch_gives_what_its_graphs_give_one_by_one(self):
        samples = random_samples(VERTICES, (30, 25, 40), d0=2, s=3)
        batch = collate(samples)
        network = settled(self.network(), batch)

        alone = torch.cat([network(sample.x, sample.pyramid) for sample in samples])

        torch.testing.assert_close(network(batch.x, batch.pyramid), alone, rtol=1e-4, atol=1e-4)

    def test_renumbering_vertices_renumbers_the_scores(self):
        """The scores go with the vertices, whatever their numbers are at every level."""
        batch = self.batch((60,))
        network = settled(self.network(), self.batch())
        marked = Sample(torch.arange(60.0)[:, None], batch.pyramid, batch.y)

        order = renumber(marked).x.flatten().long()
        renumbered = renumber(batch)

        assert not torch.equal(order, torch.arange(60))
        torch.testing.assert_close(
            network(renumbered.x, renumbered.pyramid), network(batch.x, batch.pyramid)[order], rtol=1e-4, atol=1e-4
        )

    def test_the_gradient_in_double_precision_is_that_of_finite_differences(self):
        """The gradient of the input signal, through average pooling, as the maximum is not differentiable."""
        written = "C(3)-AP-C(2)-V-FC(2)"
        batch = random_batch(written, (7, 5), d0=2, s=3).to(torch.float64)
        network = settled(self.network(written).double(), batch)

        assert torch.autograd.gradcheck(
            lambda x: network(x, batch.pyramid), batch.x.clone().requires_grad_(), eps=1e-7, atol=1e-5
        )

    @pytest.mark.slow
    def test_it_is_traced_in_one_piece_for_batches_of_any_size(self):
        torch._dynamo.reset()
        network = self.network("C(4)-MP-C(5)-V-FC(3)").double()
        copied = deepcopy(network)
        compiled = torch.compile(network, fullgraph=True, dynamic=True, backend="aot_eager")

        for sizes in ((30, 25, 40), (33, 27)):
            batch = random_batch("C(4)-MP-C(5)-V-FC(3)", sizes, d0=2, s=3).to(torch.float64)
            expected, found = learn(copied, copied, batch), learn(compiled, network, batch)
            for key, value in expected.items():
                torch.testing.assert_close(found[key], value, rtol=1e-6, atol=1e-9)
