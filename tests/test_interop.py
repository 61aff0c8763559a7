"""Graphs travel to PyTorch Geometric and NetworkX and back without loss."""

import subprocess
import sys

import pytest
import torch

from edgecond import Graph, Labels
from edgecond.interop import (
    graph_from_networkx,
    graph_from_pyg,
    graph_to_networkx,
    graph_to_pyg,
    signal_from_networkx,
)
from tests.sentences import refused

nx = pytest.importorskip("networkx")
pyg = pytest.importorskip("torch_geometric.data")

BIPARTITE = Graph.from_edges(
    torch.tensor([0, 1, 2]), torch.tensor([0, 0, 1]), torch.zeros(3, 1), num_vertices=2, num_sources=3
)


def random_graph(*, sizes: tuple[int, ...] = (7,), s: int = 3, seed: int = 0) -> Graph:
    """Graphs side by side with random edges; the last vertex of each is isolated."""
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
    def test_a_graph_comes_back_as_it_went(self):
        graph = random_graph()

        assert_same(graph_from_pyg(graph_to_pyg(graph)), graph)

    def test_a_batch_comes_back_as_it_went(self):
        """With a graph of one isolated vertex in the middle, and an isolated vertex at the end of each."""
        graph = random_graph(sizes=(5, 1, 4))

        batch = graph_to_pyg(graph)

        assert isinstance(batch, pyg.Batch)
        assert_same(graph_from_pyg(batch), graph)

    def test_a_batch_can_be_taken_apart(self):
        """The Data of a batch of ours are the Data of the graphs one by one."""
        sizes = (5, 1, 4)
        graph = random_graph(sizes=sizes)
        x, y = torch.randn(10, 2), torch.tensor([1, 0, 2])

        parts = graph_to_pyg(graph, x, y).to_data_list()

        assert [part.num_nodes for part in parts] == list(sizes)
        assert [part.y.tolist() for part in parts] == [[1], [0], [2]]
        assert torch.equal(torch.cat([part.x for part in parts]), x)
        again = pyg.Batch.from_data_list(parts)
        assert torch.equal(again.edge_index, torch.stack([graph.source, graph.target]))
        assert torch.equal(again.edge_attr, graph.labels.values)

    def test_edges_of_data_are_sorted_by_target_with_their_labels(self):
        data = pyg.Data(edge_index=torch.tensor([[0, 1, 2], [2, 0, 1]]), edge_attr=torch.tensor([5.0, 6.0, 7.0]))
        data.num_nodes = 4

        graph = graph_from_pyg(data)

        assert edges_of(graph) == {(0, 2, (5.0,)), (1, 0, (6.0,)), (2, 1, (7.0,))}
        assert graph.target.tolist() == [0, 1, 2]
        assert graph.num_vertices == 4

    def test_whole_numbers_become_real_labels(self):
        data = pyg.Data(edge_index=torch.tensor([[0], [1]]), edge_attr=torch.tensor([3]), num_nodes=2)

        assert graph_from_pyg(data).labels.values.tolist() == [[3.0]]

    def test_labels_may_have_another_name_or_stay_compact(self):
        data = pyg.Data(edge_index=torch.tensor([[0, 1], [1, 0]]), bond=torch.tensor([2, 0]), num_nodes=2)

        named, compact = graph_from_pyg(data, "bond"), graph_from_pyg(data, Labels.one_hot(data.bond, 3))

        assert edges_of(named) == {(0, 1, (2.0,)), (1, 0, (0.0,))}
        assert edges_of(compact) == {(0, 1, (0.0, 0.0, 1.0)), (1, 0, (1.0, 0.0, 0.0))}
        assert compact.labels.index is not None

    def test_graphs_of_data_with_a_batch_vector_have_their_sizes(self):
        """A Data may hold several graphs without being a Batch."""
        data = pyg.Data(edge_index=torch.tensor([[0], [1]]), edge_attr=torch.zeros(1, 1), num_nodes=5)
        data.batch = torch.tensor([0, 0, 1, 1, 1])

        assert graph_from_pyg(data).sizes.tolist() == [2, 3]

    @pytest.mark.parametrize(
        ("data", "sentence"),
        [
            (
                pyg.Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2),
                "edge-conditioned convolution needs labels: this Data has no 'edge_attr'. "
                "Set it to one row per edge, or pass labels=...",
            ),
            (
                pyg.HeteroData(),
                "a graph needs an edge_index: this HeteroData has none. "
                "A HeteroData has one per edge type; make a graph of each with Graph.from_edges.",
            ),
        ],
    )
    def test_data_that_is_no_labelled_graph_is_refused(self, data, sentence: str):
        with refused(sentence):
            graph_from_pyg(data)

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (
                (BIPARTITE,),
                "a PyG Data has one set of vertices: this graph is bipartite, from 3 sources to 2 targets.",
            ),
            ((random_graph(), torch.zeros(6, 2)), "one row per vertex is needed: got shape (6, 2) for 7."),
            ((random_graph(), None, torch.zeros(2)), "one row per graph is needed: got shape (2,) for 1."),
        ],
    )
    def test_what_does_not_fit_into_data_is_refused(self, arguments: tuple, sentence: str):
        with refused(sentence):
            graph_to_pyg(*arguments)


class TestNetworkX:
    @pytest.mark.parametrize("s", [1, 3])
    def test_a_graph_comes_back_as_it_went(self, s: int):
        """Duplicate edges and isolated vertices included: 14 random edges on 6 vertices and a seventh alone."""
        graph = random_graph(s=s, seed=3)
        x = torch.randn(7, 2)

        there = graph_to_networkx(graph, x)

        assert isinstance(there, nx.MultiDiGraph)
        back = graph_from_networkx(there)
        assert edges_of(back) == edges_of(graph)
        assert back.num_vertices == 7
        assert torch.equal(signal_from_networkx(there), x)

    def test_only_duplicate_edges_need_a_multigraph(self):
        source, target, labels = torch.tensor([0, 0, 1]), torch.tensor([0, 1, 1]), torch.zeros(3, 1)

        single = graph_to_networkx(Graph.from_edges(source, target, labels, num_vertices=2))
        double = graph_to_networkx(Graph.from_edges(source * 0, target, labels, num_vertices=2))

        assert (single.is_multigraph(), double.is_multigraph()) == (False, True)
        assert (single.number_of_edges(), double.number_of_edges()) == (3, 3)

    def test_directed_edges_stay_as_they_are(self):
        there = nx.DiGraph()
        there.add_edge("b", "a", label=[1.0, 2.0])
        there.add_node("alone")
        there.add_edge("a", "c", label=torch.tensor([3.0, 4.0]))

        graph = graph_from_networkx(there)  # b, a, alone, c are 0, 1, 2, 3

        assert edges_of(graph) == {(0, 1, (1.0, 2.0)), (1, 3, (3.0, 4.0))}
        assert graph.num_vertices == 4

    def test_undirected_edges_go_both_ways_and_loops_once(self):
        there = nx.Graph()
        there.add_edge(0, 1, label=5)
        there.add_edge(1, 1, label=7)

        assert edges_of(graph_from_networkx(there)) == {(0, 1, (5.0,)), (1, 0, (5.0,)), (1, 1, (7.0,))}

    def test_parallel_edges_are_kept(self):
        there = nx.MultiGraph()
        there.add_edge(0, 1, label=5)
        there.add_edge(0, 1, label=6)

        graph = graph_from_networkx(there)

        assert graph.num_edges == 4
        assert edges_of(graph) == {(0, 1, (5.0,)), (1, 0, (5.0,)), (0, 1, (6.0,)), (1, 0, (6.0,))}

    def test_categories_are_sorted_and_stay_compact(self):
        there = nx.path_graph(4)
        nx.set_edge_attributes(there, {(0, 1): "single", (1, 2): "aromatic", (2, 3): "double"}, "label")

        labels = graph_from_networkx(there).labels

        assert torch.equal(labels.values, torch.eye(3))
        assert labels.index.tolist() == [2, 2, 0, 0, 1, 1]  # into 0 from 1, 1 from 0 and 2, ..., as sorted by target

    def test_self_loops_get_a_category_of_their_own(self):
        """Section 4.3: "s = 4 due to an extra label for self-connections"; also where no vertex needs one."""
        there = nx.path_graph(3)
        nx.set_edge_attributes(there, {(0, 1): "single", (1, 2): "double"}, "label")
        categories = ["single", "double", "triple"]

        graph = graph_from_networkx(there, categories=categories, self_loops=True)

        assert graph.labels.width == 4
        loops = graph.source == graph.target
        assert graph.labels.index[loops].tolist() == [3, 3, 3]
        there.add_edges_from([(i, i, {"label": "triple"}) for i in range(3)])
        assert graph_from_networkx(there, categories=categories, self_loops=True).labels.width == 4

    def test_self_loops_get_the_label_zero_or_the_one_given_where_there_is_none(self):
        there = nx.DiGraph()
        there.add_edge(0, 0, label=9)
        there.add_edge(0, 1, label=5)

        zero = graph_from_networkx(there, self_loops=True)
        one = graph_from_networkx(there, self_loops=True, loop_label=1)

        assert edges_of(zero) == {(0, 0, (9.0,)), (0, 1, (5.0,)), (1, 1, (0.0,))}
        assert edges_of(one) == {(0, 0, (9.0,)), (0, 1, (5.0,)), (1, 1, (1.0,))}

    def test_self_loops_may_share_a_category(self):
        there = nx.path_graph(2)
        nx.set_edge_attributes(there, "single", "label")

        graph = graph_from_networkx(there, categories=["loop", "single"], self_loops=True, loop_label="loop")

        assert graph.labels.index.tolist() == [1, 0, 1, 0]  # (1,0), (0,0), (0,1), (1,1)

    def test_several_attributes_stand_side_by_side(self):
        there = nx.DiGraph()
        there.add_edge(0, 1, length=2.0, direction=[0.0, 1.0])

        assert edges_of(graph_from_networkx(there, ["length", "direction"])) == {(0, 1, (2.0, 0.0, 1.0))}

    def test_a_label_may_depend_on_the_direction(self):
        """Point clouds: the offset of an undirected edge changes its sign."""
        there = nx.path_graph(3)

        graph = graph_from_networkx(there, lambda source, target, attributes: source - target)

        assert edges_of(graph) == {(0, 1, (-1.0,)), (1, 0, (1.0,)), (1, 2, (-1.0,)), (2, 1, (1.0,))}

    def test_numbers_may_be_categories(self):
        there = nx.path_graph(3)
        nx.set_edge_attributes(there, {(0, 1): 1, (1, 2): 3}, "order")

        assert graph_from_networkx(there, "order", categories=[1, 2, 3]).labels.index.tolist() == [0, 0, 2, 2]

    def test_a_graph_without_edges_has_the_width_of_its_categories(self):
        graph = graph_from_networkx(nx.empty_graph(2), categories="abc")
        looped = graph_from_networkx(nx.empty_graph(2), self_loops=True, loop_label=[1, 2])

        assert (graph.num_vertices, graph.num_edges, graph.labels.width) == (2, 0, 3)
        assert edges_of(looped) == {(0, 0, (1.0, 2.0)), (1, 1, (1.0, 2.0))}

    def test_the_signal_is_read_from_numbers_and_from_categories(self):
        there = nx.Graph()
        there.add_node("x", mass=12, atom="C")
        there.add_node("y", mass=1, atom="H")

        assert signal_from_networkx(there, "mass").tolist() == [[12.0], [1.0]]
        assert signal_from_networkx(there, "atom", categories="HCN").tolist() == [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]

    def test_the_direction_of_edges_is_that_of_the_convolution(self):
        """N(i) are predecessors (Section 3.1): what NetworkX calls predecessors, too."""
        graph = random_graph()

        there = graph_to_networkx(graph)

        for i in range(graph.num_vertices):
            assert set(there.predecessors(i)) == set(graph.source[graph.target == i].tolist())

    @pytest.mark.parametrize(
        ("label", "options", "sentence"),
        [
            ("kind", {}, "every edge needs the attribute 'kind': the one from 0 to 1 has ['label']."),
            (lambda j, i, _: [0.0] * (1 + j), {}, "labels need one width: found [1, 2]."),
            (lambda *_: "d", {"categories": "abc"}, "labels must be one of the categories ['a', 'b', 'c']: found 'd'."),
            (
                lambda *_: float("nan"),
                {},
                "labels must be finite: found [nan] in row 0. "
                "The usual cause is the angle of a zero offset in spherical coordinates; set it to 0.",
            ),
        ],
    )
    def test_labels_that_are_none_are_refused(self, label, options: dict, sentence: str):
        there = nx.path_graph(2)
        nx.set_edge_attributes(there, 1, "label")

        with refused(sentence):
            graph_from_networkx(there, label, **options)

    def test_a_graph_without_edges_needs_a_width(self):
        with refused("without an edge nothing tells the width of the labels: pass categories or a loop_label."):
            graph_from_networkx(nx.empty_graph(3))

    def test_unhashable_categories_are_refused(self):
        there = nx.path_graph(2)
        nx.set_edge_attributes(there, ["a", "b"], "label")

        with refused("labels are numbers, sequences of numbers, or categories such as strings: got ['a', 'b']."):
            graph_from_networkx(there)

    def test_a_vertex_without_signal_is_named(self):
        with refused("every vertex needs the attribute 'signal': 0 has none."):
            signal_from_networkx(nx.path_graph(2))

    def test_a_bipartite_graph_is_refused(self):
        with refused("a NetworkX graph has one set of vertices: this graph is bipartite, from 3 sources to 2 targets."):
            graph_to_networkx(BIPARTITE)


@pytest.mark.parametrize(
    ("library", "convert", "sentence"),
    [
        ("torch_geometric", graph_to_pyg, "PyTorch Geometric is not installed: pip install edgecond[pyg]."),
        ("networkx", graph_to_networkx, "NetworkX is not installed: pip install networkx."),
    ],
)
def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, library: str, convert, sentence: str):
    for name in [name for name in sys.modules if name.partition(".")[0] == library]:
        monkeypatch.setitem(sys.modules, name, None)

    with refused(sentence, ImportError):
        convert(random_graph())


def test_interop_imports_neither_library():
    code = "import sys, edgecond.interop; print({'torch_geometric', 'networkx'} & set(sys.modules))"

    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert answer.stdout == "set()\n"
