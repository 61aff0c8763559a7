"""The Weisfeiler-Lehman subtree kernel with a support vector machine (Shervashidze et al., JMLR 12, 2011)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from jaxtyping import UInt64
from numpy import ndarray as Array
from scipy import sparse

from edgecond.data.colours import colours
from edgecond.data.graphs import GraphExamples
from edgecond.data.preparation import no_progress, Progress, SampleSettings
from edgecond.nn.tasks import Task
from edgecond.runs.baselines.base import Baseline, Predictor
from edgecond.runs.baselines.columns import fit_columns
from edgecond.runs.baselines.svm import C, KernelSVM, PARTS

ROUNDS = 10
"""Largest height of the subtrees, as in the article."""


class WeisfeilerLehman(Baseline):
    """Counts of subtrees of heights up to h around the vertices, and a support vector machine; h and C are chosen.

    The subtrees are those of vertex labels, as published.
    """

    name: ClassVar[str] = "wl"
    title: ClassVar[str] = "Weisfeiler-Lehman subtree kernel, SVM"
    needs: ClassVar[str] = "graph"
    edges: ClassVar[bool] = False

    @property
    def settings(self) -> dict[str, Any]:
        return {"rounds": ROUNDS, "edges": self.edges, "C": list(C), "parts": PARTS, "normalised": True}

    def fit(
        self,
        examples: GraphExamples,
        task: Task,
        seed: int,
        *,
        settings: SampleSettings,
        progress: Progress = no_progress,
    ) -> Predictor:
        found = self._colours(examples)
        vocabulary = Vocabulary.of(found)
        make = partial(KernelSVM, vocabulary.ends, classes=task.has_classes, seed=seed)
        counts = vocabulary.counts(found, examples)
        predict = fit_columns(counts, examples.ys.numpy(), len(examples.classes), task, make)
        return lambda new: predict(vocabulary.counts(self._colours(new), new))

    def _colours(self, examples: GraphExamples) -> list[UInt64[Array, " n"]]:
        return list(colours(examples.subset, ROUNDS, edges=self.edges))


class WeisfeilerLehmanEdges(WeisfeilerLehman):
    """The same with the labels of edges in the subtrees, which ECC sees too."""

    name: ClassVar[str] = "wl-edges"
    title: ClassVar[str] = "Weisfeiler-Lehman subtree kernel with edge labels, SVM"
    edges: ClassVar[bool] = True


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The colours of a training set after each round.

    A round has a column for each of its colours, and one more for all others: its number is the root of the sum of
    their squared counts, so that the length of a row is that of all counts.
    """

    rounds: Sequence[UInt64[Array, " u"]]

    @staticmethod
    def of(found: Sequence[UInt64[Array, " n"]]) -> Vocabulary:
        """Return the distinct colours of some vertices."""
        return Vocabulary([np.unique(each) for each in found])

    @property
    def ends(self) -> list[int]:
        """Number of columns up to the end of each round."""
        return np.cumsum([len(known) + 1 for known in self.rounds]).tolist()

    def counts(self, found: Sequence[UInt64[Array, " n"]], examples: GraphExamples) -> sparse.csr_matrix:
        """Return the number of vertices of each colour in each graph."""
        graphs = examples.subset
        blocks = [
            self._block(known, each, graphs.membership, len(graphs))
            for known, each in zip(self.rounds, found, strict=True)
        ]
        return sparse.hstack(blocks, format="csr")

    @staticmethod
    def _block(known: Array, found: Array, membership: Array, graphs: int) -> sparse.csr_matrix:
        distinct, number = np.unique(found, return_inverse=True)
        shape = (graphs, len(distinct))
        counts = sparse.csr_matrix((np.ones(len(found)), (membership, number)), shape)
        old = np.isin(distinct, known)
        rest = sparse.csr_matrix(np.sqrt(counts[:, ~old].power(2).sum(1)))
        columns = sparse.csr_matrix(
            (np.ones(old.sum()), (np.flatnonzero(old), np.searchsorted(known, distinct[old]))), (shape[1], len(known))
        )
        return sparse.hstack([counts @ columns, rest], format="csr")
