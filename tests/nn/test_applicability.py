"""Distances to the training set are those between embeddings, in units of the training set's own."""

import numpy as np
import torch

from edgecond.nn.applicability import Applicability, embed
from edgecond.nn.network import Network
from tests.pyramids import random_batch


def test_distances_are_in_units_of_the_mean_distance_to_the_nearest_other_example():
    """By hand: nearest others of 0, 1 and 4 on a line are 1, 1 and 3 away, 5/3 on average."""
    reference = Applicability(np.array([[0.0], [1.0], [4.0]]))

    np.testing.assert_allclose(reference.distances(np.array([[0.5], [4.0], [14.0]])), [0.3, 0, 6])


def test_examples_at_one_place_leave_distances_as_they_are():
    reference = Applicability(np.zeros((3, 2)))

    np.testing.assert_allclose(reference.distances(np.array([[3.0, 4.0]])), [5])


def test_the_embedding_is_what_the_last_layer_takes():
    """The scores are the last layer's of the embedding, whatever is dropped in training."""
    network = Network("C(4)-GAP-FC(5)-D(0.5)-FC(3)", 2, 3).eval()
    batch = random_batch(str(network.architecture), (6, 1, 9), d0=2, s=3)

    embedding = embed(network, [batch])

    assert embedding.shape == (3, network.embedding_width) == (3, 5)
    scores = network.layers[-1][0](torch.from_numpy(embedding).float())
    torch.testing.assert_close(scores, network(batch.x, batch.pyramid))
