"""The aggregations are found by their own names and by those of PyG, and agree with their definitions."""

import pytest
import torch
from torch import Tensor

from edgecond.graph import Graph
from edgecond.graph.segment import segment_sum
from edgecond.nn.convolution.aggregation import aggregate, Aggregation, AGGREGATIONS, find, find_pyg
from tests.nn.convolution.zoo import assert_agree, evaluate, numbers, ZOO

members = pytest.mark.parametrize("aggregation", AGGREGATIONS.values(), ids=AGGREGATIONS)


@members
def test_a_member_is_found_by_its_name_and_by_those_of_pyg(aggregation: Aggregation):
    assert find(aggregation.name) is aggregation
    assert all(find_pyg(name) is aggregation for name in aggregation.pyg)


@members
def test_pyg_has_an_aggregation_of_that_name(aggregation: Aggregation):
    """PyG's own resolver accepts every name."""
    resolver = pytest.importorskip("torch_geometric.nn.resolver")

    for name in aggregation.pyg:
        assert isinstance(resolver.aggregation_resolver(name), torch.nn.Module)


@members
@pytest.mark.parametrize("name", ZOO)
def test_the_aggregation_of_a_graph_is_the_definition_at_every_vertex(name: str, aggregation: Aggregation):
    """Values and gradients, from the messages of a list of edges; 0 for a vertex without edges."""
    graph = ZOO[name]

    def by_graph(messages: Tensor) -> Tensor:
        return aggregate(graph, aggregation.name, lambda edges: sum_over(edges, messages))

    def by_vertex(messages: Tensor) -> Tensor:
        received = [messages[graph.target == i] for i in range(graph.num_vertices)]
        nothing = messages.new_zeros(3)
        outputs = [aggregation.definition(rows) if len(rows) else nothing for rows in received]
        return torch.stack(outputs) if outputs else messages.new_zeros(0, 3)

    messages = numbers(graph.num_edges, 3)

    assert_agree(evaluate(by_graph, messages=messages), evaluate(by_vertex, messages=messages))


def sum_over(graph: Graph, messages: Tensor) -> Tensor:
    return segment_sum(messages, graph.target, graph.num_vertices)


@pytest.mark.parametrize(("lookup", "value"), [(find, "median"), (find_pyg, "min")])
def test_an_unknown_name_is_refused(lookup, value: str):
    with pytest.raises(ValueError, match=rf"one of mean, .*max\b.*: got .*'{value}'"):
        lookup(value)
