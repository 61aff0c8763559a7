"""A trained network for programs without edgecond: ONNX, or a program of torch.export, in plain tensor operations."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import nn, Tensor

from edgecond.errors import EdgecondError
from edgecond.files import atomic_file
from edgecond.graph import Graph, Labels, Pyramid, Sample
from edgecond.graph.segment import segment_sum
from edgecond.nn.checkpoint import KEY
from edgecond.nn.kernels import activate
from edgecond.nn.network import Network
from edgecond.nn.tasks import Task
from edgecond.notation import Architecture
from edgecond.runs.model import Model, versions

OUTPUT = "logits"
DOCUMENT = f"{KEY}.json"  # the name of the description in a file of torch.export; in one of ONNX it is KEY

_SUFFIXES = {"onnx": ".onnx", "torch": ".pt2"}


class ExportError(EdgecondError):
    """A network that cannot be exported as asked."""


@dataclass(frozen=True)
class Input:
    """A tensor that an exported network takes.

    Attributes:
        name: What it is called.
        shape: Its sizes. The first has a name: it differs from batch to batch, and inputs that share a name agree.
        dtype: "float32" or "int64".
        meaning: What it holds.
    """

    name: str
    shape: tuple[str, *tuple[int, ...]]
    dtype: str
    meaning: str

    @property
    def rows(self) -> str:
        """The name of its first size."""
        return self.shape[0]

    @property
    def width(self) -> tuple[int, ...]:
        """The sizes that are always the same."""
        return self.shape[1:]


def signature(architecture: Architecture, d0: int, s: Sequence[int], features: int = 0) -> tuple[Input, ...]:
    """What an exported network takes, in order.

    A batch is one large graph: the vertices of its samples are numbered on from sample to sample, at every level.

    Args:
        architecture: The network.
        d0: Width of the input signal.
        s: Width of the labels at each level.
        features: Width of the features of each sample.
    """
    last = architecture.resolutions - 1
    found = [Input("x", ("n_0", d0), "float32", "signal on the vertices of level 0")]
    for h, width in enumerate(s):
        if h:
            to = f"vertex of level {h} that each vertex of level {h - 1} is pooled into"
            found.append(Input(f"pool_map_{h}", (f"n_{h - 1}",), "int64", to))
        single = architecture.strided and h == last
        targets, each = ("b", "sample, the one target of its edges") if single else (f"n_{h}", "vertex")
        found += [
            Input(f"source_{h}", (f"m_{h}",), "int64", f"vertex where each edge of level {h} begins, sorted by target"),
            Input(f"degree_{h}", (targets,), "int64", f"number of edges of level {h} into each {each}"),
            Input(f"labels_{h}", (f"m_{h}", width), "float32", f"label of each edge of level {h}"),
        ]
    if features:
        found.append(Input("features", ("b", features), "float32", "features of each sample"))
    if architecture.per_vertex:
        return tuple(found)
    if architecture.strided:
        return *found, Input("membership", (f"n_{last}",), "int64", f"sample of each vertex of level {last}")
    return *found, Input("sizes", ("b",), "int64", f"number of vertices of each sample at level {last}")


def flat(sample: Sample, *, per_vertex: bool = False) -> dict[str, Tensor]:
    """A sample as the tensors that an exported network takes, by name; see `signature`.

    Args:
        sample: One example or a batch.
        per_vertex: Whether the network classifies vertices: it has V.
    """
    found, pyramid = {"x": sample.x}, sample.pyramid
    for h, graph in enumerate(pyramid.graphs):
        if h:
            found[f"pool_map_{h}"] = pyramid.pool_maps[h - 1]
        found[f"source_{h}"] = graph.source
        found[f"degree_{h}"] = graph.degree
        found[f"labels_{h}"] = graph.labels.per_edge(graph.labels.values)
    if sample.features is not None:
        found["features"] = sample.features
    last = pyramid.graphs[-1]
    if per_vertex:
        return found
    if last.source_membership is None:
        return found | {"sizes": last.sizes}
    return found | {"membership": last.source_membership}


def describe(model: Model) -> dict[str, Any]:
    """All that it takes to use an exported network, as JSON says it: it travels in the file."""
    rows = "n_0" if model.recipe.network.per_vertex else "b"
    output = Input(OUTPUT, (rows, len(model.classes)), "float32", model.task.meaning)
    return {
        "inputs": [asdict(part) for part in inputs_of(model)],
        "output": asdict(output),
        "classes": model.classes,
        "recipe": model.recipe.settings(),
        "objective": model.task.parameters,
        "preparation": {name: tensor.tolist() for name, tensor in model.preparation.tensors.items()},
        "features": model.preparation.encoding,
        "trained": model.about,
        "versions": versions(),
    }


def suffix(to: str) -> str:
    """How the names of such files end."""
    if to not in _SUFFIXES:
        raise ExportError(f"a network is exported to {' or '.join(_SUFFIXES)}: got {to!r}.")
    return _SUFFIXES[to]


def export(model: Model, path: Path, to: str) -> None:
    """Write the network of a model for other programs, with a description of its inputs and of what they are made by.

    Sizes of batches are free: samples, vertices and edges may be any number.

    Args:
        model: Trained.
        path: The file, which is written whole or not at all.
        to: "onnx", or "torch" for a program of torch.export, which needs torch alone.
    """
    suffix(to)
    if to == "onnx":
        _need_onnx()
    with atomic_file(path) as file, _quietly():
        program = _program(model)
        file.write(_onnx(program, model) if to == "onnx" else _torch(program, model))


class _Mean(nn.Module):
    """The networks of an ensemble, with the scores of their mean outputs, calibrated."""

    def __init__(self, networks: Sequence[Network], task: Task) -> None:
        super().__init__()
        self.networks, self.task, self.architecture = nn.ModuleList(networks), task, networks[0].architecture

    def forward(self, x: Tensor, pyramid: Pyramid, features: Tensor | None = None) -> Float[Tensor, "b classes"]:
        outputs = [self.task.outputs(network(x, pyramid, features)) for network in self.networks]
        return self.task.scores(torch.stack(outputs).mean(0))


class _Flat(nn.Module):
    """A network that takes the tensors of `flat`."""

    def __init__(self, network: Network | _Mean) -> None:
        super().__init__()
        self.network = network

    def forward(self, inputs: dict[str, Tensor]) -> Float[Tensor, "b classes"]:
        levels = range(self.network.architecture.resolutions)
        graphs = tuple(_graph(inputs, h, last=h == levels[-1]) for h in levels)
        pyramid = Pyramid(graphs, tuple(inputs[f"pool_map_{h}"] for h in levels[1:]))
        return self.network(inputs["x"], pyramid, inputs.get("features"))


def _graph(inputs: Mapping[str, Tensor], h: int, last: bool) -> Graph:
    source, degree, labels = (inputs[f"{name}_{h}"] for name in ("source", "degree", "labels"))
    pointer = torch.cat([degree.new_zeros(1), degree.cumsum(0)])
    target = _repeated(degree, output_size=source.shape[0])
    # Which sample a vertex is of matters at the last level only, where global pooling is.
    sizes, membership = inputs.get("sizes", torch.ones_like(degree)), inputs.get("membership")
    return Graph(source, target, pointer, Labels(labels), sizes, membership if last else None)


def _program(model: Model) -> torch.export.ExportedProgram:
    """The network with plain operations in place of ours."""
    inputs = inputs_of(model)
    rows = dict.fromkeys(part.rows for part in inputs)
    free = {name: torch.export.Dim(name, min=0) for name in rows}
    sizes = {name: 2 + number for number, name in enumerate(rows)}  # of the example: all differ, none is special
    example = {
        part.name: torch.zeros([sizes[part.rows], *part.width], dtype=getattr(torch, part.dtype)) for part in inputs
    }
    shapes = {part.name: {0: free[part.rows]} for part in inputs}
    plain = not model.members and not model.task.rescales
    network = _Flat(deepcopy(model.network if plain else _Mean(model.networks, model.task)).cpu().eval())
    table = torch.export.default_decompositions()
    table.update(_PLAIN)
    # A batch of one sample, or a graph of one vertex, is like others: 1 is no special size.
    with torch.no_grad(), torch.fx.experimental._config.patch(backed_size_oblivious=True):  # type: ignore[attr-defined]
        program = torch.export.export(network, (example,), dynamic_shapes={"inputs": shapes})
        program = program.run_decompositions(table)
    for node in program.graph.nodes:  # where the sources of this installation lie is nobody's business
        node.meta.pop("stack_trace", None)
    return program


def _onnx(program: torch.export.ExportedProgram, model: Model) -> bytes:
    inputs = inputs_of(model)
    made = torch.onnx.export(
        program,
        dynamo=True,
        verbose=False,
        input_names=[part.name for part in inputs],
        output_names=[OUTPUT],
        dynamic_shapes={"inputs": {part.name: {0: part.rows} for part in inputs}},
    )
    assert made is not None
    proto = made.model_proto
    for node in proto.graph.node:
        node.ClearField("metadata_props")
    for value, part in zip(proto.graph.input, inputs, strict=True):
        value.doc_string = part.meaning
    proto.producer_name, proto.producer_version = KEY, versions()[KEY]
    entry = proto.metadata_props.add()
    entry.key, entry.value = KEY, json.dumps(describe(model))
    return proto.SerializeToString()


def _torch(program: torch.export.ExportedProgram, model: Model) -> bytes:
    content = BytesIO()
    torch.export.save(program, content, extra_files={DOCUMENT: json.dumps(describe(model))})
    return content.getvalue()


def _blend(
    x: Float[Tensor, "n_src d_in"],
    hidden: Float[Tensor, "m s"],
    index: None,
    weight: Float[Tensor, "k d_out d_in"],
    weights: Sequence[Tensor],
    biases: Sequence[Tensor],
    pointer: Int[Tensor, " n+1"],
    source: Int[Tensor, " m"],
    edge: None,
    by_source: bool,
    vertices: int,
) -> Float[Tensor, "n d_out"]:
    r"""The operator of `convolution.factored` as it is called for a `Network`, multiplying first.

    $$\sum_{j \in N(i)} \sum_k h_{ji,k}\, (W_k x_j)$$

    What is scattered to the targets is then one message per edge. Needs $O(m k d_{out})$ memory.
    """
    activations = activate(hidden, weights, biases)[-1]  # (m, k)
    _, d_out, d_in = weight.shape
    products = (x @ weight.permute(2, 1, 0).reshape(d_in, -1)).view(-1, d_out, weight.shape[0])  # (n_src, d_out, k)
    messages = torch.bmm(products.index_select(0, source), activations.unsqueeze(2)).squeeze(2)
    return segment_sum(messages, _repeated(pointer.diff(), output_size=source.shape[0]), vertices)


def _repeated(counts: Int[Tensor, " n"], *, output_size: int) -> Int[Tensor, " m"]:
    """0 as often as the first count says, then 1, and so on: the number of runs that have ended at each place."""
    ended = counts.new_zeros(output_size + 1).scatter_add(0, counts.cumsum(0), torch.ones_like(counts))
    return ended.cumsum(0)[:output_size]


# ONNX has no operator for the first, and torch's translation of the second forms a matrix of n times m.
_PLAIN: dict[Any, Callable[..., Tensor]] = {
    torch.ops.edgecond.blend.default: _blend,
    torch.ops.aten.repeat_interleave.Tensor: _repeated,
}


def inputs_of(model: Model) -> tuple[Input, ...]:
    """What the exported network of a model takes, in order."""
    return signature(model.recipe.network, *model.widths, model.network.features)


def _need_onnx() -> None:
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise ExportError(
            "exporting to ONNX needs onnx and onnxscript: install them with pip install 'edgecond[export]'."
        ) from error


@contextmanager
def _quietly() -> Iterator[None]:
    """Without torch's remarks on its own future, and on packages that are not installed."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            logger.setLevel(level)
