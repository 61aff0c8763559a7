"""ECConv computes what PyG's NNConv computes, starts as the paper says, and explains what it cannot do."""

from collections.abc import Callable
from copy import deepcopy
from functools import partial

import pytest
import torch
from torch import nn, Tensor

from edgecond import ECConv, FilterNetwork, Graph, Labels
from tests.sentences import refused

pyg = pytest.importorskip("torch_geometric.nn")

N, M, S, D_IN, D_OUT = 9, 30, 4, 3, 5
THETA = D_IN * D_OUT


class Wave(nn.Module):
    """A filter network that is no sequence of layers."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(S, THETA))

    def forward(self, labels: Tensor) -> Tensor:
        return torch.sin(labels @ self.weight)


FILTERS: dict[str, Callable[[], nn.Module]] = {
    "a linear layer": lambda: nn.Linear(S, THETA),
    "a perceptron": lambda: nn.Sequential(nn.Linear(S, 8), nn.ReLU(), nn.Linear(8, THETA)),
    "without biases": lambda: nn.Sequential(nn.Linear(S, 8, bias=False), nn.ReLU(), nn.Linear(8, THETA, bias=False)),
    "three layers, the last without bias": lambda: nn.Sequential(
        nn.Linear(S, 8), nn.ReLU(), nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, THETA, bias=False)
    ),
    "nested": lambda: nn.Sequential(
        nn.Sequential(nn.Linear(S, 8), nn.ReLU()), nn.Sequential(nn.Linear(8, 7), nn.Tanh()), nn.Linear(7, THETA)
    ),
    "no linear layer at the end": lambda: nn.Sequential(nn.Linear(S, THETA), nn.Tanh()),
    "any module": Wave,
    "an MLP of PyG": lambda: pyg.MLP([S, 8, THETA], norm=None),
    "a parametrised layer": lambda: nn.Sequential(
        nn.Linear(S, 8), nn.ReLU(), nn.utils.parametrizations.orthogonal(nn.Linear(8, THETA))
    ),
    "batch normalisation": lambda: nn.Sequential(nn.Linear(S, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, THETA)),
    "batch normalisation at the end": lambda: nn.Sequential(nn.Linear(S, THETA), nn.BatchNorm1d(THETA)),
}
every_filter_network = pytest.mark.parametrize("filters", FILTERS.values(), ids=FILTERS)
every_aggregation = pytest.mark.parametrize("aggr", ["add", "mean", "max"])
close = partial(torch.testing.assert_close, rtol=1e-5, atol=1e-5)


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def random_edges(*, n: int = N, sources: int | None = None) -> tuple[Tensor, Tensor]:
    """Unsorted edges with duplicates; the last two targets are isolated."""
    ends = torch.stack([torch.randint(sources or n, (M,)), torch.randint(n - 2, (M,))])
    return ends, torch.randn(M, S)


def random_graph(labels: Labels | None = None, **options: int) -> Graph:
    (source, target), edge_attr = random_edges()
    return Graph.from_edges(source, target, edge_attr if labels is None else labels, num_vertices=N, **options)


def random_layer(**options) -> ECConv:
    return ECConv(D_IN, D_OUT, FilterNetwork((S, 8), D_IN, D_OUT), **options)


def nnconv(filters: nn.Module, *, d_in: int | tuple[int, int] = D_IN, **options) -> nn.Module:
    """A layer of PyG with a bias that is not zero."""
    layer = pyg.NNConv(d_in, D_OUT, filters, **options)
    if layer.bias is not None:
        nn.init.normal_(layer.bias)
    return layer


def step(layer: nn.Module, x: Tensor, edge_index: Tensor, edge_attr: Tensor, cotangent: Tensor) -> tuple[Tensor, ...]:
    """A step of gradient descent; returns the output and the gradients of signal and labels."""
    x, edge_attr = x.clone().requires_grad_(), edge_attr.clone().requires_grad_()
    out = layer(x, edge_index, edge_attr)
    out.backward(cotangent)
    torch.optim.SGD(layer.parameters(), lr=1.0).step()
    return out, x.grad, edge_attr.grad


class TestFromNNConv:
    @every_filter_network
    @every_aggregation
    @pytest.mark.parametrize("root_weight", [True, False], ids=["root", ""])
    @pytest.mark.parametrize("bias", [True, False], ids=["bias", ""])
    def test_the_output_is_that_of_pyg(self, filters: Callable, aggr: str, root_weight: bool, bias: bool):
        layer = nnconv(filters(), aggr=aggr, root_weight=root_weight, bias=bias)
        x, edges = torch.randn(N, D_IN), random_edges()

        ours = ECConv.from_nnconv(layer)(x, *edges)

        close(ours, layer(x, *edges))

    @every_filter_network
    @every_aggregation
    @pytest.mark.parametrize("low_memory", [False, True], ids=["", "low memory"])
    def test_a_step_of_training_leads_where_it_leads_in_pyg(self, filters: Callable, aggr: str, low_memory: bool):
        """The gradients of signal, labels, bias, root weight and every parameter of F agree, and batch statistics."""
        layer = nnconv(filters(), aggr=aggr)
        conv = ECConv.from_nnconv(layer, low_memory=low_memory)
        x, edges, cotangent = torch.randn(N, D_IN), random_edges(), torch.randn(N, D_OUT)

        ours, theirs = step(conv, x, *edges, cotangent), step(layer, x, *edges, cotangent)

        for mine, other in zip(ours, theirs, strict=True):
            close(mine, other)
        expected = ECConv.from_nnconv(layer).state_dict()
        for name, value in conv.state_dict().items():
            close(value, expected[name], msg=lambda difference, name=name: f"{name}: {difference}")

    def test_one_hot_labels_give_what_pyg_gives_even_if_f_mixes_them(self):
        """Batch statistics are over edges, however few of their labels are distinct."""
        layer = nnconv(FILTERS["batch normalisation"]())
        x, (edge_index, _) = torch.randn(N, D_IN), random_edges()
        edge_attr = torch.eye(S)[torch.randint(S, (M,))]

        close(ECConv.from_nnconv(layer)(x, edge_index, edge_attr), layer(x, edge_index, edge_attr))

    @every_aggregation
    def test_one_hot_labels_give_what_pyg_gives(self, aggr: str):
        layer = nnconv(FILTERS["a perceptron"](), aggr=aggr)
        x, (edge_index, _) = torch.randn(N, D_IN), random_edges()
        edge_attr = torch.eye(S)[torch.randint(S, (M,))]

        close(ECConv.from_nnconv(layer)(x, edge_index, edge_attr), layer(x, edge_index, edge_attr))

    def test_statistics_that_are_learnt_are_used(self):
        """F in evaluation mode stays in it."""
        layer = nnconv(FILTERS["batch normalisation"]())
        x, edges = torch.randn(N, D_IN), random_edges()
        layer(x, *edges)
        layer.eval()

        close(ECConv.from_nnconv(layer)(x, *edges), layer(x, *edges))

    def test_the_layer_is_a_copy(self):
        layer = nnconv(FILTERS["a perceptron"]())
        before = deepcopy(layer.state_dict())
        conv = ECConv.from_nnconv(layer)

        with torch.no_grad():
            for parameter in conv.parameters():
                parameter.zero_()

        assert all(torch.equal(value, before[name]) for name, value in layer.state_dict().items())

    def test_precision_is_kept(self):
        layer = nnconv(FILTERS["a perceptron"]()).double()
        x, (edge_index, edge_attr) = torch.randn(N, D_IN).double(), random_edges()

        ours = ECConv.from_nnconv(layer)(x, edge_index, edge_attr.double())

        torch.testing.assert_close(ours, layer(x, edge_index, edge_attr.double()), rtol=1e-12, atol=1e-12)

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({"aggr": "min"}, "ECConv aggregates by add, mean or max: this NNConv has aggr='min'."),
            (
                {"flow": "target_to_source"},
                "ECConv sums over the edges into a vertex: this NNConv has flow='target_to_source'.",
            ),
        ],
    )
    def test_a_layer_that_computes_something_else_is_refused(self, options: dict, sentence: str):
        with refused(sentence):
            ECConv.from_nnconv(nnconv(FILTERS["a perceptron"](), **options))


class TestCalledAsNNConv:
    """What PyG expects of its layer holds for ours, called the same way."""

    def test_the_output_has_a_row_per_vertex(self):
        assert random_layer()(torch.randn(N, D_IN), *random_edges()).shape == (N, D_OUT)

    def test_edge_index_and_graph_are_two_ways_to_say_the_same(self):
        conv, x, (edge_index, edge_attr) = random_layer(), torch.randn(N, D_IN), random_edges()

        assert torch.equal(
            conv(x, edge_index, edge_attr), conv(x, Graph.from_edges(*edge_index, edge_attr, num_vertices=N))
        )

    @every_aggregation
    @pytest.mark.parametrize("same_width", [True, False])
    def test_a_pair_of_signals_makes_the_graph_bipartite(self, aggr: str, same_width: bool):
        d_target = D_IN if same_width else 7
        layer = nnconv(FILTERS["a perceptron"](), d_in=(D_IN, d_target), aggr=aggr)
        edges = random_edges(sources=12)
        x = torch.randn(12, D_IN), torch.randn(N, d_target)

        ours = ECConv.from_nnconv(layer)(x, *edges)

        assert ours.shape == (N, D_OUT)
        close(ours, layer(x, *edges))

    @every_aggregation
    def test_a_pair_without_a_signal_of_targets_takes_their_number_from_size(self, aggr: str):
        """There is no root term then."""
        layer = nnconv(FILTERS["a perceptron"](), d_in=(D_IN, D_IN), aggr=aggr)
        edges = random_edges(sources=12)
        x = torch.randn(12, D_IN), None

        ours = ECConv.from_nnconv(layer)(x, *edges, size=(12, N))

        assert ours.shape == (N, D_OUT)
        close(ours, layer(x, *edges, size=(12, N)))

    def test_a_pair_with_a_signal_of_targets_may_also_name_the_size(self):
        conv, edges = random_layer(identity="linear"), random_edges(sources=12)
        x = torch.randn(12, D_IN), torch.randn(N, D_IN)

        assert torch.equal(conv(x, *edges, size=(12, N)), conv(x, *edges))

    def test_the_size_of_an_ordinary_graph_changes_nothing(self):
        conv, edges, x = random_layer(), random_edges(), torch.randn(N, D_IN)

        assert torch.equal(conv(x, *edges, size=(N, N)), conv(x, *edges))

    def test_a_pair_of_one_signal_is_that_signal(self):
        conv, edges, x = random_layer(identity="linear"), random_edges(), torch.randn(N, D_IN)

        close(conv((x, x), *edges), conv(x, *edges))

    @pytest.mark.parametrize("reduce", ["mean", "sum", "max"])
    def test_the_order_of_edges_does_not_matter(self, reduce: str):
        conv, x, (edge_index, edge_attr) = random_layer(reduce=reduce), torch.randn(N, D_IN), random_edges()
        order = torch.randperm(M)

        close(conv(x, edge_index[:, order], edge_attr[order]), conv(x, edge_index, edge_attr))

    @pytest.mark.parametrize("reduce", ["mean", "sum", "max"])
    def test_renumbering_vertices_renumbers_the_output(self, reduce: str):
        conv, x, (edge_index, edge_attr) = random_layer(reduce=reduce), torch.randn(N, D_IN), random_edges()
        order = torch.randperm(N)
        number = order.argsort()  # vertex order[i] is now called i

        close(conv(x[order], number[edge_index], edge_attr), conv(x, edge_index, edge_attr)[order])

    def test_a_vertex_without_edges_gets_the_bias(self):
        conv = random_layer()
        nn.init.normal_(conv.bias)

        out = conv(torch.randn(N, D_IN), *random_edges())

        close(out[-2:], conv.bias.expand(2, -1))

    def test_a_graph_without_edges_gives_the_bias(self):
        conv = random_layer()
        nn.init.normal_(conv.bias)

        out = conv(torch.randn(N, D_IN), torch.zeros(2, 0, dtype=torch.long), torch.zeros(0, S))

        close(out, conv.bias.expand(N, -1))


class TestLowMemory:
    @every_filter_network
    @pytest.mark.parametrize("reduce", ["mean", "sum", "max"])
    def test_numbers_and_gradients_are_those_of_the_ordinary_mode(self, filters: Callable, reduce: str):
        """More than one block of edges, so that blocks meet inside a neighbourhood."""
        ordinary = ECConv(D_IN, D_OUT, filters(), reduce=reduce)
        small = deepcopy(ordinary)
        small.low_memory = True
        m = 20_000
        edge_index, edge_attr = torch.randint(20, (2, m)), torch.randn(m, S)
        x, cotangent = torch.randn(20, D_IN), torch.randn(20, D_OUT) / m

        expected = step(ordinary.double(), x.double(), edge_index, edge_attr.double(), cotangent.double())
        found = step(small.double(), x.double(), edge_index, edge_attr.double(), cotangent.double())

        for one, other in zip((*found, *small.parameters()), (*expected, *ordinary.parameters()), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


class TestDiagonalFilters:
    """One weight per channel, as the authors' code offers."""

    @pytest.mark.parametrize("low_memory", [False, True])
    def test_each_channel_is_scaled_by_its_own_weight(self, low_memory: bool):
        """F(l) = (l, 10 l): edges 0 -> 1 and 1 -> 1 with labels 2 and 3 give (2 + 9, 40 + 120) / 2 at vertex 1."""
        filters = nn.Linear(1, 2, bias=False)
        conv = ECConv(2, 2, filters, diagonal=True, low_memory=low_memory)
        with torch.no_grad():
            filters.weight.copy_(torch.tensor([[1.0], [10.0]]))

        out = conv(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[0, 1], [1, 1]]), torch.tensor([[2.0], [3.0]]))

        close(out, torch.tensor([[0.0, 0.0], [5.5, 80.0]]))

    @pytest.mark.parametrize("reduce", ["mean", "sum", "max"])
    @pytest.mark.parametrize("low_memory", [False, True])
    def test_they_are_full_filters_with_zeros_elsewhere(self, reduce: str, low_memory: bool):
        diagonal = ECConv(D_IN, D_IN, FilterNetwork((S, 8), D_IN, D_IN, diagonal=True), reduce=reduce, diagonal=True)
        diagonal.low_memory = low_memory
        full = ECConv(D_IN, D_IN, FilterNetwork((S, 8), D_IN, D_IN), reduce=reduce)
        full.load_state_dict(
            diagonal.state_dict()
            | {
                "filters.2.weight": torch.einsum("ij,ik->ijk", torch.eye(D_IN), diagonal.filters[2].weight).flatten(
                    0, 1
                )
            }
        )
        x, edges = torch.randn(N, D_IN), random_edges()

        close(diagonal(x, *edges), full(x, *edges))

    def test_categorical_labels_work_too(self):
        conv = ECConv(D_IN, D_IN, FilterNetwork((S,), D_IN, D_IN, diagonal=True), diagonal=True)
        compact = random_graph(Labels.one_hot(torch.randint(S, (M,)), S))
        x = torch.randn(N, D_IN)

        close(conv(x, compact), conv(x, compact.with_labels(compact.labels.per_edge(compact.labels.values))))


class TestInitialisation:
    """Sections 4.1 and 4.3: orthogonal weights. The authors' code: ReLU gain, no bias in the last layer."""

    @pytest.mark.parametrize(("widths", "d_in", "d_out"), [((6, 16, 32), 16, 32), ((4, 64), 48, 48), ((20, 8), 2, 2)])
    def test_filter_networks_start_orthogonal(self, widths: tuple[int, ...], d_in: int, d_out: int):
        """The rows or the columns of a weight, whichever are fewer, are orthogonal and of length g."""
        linear = [layer for layer in FilterNetwork(widths, d_in, d_out) if isinstance(layer, nn.Linear)]

        assert [layer.out_features for layer in linear] == [*widths[1:], d_in * d_out]
        for layer in linear:
            weight = layer.weight if layer.out_features < layer.in_features else layer.weight.T
            squared_gain = 1.0 if layer is linear[-1] else 2.0
            close(weight @ weight.T, squared_gain * torch.eye(len(weight)))
        assert linear[-1].bias is None
        for layer in linear[:-1]:
            assert 0 < layer.bias.abs().max() <= layer.in_features**-0.5  # torch's, as in the authors' code

    def test_a_label_of_zeros_has_a_filter_and_a_gradient(self):
        """That of a self-loop, and of every edge in the row "(0)" of the table of labels, whose 38.9 is no guess."""
        filters = FilterNetwork((6, 16, 32), 2, 3)

        theta = filters(torch.zeros(1, 6))
        theta.square().sum().backward()

        assert theta.abs().min() > 0
        assert filters[0].bias.grad.abs().max() > 0

    def test_layers_alternate_with_relus(self):
        kinds = [type(layer) for layer in FilterNetwork((6, 16, 32), 2, 3)]

        assert kinds == [nn.Linear, nn.ReLU, nn.Linear, nn.ReLU, nn.Linear]

    def test_a_slice_of_a_filter_network_is_a_sequence_of_its_own_layers(self):
        """Theta = W h: what the layers before the last give, multiplied by the weight of the last."""
        filters, labels = FilterNetwork((6, 16, 32), 2, 3), torch.randn(4, 6)

        before = filters[:-1]

        assert type(before) is nn.Sequential
        assert list(before) == list(filters)[:-1]
        close(before(labels) @ filters[-1].weight.T, filters(labels))

    def test_the_bias_starts_at_zero(self):
        assert not random_layer().bias.any()


class TestPrecision:
    @pytest.mark.parametrize("reduce", ["mean", "sum", "max"])
    def test_half_precision_is_near_single_precision(self, reduce: str):
        """bfloat16 has 8 bits: numbers of size 1 are right to 1/256, sums of some of them to some of that."""
        conv, graph, x = (
            random_layer(reduce=reduce, identity=True, degree_factor=True),
            random_graph(),
            torch.randn(N, D_IN),
        )
        half = deepcopy(conv).to(torch.bfloat16)

        out = half(x.bfloat16(), graph.to(torch.bfloat16))

        assert out.dtype == torch.bfloat16
        scale = float(conv(x, graph).detach().abs().max())
        torch.testing.assert_close(out.float(), conv(x, graph), rtol=0, atol=0.03 * scale)
        out.sum().backward()
        assert all(parameter.grad.isfinite().all() for parameter in half.parameters())

    def test_categorical_labels_work_in_half_precision(self):
        conv, x = random_layer(), torch.randn(N, D_IN)
        graph = random_graph(Labels.one_hot(torch.randint(S, (M,)), S))

        out = deepcopy(conv).to(torch.bfloat16)(x.bfloat16(), graph.to(torch.bfloat16))

        torch.testing.assert_close(out.float(), conv(x, graph), rtol=0, atol=0.03)

    @pytest.mark.parametrize("filters", [FILTERS["a perceptron"], FILTERS["no linear layer at the end"]])
    @pytest.mark.parametrize("low_memory", [False, True])
    def test_autocast_is_near_single_precision(self, filters: Callable, low_memory: bool):
        conv, graph, x = ECConv(D_IN, D_OUT, filters(), low_memory=low_memory), random_graph(), torch.randn(N, D_IN)
        expected = conv(x, graph)

        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = conv(x, graph)
        out.float().square().sum().backward()

        torch.testing.assert_close(out.float(), expected, rtol=0, atol=0.03)
        assert all(parameter.grad.isfinite().all() for parameter in conv.parameters())

    def test_double_precision_is_exact_to_its_last_digits(self):
        conv, graph = random_layer().double(), random_graph().to(torch.float64)
        reference = deepcopy(conv)
        reference.algorithm = "reference"
        x = torch.randn(N, D_IN).double()

        torch.testing.assert_close(conv(x, graph), reference(x, graph), rtol=1e-13, atol=1e-13)


class TestModule:
    def test_parameters_come_back_from_a_state_dict(self):
        options = {"identity": "linear", "degree_factor": True}
        saved, fresh = random_layer(**options), random_layer(**options)
        x, edges = torch.randn(N, D_IN), random_edges()

        fresh.load_state_dict(saved.state_dict())

        assert torch.equal(fresh(x, *edges), saved(x, *edges))

    def test_a_copy_computes_the_same_and_shares_nothing(self):
        conv, x, edges = random_layer(), torch.randn(N, D_IN), random_edges()
        twin = deepcopy(conv)

        before = twin(x, *edges)
        nn.init.zeros_(conv.filters[0].weight)

        assert torch.equal(twin(x, *edges), before)

    def test_it_prints_its_widths(self):
        assert repr(random_layer(reduce="max")).startswith("ECConv(\n  3, 5, reduce='max'\n  (filters): FilterNetwork(")

    @pytest.mark.parametrize("reduce", ["mean", "max"])
    def test_a_plan_names_one_of_the_algorithms(self, reduce: str):
        categorical = random_graph(Labels.one_hot(torch.randint(S, (M,)), S))

        plans = [random_layer(reduce=reduce).plan(graph) for graph in (random_graph(), categorical)]

        for plan in plans:
            assert plan.algorithm in ("factored", "piecewise", "per_label", "per_edge")
            assert plan.multiply_adds > 0
            assert plan.bytes > 0
            assert str(plan).startswith(f"{plan.algorithm} by {plan.by}: ")

    def test_an_arbitrary_filter_network_is_planned_edge_by_edge(self):
        assert ECConv(D_IN, D_OUT, Wave()).plan(random_graph()).algorithm == "per_edge"

    @pytest.mark.parametrize("algorithm", ["factored", "per_label", "per_edge", "reference"])
    def test_the_algorithm_can_be_chosen(self, algorithm: str):
        conv, x = random_layer(), torch.randn(N, D_IN)
        graph = random_graph(Labels.one_hot(torch.randint(S, (M,)), S))
        expected = conv(x, graph)

        conv.algorithm = algorithm

        close(conv(x, graph), expected)


class TestTracing:
    """With `edge_index` the graph is made inside the traced layer; networks are traced in `test_network`."""

    @pytest.mark.parametrize("reduce", ["mean", "max"])
    def test_a_compiled_layer_agrees_for_graphs_of_every_size(self, reduce: str):
        torch._dynamo.reset()
        conv = random_layer(reduce=reduce, identity=True, degree_factor=True)
        compiled = torch.compile(conv, fullgraph=True, dynamic=True, backend="aot_eager")

        for m in (30, 50):
            x, edge_index, edge_attr = torch.randn(N + m, D_IN), torch.randint(N, (2, m)), torch.randn(m, S)
            close(compiled(x, edge_index, edge_attr), conv(x, edge_index, edge_attr))

    @pytest.mark.parametrize("reduce", ["mean", "max"])
    def test_an_exported_layer_agrees_for_graphs_of_every_size(self, reduce: str):
        conv = random_layer(reduce=reduce, identity=True, degree_factor=True)
        free = torch.export.Dim.DYNAMIC

        program = torch.export.export(
            conv, (torch.randn(N, D_IN), *random_edges()), dynamic_shapes=({0: free}, {1: free}, {0: free})
        )

        x, edge_index, edge_attr = torch.randn(20, D_IN), torch.randint(20, (2, 50)), torch.randn(50, S)
        close(program.module()(x, edge_index, edge_attr), conv(x, edge_index, edge_attr))


class TestSentences:
    """Wrong shapes, precisions, indices and widths: each is answered by a sentence."""

    @pytest.mark.parametrize(
        ("arguments", "options", "sentence"),
        [
            (
                (3, 5, nn.Linear(4, 14)),
                {},
                "a filter network for 3 to 5 channels must end in 15 numbers: this one ends in 14.",
            ),
            (
                (3, 3, nn.Linear(4, 9)),
                {"diagonal": True},
                "a filter network for 3 to 3 channels must end in 3 numbers: this one ends in 9.",
            ),
            (
                (3, 5, nn.Linear(4, 15)),
                {"reduce": "median"},
                "neighbours are reduced by one of mean, sum, max: got 'median'.",
            ),
            (
                (3, 5, nn.Linear(4, 3)),
                {"diagonal": True},
                "diagonal filters keep the width of the signal: got 3 to 5 channels.",
            ),
        ],
    )
    def test_a_layer_that_cannot_be_is_refused(self, arguments: tuple, options: dict, sentence: str):
        with refused(sentence):
            ECConv(*arguments, **options)

    def test_diagonal_filters_of_two_widths_are_refused(self):
        with refused("diagonal filters keep the width of the signal: got 3 to 5 channels."):
            FilterNetwork((4,), 3, 5, diagonal=True)

    @pytest.mark.parametrize(
        ("x", "sentence"),
        [
            (torch.randn(N, 4), "the signal must have shape (vertices, 3): got (9, 4)."),
            (torch.randn(N), "the signal must have shape (vertices, 3): got (9,)."),
            (torch.randn(2, N, D_IN), "the signal must have shape (vertices, 3): got (2, 9, 3)."),
            (torch.randn(8, D_IN), "the signal must have one row per source vertex: got 8 rows for 9 vertices."),
            (
                torch.randn(N, D_IN).double(),
                "signal and parameters must have one precision: got torch.float64 and torch.float32. "
                "Convert the one with .to(...), for a graph too, or the layer.",
            ),
            (
                torch.randn(N, D_IN, device="meta"),
                "signal and graph must be on one device: got meta and cpu.",
            ),
        ],
    )
    def test_a_signal_that_does_not_fit_is_refused(self, x: Tensor, sentence: str):
        with refused(sentence):
            random_layer()(x, random_graph())

    @pytest.mark.parametrize(
        ("graph", "sentence"),
        [
            (
                random_graph().with_labels(torch.randn(M, 6)),
                "the filter network takes labels of 4 numbers: got labels of 6.",
            ),
            (
                random_graph().to(torch.float64),
                "labels and parameters must have one precision: got torch.float64 and torch.float32. "
                "Convert the one with .to(...), for a graph too, or the layer.",
            ),
        ],
    )
    def test_labels_that_do_not_fit_are_refused(self, graph: Graph, sentence: str):
        with refused(sentence):
            random_layer()(torch.randn(N, D_IN), graph)

    @pytest.mark.parametrize(
        ("edges", "sentence"),
        [
            (
                (torch.zeros(2, M, dtype=torch.long),),
                "edge-conditioned convolution needs labels: pass edge_attr, one row per edge.",
            ),
            (
                (torch.zeros(M, 2, dtype=torch.long), torch.zeros(M, S)),
                "edges are a Graph or an edge_index of shape (2, edges): got (30, 2).",
            ),
            (
                (torch.zeros(M, dtype=torch.long), torch.zeros(M, S)),
                "edges are a Graph or an edge_index of shape (2, edges): got (30,).",
            ),
            (
                ([[0], [1]], torch.zeros(1, S)),
                "edges are a Graph or an edge_index of shape (2, edges): got list.",
            ),
            (
                (torch.zeros(2, M, dtype=torch.int32), torch.zeros(M, S)),
                "source must be a vector of int64 vertex numbers: got shape (30,) of torch.int32.",
            ),
            (
                (torch.full((2, M), N), torch.zeros(M, S)),
                "source must number vertices from 0 to 8: found 9. "
                "Count the vertices that have no edge, too, or set num_sources for a bipartite graph.",
            ),
            (
                (torch.zeros(2, M, dtype=torch.long), torch.zeros(M - 1, S)),
                "a graph needs one label per edge: got 29 labels for 30 edges. "
                "Self-loops are edges too; add them before labelling.",
            ),
            (
                (torch.zeros(2, M, dtype=torch.long), torch.zeros(M)),
                "labels are rows of real numbers, a tensor of shape (edges, s): "
                "got (30,) of torch.float32. A scalar per edge needs values[:, None].",
            ),
            (
                (torch.zeros(2, M, dtype=torch.long), torch.full((M, S), torch.nan)),
                "labels must be finite: found [nan, nan, nan, nan] in row 0. "
                "A spherical angle of a zero offset is the usual cause; set it to 0.",
            ),
        ],
    )
    def test_edges_that_do_not_fit_are_refused(self, edges: tuple, sentence: str):
        with refused(sentence):
            random_layer()(torch.randn(N, D_IN), *edges)

    def test_an_arbitrary_filter_network_of_the_wrong_width_is_refused_when_it_runs(self):
        conv = ECConv(D_IN, D_OUT, nn.Sequential(nn.Linear(S, 14), nn.Tanh()))

        with refused(
            "a filter network for 3 to 5 channels must give 15 numbers per label: this one gave (30, 14) for 30 labels."
        ):
            conv(torch.randn(N, D_IN), random_graph())

    def test_an_identity_connection_without_a_signal_of_targets_is_refused(self):
        graph = Graph.from_edges(
            *torch.tensor([[0, 1, 2], [0, 0, 1]]), torch.zeros(3, S), num_vertices=2, num_sources=3
        )

        with refused(
            "an identity connection adds the signal of the 2 targets: got 3. "
            "For a bipartite graph call the layer with (x_source, x_target)."
        ):
            random_layer(identity=True)(torch.randn(3, D_IN), graph)

    def test_an_unknown_algorithm_is_refused(self):
        with refused(
            "the algorithm is one of factored, piecewise, per_label, per_edge and reference, "
            "or none to let the plan pick: got 'fast'."
        ):
            random_layer(algorithm="fast")(torch.randn(N, D_IN), random_graph())

    def test_an_algorithm_that_the_filter_network_does_not_allow_is_refused(self):
        with refused("factored needs a filter network whose last layer is linear: use per_edge for others."):
            ECConv(D_IN, D_OUT, Wave(), algorithm="factored")(torch.randn(N, D_IN), random_graph())


@pytest.mark.filterwarnings("ignore:.*weight_norm.*is deprecated")
def test_hooks_on_the_layers_of_f_are_not_bypassed():
    """The older weight norm computes the weight in a hook: a step on its parameters must change the output."""
    torch.manual_seed(0)
    layers = [nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 3 * 5)]
    conv = ECConv(3, 5, nn.Sequential(*map(torch.nn.utils.weight_norm, layers[::2])), bias=False)
    x, edge_index, edge_attr = torch.randn(4, 3), torch.randint(0, 4, (2, 9)), torch.randn(9, 2)
    with torch.no_grad():
        conv.filters[1].weight_g.mul_(2)

    found = conv(x, edge_index, edge_attr)

    theta = conv.filters(edge_attr).view(-1, 5, 3)
    messages = (theta @ x[edge_index[0], :, None]).squeeze(2)
    total = torch.zeros(4, 5).index_add(0, edge_index[1], messages)
    count = torch.bincount(edge_index[1], minlength=4).clamp(min=1)
    torch.testing.assert_close(found, total / count[:, None])
