"""The kernel is that of the article: it counts common subtrees, and an SVM classifies by it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import torch

from edgecond.data.colours import colours
from edgecond.data.graphs import GraphExamples
from edgecond.data.kinds import KINDS
from edgecond.nn.tasks import TASKS
from edgecond.runs.baselines.wl import Vocabulary, WeisfeilerLehman, WeisfeilerLehmanEdges
from tests.pyramids import random_graphs
from tests.runs.baselines.examples import examples_of, path, SETTINGS, star, stars_and_paths

CLASSES = TASKS["classification"]


def accuracy(baseline, train, test):
    return baseline.measure(train, test, KINDS["graphs"], CLASSES, 0, settings=SETTINGS)["accuracy"]


def test_the_kernel_of_a_path_and_a_star_is_their_number_of_common_subtrees():
    """By hand, for 4 vertices of one label. Height 0: 4 x 4. Height 1: the path has 2 ends and 2 middles of degree 2,
    the star 3 leaves and a centre of degree 3; ends and leaves are the same: 2 x 3. Height 2: an end's neighbour has
    degree 2, a leaf's has degree 3: none."""
    examples = examples_of([path(4), star(4)], [0, 1])
    found = list(colours(examples.graphs, 2))
    vocabulary = Vocabulary.of(found)

    counts = vocabulary.counts(found, examples).toarray()

    kernel = [counts[0, a:b] @ counts[1, a:b] for a, b in zip((0, *vocabulary.ends), vocabulary.ends, strict=False)]
    assert kernel == [16, 6, 0]


def test_colours_that_the_training_set_lacks_count_in_the_length_of_a_row():
    """The kernel of a graph with itself is the sum of the squared counts of its colours, whatever is known."""
    graphs = random_graphs([9, 12, 20, 7])
    train, test = GraphExamples(graphs, np.array([0])), GraphExamples(graphs, np.array([1, 2, 3]))
    vocabulary = Vocabulary.of(list(colours(train.subset, 2)))

    found = list(colours(test.subset, 2))
    rows = vocabulary.counts(found, test).toarray()

    for graph in range(3):
        own = [Counter(each[test.subset.membership == graph].tolist()) for each in found]
        expected = sum(count**2 for counts in own for count in counts.values())
        assert np.isclose(rows[graph] @ rows[graph], expected)


def test_stars_are_told_from_paths_by_their_subtrees():
    assert accuracy(WeisfeilerLehman(), stars_and_paths(16), stars_and_paths(8)) == 1.0


def test_edge_labels_are_seen_by_one_of_the_two_kernels():
    """All graphs are stars, and the class is the label of their edges: without it half are right at best."""
    graphs = [star(4 + k // 2 % 3) for k in range(12)]
    examples = examples_of(graphs, [k % 2 for k in range(12)], labels=[k % 2 for k in range(12)])

    assert accuracy(WeisfeilerLehmanEdges(), examples, examples) == 1.0
    assert accuracy(WeisfeilerLehman(), examples, examples) == 0.5


def test_numbers_are_predicted_by_support_vector_regression():
    """The target is the number of leaves of a star, which the kernel sees; the last stars are new."""
    graphs = examples_of([star(n) for n in range(4, 24)], [0] * 20).graphs
    targets = np.arange(3.0, 23.0)[:, None]
    examples = GraphExamples(graphs, np.arange(20), targets, ("leaves",))
    task = TASKS["regression"].fit(torch.from_numpy(targets), 1)

    predict = WeisfeilerLehman().fit(examples.take(range(0, 20, 2)), task, 0, settings=SETTINGS)
    found = predict(examples.take(range(1, 20, 2)))[:, 0]

    assert np.corrcoef(found, targets[1::2, 0])[0, 1] > 0.9
