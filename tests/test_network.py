"""Every network of the paper becomes a module that classifies graphs, one by one or in batches, traced or not."""

import os
import subprocess
import sysconfig
from copy import deepcopy
from pathlib import Path

import pytest
import torch
from torch import nn, Tensor

from edgecond import Architecture, collate, Graph, Network, Pyramid, Sample
from edgecond.layers import ECConv
from edgecond.network import Convolution
from edgecond.pooling import AveragePooling, GlobalMaxPooling
from tests.paper.test_networks import NETWORKS
from tests.pyramids import random_batch, random_samples
from tests.sentences import refused

# Labels of molecules are categorical at first (three bonds and the self-loop) and scalar after Kron reduction; those of
# clouds have six elements. Filter networks are FC(16)-FC(32) for clouds and FC(64) for general graphs.
CLOUDS = {"d0": 1, "s": 6}
GENERAL = {
    name: {"d0": 7, "s": (4,) + (1,) * (NETWORKS[name].resolutions - 1)} for name in ("NCI1", "MUTAG", "ENZYMES", "D&D")
}
SIZES = (70, 90, 65, 80)  # 65 vertices can be halved six times


def widths_of(name: str) -> dict:
    return GENERAL.get(name, CLOUDS)


def paper_network(name: str, **options) -> Network:
    torch.manual_seed(0)
    hidden = (64,) if name in GENERAL else (16, 32)
    return Network(NETWORKS[name].written, **widths_of(name), hidden=hidden, **options)


def paper_batch(name: str, sizes: tuple[int, ...] = SIZES, seed: int = 0) -> Sample:
    return random_batch(NETWORKS[name].written, sizes, **widths_of(name), categorical=int(name in GENERAL), seed=seed)


def settled(network: Network, sample: Sample) -> Network:
    """The network in evaluation mode, with the statistics of this batch, so that its signals are of size 1."""
    for module in network.modules():
        if isinstance(module, nn.BatchNorm1d):
            module.momentum = None  # average over all batches, of which there is one
    network.train()(sample.x, sample.pyramid)
    return network.eval()


def without_dropout(network: Network) -> Network:
    for module in network.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return network


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


def renumber(sample: Sample) -> Sample:
    """The same sample with the vertices of each level in another order."""
    generator = torch.Generator().manual_seed(1)
    graphs, pool_maps, x = [], [], sample.x
    orders = [torch.randperm(graph.num_sources, generator=generator) for graph in sample.pyramid.graphs]
    for level, (graph, order) in enumerate(zip(sample.pyramid.graphs, orders, strict=True)):
        number = order.argsort()  # vertex order[i] is now called i
        bipartite = graph.source_membership is not None
        graphs.append(
            Graph.from_edges(
                number[graph.source],
                graph.target if bipartite else number[graph.target],
                graph.labels,
                num_vertices=graph.num_vertices,
                num_sources=graph.num_sources if bipartite else None,
            )
        )
        if level:
            pool_maps.append(number[sample.pyramid.pool_maps[level - 1]][orders[level - 1]])
    return Sample(x[orders[0]], Pyramid(tuple(graphs), tuple(pool_maps)), sample.y)


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
        x = AveragePooling()(x, batch.pyramid.pool_maps[0], coarse.num_vertices)
        x = torch.relu(second.norm(second.conv(x, coarse)))
        x = GlobalMaxPooling()(x, coarse)
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

        with refused("this network works on 4 levels of graphs: the pyramid has 3."):
            network(batch.x, batch.pyramid)

    def test_labels_need_a_width_at_each_level(self):
        with refused("labels need a width at each of the 2 levels: got [4, 1, 1]."):
            Network("C(4)-MP-C(4)-GAP-FC(2)", d0=2, s=[4, 1, 1])


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
        (one, two), graphs = batch.pyramid.pool_maps, batch.pyramid.graphs

        fine = first(batch.x, batch.pyramid, 0)
        middle = second(maximum(fine, one, graphs[1].num_vertices), batch.pyramid, 1)
        coarse = third(mean(middle, two, graphs[2].num_vertices), batch.pyramid, 2)
        together = torch.cat([fine, middle[one], coarse[two][one]], 1)

        assert hidden[0].in_features == 15
        assert torch.equal(network(batch.x, batch.pyramid), last(hidden(together)))

    def test_with_a_single_level_it_is_a_perceptron_on_every_vertex(self):
        batch = random_batch("C(4)-V-FC(3)", (12, 9), d0=2, s=3)
        network = settled(self.network("C(4)-V-FC(5)-FC(3)"), batch)
        encoder = Network("C(4)", d0=2, s=3, hidden=(8,)).eval()
        encoder.load_state_dict({k: v for k, v in network.state_dict().items() if k.startswith("layers.0.")})

        perceptron = nn.Sequential(*network.layers[2:])
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
        """Of the input signal, through average pooling and unpooling; ReLU and max are not differentiable."""
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
        twin = deepcopy(network)
        compiled = torch.compile(network, fullgraph=True, dynamic=True, backend="aot_eager")

        for sizes in ((30, 25, 40), (33, 27)):
            batch = random_batch("C(4)-MP-C(5)-V-FC(3)", sizes, d0=2, s=3).to(torch.float64)
            expected, found = learn(twin, twin, batch), learn(compiled, network, batch)
            for key, value in expected.items():
                torch.testing.assert_close(found[key], value, rtol=1e-6, atol=1e-9)


def convolutions(network: Network) -> list[ECConv]:
    return [module.conv for module in network.layers if isinstance(module, Convolution)]


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


def can_compile() -> bool:
    """Whether Inductor finds a compiler and the headers of Python."""
    try:
        subprocess.run([os.environ.get("CXX", "g++"), "--version"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return False
    return (Path(sysconfig.get_path("include")) / "Python.h").exists()


def learn(call, network: Network, sample: Sample) -> dict[str, Tensor]:
    """The scores and all gradients of a pass forth and back."""
    x = sample.x.clone().requires_grad_()
    network.zero_grad()
    scores = call(x, sample.pyramid)
    nn.functional.cross_entropy(scores, sample.y).backward()
    gradients = {name: parameter.grad for name, parameter in network.named_parameters()}
    return deepcopy({"scores": scores.detach(), "x": x.grad, **gradients})


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
        twin = deepcopy(network)
        compiled = torch.compile(network, fullgraph=True, dynamic=True, backend=backend)

        for single in (paper_batch(name), paper_batch(name, sizes=(75, 68, 99), seed=1)):
            batch = single.to(torch.float64)
            expected = learn(twin, twin, batch)
            # Without duck shapes, four samples and labels of four elements are not taken to be one and the same number.
            with (
                torch._dynamo.config.patch(error_on_recompile=True),
                torch.fx.experimental._config.patch(use_duck_shape=False),
            ):
                found = learn(compiled, network, batch)
            for key, value in expected.items():
                torch.testing.assert_close(
                    found[key], value, rtol=1e-6, atol=1e-9, msg=lambda text, key=key: f"{key}: {text}"
                )
        for key, value in twin.state_dict().items():  # the statistics of batch normalisation, too
            torch.testing.assert_close(network.state_dict()[key], value, rtol=1e-6, atol=1e-9)

    @pytest.mark.parametrize("name", ["Sydney", "MNIST", "NCI1"])
    def test_an_exported_network_serves_batches_of_other_sizes(self, name: str, tmp_path: Path):
        """Numbers of vertices, edges and samples are free; what was saved comes back."""
        first, second = paper_batch(name), paper_batch(name, sizes=(75, 68, 99), seed=1)
        network = settled(paper_network(name), first)
        shapes = torch.export.ShapesCollection()
        for tensor in free_tensors(first):
            shapes[tensor] = {0: torch.export.Dim.DYNAMIC}

        # A batch of one sample is like others: 1 is no special size.
        with torch.fx.experimental._config.patch(backed_size_oblivious=True):
            program = torch.export.export(network, (first.x, first.pyramid), dynamic_shapes=shapes)
        torch.export.save(program, tmp_path / "network.pt2")
        loaded = torch.export.load(tmp_path / "network.pt2").module()

        for batch in (first, second, paper_batch(name, sizes=(66,), seed=2)):
            torch.testing.assert_close(
                loaded(batch.x, batch.pyramid), network(batch.x, batch.pyramid), rtol=1e-5, atol=1e-5
            )


def test_a_batch_can_be_saved_and_loaded_without_trusting_the_file(tmp_path: Path):
    """`torch.load` builds nothing but tensors and the values of this library, the sorted edges that it keeps too."""
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
