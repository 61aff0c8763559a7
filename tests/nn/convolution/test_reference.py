"""The oracle itself, by hand and by another method."""

import numpy as np
import pytest
import torch

from edgecond.graph import Graph
from edgecond.nn.convolution import REDUCTIONS, reference
from tests.nn.convolution.zoo import evaluate, numbers, ZOO

# Edges (0,2), (1,2), (2,0) with filters of one row; vertex 1 receives nothing.
GRAPH = Graph.from_edges(torch.tensor([0, 1, 2]), torch.tensor([2, 2, 0]), torch.zeros(3, 1), num_vertices=3)
X = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
THETA = torch.tensor([[[7.0, 8.0]], [[1.0, -1.0]], [[2.0, 0.5]]])  # of (2,0), (0,2), (1,2): sorted by target


@pytest.mark.parametrize(
    ("reduce", "expected"),
    [
        # (2,0): 7*5 + 8*6 = 83; (0,2): 1*1 - 1*2 = -1; (1,2): 2*3 + 0.5*4 = 8.
        ("sum", [[83.0], [0.0], [7.0]]),
        ("mean", [[83.0], [0.0], [3.5]]),
        ("max", [[83.0], [0.0], [8.0]]),
        ("std", [[0.0], [0.0], [4.5]]),  # -1 and 8 are 4.5 from their mean
    ],
)
def test_three_edges_give_the_numbers_of_equation_1(reduce: str, expected: list[list[float]]):
    """Equation 1, by hand: every neighbour's signal times the filter of its edge, over |N(i)|."""
    assert reference(X, GRAPH, THETA, reduce).tolist() == expected


def test_the_maximum_of_negative_messages_is_negative():
    """0 stands for a missing neighbourhood only: max(-83, nothing else) = -83."""
    assert reference(-X, GRAPH, THETA, "max").tolist() == [[-83.0], [0.0], [1.0]]


@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("name", ZOO)
def test_the_reference_is_the_sum_over_a_dense_tensor_of_filters(name: str, reduce: str):
    """Another method: NumPy on filters laid out as (edge, d_out, d_in), reduced target by target."""
    graph = ZOO[name]
    x, theta = numbers(graph.num_sources, 3), numbers(graph.num_edges, 2, 3, seed=2)

    ours = reference(x, graph, theta, reduce).numpy()

    messages = np.einsum("moi,mi->mo", theta.numpy(), x.numpy()[graph.source.numpy()])
    expected = np.zeros((graph.num_vertices, 2))
    for i in range(graph.num_vertices):
        received = messages[graph.target.numpy() == i]
        if len(received):
            expected[i] = getattr(np, reduce)(received, axis=0)
    np.testing.assert_allclose(ours, expected, atol=1e-12)


def test_the_gradients_of_the_reference_are_those_of_a_product():
    """By hand: d(theta x)/d theta is x and d(theta x)/d x is theta, halved where two edges share a mean."""
    found = evaluate(lambda x, theta: reference(x, GRAPH, theta), x=X, theta=THETA)

    g = numbers(3, 1, seed=99).float().flatten()
    assert found["the gradient of theta"].flatten(1).equal(torch.stack([g[0] * X[2], g[2] / 2 * X[0], g[2] / 2 * X[1]]))
    assert found["the gradient of x"].equal(
        torch.stack([g[2] / 2 * THETA[1, 0], g[2] / 2 * THETA[2, 0], g[0] * THETA[0, 0]])
    )


def test_an_unknown_aggregation_is_refused():
    with pytest.raises(ValueError, match=r"one of mean, sum, max\b.*: got 'median'\."):
        reference(X, GRAPH, THETA, "median")
