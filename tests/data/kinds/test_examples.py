"""Batches of examples to predict."""

import torch

from edgecond.data.examples import Examples
from edgecond.data.kinds.examples import Batch
from edgecond.graph import Cloud


def test_a_batch_falls_into_single_examples_with_their_places_and_sizes():
    """Where one example spoils a batch, each is predicted alone."""
    clouds = [Cloud(torch.zeros(n, 3), torch.ones(n, 1)) for n in (2, 5)]
    examples = Examples("clouds", ("a",), clouds, torch.zeros(2, dtype=torch.long), "digest")

    singles = list(Batch([{"file": "one"}, {"file": "two"}], examples, [2, 5]).singles())

    assert [(len(single), single.places, single.sizes) for single in singles] == [
        (1, [{"file": "one"}], [2]),
        (1, [{"file": "two"}], [5]),
    ]
    assert [len(single.examples.clouds[0].positions) for single in singles] == [2, 5]
