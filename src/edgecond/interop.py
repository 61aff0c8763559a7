"""Conversion of labelled graphs from and to PyTorch Geometric and NetworkX (Section 3.1), and of models for PyG.

Vertices keep their order, so a signal on them stays valid; edges are sorted by target.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import deepcopy
from typing import Any, TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float
from torch import nn, Tensor

from edgecond.graph import Graph, Labels
from edgecond.nn.convolution.aggregation import find
from edgecond.nn.layers import ECConv

if TYPE_CHECKING:
    import networkx as nx
    from torch.fx import GraphModule, Node
    from torch_geometric.data import Data

Reader = Callable[[Any, Any, Mapping[str, Any]], Any]  # source, target, attributes of an edge -> label


def graph_from_pyg(data: Data, labels: str | Labels | Float[Tensor, "m s"] = "edge_attr") -> Graph:
    """Convert a PyG `Data`, or all graphs of a `Batch`, to a graph.

    Args:
        data: Graph whose `edge_index` has sources in the first row and targets in the second.
        labels: Name of the edge labels in `data`, or labels in the order of `edge_index`. Category numbers become
            one-hot labels by `Labels.one_hot(data.edge_attr, count)`.
    """
    if getattr(data, "edge_index", None) is None:
        raise ValueError(
            f"a graph needs an edge_index: this {type(data).__name__} has none. "
            "A HeteroData has one per edge type; convert each with Graph.from_edges."
        )
    values = getattr(data, labels, None) if isinstance(labels, str) else labels
    if values is None:
        raise ValueError(
            f"edge-conditioned convolution needs labels: this {type(data).__name__} has no {labels!r}. "
            "Set it to one row per edge, or pass labels=..."
        )
    if isinstance(values, Tensor):
        values = values if values.is_floating_point() else values.to(torch.get_default_dtype())
        values = Labels.distinct(values[:, None] if values.dim() == 1 else values)
    source, target = data.edge_index
    sizes = None
    if getattr(data, "ptr", None) is not None:
        sizes = data.ptr.diff()
    elif getattr(data, "batch", None) is not None:
        sizes = torch.bincount(data.batch)
    return Graph.from_edges(source, target, values, num_vertices=data.num_nodes, sizes=sizes)


def graph_to_pyg(graph: Graph, x: Float[Tensor, "n d"] | None = None, y: Tensor | None = None) -> Data:
    """Convert a graph to a PyG `Data`, or a batch to a `Batch`; edges are in the order of `graph.source`.

    Args:
        graph: Graph that is not bipartite.
        x: Signal on the vertices.
        y: Targets to predict, one row per graph.
    """
    try:
        from torch_geometric.data import Batch, Data
    except ImportError:
        raise ImportError("PyTorch Geometric is not installed: pip install edgecond[pyg].") from None
    _check_one_set_of_vertices(graph, "a PyG Data")
    for argument, value, name, count in (("x", x, "vertex", graph.num_vertices), ("y", y, "graph", graph.num_graphs)):
        if value is not None and value.shape[:1] != (count,):
            raise ValueError(
                f"{argument} must have one row per {name}: got shape {tuple(value.shape)} for {count} rows."
            )
    edge_index, edge_attr = torch.stack([graph.source, graph.target]), graph.labels.per_edge(graph.labels.values)
    vertices = [0, *graph.sizes.cumsum(0).tolist()]
    edges = graph.pointer[vertices].tolist()
    parts = []
    for b in range(graph.num_graphs):
        v, e = slice(*vertices[b : b + 2]), slice(*edges[b : b + 2])
        part = Data(edge_index=edge_index[:, e] - v.start, edge_attr=edge_attr[e], num_nodes=v.stop - v.start)
        if x is not None:
            part.x = x[v]
        if y is not None:
            part.y = y[b : b + 1]
        parts.append(part)
    return parts[0] if len(parts) == 1 else Batch.from_data_list(parts)


def to_hetero(
    model: nn.Module,
    metadata: tuple[list[str], list[tuple[str, str, str]]],
    aggr: str = "sum",
    input_map: dict[str, str] | None = None,
) -> GraphModule:
    """Convert a model with `ECConv` to one for heterogeneous graphs, as PyG's `to_hetero` converts one with `NNConv`.

    PyG's own function recognises convolutions by their base class, `MessagePassing`, and takes `ECConv` for a layer
    that acts on every edge by itself.

    Args:
        model: Model for graphs with one type of vertices and edges; layers of PyG may occur, too.
        metadata: Types of vertices, and types of edges as triples of source, relation and target.
        aggr: How results of several relations with the same target are combined: "sum", "mean", "max", "min" or "mul".
        input_map: For each argument of `forward`, "node" or "edge"; by default, its name decides.
    """
    try:
        from torch_geometric.nn.to_hetero_transformer import ToHeteroTransformer
    except ImportError:
        raise ImportError("PyTorch Geometric is not installed: pip install edgecond[pyg].") from None

    class Transformer(ToHeteroTransformer):
        """PyG's transformer, for which `ECConv` takes values of edges and returns values of vertices."""

        def has_edge_level_arg(self, node: Node) -> bool:
            return not self.is_convolution(node) and super().has_edge_level_arg(node)

        def call_module(self, node: Node, target: Any, name: str) -> None:
            call = super().call_message_passing_module if self.is_convolution(node) else super().call_module
            call(node, target, name)

        def is_convolution(self, node: Node) -> bool:
            return node.op == "call_module" and isinstance(model.get_submodule(str(node.target)), ECConv)

    return Transformer(model, metadata, aggr, input_map).transform()


def explainable(model: nn.Module) -> nn.Module:
    """Return a copy of a model whose `ECConv` are layers of PyG, with the same parameters, for PyG's `Explainer`.

    An explainer masks the messages of subclasses of `MessagePassing`. These layers return the same as `ECConv`, and
    compute a message for each edge, which takes more memory.

    Args:
        model: A model that calls `ECConv` with `edge_index` and `edge_attr`.
    """
    try:
        from torch_geometric.nn import MessagePassing
    except ImportError:
        raise ImportError("PyTorch Geometric is not installed: pip install edgecond[pyg].") from None

    class Layer(MessagePassing):
        """An `ECConv` as a layer of PyG."""

        def __init__(self, conv: ECConv) -> None:
            super().__init__(aggr=find(conv.reduce).pyg[0])
            self.conv = conv

        def forward(self, x: Any, edge_index: Any, edge_attr: Any = None, size: Any = None) -> Tensor:
            if isinstance(edge_index, Graph):
                raise ValueError("an explainer masks the edges of an edge_index: the model calls ECConv with a Graph.")
            if edge_attr is None:
                raise ValueError("edge-conditioned convolution needs labels: pass edge_attr, one row per edge.")
            source, target = (x, x) if isinstance(x, Tensor) else x
            labels = edge_attr[:, None] if edge_attr.dim() == 1 else edge_attr
            out = self.propagate(edge_index, x=(source, target), edge_attr=labels, size=size)
            degree = torch.bincount(edge_index[1], minlength=len(out))
            return self.conv.completed(out, target, degree)

        def message(self, x_j, edge_attr):  # type: ignore[no-untyped-def]  # PyG reads the types of arguments
            return self.conv.messages(x_j, edge_attr)

    shared = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    copied = deepcopy(model, shared)
    if isinstance(copied, ECConv):
        return Layer(copied)
    layers: dict[nn.Module, Layer] = {}
    for name, layer in list(copied.named_modules(remove_duplicate=False)):
        if isinstance(layer, ECConv):
            parent, _, last = name.rpartition(".")
            setattr(copied.get_submodule(parent), last, layers.setdefault(layer, Layer(layer)))
    return copied


def graph_from_networkx(
    graph: nx.Graph,
    label: str | Sequence[str] | Reader = "label",
    *,
    categories: Sequence[Hashable] | None = None,
    self_loops: bool = False,
    loop_label: Any = None,
) -> Graph:
    """Convert a NetworkX graph; an undirected edge becomes two edges, one in each direction.

    Vertices are numbered in the order of `graph.nodes`. Labels that are numbers or sequences of numbers are not
    changed; all others are categories and become one-hot.

    Args:
        graph: NetworkX graph, directed or not, with or without parallel edges.
        label: Edge attribute that is the label, several attributes to concatenate, or a function of source, target and
            attributes.
        categories: All categories in the order of their columns, which must be the same for all graphs of a dataset;
            by default the sorted categories of this graph.
        self_loops: Add missing edges $(i,i)$, as the paper's $N(i)$ contains $i$.
        loop_label: Label of the added edges; by default zero, or an additional category.
    """
    number = {vertex: position for position, vertex in enumerate(graph.nodes)}
    read = label if callable(label) else _attributes([label] if isinstance(label, str) else label)
    edges = list(graph.edges(data=True))
    if not graph.is_directed():
        edges += [(v, u, attributes) for u, v, attributes in edges if u != v]
    ends = [(number[u], number[v]) for u, v, _ in edges]
    values = [read(u, v, attributes) for u, v, attributes in edges]
    if self_loops:
        loops = [(i, i) for vertex, i in number.items() if not graph.has_edge(vertex, vertex)]
        ends, values = ends + loops, values + [loop_label] * len(loops)
    labels = _encode(values, categories, [loop_label] if self_loops else [])
    source, target = torch.tensor(ends, dtype=torch.long).view(-1, 2).T
    return Graph.from_edges(source, target, labels, num_vertices=len(number))


def signal_from_networkx(
    graph: nx.Graph, attribute: str = "signal", *, categories: Sequence[Hashable] | None = None
) -> Float[Tensor, "n d"]:
    """Read the signal $X^0$ from an attribute of the vertices: numbers, or categories as one-hot vectors."""
    missing = [vertex for vertex, attributes in graph.nodes(data=True) if attributes.get(attribute) is None]
    if missing:
        raise ValueError(f"every vertex needs the attribute {attribute!r}: vertex {missing[0]!r} does not have it.")
    rows = _encode([attributes[attribute] for _, attributes in graph.nodes(data=True)], categories)
    return rows.per_edge(rows.values)


def graph_to_networkx(graph: Graph, x: Float[Tensor, "n d"] | None = None) -> nx.DiGraph:
    """Convert a graph to a directed NetworkX graph.

    Edges have the attribute `label` and, if x is given, vertices the attribute `signal`: numbers if they have one
    element, lists otherwise. Duplicate edges give a `MultiDiGraph`. A batch becomes one graph.
    """
    try:
        import networkx as nx
    except ImportError:
        raise ImportError("NetworkX is not installed: pip install networkx.") from None
    _check_one_set_of_vertices(graph, "a NetworkX graph")
    if x is not None and (x.dim() != 2 or len(x) != graph.num_vertices):
        raise ValueError(f"x must have a row for each of the {graph.num_vertices} vertices: got {tuple(x.shape)}.")
    ends = list(zip(graph.source.tolist(), graph.target.tolist(), strict=True))
    labels = _plain(graph.labels.per_edge(graph.labels.values))
    result = nx.DiGraph() if len(set(ends)) == len(ends) else nx.MultiDiGraph()
    result.add_nodes_from(range(graph.num_vertices))
    if x is not None:
        nx.set_node_attributes(result, dict(enumerate(_plain(x))), "signal")
    result.add_edges_from((u, v, {"label": label}) for (u, v), label in zip(ends, labels, strict=True))
    return result


def _check_one_set_of_vertices(graph: Graph, kind: str) -> None:
    if graph.source_membership is not None:
        raise ValueError(
            f"{kind} needs sources and targets to be the same vertices: this graph is bipartite, "
            f"with {graph.num_sources} sources and {graph.num_vertices} targets."
        )


def _attributes(names: Sequence[str]) -> Reader:
    """Return a function that reads one attribute, or several that are concatenated."""

    def read(source: Any, target: Any, attributes: Mapping[str, Any]) -> Any:
        missing = [name for name in names if attributes.get(name) is None]
        if missing:
            raise ValueError(
                f"every edge needs the attribute {missing[0]!r}: "
                f"the edge from {source!r} to {target!r} has {sorted(attributes) or 'none'}."
            )
        values = [attributes[name] for name in names]
        return values[0] if len(values) == 1 else np.concatenate([np.atleast_1d(value) for value in values])

    return read


def _encode(values: Sequence[Any], categories: Sequence[Hashable] | None, also: Sequence[Any] = ()) -> Labels:
    """Encode values as rows of numbers if all are numeric, otherwise as categories, followed by those of `also`.

    None is encoded as zeros, or as an additional category.
    """
    rows = [np.asarray(value) for value in [*values, *also] if value is not None]
    if categories is None and all(row.dtype.kind in "biuf" for row in rows):
        if not rows:
            raise ValueError("the width of the labels is unknown without edges: pass categories or a loop_label.")
        widths = {row.size for row in rows}
        if len(widths) > 1:
            raise ValueError(f"labels must all have the same width: found widths {sorted(widths)}.")
        zero = np.zeros(widths.pop())
        matrix = np.array([zero if value is None else np.ravel(value) for value in values]).reshape(-1, len(zero))
        return Labels(torch.tensor(matrix, dtype=torch.get_default_dtype()))
    invalid = next((value for value in values if not isinstance(value, Hashable)), None)
    if invalid is not None:
        raise ValueError(
            f"labels must be numbers, sequences of numbers, or categories such as strings: found {invalid!r}."
        )
    known = sorted(set(values) - set(also), key=str) if categories is None else categories
    column = {category: position for position, category in enumerate(dict.fromkeys([*known, *also]))}
    unknown = [value for value in values if value not in column]
    if unknown:
        raise ValueError(f"labels must be one of the categories {list(column)}: found {unknown[0]!r}.")
    return Labels.one_hot(torch.tensor([column[value] for value in values], dtype=torch.long), len(column))


def _plain(rows: Float[Tensor, "r d"]) -> list[Any]:
    """Convert rows to numbers, or to lists if they have several elements."""
    return (rows[:, 0] if rows.shape[1] == 1 else rows).tolist()
