"""Message passing of PyG on graphs: GIN with edge features (Hu et al., ICLR 2020) and GCN (Kipf and Welling, 2017)."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn, Tensor

from edgecond.data.graphs import GraphExamples
from edgecond.data.preparation import SampleSettings
from edgecond.errors import DataError
from edgecond.runs.baselines.networks import NetworkBaseline

LAYERS, WIDTH, DROPOUT = 5, 64, 0.5


class MessagePassing(NetworkBaseline):
    """Five convolutions of 64 channels with batch normalisation, a sum over the vertices, and two linear layers."""

    needs: ClassVar[str] = "graph"
    packages: ClassVar[tuple[str, ...]] = ("torch_geometric",)
    epochs: int = 100
    batch_size: ClassVar[int] = 32
    learning_rate: ClassVar[float] = 0.01

    @property
    def settings(self) -> dict[str, Any]:
        return super().settings | {"layers": LAYERS, "width": WIDTH, "dropout": DROPOUT, "readout": "sum"}

    @abstractmethod
    def convolution(self, d_in: int, s: int) -> nn.Module:
        """Return a convolution of PyG.

        Args:
            d_in: Width of the signal.
            s: Width of the edge labels.
        """

    edges: ClassVar[bool]
    """Whether the convolution takes edge labels."""

    def network(self, examples: GraphExamples, settings: SampleSettings) -> nn.Module:
        try:
            import torch_geometric  # noqa: F401 (its absence is one sentence)
        except ImportError:
            raise DataError(
                f"the baseline {self.name} needs PyG, which is not installed. Run `pip install 'edgecond[pyg]'`."
            ) from None
        x, _, labels, _ = _tensors(examples, np.zeros(1, np.int64), settings)
        widths = [x.shape[1], *[WIDTH] * (LAYERS - 1)]
        convolutions = [self.convolution(d_in, labels.shape[1]) for d_in in widths]
        return _Network(convolutions, len(examples.classes), edges=self.edges)

    def inputs(
        self,
        examples: GraphExamples,
        chosen: np.ndarray,
        settings: SampleSettings,
        rng: np.random.Generator,
        *,
        training: bool,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return _tensors(examples, chosen, settings)


class GIN(MessagePassing):
    """GIN, whose messages are those of neighbours plus a linear map of the edge labels: `GINEConv` of PyG."""

    name: ClassVar[str] = "gin"
    title: ClassVar[str] = "GIN with edge features"
    edges: ClassVar[bool] = True

    def convolution(self, d_in: int, s: int) -> nn.Module:
        from torch_geometric.nn import GINEConv

        layers = (nn.Linear(d_in, WIDTH), nn.BatchNorm1d(WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH))
        return GINEConv(nn.Sequential(*layers), train_eps=True, edge_dim=s)


class GCN(MessagePassing):
    """GCN, which has no edge labels: `GCNConv` of PyG."""

    name: ClassVar[str] = "gcn"
    title: ClassVar[str] = "GCN"
    edges: ClassVar[bool] = False

    def convolution(self, d_in: int, s: int) -> nn.Module:
        from torch_geometric.nn import GCNConv

        return GCNConv(d_in, WIDTH)


class _Network(nn.Module):
    def __init__(self, convolutions: list[nn.Module], outputs: int, *, edges: bool) -> None:
        super().__init__()
        self.convolutions, self.edges = nn.ModuleList(convolutions), edges
        self.norms = nn.ModuleList(nn.BatchNorm1d(WIDTH) for _ in convolutions)
        self.classifier = nn.Sequential(
            nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Dropout(DROPOUT), nn.Linear(WIDTH, outputs)
        )

    def forward(self, inputs: tuple[Tensor, Tensor, Tensor, Tensor]) -> Tensor:
        x, edge_index, labels, sizes = inputs
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            x = norm(convolution(x, edge_index, labels) if self.edges else convolution(x, edge_index)).relu()
        membership = torch.repeat_interleave(torch.arange(len(sizes)), sizes)
        return self.classifier(x.new_zeros(len(sizes), WIDTH).index_add(0, membership, x))


def _tensors(
    examples: GraphExamples, chosen: np.ndarray, settings: SampleSettings
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return signal, edges, edge labels and sizes of some graphs; attributes where the row has them."""
    graphs = examples.take(chosen).subset
    labels = torch.zeros(graphs.num_edges, max(len(graphs.edge_values), 1))
    labels[torch.arange(graphs.num_edges), torch.tensor(graphs.edge_labels)] = 1
    if settings.attributes:
        labels = torch.cat([labels, torch.tensor(graphs.edge_attributes, dtype=labels.dtype)], 1)
    edge_index = torch.from_numpy(np.stack(graphs.edges)).long()
    return graphs.signal(attributes=settings.attributes), edge_index, labels, torch.from_numpy(graphs.sizes)
