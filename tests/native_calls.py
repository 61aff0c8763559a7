"""Random calls of everything that hands memory to C++ code: `python -m tests.native_calls SEED COUNT`.

Each call has arguments that fit, of which some are then replaced by garbage. It may return or raise an exception; the
process must survive it, and what the C++ backend returns must be what torch's operations return.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

import edgecond.nn.convolution.operators  # registers torch.ops.edgecond
from edgecond.data.pyramid import cells
from edgecond.graph import Graph, Labels, Rows
from edgecond.nn import kernels
from edgecond.nn.convolution import factored, per_label
from edgecond.nn.kernels import Activations, Gradients, Runs
from edgecond.nn.kernels.cpp import CPP

NUMBERS = (0, 1, -1, 2, 7, 1 << 20, 1 << 40, -(1 << 40), 2**63 - 1, -(2**63))


def numbers(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape).to(dtype)


def edges_of(draw: random.Random) -> tuple[int, int, Tensor, Tensor, Tensor]:
    """Numbers of rows and columns, a pointer, and the row and column of each edge."""
    n, v, m = draw.randint(1, 5), draw.randint(1, 5), draw.randint(0, 9)
    row = torch.sort(torch.randint(n, (m,))).values
    return n, v, torch.searchsorted(row, torch.arange(n + 1)), row, torch.randint(v, (m,))


def rowwise(draw: random.Random) -> dict[str, Any]:
    """Arguments of the factored sum, with activations, or an index, or layers."""
    n, v, pointer, _, column = edges_of(draw)
    m, r, j, c = len(column), draw.randint(1, 9), draw.randint(1, 9), draw.randint(1, 9)
    dtype = draw.choice([torch.float32, torch.float64])
    kind = draw.choice(["dense", "index", "layers"])
    s = draw.randint(1, 5)
    return {
        "pointer": pointer,
        "column": column,
        "edge": draw.choice([None, torch.randperm(m)]),
        "hidden": None if kind == "index" else numbers(m, s if kind == "layers" else c, dtype=dtype),
        "index": torch.randint(c, (m,)) if kind == "index" else None,
        "weights": [numbers(c, s, dtype=dtype)] if kind == "layers" else [],
        "biases": [numbers(c, dtype=dtype)] if kind == "layers" else [],
        "weight": numbers(c + (kind != "index" and draw.random() < 0.3), r, j, dtype=dtype),
        "z": numbers(n, r, dtype=dtype),
        "y": numbers(v, j, dtype=dtype),
    }


def split(given: dict[str, Any]) -> tuple[Rows, Activations]:
    layers = given["hidden"], given["index"], given["weights"], given["biases"]
    return Rows(given["pointer"], given["column"], given["edge"]), Activations(*layers)


def gather(given: dict[str, Any]) -> Any:
    return kernels.gather(*split(given), given["weight"], given["y"])


def spread(given: dict[str, Any]) -> Any:
    rows, a = split(given)
    to = Gradients(
        given.get("out", torch.zeros_like(given["y"])),
        given.get("for_hidden", None if a.hidden is None else torch.zeros_like(a.hidden)),
        given.get("for_weight", torch.zeros_like(given["weight"])),
        [torch.zeros_like(layer) for layer in a.weights],
        [torch.zeros_like(bias) for bias in a.biases],
    )
    kernels.spread(rows, a, given["weight"], given["z"], given["y"], to)
    return [to.out, to.hidden, to.weight, *to.weights, *to.biases]


def blend(given: dict[str, Any]) -> Any:
    names = ("hidden", "index", "weight", "weights", "biases", "pointer", "column", "edge")
    x = given["y"] if given["edge"] is None else given["z"]
    vertices = len(given["pointer"]) - 1 if given["edge"] is None else len(given["y"])
    if given["edge"] is not None and isinstance(given["weight"], Tensor):
        given = {**given, "weight": given["weight"].mT}
    by_source = given["edge"] is not None
    return torch.ops.edgecond.blend(x, *[given[name] for name in names], by_source, given.get("vertices", vertices))


def blend_backward(given: dict[str, Any]) -> Any:
    names = ("hidden", "index", "weight", "weights", "biases", "pointer", "column", "edge")
    gradient, x = (given["z"], given["y"]) if given["edge"] is None else (given["y"], given["z"])
    if given["edge"] is not None and isinstance(given["weight"], Tensor):
        given = {**given, "weight": given["weight"].mT}
    needs = [given["hidden"] is not None or position != 1 for position in range(3)]
    return torch.ops.edgecond.blend_backward(
        gradient, x, *[given[name] for name in names], given["edge"] is not None, *needs, len(given["weights"]) > 0
    )


def runwise(draw: random.Random) -> dict[str, Any]:
    g, _, pointer, _, target = edges_of(draw)
    m, n, o, i = len(target), 5, draw.randint(1, 9), draw.randint(1, 9)
    dtype = draw.choice([torch.float32, torch.float64])
    scale = draw.choice([None, numbers(m, dtype=dtype)])
    return {
        "pointer": pointer,
        "source": torch.randint(n, (m,)),
        "target": target,
        "scale": scale,
        "matrices": numbers(g, 1 if scale is None else 2, o, i, dtype=dtype),
        "x": numbers(n, i, dtype=dtype),
        "z": numbers(5, o, dtype=dtype),
        "count": 5,
    }


def runs_of(given: dict[str, Any]) -> Runs:
    return Runs(given["pointer"], given["source"], given["target"], given["scale"])


def products(given: dict[str, Any]) -> Any:
    return kernels.products(runs_of(given), given["matrices"], given["x"], given["count"])


def outer_sums(given: dict[str, Any]) -> Any:
    return kernels.outer_sums(runs_of(given), given["z"], given["x"])


def graphwise(draw: random.Random) -> dict[str, Any]:
    """A bare graph, as torch.load or a cache gives it, with parameters."""
    n, v, pointer, row, column = edges_of(draw)
    m, u = len(column), draw.randint(1, 4)
    return {
        "source": column,
        "target": row,
        "pointer": pointer,
        "values": numbers(u, 3),
        "index": torch.randint(u, (m,)),
        "sizes": torch.tensor([n]),
        "membership": torch.zeros(v, dtype=torch.long),
        "x": numbers(v, 2),
        "theta": numbers(u, 3, 2),
        "weight": numbers(3, 4, 2),
        "by": draw.choice(["target", "source", "label"]),
        "reduce": draw.choice(["mean", "sum", "max"]),
    }


def convolution(given: dict[str, Any]) -> Any:
    labels = Labels(given["values"], given["index"])
    fields = (given["source"], given["target"], given["pointer"], labels, given["sizes"], given["membership"])
    graph, x = Graph(*fields), given["x"].detach().clone().requires_grad_()
    if given["by"] == "label" or given["reduce"] == "mean":
        out = per_label(x, graph, given["theta"], given["reduce"], by=given["by"])
    else:
        out = factored(x, graph, labels.per_edge(given["values"]), given["weight"], given["reduce"], by=given["by"])
    return [out.detach(), *torch.autograd.grad(out.sum(), x)]


def drop(given: dict[str, Any]) -> Any:
    out = kernels.drop_(given["tensor"].clone(), given["p"], given["seed"])
    return [out.shape == given["tensor"].shape]


def cloudwise(draw: random.Random) -> dict[str, Any]:
    n, v = draw.randint(1, 9), draw.randint(1, 9)
    return {
        "positions": np.random.default_rng(n).normal(size=(n, 3)),
        "sizes": np.array([n - n // 2, n // 2]),
        "centroids": np.random.default_rng(v).normal(size=(v, 3)),
        "centroid_sizes": np.array([v // 2, v - v // 2]),
        "radius": draw.choice([0.1, 1.0, 1e9]),
        "cap": draw.choice([1, 3, 100]),
        "most": draw.choice([0, 10, 10**9]),
    }


def within(given: dict[str, Any]) -> Any:
    module: Any = cells._extension
    return module.within(*[given[name] for name in ("positions", "sizes", "radius", "cap", "most")])


def closest(given: dict[str, Any]) -> Any:
    module: Any = cells._extension
    return module.closest(*[given[name] for name in ("positions", "sizes", "centroids", "centroid_sizes")])


CALLS: dict[Callable[[dict[str, Any]], Any], Callable[[random.Random], dict[str, Any]]] = {
    gather: rowwise,
    spread: rowwise,
    blend: rowwise,
    blend_backward: rowwise,
    products: runwise,
    outer_sums: runwise,
    convolution: graphwise,
    drop: lambda draw: {"tensor": numbers(draw.randint(1, 50)), "p": 0.5, "seed": 3},
    within: cloudwise,
    closest: cloudwise,
}


def garbage(draw: random.Random, value: Any) -> Any:
    """Return something else in the place of a value."""
    if isinstance(value, list) and value and draw.random() < 0.8:
        return [garbage(draw, value[0]), *value[1:]]
    if isinstance(value, np.ndarray):
        return garbage_array(draw, value)
    if not isinstance(value, Tensor):
        return draw.choice([*NUMBERS, None, 0.5, float("nan"), float("inf"), "x", [], torch.zeros(3)])
    changed = value.detach().clone()
    if changed.numel() and draw.random() < 0.4:  # one of its numbers
        number = draw.choice(NUMBERS) if not changed.is_floating_point() else draw.choice([float("nan"), 1e30, -1e30])
        changed.view(-1)[draw.randrange(changed.numel())] = number
        return changed
    shape = changed.shape
    change = draw.choice(
        [
            lambda: None,
            lambda: changed.to(draw.choice([torch.int32, torch.float32, torch.float64, torch.float16, torch.bool])),
            lambda: changed.to(torch.complex64),
            lambda: changed[:-1],
            lambda: torch.cat([changed, changed]),
            lambda: changed[:0],
            lambda: changed.flatten(),
            lambda: changed[..., None],
            lambda: changed.mT if changed.dim() > 1 else changed.flip(0),
            lambda: changed.transpose(0, -1).contiguous().transpose(0, -1),
            lambda: torch.stack([changed, changed], -1)[..., 0],  # the same numbers, strided
            lambda: changed[:1].expand(shape),
            lambda: changed[:1].expand(1 << 40, *shape[1:]),
            lambda: changed.to("meta"),
            lambda: changed.to_sparse(),
            lambda: torch.frombuffer(bytearray(changed.numpy().tobytes() + b"-"), dtype=changed.dtype, offset=1),
            lambda: changed.numpy(),
        ]
    )
    try:
        return change()
    except (RuntimeError, ValueError):  # not every change applies to an empty tensor
        return None


def garbage_array(draw: random.Random, value: np.ndarray) -> Any:
    changed = value.copy()
    if draw.random() < 0.5:
        number = draw.choice([np.nan, np.inf, 1e308, -1e99]) if value.dtype == float else draw.choice(NUMBERS)
        changed.reshape(-1)[draw.randrange(changed.size)] = number
        return changed
    return draw.choice(
        [
            changed[:-1],
            changed.T,
            changed[::2],
            changed[:0],
            changed.astype(np.int32),
            changed.astype(np.float32),
            np.frombuffer(b"-" + changed.tobytes(), dtype=np.uint8)[1:],
            changed.tobytes()[:-3],
            b"",
            None,
            np.zeros(()),
        ]
    )


def attempt(call: Callable[[dict[str, Any]], Any], given: dict[str, Any]) -> Any:
    """Return the result of a call, or the exception it ended in."""
    try:
        return call(given)
    except Exception as error:
        return error


def same(ours: Any, others: Any) -> bool:
    """Whether results agree; two errors always do, and where there are NaN and huge numbers, nothing is compared.

    The C++ backend refuses tensors that begin between numbers, and repeated ones whose copy does not fit into memory.
    """
    if "must begin at a multiple" in str(ours) or "allocate memory" in str(ours):
        return True
    if isinstance(ours, Exception) or isinstance(others, Exception):
        return isinstance(ours, Exception) == isinstance(others, Exception)
    for one, other in zip(*[each if isinstance(each, list) else [each] for each in (ours, others)], strict=True):
        if isinstance(one, Tensor) and not one.is_meta and bool(one.isfinite().all()) and bool(other.isfinite().all()):
            scale = max(1.0, float(one.abs().max()) if one.numel() else 0.0)
            if not torch.allclose(one, other, rtol=1e-3, atol=1e-4 * scale):
                return False
    return True


def comparable(given: dict[str, Any]) -> bool:
    """Whether the definition of the operations decides what they return.

    If an edge is listed twice, its gradient is that of either. With one tensor on the meta device, torch's own
    operations return memory as it was.
    """
    edge = given.get("edge")
    if isinstance(edge, Tensor) and edge.dtype == torch.long and edge.numel() < 99 and edge.device.type == "cpu":
        numbers_of_edges = edge.to_dense().flatten().tolist()
        if len(set(numbers_of_edges)) < len(numbers_of_edges):
            return False
    return not any(isinstance(each, Tensor) and each.is_meta for each in given.values())


def run(seed: int, count: int) -> Counter[str]:
    """Make so many calls; return how many returned and how many were refused."""
    draw, outcomes = random.Random(seed), Counter[str]()
    torch.manual_seed(seed)
    extension, widest = CPP.extension, CPP.set
    for number in range(count):
        call = draw.choice(list(CALLS))
        given = CALLS[call](draw)
        for name in draw.sample(list(given), draw.choice([0, 1, 1, 1, 2])):
            given[name] = garbage(draw, given[name])
        CPP.set = draw.randint(0, max(0, widest))
        result = attempt(call, given)
        if call not in (within, closest, drop) and comparable(given):
            CPP.extension = None
            expected = attempt(call, given)
            CPP.extension = extension
            assert same(result, expected), (seed, number, call.__name__, given, result, expected)
        outcomes["refused" if isinstance(result, Exception) else "returned"] += 1
    return outcomes


if __name__ == "__main__":
    assert edgecond.nn.convolution.operators
    print(json.dumps(run(int(sys.argv[1]), int(sys.argv[2]))))
