"""Edge labels $L(j,i)$, one row per edge or an index into distinct rows (Section 3.1, footnote 1)."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from edgecond.graph.value import Movable, value


@value
class Labels(Movable):
    """The edge labels $L(j,i)$: one row of `values` per edge, or distinct rows and the `index` of each edge's row.

    An index keeps categorical labels compact, and $F$ is evaluated once per distinct label (footnote 1).
    """

    values: Float[Tensor, "u s"]
    index: Int[Tensor, " m"] | None = None

    def __post_init__(self) -> None:
        if self.values.dim() != 2 or not self.values.is_floating_point():
            raise ValueError(
                "labels must be a floating-point tensor of shape (edges, s): "
                f"got {tuple(self.values.shape)} of {self.values.dtype}. A scalar per edge needs values[:, None]."
            )
        if self.index is not None and (self.index.dim() != 1 or self.index.dtype != torch.long):
            raise ValueError(
                "the index of labels must be one int64 number per edge: "
                f"got shape {tuple(self.index.shape)} of {self.index.dtype}."
            )

    def __len__(self) -> int:
        return len(self.values if self.index is None else self.index)

    @property
    def width(self) -> int:
        """$s$, the number of elements of a label."""
        return self.values.shape[1]

    def per_edge(self, rows: Tensor) -> Tensor:
        """Expand rows that were computed per label to one row per edge."""
        # index_select, because the gradient of rows[index] is summed in an order that varies with the threads.
        return rows if self.index is None else rows.index_select(0, self.index)

    def at(self, edges: Int[Tensor, " e"] | slice) -> Labels:
        """Return the labels of some of the edges."""
        if self.index is None:
            return Labels(self.values[edges])
        return Labels(self.values, self.index[edges])

    @staticmethod
    def one_hot(index: Int[Tensor, " m"], count: int) -> Labels:
        """Build one-hot labels from category numbers (Section 4.3)."""
        return Labels(torch.eye(count, device=index.device), index)
