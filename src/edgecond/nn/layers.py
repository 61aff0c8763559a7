"""ECConv and its filter networks: the convolution of Section 3 with the extensions of appendices E and G."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from itertools import pairwise
from typing import Any, Literal, Self, TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import nn, Tensor

from edgecond.graph import Graph, Labels
from edgecond.nn.convolution import convolve, Filters, Plan, plan_for
from edgecond.nn.convolution.aggregation import find
from edgecond.nn.edge_index import graph_of_call
from edgecond.nn.inspection import flat, hidden, last_linear, parameters, perceptron, pure, reset
from edgecond.nn.nnconv import filters_of, reduce_of

if TYPE_CHECKING:
    from torch_geometric.nn import NNConv


def orthogonal_layers(widths: Sequence[int], *, last_bias: bool = True) -> nn.Sequential:
    """Build fully connected layers with ReLUs in between, initialised orthogonally (Sections 4.1, G).

    Biases have torch's initial values, as in the authors' code. If they were zero, a self-loop, whose label is zero,
    would have a zero filter and no gradient, since the last layer of $F$ has no bias.
    """
    layers: list[nn.Module] = []
    for position, (fan_in, fan_out) in enumerate(pairwise(widths)):
        last = position == len(widths) - 2
        layer = nn.Linear(fan_in, fan_out, bias=last_bias or not last)
        _orthogonalise(layer, last)
        layers += [layer] if last else [layer, nn.ReLU()]
    return nn.Sequential(*layers)


def _orthogonalise(layer: nn.Linear, last: bool) -> None:
    nn.init.orthogonal_(layer.weight, gain=1.0 if last else nn.init.calculate_gain("relu"))


def _reset_orthogonal(layers: nn.Sequential) -> None:
    """Draw the parameters of `orthogonal_layers` again, as they were drawn when it built them."""
    linear = [layer for layer in layers if isinstance(layer, nn.Linear)]
    for layer in linear:
        layer.reset_parameters()
        _orthogonalise(layer, layer is linear[-1])


class FilterNetwork(nn.Sequential):
    r"""The filter network $F^l$, FC(16)-FC(32)-FC($d_l d_{l-1}$) with ReLUs in between, which maps a label to a filter.

    The last layer has no bias, as in the authors' code.

    Args:
        widths: $s$ and the hidden widths, `(6, 16, 32)` for the above; `(s,)` alone is a single-layer perceptron.
        d_in: Width $d_{l-1}$ of the input signal.
        d_out: Width $d_l$ of the output signal.
        diagonal: One weight per channel instead of a matrix, as the authors' code offers; needs `d_in == d_out`.
    """

    def __init__(self, widths: Sequence[int], d_in: int, d_out: int, *, diagonal: bool = False) -> None:
        _check_diagonal(diagonal, d_in, d_out)
        super().__init__(*orthogonal_layers([*widths, d_in if diagonal else d_in * d_out], last_bias=False))

    def reset_parameters(self) -> None:
        """Draw all parameters again: orthogonal weights, and biases as torch draws them."""
        _reset_orthogonal(self)

    def __getitem__(self, index: int | slice) -> nn.Module:
        """Return a layer, or a sequence of layers: `filters[:-1]` computes $h$, which enters the last layer."""
        return nn.Sequential(*self)[index] if isinstance(index, slice) else super().__getitem__(index)


class ECConv(nn.Module):
    r"""Edge-conditioned convolution, Equation 1.

    $$X^l(i) = \frac{1}{|N(i)|} \sum_{j \in N(i)} F^l(L(j,i)) X^{l-1}(j) + b^l$$

    Call it with a graph, `conv(x, graph)`, or like PyG's `NNConv`, `conv(x, edge_index, edge_attr)`; for a bipartite
    graph, `x` is a pair `(x_source, x_target)`. $N(i)$ are the edges into $i$; self-loops are not added. Arguments may
    also be named as `NNConv` names them: `conv(x=x, edge_index=edge_index, edge_attr=edge_attr, size=size)`.

    Args:
        d_in: Width of the input signal; a pair for bipartite graphs whose two sides differ.
        d_out: Width of the output.
        filters: $F^l$: a `FilterNetwork`, or any module that maps `(e, s)` to `(e, d_out * d_in)`, each filter row by
            row. If the module ends in a linear layer, no filters are formed. Modules other than torch's are evaluated
            once on all labels, as they may mix labels or draw numbers, unless they have `row_by_row = True`.
        reduce: Aggregation over the neighbours: "mean" (the paper), "sum", "max" or another of `AGGREGATIONS`.
        bias: Whether to learn $b^l$.
        identity: Whether to add $\mathrm{id}(X^{l-1}(i))$ (ECC-resnet, appendix E): the signal itself, or a linear map
            of it where the widths differ. "linear" stands for a linear map in either case.
        degree_factor: Whether to multiply by $Z^l(|N(i)|)$, FC(32)-FC(1) (ECC-Z, appendix G).
        diagonal: Whether `filters` gives one weight per channel instead of a matrix.
        low_memory: Whether to keep nothing of the size of the edges; F is evaluated again in the backward pass, if it
            maps labels row by row.
        algorithm: Name of the algorithm to run; by default, the plan picks one.
    """

    def __init__(
        self,
        d_in: int | tuple[int, int],
        d_out: int,
        filters: nn.Module,
        *,
        reduce: str = "mean",
        bias: bool = True,
        identity: bool | Literal["linear"] = False,
        degree_factor: bool = False,
        diagonal: bool = False,
        low_memory: bool = False,
        algorithm: str | None = None,
    ) -> None:
        super().__init__()
        self.in_channels, self.out_channels = d_in, d_out  # PyG's names
        self.d_in, self.d_target = (d_in, d_in) if isinstance(d_in, int) else d_in
        _check_diagonal(diagonal, self.d_in, d_out)
        self.d_out, self.reduce, self.diagonal = d_out, find(reduce).name, diagonal
        self.low_memory, self.algorithm = low_memory, algorithm
        self.filters = filters
        self.bias = nn.Parameter(torch.zeros(d_out)) if bias else None
        self.identity: nn.Module | None = None
        if identity:
            same = identity is True and self.d_target == d_out
            self.identity = nn.Identity() if same else nn.Linear(self.d_target, d_out, bias=False)
        self.degree_factor = orthogonal_layers([1, 32, 1]) if degree_factor else None
        last = last_linear(self.filters)
        if last is not None and last.out_features != self._filter_size:
            raise ValueError(
                f"a filter network for {self.d_in} to {d_out} channels must end in {self._filter_size} numbers: "
                f"got one that ends in {last.out_features}."
            )

    def extra_repr(self) -> str:
        options = {"bias": self.bias is not None, "diagonal": self.diagonal, "low_memory": self.low_memory}
        usual = {"bias": True, "diagonal": False, "low_memory": False}
        others = [f", {name}={value}" for name, value in options.items() if value != usual[name]]
        return f"{self.in_channels}, {self.d_out}, reduce={self.reduce!r}{''.join(others)}"

    def reset_parameters(self) -> None:
        """Draw all parameters again, in the order and from the distributions of `NNConv`.

        $F$ is drawn by the `reset_parameters` of its modules: a `FilterNetwork` orthogonally, a linear layer as torch
        draws it. A linear identity map is drawn uniformly from $\\pm 1 / \\sqrt{d}$, $d$ its width, ECC-Z's factor
        orthogonally, and the bias $b^l$ becomes 0.
        """
        reset(self.filters)
        if isinstance(self.identity, nn.Linear):
            self.identity.reset_parameters()
        if self.degree_factor is not None:
            _reset_orthogonal(self.degree_factor)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(
        self,
        x: Float[Tensor, "n d_in"] | tuple[Tensor, Tensor | None],
        edge_index: Graph | Int[Tensor, "2 m"],
        edge_attr: Float[Tensor, "m s"] | Float[Tensor, " m"] | None = None,
        size: tuple[int | None, int | None] | None = None,
    ) -> Float[Tensor, "n d_out"]:
        """Compute the signal $X^l$.

        Args:
            x: Signal on the vertices, or the signals of sources and targets of a bipartite graph.
            edge_index: A graph with labels, or PyG's `edge_index`: sources in the first row, targets in the second, as
                a tensor or as an `EdgeIndex`, whose own order of the edges is used.
            edge_attr: Labels of the edges of an `edge_index`; a vector is a label of width 1.
            size: Numbers of sources and targets of an `edge_index` between two sets of vertices.
        """
        if not isinstance(x, Tensor) and not (isinstance(x, tuple | list) and len(x) == 2):
            found = f"{len(x)} signals" if isinstance(x, tuple | list) else f"a {type(x).__name__}"
            raise ValueError(f"the signal must be a tensor, or a pair of those of sources and targets: got {found}.")
        source, target = (x, x) if isinstance(x, Tensor) else x
        if isinstance(edge_index, Graph):
            graph = edge_index
        else:
            graph = graph_of_call(source, target, edge_index, edge_attr, size)
        self._check(source, graph)
        out = convolve(
            source, graph, self._filters(), self.reduce, algorithm=self.algorithm, low_memory=self.low_memory
        )
        return self.completed(out, target, graph.degree)

    def completed(
        self, out: Float[Tensor, "n d_out"], target: Float[Tensor, "n d"] | None, degree: Int[Tensor, " n"]
    ) -> Float[Tensor, "n d_out"]:
        """Return aggregated messages with degree factor, bias and identity connection, as far as the layer has them.

        Args:
            out: The aggregated messages.
            target: Signal on the targets.
            degree: Number of edges into each target.
        """
        if self.degree_factor is not None:
            out = out * self.degree_factor(degree[:, None].to(out.dtype))
        if self.bias is not None:
            out = out + self.bias
        if self.identity is not None and target is not None:
            if target.shape[0] != out.shape[0]:
                raise ValueError(
                    f"an identity connection needs a signal on the {out.shape[0]} targets: got {target.shape[0]} rows. "
                    "For a bipartite graph, call the layer with (x_source, x_target)."
                )
            out = out + self.identity(target)
        return out

    def messages(self, x: Float[Tensor, "m d_in"], labels: Float[Tensor, "m s"]) -> Float[Tensor, "m d_out"]:
        r"""Return the message $\Theta_{ji} x_j$ of each edge, from the signals of the sources and the labels."""
        numbers = torch.arange(len(x) + 1, device=x.device)
        graph = Graph(numbers[:-1], numbers[:-1], numbers, Labels(labels), numbers[-1:])
        self._check(x, graph)
        return convolve(x, graph, self._filters(), "sum", algorithm=self.algorithm, low_memory=self.low_memory)

    def plan(self, graph: Graph) -> Plan:
        """Return the algorithm that is run on this graph, with its multiply-adds and bytes; nothing is computed."""
        return plan_for(graph, self._filters(), self.d_in, self.reduce, low_memory=self.low_memory)

    @classmethod
    def from_nnconv(cls, layer: NNConv, **options: Any) -> Self:
        """Build the layer that computes the same as an `NNConv` of PyG, with a copy of its parameters.

        Args:
            layer: A layer that aggregates by "add", "mean", "max" or another of ECConv's aggregations, with or without
                root weight and bias.
            options: Other arguments of `ECConv`, such as `low_memory=True`.
        """
        reduce = reduce_of(layer)
        d_in = layer.in_channels
        if layer.root_weight and not isinstance(d_in, int):
            d_in = d_in[0], layer.lin.in_channels  # a width of -1 is known since the first call
        d_source = d_in if isinstance(d_in, int) else d_in[0]
        filters = filters_of(layer.nn, d_source, layer.out_channels)
        identity: Literal["linear"] | bool = "linear" if layer.root_weight else False
        conv = cls(
            d_in,
            layer.out_channels,
            filters,
            reduce=reduce,
            bias=layer.bias is not None,
            identity=identity,
            **options,
        )
        if conv.bias is not None:
            conv.bias = deepcopy(layer.bias)  # a frozen parameter stays frozen
        if isinstance(conv.identity, nn.Linear):
            conv.identity.weight = deepcopy(layer.lin.weight)
        conv.training = layer.training
        return conv

    @property
    def _filter_size(self) -> int:
        return self.d_in if self.diagonal else self.d_in * self.d_out

    def _theta(self, labels: Float[Tensor, "e s"]) -> Float[Tensor, "e d_out d_in"]:
        theta = self.filters(labels)
        if theta.shape != (labels.shape[0], self._filter_size):
            raise ValueError(
                f"a filter network for {self.d_in} to {self.d_out} channels must give {self._filter_size} numbers per "
                f"label: got {tuple(theta.shape)} for {labels.shape[0]} labels."
            )
        return theta if self.diagonal else theta.view(-1, self.d_out, self.d_in)

    def _filters(self) -> Filters:
        last, learnt, is_pure = last_linear(self.filters), parameters(self.filters), pure(self.filters)
        if last is None or self.diagonal:
            return Filters(self._theta, self.d_out, learnt, diagonal=self.diagonal, pure=is_pure)
        weight = last.weight.view(self.d_out, self.d_in, -1).permute(2, 0, 1)
        if last.bias is not None:
            weight = torch.cat([weight, last.bias.view(1, self.d_out, self.d_in)])
        of_last = {id(parameter) for parameter in parameters(last)}
        return Filters(
            self._theta,
            self.d_out,
            learnt,
            lambda labels: hidden(self.filters, labels),
            weight,
            last.in_features,
            tuple(parameter for parameter in learnt if id(parameter) not in of_last),
            perceptron(self.filters),
            pure=is_pure,
        )

    def _check(self, x: Tensor, graph: Graph) -> None:
        if x.dim() != 2 or x.shape[1] != self.d_in:
            raise ValueError(f"the signal must have shape (vertices, {self.d_in}): got {tuple(x.shape)}.")
        if x.shape[0] != graph.num_sources:
            raise ValueError(
                "the signal must have one row per source vertex: "
                f"got {x.shape[0]} rows for {graph.num_sources} vertices."
            )
        labels = graph.labels.values
        for tensor in (graph.source, graph.target, graph.pointer, labels, graph.labels.index):
            if tensor is not None and tensor.device != x.device:
                raise ValueError(f"signal and graph must be on the same device: got {x.device} and {tensor.device}.")
        first = next(iter(flat(self.filters)), None)
        if not isinstance(first, nn.Linear):  # F may do anything with the labels
            return
        if labels.shape[1] != first.in_features:
            raise ValueError(
                f"the filter network takes labels of width {first.in_features}: got labels of width {labels.shape[1]}."
            )
        if x.is_meta or not torch.is_autocast_enabled(x.device.type):
            precision = parameters(first)[0].dtype  # a parametrised weight is computed whenever it is read
            for name, dtype in (("signal", x.dtype), ("labels", labels.dtype)):
                if dtype != precision:
                    raise ValueError(
                        f"{name} and parameters must have the same precision: got {dtype} and {precision}. "
                        "Convert the signal, the graph or the layer with .to(...)."
                    )


def _check_diagonal(diagonal: bool, d_in: int, d_out: int) -> None:
    if diagonal and d_in != d_out:
        raise ValueError(f"diagonal filters cannot change the width of the signal: got {d_in} to {d_out} channels.")
