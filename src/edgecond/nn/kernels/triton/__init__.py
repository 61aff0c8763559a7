r"""The Triton backend: GPUs of NVIDIA and AMD, in single and half precision.

`gather` blends the signals of the neighbours of each row, $A_r = \sum_e a_e \otimes y_e$, with the hidden layers of $F$
evaluated on a few edges at a time inside the kernel, then multiplies: one matrix product for as many rows as fit the L2
cache. `spread` forms the products $G_{rc} = W_c^\top z_r$ in the same way, and one kernel takes from them what every
edge sends to the other end and the gradients. `products` and `outer_sums` are the same two sums, over runs instead of
rows. What a vertex is sent is added in the order of the edges, so that a rerun gives the same bits, and no size is read
back from the device.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from edgecond.graph import Rows
from edgecond.nn.kernels.interface import activate, Activations, Backend, descend, Gradients, Runs
from edgecond.nn.kernels.torch import TORCH

CUT = 512  # edges of the longest piece of a row
ROWS = 16  # pieces that a program owns
LAYERS, WEIGHTS = 2, 1024  # most hidden layers of F, and weights in them, that kernels hold; torch evaluates others
CACHE = 16 << 20  # bytes of blends or products at a time, where the size of the L2 cache is unknown
_DTYPES = (torch.float32, torch.bfloat16, torch.float16)


class Triton(Backend):
    """The sums on Triton's kernels. Empty tensors are left to torch.

    Args:
        devices: Types of the devices that are served. Triton's interpreter would serve the CPU.
    """

    name, fused = "triton", True

    def __init__(self, devices: Sequence[str] = ("cuda",)) -> None:
        self.devices = devices

    @cached_property
    def installed(self) -> bool:
        """Whether Triton is installed, as it is with torch for GPUs."""
        return find_spec("triton") is not None

    def serves(self, signal: Tensor) -> bool:
        return signal.device.type in self.devices and signal.dtype in _DTYPES and self.installed

    def launch(self, kernel: str, grid: tuple[int, ...], warps: int, **arguments: Any) -> None:
        """Run one of the `programs`; Triton is imported for the first."""
        programs = import_module("edgecond.nn.kernels.triton.programs")
        function = getattr(programs, kernel)
        given = {name: arguments[name] for name in function.arg_names}
        function[grid](**given, **options(warps, nvidia=torch.version.hip is None))

    def gather(self, rows: Rows, a: Activations, weight: Float[Tensor, "c r j"], y: Float[Tensor, "v j"]) -> Tensor:
        if _empty(rows, a, weight):
            return TORCH.gather(rows, a, weight, y)
        edges = _Edges.of_rows(rows, a if _inside(a) else Activations(activate(*_labelled(a))[-1]), weight, y)
        flat = weight.transpose(1, 2).reshape(-1, weight.shape[1])  # (c j, r)
        out = y.new_empty(edges.pieces, weight.shape[1])
        for begin, end in edges.chunks():
            torch.mm(self._blends(edges, begin, end), flat, out=out[begin:end])
        return self._join(edges.pointer, out)

    def spread(
        self,
        rows: Rows,
        a: Activations,
        weight: Float[Tensor, "c r j"],
        z: Float[Tensor, "n r"],
        y: Float[Tensor, "v j"],
        to: Gradients,
    ) -> None:
        if _empty(rows, a, weight):
            return TORCH.spread(rows, a, weight, z, y, to)
        if _inside(a):
            return self._spread(rows, a, weight, z, y, to)
        activations = activate(*_labelled(a))
        for_last = torch.empty_like(activations[-1]) if to.weights else None
        self._spread(rows, Activations(activations[-1]), weight, z, y, Gradients(to.out, for_last, to.weight))
        if for_last is not None:
            descend(a, activations, for_last, to)
        return None

    def products(self, runs: Runs, matrices: Float[Tensor, "g c o i"], x: Float[Tensor, "v i"], count: int) -> Tensor:
        if 0 in (*matrices.shape, len(runs.source)):
            return TORCH.products(runs, matrices, x, count)
        groups, _, d_out, d_in = matrices.shape
        edges = _Edges(runs.pointer, runs.target, runs.source, x, d_in, d_out, x, scale=runs.scale)
        flat = edges.per_piece(matrices.transpose(2, 3).reshape(groups, -1))  # (pieces, c i o)
        messages = x.new_empty(len(runs.source), d_out)
        self._send(edges, flat, 0, edges.pieces, messages)
        return self._collect(runs.target, messages, count).to(x.dtype)

    def outer_sums(self, runs: Runs, z: Float[Tensor, "n o"], x: Float[Tensor, "v i"]) -> Float[Tensor, "g c o i"]:
        shape = (len(runs.pointer) - 1, runs.channels, z.shape[1], x.shape[1])
        if 0 in (*shape, len(runs.source)):
            return TORCH.outer_sums(runs, z, x)
        edges = _Edges(runs.pointer, runs.source, runs.target, z, shape[2], shape[3], x, scale=runs.scale)
        sums = self._blends(edges, 0, edges.pieces, torch.float32)
        return self._join(edges.pointer, sums).to(x.dtype).view(shape)

    def drop_(self, tensor: Tensor, p: float, seed: int) -> Tensor:
        return TORCH.drop_(tensor, p, seed)

    def _spread(self, rows: Rows, a: Activations, weight: Tensor, z: Tensor, y: Tensor, to: Gradients) -> None:
        channels, row_width, column_width = weight.shape
        edges = _Edges.of_rows(rows, a, weight, y)
        flat = weight.transpose(0, 1).reshape(row_width, -1)  # (r, c j)
        z = edges.per_piece(z)
        messages = None if to.out is None else y.new_empty(len(rows.column), column_width)
        for_weight = None if to.weight is None else torch.zeros_like(flat, dtype=torch.float32)
        parts = edges.programs * edges.parts
        sums = [y.new_empty(parts, *layer.shape, dtype=torch.float32) for layer in _layers(to)]
        for_hidden = to.hidden
        if for_hidden is not None and edges.parts > 1:
            for_hidden = y.new_empty(edges.parts, *for_hidden.shape, dtype=torch.float32)
        for begin, end in edges.chunks():
            if for_weight is not None:
                for_weight += z[begin:end].T @ self._blends(edges, begin, end)
            if messages is None and to.hidden is None and not sums:
                continue
            products = z[begin:end] @ flat
            if messages is not None:
                self._send(edges, products, begin, end, messages)
            if to.hidden is not None or sums:
                self._differentiate(edges, products, begin, end, for_hidden, sums)
        if for_weight is not None:
            assert to.weight is not None
            to.weight.copy_(for_weight.view(row_width, channels, column_width).transpose(0, 1))
        for layer, of_programs in zip(_layers(to), sums, strict=True):
            layer.copy_(of_programs.sum(0))
        if to.hidden is not None and edges.parts > 1:
            assert for_hidden is not None
            to.hidden.copy_(for_hidden.sum(0))
        if messages is not None:
            assert to.out is not None
            to.out += self._collect(rows.column, messages, len(to.out))

    def _blends(self, edges: _Edges, begin: int, end: int, dtype: torch.dtype | None = None) -> Tensor:
        r"""Return $A_p$ for the pieces from `begin` up to `end`, one row each."""
        out = edges.y.new_empty(end - begin, edges.width, dtype=dtype)
        k = _tile(edges.k)
        j = _tile(edges.j, 8192 // k)
        grid = (_ceil(end - begin, ROWS), _ceil(edges.k, k), _ceil(edges.j, j))
        tiles = {"KP": k, "JP": j, "B": 16}
        self.launch("blend", grid, 8 if k * j > 4096 else 4, **edges.arguments, **tiles, out=out, begin=begin, end=end)
        return out

    def _send(self, edges: _Edges, products: Tensor, begin: int, end: int, messages: Tensor) -> None:
        r"""Write what the edges in the pieces from `begin` up to `end` send, given $G_p$ of these pieces."""
        # Activations that are computed are there all at once, and the signal is cut; others are cut themselves.
        k, j, b = _tile(edges.k), edges.columns, 16
        if not edges.depth:
            k, j = 16, _tile(edges.j)
            # Products are read again for every tile of edges; a large one leaves no registers for a second filter.
            b = edges.tile(128 if edges.scale is None and edges.k > 64 else min(128, 8192 // j))
        results = {"products": products, "out": messages, "begin": begin, "end": end}
        tiles = {"KP": k, "JP": j, "B": b}
        grid = (_ceil(end - begin, ROWS), _ceil(edges.j, j))
        self.launch("send", grid, 8 if b * j > 4096 else 4, **edges.arguments, **tiles, **results)

    def _differentiate(
        self, edges: _Edges, products: Tensor, begin: int, end: int, for_hidden: Tensor | None, sums: Sequence[Tensor]
    ) -> None:
        r"""Write the gradients of labels or activations, and one sum per program for those of the layers."""
        k = _tile(edges.k)
        results = {"products": products, "for_hidden": for_hidden, "begin": begin, "end": end}
        for kind, layers in (("for_w", sums[: edges.depth]), ("for_b", sums[edges.depth :])):
            results |= {f"{kind}{number + 1}": layers[number] if number < edges.depth else None for number in range(2)}
        j, b, parts = (edges.columns, 16, edges.parts) if edges.depth else (16, edges.tile(64), _ceil(edges.k, k))
        tiles = {"KP": k, "JP": j, "B": b}
        grid = (_ceil(end - begin, ROWS), parts)
        warps = 8 if b * k > 4096 else 4
        for of_layers in [True] * bool(sums) + [False] * (for_hidden is not None):  # both take too many registers
            self.launch("differentiate", grid, warps, **edges.arguments, **tiles, **results, LAYERS=of_layers)

    def _collect(self, index: Int[Tensor, " m"], values: Float[Tensor, "m j"], count: int) -> Float[Tensor, "n j"]:
        """Return the sum of the rows of each index, in their order and in single precision."""
        index, order = torch.sort(index, stable=True)
        pointer = torch.searchsorted(index, torch.arange(count + 1, device=index.device))
        owner = _owners(pointer, len(index))
        width = values.shape[1]
        out = values.new_empty(count + len(owner), width, dtype=torch.float32)
        j = _tile(width)
        self.launch(
            "collect",
            (_ceil(len(out), ROWS), _ceil(width, j)),
            1,
            pointer=pointer,
            owner=owner,
            order=order,
            values=values,
            out=out,
            end=len(out),
            n=count,
            J=width,
            JP=j,
            CUT=CUT,
            ROWS=ROWS,
            B=16,
        )
        return self._join(pointer, out)

    def _join(self, pointer: Int[Tensor, " n+1"], out: Float[Tensor, "p j"]) -> Float[Tensor, "n j"]:
        """Add the pieces of each row, in place."""
        n, width = len(pointer) - 1, out.shape[1]
        if len(out) > n:
            j = _tile(width)
            tiles = {"J": width, "JP": j, "CUT": CUT, "ROWS": ROWS, "B": 16}
            self.launch("join", (_ceil(n, ROWS), _ceil(width, j)), 1, pointer=pointer, out=out, n=n, **tiles)
        return out[:n]


TRITON = Triton()


@dataclass(frozen=True, eq=False)
class _Edges:
    """The arguments that two kernels share: the edges in their pieces, what makes their activations, the signal.

    Attributes:
        pointer: First edge of each row, and the number of edges.
        column: Vertex at the other end of each edge.
        edge: Row of `hidden` of each edge; none if that is its position.
        hidden: Activations, or an index, or labels.
        k: Width of the activations, without a constant one.
        j: Width of the signal.
        y: The signal.
        scale: Factor of each edge, if there are as many activations again, equal to the first times it.
        layers: Weights and biases of the hidden layers that make activations of labels.
        bias: Whether there is a constant activation after the others.
    """

    pointer: Int[Tensor, " n+1"]
    column: Int[Tensor, " m"]
    edge: Int[Tensor, " m"] | None
    hidden: Tensor
    k: int
    j: int
    y: Float[Tensor, "v j"]
    scale: Float[Tensor, " m"] | None = None
    layers: tuple[Sequence[Tensor], Sequence[Tensor]] = ((), ())
    bias: bool = False

    @classmethod
    def of_rows(cls, rows: Rows, a: Activations, weight: Float[Tensor, "c r j"], y: Tensor) -> _Edges:
        """Return the edges of rows with activations that a kernel can make."""
        hidden = a.index if a.hidden is None else a.hidden
        assert hidden is not None
        k = len(weight) if a.hidden is None else len(a.weights[-1]) if a.weights else a.hidden.shape[1]
        layers = (a.weights, a.biases)
        bias = len(weight) > k
        return cls(rows.pointer, rows.column, rows.edge, hidden, k, weight.shape[2], y, layers=layers, bias=bias)

    @cached_property
    def owner(self) -> Int[Tensor, " p"]:
        """The rows of the pieces after the first of each row."""
        return _owners(self.pointer, len(self.column))

    @property
    def pieces(self) -> int:
        """Number of pieces."""
        return len(self.pointer) - 1 + len(self.owner)

    @property
    def programs(self) -> int:
        """Number of programs for all pieces."""
        return _ceil(self.pieces, ROWS)

    @property
    def width(self) -> int:
        """Numbers in the blends or products of a piece."""
        return (self.k * (1 if self.scale is None else 2) + self.bias) * self.j

    @property
    def depth(self) -> int:
        """Number of hidden layers that kernels evaluate."""
        return len(self.layers[0])

    @property
    def columns(self) -> int:
        """Columns of the signal whose products with computed activations a kernel holds."""
        return _tile(self.j, 32)

    @property
    def parts(self) -> int:
        """Number of parts of the signal for that."""
        return _ceil(self.j, self.columns) if self.depth else 1

    def tile(self, most: int) -> int:
        """Return how many edges a kernel reads at a time: about as many as a row has."""
        return _tile(_ceil(len(self.column), len(self.pointer) - 1), most)

    def per_piece(self, values: Float[Tensor, "n w"]) -> Float[Tensor, "p w"]:
        """Return the values of the row of each piece."""
        return torch.cat([values, values.index_select(0, self.owner)]) if len(self.owner) else values.contiguous()

    def chunks(self) -> Iterator[tuple[int, int]]:
        """Yield ranges of pieces whose blends or products fit half the L2 cache."""
        cache = CACHE
        if self.y.device.type == "cuda":
            cache = torch.cuda.get_device_properties(self.y.device).L2_cache_size // 2
        size = max(1, cache // (self.width * self.y.element_size() * ROWS)) * ROWS
        return ((begin, min(begin + size, self.pieces)) for begin in range(0, self.pieces, size))

    @cached_property
    def arguments(self) -> dict[str, Any]:
        """The arguments that several kernels take."""
        weights, biases = ([layer.contiguous() for layer in group] for group in self.layers)
        tensors = {
            "pointer": self.pointer.contiguous(),
            "owner": self.owner,
            "column": self.column.contiguous(),
            "edge": None if self.edge is None else self.edge.contiguous(),
            "hidden": self.hidden.contiguous(),
            "scale": None if self.scale is None else self.scale.contiguous(),
            "y": self.y.contiguous(),
        }
        layers = {"w1": weights[:1], "b1": biases[:1], "w2": weights[1:], "b2": biases[1:]}
        width, h = (self.hidden.shape[1], len(weights[0])) if weights else (1, 1)
        constants = {
            "WIDTH": width,
            "H": h,
            "K": self.k,
            "J": self.j,
            "SP": _tile(width),
            "HP": _tile(h),
            "DEPTH": self.depth,
            "INDEX": not self.hidden.is_floating_point(),
            "SCALED": self.scale is not None,
            "EDGE": self.edge is not None,
            "BIAS": self.bias,
            "CUT": CUT,
            "ROWS": ROWS,
            "P": _precision(),
        }
        first = {name: found[0] if found else None for name, found in layers.items()}
        return {**tensors, **first, "n": len(self.pointer) - 1, **constants}


def options(warps: int, *, nvidia: bool) -> dict[str, int | bool]:
    """Return the options that kernels are compiled with."""
    # NVIDIA's compiler would spill registers to run more programs at a time; it spills fewest with these limits.
    registers = {"maxnreg": 255 if warps <= 4 else 224} if nvidia else {}
    return {"num_warps": warps, "num_stages": 2, "enable_fp_fusion": True, **registers}


def _owners(pointer: Int[Tensor, " n+1"], edges: int) -> Int[Tensor, " p"]:
    """Return the row of every edge at which rows are cut."""
    cuts = torch.arange(CUT, max(edges, CUT), CUT, device=pointer.device)
    return torch.searchsorted(pointer, cuts, right=True) - 1


def _empty(rows: Rows, a: Activations, weight: Tensor) -> bool:
    widths = [] if a.hidden is None else [a.hidden.shape[1], *[len(layer) for layer in a.weights]]
    return 0 in (len(rows.column), *weight.shape, *widths)


def _inside(a: Activations) -> bool:
    """Return whether kernels evaluate the hidden layers of F, if there are any."""
    if a.hidden is None or not a.weights:
        return True
    weights = sum(_tile(inputs) * _tile(outputs) for outputs, inputs in map(torch.Tensor.size, a.weights))
    return len(a.weights) <= LAYERS and weights <= WEIGHTS


def _labelled(a: Activations) -> tuple[Tensor, Sequence[Tensor], Sequence[Tensor]]:
    assert a.hidden is not None
    return a.hidden, a.weights, a.biases


def _layers(to: Gradients) -> list[Tensor]:
    return [*to.weights, *to.biases]


def _precision() -> str:
    """Return the precision of products of single-precision numbers, which torch's own products follow, too."""
    if torch.version.hip is not None:
        return "ieee"
    return "tf32x3" if torch.get_float32_matmul_precision() == "highest" else "tf32"


def _tile(width: int, most: int = 128) -> int:
    """Return the side of a tile: a power of two from 16 to `most`, and not below the width if that can be."""
    return min(most, max(16, 1 << (width - 1).bit_length()))


def _ceil(count: int, size: int) -> int:
    return -(-count // size)
