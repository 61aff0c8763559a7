"""Training follows its schedule, depends on nothing but the seed, and resumes bit by bit from any step."""

from itertools import islice
from math import log

import pytest
import torch

from edgecond.graph import collate
from edgecond.nn.checkpoint import load_checkpoint, save_checkpoint
from edgecond.nn.network import Network
from edgecond.nn.optimizers import OPTIMIZERS, SGD
from edgecond.nn.schedules import Cosine, Steps
from edgecond.nn.training import mix, NonFiniteLossError, Training
from tests.pyramids import random_samples

WRITTEN = "C(4)-MP(1,2)-C(4)-GAP-FC(8)-D(0.5)-FC(3)"
PAPER = SGD()


class Batches:
    """Three batches of four samples, in another order in each epoch."""

    def __init__(self):
        self.samples = random_samples(WRITTEN, [5, 6, 7, 8] * 3, d0=2, s=3)

    def __len__(self):
        return 3

    def run(self, epoch, batch, epochs):
        for position in range(3 * epoch + batch, 3 * epochs):
            order = torch.randperm(12, generator=torch.Generator().manual_seed(position // 3)).tolist()
            yield collate([self.samples[i] for i in order[4 * (position % 3) :][:4]])


def training(epochs=4, seed=0, learning_rate=0.1, drops=(2,), optimizer=PAPER, schedule=None, **more):
    torch.manual_seed(seed)
    network = Network(WRITTEN, 2, 3, hidden=(4,))
    return Training(network, schedule or Steps(epochs, learning_rate, drops), seed, optimizer=optimizer, **more)


def weights(run):
    return {name: tensor.clone() for name, tensor in run.state()[0].items()}


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def test_one_step_is_what_torch_would_do():
    """SGD by hand: the first step is w - rate (g + decay w), as there is no momentum yet."""
    run = training()
    before = {name: p.detach().clone() for name, p in run.network.named_parameters()}

    next(run.steps(Batches()))

    for name, parameter in run.network.named_parameters():
        expected = before[name] - 0.1 * (parameter.grad + 5e-4 * before[name])
        torch.testing.assert_close(parameter.detach(), expected)


def test_steps_count_epochs_and_batches():
    found = [(s.epoch, s.batch, s.last, s.count, round(s.learning_rate, 4)) for s in training().steps(Batches())]

    assert found == [(e, b, b == 2, 4, 0.1 if e < 2 else 0.01) for e in range(4) for b in range(3)]


def test_each_step_has_the_learning_rate_of_its_position():
    cosine = Cosine(4, 0.1)

    steps = list(training(schedule=cosine).steps(Batches()))

    assert [s.learning_rate for s in steps] == [cosine.learning_rate_at(e, b, 3) for e in range(4) for b in range(3)]


def test_the_same_seed_gives_the_same_network_and_another_seed_another():
    runs = [training(seed=seed) for seed in (0, 0, 1)]
    for run in runs:
        list(run.steps(Batches()))

    assert same(weights(runs[0]), weights(runs[1]))
    assert not same(weights(runs[0]), weights(runs[2]))


def test_training_leaves_the_global_random_state_alone():
    torch.manual_seed(5)
    expected = torch.rand(1)
    run = training()
    torch.manual_seed(5)

    list(run.steps(Batches()))

    assert torch.equal(torch.rand(1), expected)


@pytest.mark.parametrize("schedule", [Steps(4, 0.1, (2,)), Cosine(4, 0.01, warmup=0.3)], ids=lambda s: s.name)
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("done", range(12))
def test_a_run_interrupted_after_any_step_ends_in_the_same_bits(tmp_path, name, schedule, done):
    """Before the first step, within each of the four epochs, and between them."""
    how = {"optimizer": OPTIMIZERS[name](), "schedule": schedule, "ema": 0.9, "gradient_clip": 1.0}
    whole = training(**how)
    list(whole.steps(Batches()))
    first = training(**how)
    list(islice(first.steps(Batches()), done))
    save_checkpoint(tmp_path / "c", *first.state())

    second = training(seed=9, **how)  # other weights, all replaced
    second.restore(*load_checkpoint(tmp_path / "c"))
    list(second.steps(Batches()))

    assert same(weights(second), weights(whole))
    assert second.finished


def test_a_large_gradient_is_scaled_to_the_norm_asked_for():
    """SGD by hand, without momentum and decay: the step has the length of learning rate times norm."""
    run = training(optimizer=SGD(momentum=0.0, weight_decay=0.0), gradient_clip=0.01)
    before = {name: p.detach().clone() for name, p in run.network.named_parameters()}

    next(run.steps(Batches()))

    moved = torch.cat([(p.detach() - before[name]).flatten() for name, p in run.network.named_parameters()])
    torch.testing.assert_close(moved.norm(), torch.tensor(0.1 * 0.01), rtol=1e-3, atol=0)


def test_an_average_leaves_the_steps_as_they_are_and_predicts_within_a_block():
    plain, averaged = training(), training(ema=0.9)
    for run in (plain, averaged):
        list(run.steps(Batches()))

    last = plain.network.state_dict()
    assert same({name: value.clone() for name, value in averaged.network.state_dict().items()}, last)
    with averaged.predicting():
        assert same(dict(averaged.network.state_dict()), averaged.weights())
        assert not same(averaged.weights(), last)
    assert same(dict(averaged.network.state_dict()), last)
    assert same(plain.weights(), last)


def test_mixed_precision_rounds_the_loss_and_keeps_the_weights_in_single_precision():
    """bfloat16 has 8 bits: losses differ by less than a few per cent."""
    exact, mixed = training(), training(precision="bf16")
    for run in (exact, mixed):
        run.network.layers[-2][0].p = 0.0  # dropout draws other numbers in another precision

    one, other = next(exact.steps(Batches())).loss, next(mixed.steps(Batches())).loss

    assert one != other
    assert abs(one - other) < 0.05 * one
    assert all(p.dtype == p.grad.dtype == torch.float32 for p in mixed.network.parameters())


def test_the_loss_goes_down():
    """Twelve samples of random classes can only be memorised, and with dropout of half of 8 channels only in part.

    The mean over the last 20 epochs, as single steps depend on the dropout; a uniform guess has the loss log 3.
    """
    run = training(epochs=60, learning_rate=0.05, drops=(50,))
    losses = [step.loss for step in run.steps(Batches())]

    assert sum(losses[:3]) / 3 == pytest.approx(log(3), abs=0.3)
    assert sum(losses[-60:]) / 60 < 0.8 * log(3)


def test_a_loss_that_is_not_finite_stops_the_training_and_names_the_batch():
    run = training()
    batches = Batches()
    batches.samples[0].x.fill_(float("nan"))

    with pytest.raises(NonFiniteLossError, match=r"it is nan in epoch 1, batch [123]\."):
        list(run.steps(batches))


def test_a_batch_without_known_targets_changes_nothing():
    """No loss and no gradient; without weight decay, the weights stay."""
    run = training(epochs=1, optimizer=SGD(weight_decay=0.0))
    before = {name: parameter.clone() for name, parameter in run.network.named_parameters()}
    batches = Batches()
    for sample in batches.samples:
        sample.y.fill_(-1)

    steps = list(run.steps(batches))

    assert [(step.loss, step.metric, step.count) for step in steps] == [(0, 0, 0)] * 3
    assert all(torch.equal(parameter, before[name]) for name, parameter in run.network.named_parameters())


def test_mixed_seeds_differ_in_every_place():
    assert len({mix(a, b, c) for a in range(5) for b in range(5) for c in range(5)}) == 125
    assert all(0 <= mix(a) < 2**63 for a in (0, 1, 2**40))
