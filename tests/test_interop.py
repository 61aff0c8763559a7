"""Graphs are converted to PyTorch Geometric and NetworkX and back without loss."""

import subprocess
import sys

import pytest
import torch
from torch.nn import Linear

import edgecond
import edgecond.nn
from edgecond import Graph, Labels
from edgecond.interop import (
    explainable,
    graph_from_networkx,
    graph_from_pyg,
    graph_to_networkx,
    graph_to_pyg,
    signal_from_networkx,
    to_hetero,
)
from tests.sentences import refused

nx = pytest.importorskip("networkx")
pyg = pytest.importorskip("torch_geometric.data")

BIPARTITE = Graph.from_edges(
    torch.tensor([0, 1, 2]), torch.tensor([0, 0, 1]), torch.zeros(3, 1), num_vertices=2, num_sources=3
)


def random_graph(*, sizes: tuple[int, ...] = (7,), s: int = 3, seed: int = 0) -> Graph:
    """Draw graphs with random edges side by side; the last vertex of each is isolated."""
    generator = torch.Generator().manual_seed(seed)
    ends, offset = [], 0
    for n in sizes:
        ends.append(offset + torch.randint(max(1, n - 1), (2, 2 * n), generator=generator)[:, : 2 * n if n > 1 else 0])
        offset += n
    source, target = torch.cat(ends, 1)
    labels = torch.randn(len(source), s, generator=generator)
    return Graph.from_edges(source, target, labels, num_vertices=offset, sizes=torch.tensor(sizes))


def assert_same(ours: Graph, theirs: Graph, *, sizes: bool = True) -> None:
    for name in ("source", "target", "pointer", *(["sizes"] if sizes else [])):
        assert torch.equal(getattr(ours, name), getattr(theirs, name)), name
    torch.testing.assert_close(
        ours.labels.per_edge(ours.labels.values), theirs.labels.per_edge(theirs.labels.values), rtol=0, atol=0
    )


def edges_of(graph: Graph) -> set[tuple[int, int, tuple[float, ...]]]:
    labels = graph.labels.per_edge(graph.labels.values)
    return {
        (j, i, tuple(label))
        for j, i, label in zip(*map(torch.Tensor.tolist, (graph.source, graph.target, labels)), strict=True)
    }


class TestPyG:
    def test_a_graph_is_the_same_after_a_round_trip(self):
        graph = random_graph()

        assert_same(graph_from_pyg(graph_to_pyg(graph)), graph)

    def test_a_batch_is_the_same_after_a_round_trip(self):
        """Including a graph of one isolated vertex, and an isolated vertex at the end of each graph."""
        graph = random_graph(sizes=(5, 1, 4))

        batch = graph_to_pyg(graph)

        assert isinstance(batch, pyg.Batch)
        assert_same(graph_from_pyg(batch), graph)

    def test_a_batch_can_be_separated_by_pyg(self):
        """`to_data_list` of PyG gives the single graphs, and `from_data_list` the same batch again."""
        sizes = (5, 1, 4)
        graph = random_graph(sizes=sizes)
        x, y = torch.randn(10, 2), torch.tensor([1, 0, 2])

        parts = graph_to_pyg(graph, x, y).to_data_list()

        assert [part.num_nodes for part in parts] == list(sizes)
        assert [part.y.tolist() for part in parts] == [[1], [0], [2]]
        assert torch.equal(torch.cat([part.x for part in parts]), x)
        batch = pyg.Batch.from_data_list(parts)
        assert torch.equal(batch.edge_index, torch.stack([graph.source, graph.target]))
        assert torch.equal(batch.edge_attr, graph.labels.values)

    def test_edges_of_data_are_sorted_by_target_with_their_labels(self):
        data = pyg.Data(edge_index=torch.tensor([[0, 1, 2], [2, 0, 1]]), edge_attr=torch.tensor([5.0, 6.0, 7.0]))
        data.num_nodes = 4

        graph = graph_from_pyg(data)

        assert edges_of(graph) == {(0, 2, (5.0,)), (1, 0, (6.0,)), (2, 1, (7.0,))}
        assert graph.target.tolist() == [0, 1, 2]
        assert graph.num_vertices == 4

    def test_integer_labels_become_floating_point(self):
        data = pyg.Data(edge_index=torch.tensor([[0], [1]]), edge_attr=torch.tensor([3]), num_nodes=2)

        assert graph_from_pyg(data).labels.values.tolist() == [[3.0]]

    def test_labels_may_have_another_name_or_be_compact(self):
        data = pyg.Data(edge_index=torch.tensor([[0, 1], [1, 0]]), bond=torch.tensor([2, 0]), num_nodes=2)

        named, compact = graph_from_pyg(data, "bond"), graph_from_pyg(data, Labels.one_hot(data.bond, 3))

        assert edges_of(named) == {(0, 1, (2.0,)), (1, 0, (0.0,))}
        assert edges_of(compact) == {(0, 1, (0.0, 0.0, 1.0)), (1, 0, (1.0, 0.0, 0.0))}
        assert compact.labels.index is not None

    def test_a_data_with_a_batch_vector_is_a_batch(self):
        """A Data may contain several graphs without being a Batch."""
        data = pyg.Data(edge_index=torch.tensor([[0], [1]]), edge_attr=torch.zeros(1, 1), num_nodes=5)
        data.batch = torch.tensor([0, 0, 1, 1, 1])

        assert graph_from_pyg(data).sizes.tolist() == [2, 3]

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (
                pyg.Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2),
                "edge-conditioned convolution needs labels: this Data has no 'edge_attr'. "
                "Set it to one row per edge, or pass labels=...",
            ),
            (
                pyg.HeteroData(),
                "a graph needs an edge_index: this HeteroData has none. "
                "A HeteroData has one per edge type; convert each with Graph.from_edges.",
            ),
        ],
    )
    def test_data_without_edges_or_labels_is_an_error(self, data, message: str):
        with refused(message):
            graph_from_pyg(data)

    @pytest.mark.parametrize(
        ("arguments", "facts"),
        [
            ((BIPARTITE,), r"a PyG Data needs .*: this graph is bipartite, with 3 sources and 2 targets\.$"),
            ((random_graph(), torch.zeros(6, 2)), r"^x must have one row per vertex: got shape \(6, 2\) for 7 rows\.$"),
            ((random_graph(), None, torch.zeros(2)), r"^y must have one row per graph: got shape \(2,\) for 1 rows\.$"),
        ],
    )
    def test_a_graph_that_pyg_cannot_represent_is_an_error(self, arguments: tuple, facts: str):
        with pytest.raises(ValueError, match=facts):
            graph_to_pyg(*arguments)


class TestNetworkX:
    @pytest.mark.parametrize("s", [1, 3])
    def test_a_graph_is_the_same_after_a_round_trip(self, s: int):
        """Including duplicate edges and an isolated vertex: 14 random edges on 6 of 7 vertices."""
        graph = random_graph(s=s, seed=3)
        x = torch.randn(7, 2)

        converted = graph_to_networkx(graph, x)

        assert isinstance(converted, nx.MultiDiGraph)
        back = graph_from_networkx(converted)
        assert edges_of(back) == edges_of(graph)
        assert back.num_vertices == 7
        assert torch.equal(signal_from_networkx(converted), x)

    def test_only_duplicate_edges_need_a_multigraph(self):
        source, target, labels = torch.tensor([0, 0, 1]), torch.tensor([0, 1, 1]), torch.zeros(3, 1)

        single = graph_to_networkx(Graph.from_edges(source, target, labels, num_vertices=2))
        double = graph_to_networkx(Graph.from_edges(source * 0, target, labels, num_vertices=2))

        assert (single.is_multigraph(), double.is_multigraph()) == (False, True)
        assert (single.number_of_edges(), double.number_of_edges()) == (3, 3)

    def test_directed_edges_keep_their_direction(self):
        theirs = nx.DiGraph()
        theirs.add_edge("b", "a", label=[1.0, 2.0])
        theirs.add_node("alone")
        theirs.add_edge("a", "c", label=torch.tensor([3.0, 4.0]))

        graph = graph_from_networkx(theirs)  # b, a, alone, c are 0, 1, 2, 3

        assert edges_of(graph) == {(0, 1, (1.0, 2.0)), (1, 3, (3.0, 4.0))}
        assert graph.num_vertices == 4

    def test_undirected_edges_become_two_edges_and_self_loops_one(self):
        theirs = nx.Graph()
        theirs.add_edge(0, 1, label=5)
        theirs.add_edge(1, 1, label=7)

        assert edges_of(graph_from_networkx(theirs)) == {(0, 1, (5.0,)), (1, 0, (5.0,)), (1, 1, (7.0,))}

    def test_parallel_edges_are_kept(self):
        theirs = nx.MultiGraph()
        theirs.add_edge(0, 1, label=5)
        theirs.add_edge(0, 1, label=6)

        graph = graph_from_networkx(theirs)

        assert graph.num_edges == 4
        assert edges_of(graph) == {(0, 1, (5.0,)), (1, 0, (5.0,)), (0, 1, (6.0,)), (1, 0, (6.0,))}

    def test_categories_are_sorted_and_compact(self):
        theirs = nx.path_graph(4)
        nx.set_edge_attributes(theirs, {(0, 1): "single", (1, 2): "aromatic", (2, 3): "double"}, "label")

        labels = graph_from_networkx(theirs).labels

        assert torch.equal(labels.values, torch.eye(3))
        assert labels.index.tolist() == [2, 2, 0, 0, 1, 1]  # edges (1,0), (0,1), (2,1), (1,2), (3,2), (2,3)

    def test_self_loops_get_an_additional_category(self):
        """Section 4.3: "s = 4 due to an extra label for self-connections"; even if no self-loop is added."""
        theirs = nx.path_graph(3)
        nx.set_edge_attributes(theirs, {(0, 1): "single", (1, 2): "double"}, "label")
        categories = ["single", "double", "triple"]

        graph = graph_from_networkx(theirs, categories=categories, self_loops=True)

        assert graph.labels.width == 4
        loops = graph.source == graph.target
        assert graph.labels.index[loops].tolist() == [3, 3, 3]
        theirs.add_edges_from([(i, i, {"label": "triple"}) for i in range(3)])
        assert graph_from_networkx(theirs, categories=categories, self_loops=True).labels.width == 4

    def test_missing_self_loops_get_the_label_zero_or_the_given_one(self):
        theirs = nx.DiGraph()
        theirs.add_edge(0, 0, label=9)
        theirs.add_edge(0, 1, label=5)

        zero = graph_from_networkx(theirs, self_loops=True)
        one = graph_from_networkx(theirs, self_loops=True, loop_label=1)

        assert edges_of(zero) == {(0, 0, (9.0,)), (0, 1, (5.0,)), (1, 1, (0.0,))}
        assert edges_of(one) == {(0, 0, (9.0,)), (0, 1, (5.0,)), (1, 1, (1.0,))}

    def test_self_loops_may_have_one_of_the_categories(self):
        theirs = nx.path_graph(2)
        nx.set_edge_attributes(theirs, "single", "label")

        graph = graph_from_networkx(theirs, categories=["loop", "single"], self_loops=True, loop_label="loop")

        assert graph.labels.index.tolist() == [1, 0, 1, 0]  # (1,0), (0,0), (0,1), (1,1)

    def test_several_attributes_are_concatenated(self):
        theirs = nx.DiGraph()
        theirs.add_edge(0, 1, length=2.0, direction=[0.0, 1.0])

        assert edges_of(graph_from_networkx(theirs, ["length", "direction"])) == {(0, 1, (2.0, 0.0, 1.0))}

    def test_a_label_may_depend_on_the_direction(self):
        """In point clouds, the offset changes its sign with the direction."""
        theirs = nx.path_graph(3)

        graph = graph_from_networkx(theirs, lambda source, target, attributes: source - target)

        assert edges_of(graph) == {(0, 1, (-1.0,)), (1, 0, (1.0,)), (1, 2, (-1.0,)), (2, 1, (1.0,))}

    def test_numbers_may_be_categories(self):
        theirs = nx.path_graph(3)
        nx.set_edge_attributes(theirs, {(0, 1): 1, (1, 2): 3}, "order")

        assert graph_from_networkx(theirs, "order", categories=[1, 2, 3]).labels.index.tolist() == [0, 0, 2, 2]

    def test_a_graph_without_edges_has_the_width_of_its_categories(self):
        graph = graph_from_networkx(nx.empty_graph(2), categories="abc")
        looped = graph_from_networkx(nx.empty_graph(2), self_loops=True, loop_label=[1, 2])

        assert (graph.num_vertices, graph.num_edges, graph.labels.width) == (2, 0, 3)
        assert edges_of(looped) == {(0, 0, (1.0, 2.0)), (1, 1, (1.0, 2.0))}

    def test_the_signal_is_read_from_numbers_and_from_categories(self):
        theirs = nx.Graph()
        theirs.add_node("x", mass=12, atom="C")
        theirs.add_node("y", mass=1, atom="H")

        assert signal_from_networkx(theirs, "mass").tolist() == [[12.0], [1.0]]
        assert signal_from_networkx(theirs, "atom", categories="HCN").tolist() == [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]

    def test_the_predecessors_in_networkx_are_the_neighbourhoods(self):
        """Section 3.1: N(i) are the predecessors of i."""
        graph = random_graph()

        converted = graph_to_networkx(graph)

        for i in range(graph.num_vertices):
            assert set(converted.predecessors(i)) == set(graph.source[graph.target == i].tolist())

    @pytest.mark.parametrize(
        ("label", "options", "facts"),
        [
            ("kind", {}, r"every edge needs the attribute 'kind': the edge from 0 to 1 has \['label'\]"),
            (lambda j, i, _: [0.0] * (1 + j), {}, r"the same width: found widths \[1, 2\]"),
            (lambda *_: "d", {"categories": "abc"}, r"one of the categories \['a', 'b', 'c'\]: found 'd'"),
            (lambda *_: float("nan"), {}, r"labels must be finite: found \[nan\] in row 0"),
        ],
    )
    def test_invalid_labels_are_an_error(self, label, options: dict, facts: str):
        theirs = nx.path_graph(2)
        nx.set_edge_attributes(theirs, 1, "label")

        with pytest.raises(ValueError, match=facts):
            graph_from_networkx(theirs, label, **options)

    def test_a_graph_without_edges_needs_categories_or_a_loop_label(self):
        with refused("the width of the labels is unknown without edges: pass categories or a loop_label."):
            graph_from_networkx(nx.empty_graph(3))

    def test_unhashable_categories_are_an_error(self):
        theirs = nx.path_graph(2)
        nx.set_edge_attributes(theirs, ["a", "b"], "label")

        with pytest.raises(ValueError, match=r"categories such as strings: found \['a', 'b'\]"):
            graph_from_networkx(theirs)

    def test_a_vertex_without_signal_is_named(self):
        with pytest.raises(ValueError, match="the attribute 'signal': vertex 0 does not have it"):
            signal_from_networkx(nx.path_graph(2))

    def test_a_bipartite_graph_is_an_error(self):
        with pytest.raises(ValueError, match=r"a NetworkX graph needs .* bipartite, with 3 sources and 2 targets"):
            graph_to_networkx(BIPARTITE)


@pytest.mark.parametrize(
    ("library", "convert", "message"),
    [
        (
            "torch_geometric",
            lambda _: to_hetero(Linear(1, 1), ([], [])),
            "PyTorch Geometric is not installed: pip install edgecond[pyg].",
        ),
        ("torch_geometric", graph_to_pyg, "PyTorch Geometric is not installed: pip install edgecond[pyg]."),
        ("networkx", graph_to_networkx, "NetworkX is not installed: pip install networkx."),
    ],
)
def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, library: str, convert, message: str):
    for name in [name for name in sys.modules if name.partition(".")[0] == library]:
        monkeypatch.setitem(sys.modules, name, None)

    with refused(message, ImportError):
        convert(random_graph())


def test_interop_imports_neither_library():
    code = "import sys, edgecond.interop; print({'torch_geometric', 'networkx'} & set(sys.modules))"

    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert run.stdout == "set()\n"


class Convolutions(torch.nn.Module):
    """Two layers of PyG, one of which is called on pairs, for predictions on vertices."""

    def __init__(self, aggr: str) -> None:
        from torch_geometric.nn import NNConv

        super().__init__()
        torch.manual_seed(0)
        self.one = NNConv(3, 4, torch.nn.Sequential(Linear(2, 5), torch.nn.ReLU(), Linear(5, 12)), aggr=aggr)
        self.two = torch.nn.ModuleList([NNConv(4, 2, Linear(2, 8), aggr=aggr, root_weight=False)])

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor, edge_attr: torch.Tensor) -> torch.Tensor:
        x = self.one(x, edge_index, edge_attr).relu()
        return self.two[0]((x, x), edge_index, edge_attr)


def call() -> dict[str, torch.Tensor]:
    """A graph with loops and a vertex without edges."""
    generator = torch.Generator().manual_seed(1)
    ends = torch.randint(6, (2, 15), generator=generator)
    return {
        "x": torch.randn(7, 3, generator=generator),
        "edge_index": ends,
        "edge_attr": torch.randn(15, 2, generator=generator),
    }


@pytest.mark.parametrize("aggr", ["mean", "add", "max"])
@pytest.mark.parametrize("algorithm", ["GNNExplainer", "gradients"])
def test_explainers_of_pyg_find_the_same_masks_as_with_nnconv(aggr: str, algorithm: str):
    """PyG: an explainer masks the messages of edges. Both start from the same random masks."""
    from torch_geometric.explain import Explainer, GNNExplainer
    from torch_geometric.explain.algorithm.utils import clear_masks, set_masks

    theirs = Convolutions(aggr).eval()
    ours = Convolutions(aggr).eval()
    assert len(edgecond.nn.swap(ours).replaced) == 2
    ours, data = explainable(ours), call()
    torch.testing.assert_close(ours(**data), theirs(**data), rtol=1e-4, atol=1e-5)

    found = []
    for model in (ours, theirs):
        torch.manual_seed(2)
        if algorithm == "GNNExplainer":
            explainer = Explainer(
                model,
                GNNExplainer(epochs=5),
                explanation_type="model",
                node_mask_type="attributes",
                edge_mask_type="object",
                model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"},
            )
            explanation = explainer(data["x"], data["edge_index"], edge_attr=data["edge_attr"], index=2)
            found.append((explanation.edge_mask, explanation.node_mask))
        else:
            mask = torch.full((15,), 0.4, requires_grad=True)
            set_masks(model, mask, data["edge_index"], apply_sigmoid=False)
            out = model(**data)
            clear_masks(model)
            found.append((torch.autograd.grad(out.sum(), mask)[0], out))
    for our, their in zip(*found, strict=True):
        torch.testing.assert_close(our, their, rtol=1e-3, atol=1e-5)
    assert float(found[0][0].abs().sum()) > 0


def test_an_explainable_copy_shares_the_parameters_and_refuses_graphs():
    model = torch.nn.ModuleList([edgecond.ECConv(3, 4, edgecond.FilterNetwork([2, 5], 3, 4), degree_factor=True)])
    data = call()

    copied = explainable(model)

    assert {id(p) for p in copied.parameters()} == {id(p) for p in model.parameters()}
    assert isinstance(model[0], edgecond.ECConv)
    torch.testing.assert_close(copied[0](**data), model[0](**data))
    graph = Graph.from_edges(*data["edge_index"], data["edge_attr"], num_vertices=7)
    with pytest.raises(ValueError, match="the model calls ECConv with a Graph"):
        copied[0](data["x"], graph)
