"""Explainers of PyTorch Geometric work on a copy of a model that passes messages along edges."""

from __future__ import annotations

import pytest
import torch
from torch.nn import Linear

import edgecond
import edgecond.nn
from edgecond import Graph
from edgecond.interop import explainable

pytest.importorskip("torch_geometric")


class Convolutions(torch.nn.Module):
    """Two layers of PyG, one of which is called on pairs, for predictions on vertices."""

    def __init__(self, aggr: str) -> None:
        from torch_geometric.nn import NNConv

        super().__init__()
        torch.manual_seed(0)
        self.one = NNConv(3, 4, torch.nn.Sequential(Linear(2, 5), torch.nn.ReLU(), Linear(5, 12)), aggr=aggr)
        self.two = torch.nn.ModuleList([NNConv(4, 2, Linear(2, 8), aggr=aggr, root_weight=False)])

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor, edge_attr: torch.Tensor) -> torch.Tensor:
        x = self.one(x, edge_index, edge_attr).relu()
        return self.two[0]((x, x), edge_index, edge_attr)


def call() -> dict[str, torch.Tensor]:
    """A graph with loops and a vertex without edges."""
    generator = torch.Generator().manual_seed(1)
    ends = torch.randint(6, (2, 15), generator=generator)
    return {
        "x": torch.randn(7, 3, generator=generator),
        "edge_index": ends,
        "edge_attr": torch.randn(15, 2, generator=generator),
    }


@pytest.mark.parametrize("aggr", ["mean", "add", "max"])
@pytest.mark.parametrize("algorithm", ["GNNExplainer", "captum", "gradients"])
def test_explainers_of_pyg_find_the_same_masks_as_with_nnconv(aggr: str, algorithm: str):
    """PyG: an explainer masks the messages of edges. Both start from the same random masks."""
    from torch_geometric.explain import CaptumExplainer, Explainer, GNNExplainer
    from torch_geometric.explain.algorithm.utils import clear_masks, set_masks

    if algorithm == "captum":
        pytest.importorskip("captum")
    theirs = Convolutions(aggr).eval()
    ours = Convolutions(aggr).eval()
    assert len(edgecond.nn.swap(ours).replaced) == 2
    ours, data = explainable(ours), call()
    torch.testing.assert_close(ours(**data), theirs(**data), rtol=1e-4, atol=1e-5)

    found = []
    for model in (ours, theirs):
        torch.manual_seed(2)
        if algorithm != "gradients":
            captum = algorithm == "captum"
            explainer = Explainer(
                model,
                CaptumExplainer("IntegratedGradients", n_steps=5) if captum else GNNExplainer(epochs=5),
                explanation_type="model",
                node_mask_type="attributes",
                edge_mask_type="object",
                model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"},
            )
            explanation = explainer(data["x"], data["edge_index"], edge_attr=data["edge_attr"], index=2)
            found.append((explanation.edge_mask, explanation.node_mask))
        else:
            mask = torch.full((15,), 0.4, requires_grad=True)
            set_masks(model, mask, data["edge_index"], apply_sigmoid=False)
            out = model(**data)
            clear_masks(model)
            found.append((torch.autograd.grad(out.sum(), mask)[0], out))
    for our, their in zip(*found, strict=True):
        torch.testing.assert_close(our, their, rtol=1e-3, atol=1e-5)
    assert float(found[0][0].detach().abs().sum()) > 0


def test_an_explainable_copy_shares_the_parameters_and_refuses_graphs():
    model = torch.nn.ModuleList([edgecond.ECConv(3, 4, edgecond.FilterNetwork([2, 5], 3, 4), degree_factor=True)])
    data = call()

    copied = explainable(model)

    assert {id(p) for p in copied.parameters()} == {id(p) for p in model.parameters()}
    assert isinstance(model[0], edgecond.ECConv)
    torch.testing.assert_close(copied[0](**data), model[0](**data))
    graph = Graph.from_edges(*data["edge_index"], data["edge_attr"], num_vertices=7)
    with pytest.raises(ValueError, match="the model calls ECConv with a Graph"):
        copied[0](data["x"], graph)
