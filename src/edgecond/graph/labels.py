"""Edge labels $L(j,i)$, one row per edge or an index into distinct rows (Section 3.1, footnote 1)."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from edgecond.graph import edges
from edgecond.graph.value import Movable, value

MOST_DISTINCT = 1024
"""Distinct labels up to which labels are kept with an index: beyond it, F is evaluated per edge all the same."""


@value
class Labels(Movable):
    """The edge labels $L(j,i)$: one row of `values` per edge, or distinct rows and the `index` of each edge's row.

    An index keeps categorical labels compact, and $F$ is evaluated once per distinct label (footnote 1).
    """

    values: Float[Tensor, "u s"]
    index: Int[Tensor, " m"] | None = None

    def __post_init__(self) -> None:
        if self.values.dim() != 2 or self.values.is_complex():
            raise ValueError(
                "labels must be a tensor of real numbers of shape (edges, s): "
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

    @property
    def shared(self) -> bool:
        """Whether edges share labels, so that $F$ is evaluated once per distinct label."""
        return self.index is not None and self.values.shape[0] < self.index.shape[0]

    @staticmethod
    def distinct(rows: Float[Tensor, "m s"]) -> Labels:
        """Build labels from one row per edge; if few rows are distinct, as for bonds, with an index of them.

        Rows that need a gradient stay as they are, and so do those on a GPU, which would have to wait.
        """
        labels = Labels(rows)
        found = None if rows.requires_grad else edges.distinct(rows, min(MOST_DISTINCT, len(rows) // 4))
        return labels if found is None else Labels(rows[found[0]], found[1])

    @staticmethod
    def one_hot(index: Int[Tensor, " m"], count: int) -> Labels:
        """Build one-hot labels from category numbers (Section 4.3)."""
        return Labels(torch.eye(count, device=index.device), index)
