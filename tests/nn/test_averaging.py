"""The average of the weights is that of its equation, and follows whatever a network holds."""

import torch
from torch import nn

from edgecond.nn.averaging import Average


def after(weights, decay):
    """The average of a single weight that takes these values, after each step."""
    network = nn.Linear(1, 1)
    with torch.no_grad():
        network.weight.fill_(weights[0])
        average = Average.of(network, decay)
        found = []
        for step, weight in enumerate(weights[1:], 1):
            network.weight.fill_(weight)
            average.update(network, step)
            found.append(float(average.weights["weight"]))
    return found


def test_the_first_steps_forget_the_random_weights():
    """By hand: decays of 1/10 and 2/11, though the decay is 0.99."""
    first = 0.1 * 5 + 0.9 * 1
    second = 2 / 11 * first + 9 / 11 * 3

    torch.testing.assert_close(after([5.0, 1.0, 3.0], 0.99), [first, second])


def test_a_constant_weight_is_its_own_average():
    torch.testing.assert_close(after([2.0] * 50, 0.9), [2.0] * 49)


def test_later_steps_have_the_decay_asked_for():
    """With decay 0.5 and 9 steps or more, $t / (t + 9)$ is larger: a jump from 0 to 1 is followed by 1 - 2^-t."""
    found = after([0.0] * 20 + [1.0] * 4, 0.5)[-4:]

    torch.testing.assert_close(found, [0.5, 0.75, 0.875, 0.9375])


def test_running_statistics_are_averaged_and_counts_copied():
    norm = nn.BatchNorm1d(2)
    average = Average.of(norm, 0.9)
    norm(torch.tensor([[1.0, 10.0], [3.0, 30.0]]))
    average.update(norm, 1)

    torch.testing.assert_close(average.weights["running_mean"], 0.9 * norm.running_mean)  # 0 before
    assert int(average.weights["num_batches_tracked"]) == 1
