"""A pyramid needs a map between each pair of consecutive graphs."""

import pytest

from edgecond.graph import Pyramid
from tests.graph.paths import graph_of, vector


def test_a_pyramid_has_one_map_between_each_pair_of_consecutive_graphs():
    """Section 3.3: M(h) maps the vertices of G(h-1) to those of G(h)."""
    graph = graph_of(n=1)

    assert len(Pyramid((graph, graph), (vector(0),))) == 2
    with pytest.raises(ValueError, match=r"one pool map between each pair .*: got 0 maps for 2 graphs\.$"):
        Pyramid((graph, graph))
