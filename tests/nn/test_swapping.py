"""`edgecond.nn.swap` replaces every NNConv of a model, wherever it is, and reports what it did."""

from __future__ import annotations

import subprocess
import sys
from copy import deepcopy

import pytest
import torch
from torch import nn, Tensor

import edgecond
from edgecond import ECConv
from edgecond.nn import swap

pyg = pytest.importorskip("torch_geometric.nn")

N, M, S, D = 9, 30, 4, 3


def nnconv(d_out: int = D, filters: nn.Module | None = None, **options) -> nn.Module:
    filters = filters or nn.Sequential(nn.Linear(S, 6), nn.ReLU(), nn.Linear(6, D * d_out))
    return pyg.NNConv(D, d_out, filters, **options)


class Nested(nn.Module):
    """Layers as attributes, in lists, in dicts, in a block of their own, and one that is used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nnconv()
        self.blocks = nn.ModuleList([nn.ModuleDict({"conv": nnconv(), "norm": nn.BatchNorm1d(D)}) for _ in range(2)])
        self.again = self.first
        self.sequence = pyg.Sequential("x, e, a", [(nnconv(), "x, e, a -> x"), nn.ReLU(), (nnconv(), "x, e, a -> x")])

    def forward(self, x: Tensor, e: Tensor, a: Tensor) -> Tensor:
        x = self.first(x, e, a)
        for block in self.blocks:
            x = block["norm"](block["conv"](x, e, a)).relu()
        return self.sequence(self.again(x, e, a), e, a)


@pytest.fixture
def inputs() -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    return torch.randn(N, D), torch.randint(N, (2, M)), torch.randn(M, S)


def test_a_nested_model_computes_what_it_computed(inputs: tuple[Tensor, ...]):
    """Against the model of NNConv."""
    theirs = Nested()
    model = deepcopy(theirs)

    report = swap(model)

    assert not any(isinstance(part, pyg.NNConv) for part in model.modules())
    assert report.kept == {}
    assert len(report.replaced) == 6
    assert {"first", "again", "blocks.0.conv", "blocks.1.conv"} < set(report.replaced)
    torch.testing.assert_close(model(*inputs), theirs(*inputs), rtol=1e-4, atol=1e-4)


def test_a_layer_that_is_used_twice_stays_one_layer():
    model = Nested()

    swap(model)

    assert model.first is model.again
    assert isinstance(model.first, ECConv)


def test_a_filter_network_that_layers_share_stays_shared(inputs: tuple[Tensor, ...]):
    """Graph kernel networks share it; if each layer had a copy, training would pull them apart."""
    filters = nn.Sequential(nn.Linear(S, 6), nn.ReLU(), nn.Linear(6, D * D))
    theirs = nn.ModuleList([nnconv(filters=filters), nnconv(filters=filters)])
    model = deepcopy(theirs)

    report = swap(model)

    assert len(report.replaced) == 2
    assert model[0].filters is model[1].filters
    x, e, a = inputs
    torch.testing.assert_close(model[1](model[0](x, e, a), e, a), theirs[1](theirs[0](x, e, a), e, a))


def test_a_layer_whose_parameters_others_use_is_kept():
    """A copy would no longer be trained together with the other."""
    shared = nn.Linear(S, 6)
    conv = nnconv(filters=nn.Sequential(shared, nn.ReLU(), nn.Linear(6, D * D)))
    model = nn.ModuleDict({"conv": conv, "decoder": shared, "free": nnconv()})

    report = swap(model)

    assert report.replaced == ("free",)
    assert report.kept == {"conv": "it shares parameters with decoder, and a copy would not."}
    assert model["conv"] is conv


def test_a_layer_that_cannot_be_replaced_is_kept_with_its_reason():
    model = nn.ModuleDict(
        {
            "good": nnconv(),
            "flow": nnconv(flow="target_to_source"),
            "aggregation": nnconv(aggr="min"),
            "weight norm": nnconv(filters=nn.utils.weight_norm(nn.Linear(S, D * D))),
        }
    )

    report = swap(model)

    assert report.replaced == ("good",)
    assert "flow='target_to_source'" in report.kept["flow"]
    assert "aggr='min'" in report.kept["aggregation"]
    assert "torch cannot copy this one" in report.kept["weight norm"]
    assert str(report).startswith("1 replaced\n  good\n3 kept\n  flow: ECConv aggregates")


def test_a_heteroconv_has_its_layers_replaced():
    model = pyg.HeteroConv({("a", "to", "a"): nnconv(), ("a", "of", "a"): nnconv()})

    report = swap(model)

    assert len(report.replaced) == 2
    assert all(isinstance(conv, ECConv) for conv in model.convs.values())


def test_options_reach_the_layers():
    model = nn.ModuleList([nnconv()])

    swap(model, low_memory=True)

    assert model[0].low_memory


def test_a_model_that_is_itself_an_nnconv_is_refused():
    with pytest.raises(ValueError, match=r"itself an NNConv .* in place: use ECConv\.from_nnconv\(model\)\."):
        swap(nnconv())


def test_a_model_without_nnconv_is_left_alone():
    report = swap(nn.Sequential(nn.Linear(3, 4)))

    assert str(report) == "0 replaced"


def test_it_is_reached_from_the_package_and_imported_on_first_use():
    """`import edgecond.nn` imports no torch."""
    assert edgecond.nn.swap is swap
    loaded = "print('torch' in sys.modules)"
    code = f"import sys, edgecond; edgecond.nn; {loaded}; edgecond.nn.swap; {loaded}"

    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert answer.stdout == "False\nTrue\n"
    with pytest.raises(AttributeError, match=r"^module 'edgecond\.nn' has no attribute 'NNConv'$"):
        _ = edgecond.nn.NNConv
