"""The standard deviation over the neighbourhood, channel by channel."""

from __future__ import annotations

from torch import Tensor

from edgecond.graph import Graph
from edgecond.graph.segment import segment_mean
from edgecond.nn.convolution.aggregation.interface import Aggregation, SumOver

SMALLEST = 1e-5  # variances up to this one count as 0, as in PyG: there the root has no useful gradient


class Std(Aggregation):
    r"""$\sqrt{\frac{1}{|N(i)|} \sum_{j \in N(i)} (\Theta_{ji} x_j - \mu_i)^2}$ with $\mu_i$ the mean of the messages.

    The deviations are squared after the mean is subtracted. PyG computes $E[x^2] - E[x]^2$, which is the same number
    but loses all digits where the mean is large beside the deviation. Where the variance is at most $10^{-5}$, value
    and gradient are 0.
    """

    name, pyg, of_messages = "std", ("std",), True

    def aggregate(self, graph: Graph, sum_over: SumOver) -> Tensor:
        messages = sum_over(graph.per_edge)
        mean = segment_mean(messages, graph.target, graph.num_vertices)
        deviations = messages - mean.index_select(0, graph.target)
        return _root(segment_mean(deviations.square(), graph.target, graph.num_vertices))

    def definition(self, messages: Tensor) -> Tensor:
        return _root(messages.var(0, correction=0))


STD = Std()


def _root(variance: Tensor) -> Tensor:
    return variance.clamp(min=SMALLEST).sqrt().masked_fill(variance <= SMALLEST, 0.0)
