"""Replace PyG's NNConv by ECConv: the same numbers, many times faster.

Without PyG, a layer with the same arithmetic in plain torch stands in for NNConv.
"""

import time

import torch
from torch import nn, Tensor

from edgecond import ECConv, FilterNetwork
from edgecond.nn import kernels

try:
    from torch_geometric.nn import NNConv
except ImportError:
    NNConv = None

N, M, D_IN, D_OUT = 10_000, 100_000, 16, 32


class FormEveryFilter(nn.Module):
    """Computes what NNConv computes: forms one filter per edge, applies and averages."""

    def __init__(self, filters: nn.Module, bias: Tensor) -> None:
        super().__init__()
        self.filters, self.bias = filters, bias

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        theta = self.filters(edge_attr).view(-1, D_OUT, D_IN)
        messages = (theta @ x[edge_index[0], :, None]).squeeze(2)
        total = torch.zeros(len(x), D_OUT).index_add(0, edge_index[1], messages)
        return total / torch.bincount(edge_index[1], minlength=len(x)).clamp(min=1)[:, None] + self.bias


def seconds(layer: nn.Module, *inputs: Tensor) -> float:
    """Return the best of three times of a forward and a backward pass."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        layer(*inputs).sum().backward()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    torch.manual_seed(0)
    x, edge_index, edge_attr = torch.randn(N, D_IN), torch.randint(0, N, (2, M)), torch.randn(M, 6)
    if NNConv is None:
        ours = ECConv(D_IN, D_OUT, FilterNetwork([6, 16, 32], D_IN, D_OUT))
        theirs: nn.Module = FormEveryFilter(ours.filters, ours.bias)
        print("PyG is not installed: a plain torch layer with the same arithmetic stands in for NNConv.")
    else:
        layers = [nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, D_IN * D_OUT)]
        theirs = NNConv(D_IN, D_OUT, nn.Sequential(*layers), aggr="mean")
        ours = ECConv.from_nnconv(theirs)  # the only line that changes

    with torch.no_grad():
        difference = (ours(x, edge_index, edge_attr) - theirs(x, edge_index, edge_attr)).abs().max()
    slow, fast = seconds(theirs, x, edge_index, edge_attr), seconds(ours, x, edge_index, edge_attr)
    print(f"{N:,} vertices, {M:,} edges, {D_IN} to {D_OUT} channels; kernels: {kernels.instruction_set()}")
    print(f"largest difference of the outputs: {difference:.1e}")
    print(
        f"forward and backward: {1e3 * slow:.0f} ms before, {1e3 * fast:.0f} ms after, {slow / fast:.1f} times faster"
    )


if __name__ == "__main__":
    main()
