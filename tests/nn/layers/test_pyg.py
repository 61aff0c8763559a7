"""ECConv works wherever PyG and torch take an NNConv."""

import io
import pickle
import warnings
from collections.abc import Callable
from copy import deepcopy

import pytest
import torch
from torch import nn, Tensor
from torch.utils.checkpoint import checkpoint

from edgecond import ECConv
from edgecond.interop import to_hetero
from tests.nn.layers.zoo import (
    agree,
    close,
    converted,
    D_IN,
    D_OUT,
    FILTERS,
    LABELS,
    M,
    N,
    nnconv,
    pyg,
    random_edges,
    S,
)

every_kind_of_labels = pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
every_layer = pytest.mark.parametrize(
    "options",
    [{"aggr": aggr, "root_weight": root} for aggr in ("add", "mean", "max", "std") for root in (True, False)],
    ids=lambda options: f"{options['aggr']}{' root' * options['root_weight']}",
)
TYPES = {"atom": 8, "ring": 5}  # vertices of each type
RELATIONS = [("atom", "bond", "atom"), ("atom", "in", "ring"), ("ring", "near", "atom"), ("atom", "faces", "atom")]
Edges = dict[tuple[str, str, str], Tensor]


def hetero_data(labels: Callable[[int], Tensor]) -> tuple[dict[str, Tensor], Edges, Edges]:
    """Signals on two types of vertices, and edges of four relations with labels; one relation has no edges."""
    x = {name: torch.randn(count, D_IN).double() for name, count in TYPES.items()}
    counts = {relation: 0 if relation[1] == "faces" else 20 for relation in RELATIONS}
    edges = {
        (a, name, b): torch.stack(
            [torch.randint(TYPES[a], (counts[a, name, b],)), torch.randint(TYPES[b] - 1, (counts[a, name, b],))]
        )
        for a, name, b in RELATIONS
    }
    return x, edges, {relation: labels(count) for relation, count in counts.items()}


class Net(nn.Module):
    """Two layers, the second of which takes the output of the first."""

    def __init__(self, **options) -> None:
        super().__init__()
        self.conv1 = nnconv(FILTERS["a perceptron"](), **options)
        self.conv2 = pyg.NNConv(D_OUT, 4, nn.Sequential(nn.Linear(S, 6), nn.ReLU(), nn.Linear(6, D_OUT * 4)), **options)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        return self.conv2(self.conv1(x, edge_index, edge_attr).relu(), edge_index, edge_attr)


class TestHeterogeneousGraphs:
    @every_kind_of_labels
    @every_layer
    def test_hetero_conv_of_ecconv_is_hetero_conv_of_nnconv(self, labels: Callable, options: dict):
        """With signals of types as pairs, and edge_attr_dict."""
        layers = {
            relation: nnconv(
                FILTERS["a perceptron"](), d_in=D_IN if relation[0] == relation[2] else (D_IN, D_IN), **options
            )
            for relation in RELATIONS
        }
        theirs = pyg.HeteroConv(layers, aggr="sum").double()
        ours = pyg.HeteroConv({key: ECConv.from_nnconv(layer) for key, layer in layers.items()}, aggr="sum")
        (x, edges, attributes), names = hetero_data(labels), list(TYPES)

        def call(model: nn.Module, *signals: Tensor) -> Tensor:
            out = model(dict(zip(names, signals, strict=True)), edges, edge_attr_dict=attributes)
            return torch.cat([out[name] for name in names])

        agree(theirs, ours, call, *x.values())

    @every_layer
    def test_what_to_hetero_makes_of_nnconv_can_be_swapped(self, options: dict):
        """`to_hetero` recognises layers of PyG alone, so the swap comes after it."""
        theirs = pyg.to_hetero(Net(**options).double(), (list(TYPES), RELATIONS), aggr="sum")
        (x, edges, attributes), names = hetero_data(LABELS["continuous"]), list(TYPES)

        def call(model: nn.Module, *signals: Tensor) -> Tensor:
            out = model(dict(zip(names, signals, strict=True)), edges, attributes)
            return torch.cat([out[name] for name in names])

        ours = converted(theirs)

        assert not any(isinstance(part, pyg.NNConv) for part in ours.modules())
        agree(theirs, ours, call, *x.values())

    @every_layer
    def test_to_hetero_of_ecconv_is_to_hetero_of_nnconv(self, options: dict):
        """PyG's `to_hetero` of the same network with NNConv, and its parameters."""
        metadata = (list(TYPES), RELATIONS)
        theirs = pyg.to_hetero(Net(**options).double(), metadata, aggr="mean")
        (x, edges, attributes), names = hetero_data(LABELS["continuous"]), list(TYPES)

        def call(model: nn.Module, *signals: Tensor) -> Tensor:
            out = model(dict(zip(names, signals, strict=True)), edges, attributes)
            return torch.cat([out[name] for name in names])

        ours = to_hetero(converted(Net(**options).double()), metadata, aggr="mean")

        assert not any(isinstance(part, pyg.NNConv) for part in ours.modules())
        ours.load_state_dict(converted(theirs).state_dict())
        agree(theirs, ours, call, *x.values())

    def test_to_hetero_takes_layers_of_pyg_beside_ecconv(self):
        """With one type of vertices and edges there is one copy of each layer, which is not drawn again."""
        theirs = Net().double()
        ours = deepcopy(theirs)
        ours.conv2 = ECConv.from_nnconv(ours.conv2)
        relation = ("atom", "bond", "atom")
        x, (edges, labels) = torch.randn(N, D_IN).double(), random_edges()
        labels = labels.double()

        out = to_hetero(ours, (["atom"], [relation]))({"atom": x}, {relation: edges}, {relation: labels})

        torch.testing.assert_close(out["atom"], theirs(x, edges, labels))

    def test_hetero_conv_resets_its_layers(self):
        model = pyg.HeteroConv({RELATIONS[0]: ECConv.from_nnconv(nnconv(FILTERS["a perceptron"]()))})

        model.reset_parameters()

        assert model.convs[RELATIONS[0]].bias.eq(0).all()


def sampled(n: int = 400, seeds: int = 3) -> tuple[Tensor, Tensor]:
    """Vertices and edges as a NeighborLoader gives them: seeds first, and edges into vertices of all hops but the last.

    Edges are grouped by hop, and renumbered; most vertices have no edges in, and those beyond the last hop none at all.
    """
    full, found, edges = torch.randint(n, (2, 4 * n)), list(range(seeds)), []
    frontier = found
    for _ in range(2):
        picked = [(s, t) for t in frontier for s in full[0, full[1] == t].tolist()[:4]]
        new = list(dict.fromkeys(s for s, _ in picked if s not in found))
        found, frontier, edges = found + new, new, edges + picked
    number = {vertex: position for position, vertex in enumerate(found)}
    return torch.tensor(found), torch.tensor([[number[s], number[t]] for s, t in edges]).T.contiguous()


@every_kind_of_labels
@every_layer
def test_batches_of_sampled_neighbours_give_what_nnconv_gives(labels: Callable, options: dict):
    """PyG's NeighborLoader needs pyg-lib, so its batches are made here as its documentation describes them."""
    vertices, edge_index = sampled()
    attributes = labels(edge_index.shape[1])
    theirs = Net(**options).double()
    assert len(edge_index[1].unique()) < len(vertices) / 2

    agree(
        theirs,
        converted(theirs),
        lambda model, x: model(x, edge_index, attributes),
        torch.randn(len(vertices), D_IN).double(),
    )


@every_layer
def test_bipartite_blocks_of_sampled_neighbours_give_what_nnconv_gives(options: dict):
    """As in PyG's examples: the targets of a block are the first of its sources, and `size` names both numbers."""
    vertices, edge_index = sampled()
    attributes, targets = LABELS["continuous"](edge_index.shape[1]), int(edge_index[1].max()) + 1
    theirs = nnconv(FILTERS["a perceptron"](), d_in=(D_IN, D_IN), **options).double()

    def call(layer: nn.Module, x: Tensor) -> Tensor:
        return layer((x, x[:targets]), edge_index, attributes, size=(len(vertices), targets))

    agree(theirs, converted(theirs), call, torch.randn(len(vertices), D_IN).double())


class TestTorch:
    def inputs(self) -> tuple[Tensor, Tensor, Tensor]:
        return torch.randn(N, D_IN).double(), *random_edges()[:1], torch.randn(M, S).double()

    @every_layer
    @pytest.mark.parametrize("use_reentrant", [True, False])
    def test_checkpointing_gives_the_gradients_of_nnconv(self, options: dict, use_reentrant: bool):
        x, edge_index, edge_attr = self.inputs()
        theirs = Net(**options).double()

        def call(model: nn.Module, x: Tensor, edge_attr: Tensor) -> Tensor:
            return checkpoint(model, x, edge_index, edge_attr, use_reentrant=use_reentrant)

        agree(theirs, converted(theirs), call, x, edge_attr)

    @pytest.mark.parametrize("aggr", ["mean", "max"])
    @pytest.mark.parametrize("compile", ["torch", "torch_geometric"])
    def test_a_compiled_model_gives_what_nnconv_gives(self, aggr: str, compile: str):
        import torch_geometric

        torch._dynamo.reset()
        x, edge_index, edge_attr = self.inputs()
        theirs = Net(aggr=aggr).double()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyG's function points to torch's
            compiler = torch.compile if compile == "torch" else torch_geometric.compile
            compiled = compiler(converted(theirs), backend="aot_eager", dynamic=True, fullgraph=True)

        out = compiled(x, edge_index, edge_attr)

        torch.testing.assert_close(out, theirs(x, edge_index, edge_attr), rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize("aggr", ["add", "mean", "max"])
    @pytest.mark.parametrize("labels", LABELS)
    def test_automatic_mixed_precision_is_as_near_as_that_of_nnconv(self, aggr: str, labels: str):
        """bfloat16 has 8 bits: numbers of size 1 are right to 1/256, sums of some of them to some of that."""
        layer = nnconv(FILTERS["a perceptron"](), aggr=aggr)
        conv = ECConv.from_nnconv(layer)
        x, edge_index, edge_attr = torch.randn(N, D_IN), random_edges()[0], LABELS[labels](M).float()
        expected = layer(x, edge_index, edge_attr).detach()

        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = conv(x, edge_index, edge_attr)
            theirs = layer(x, edge_index, edge_attr)
        out.float().sum().backward()

        bound = 0.02 * float(expected.abs().max())
        torch.testing.assert_close(theirs.float(), expected, rtol=0, atol=bound)
        torch.testing.assert_close(out.float(), expected, rtol=0, atol=bound)
        assert all(parameter.grad.isfinite().all() for parameter in conv.parameters())

    @pytest.mark.parametrize("travel", ["deepcopy", "pickle", "torch.save", "state_dict", "replicate"])
    @every_layer
    def test_a_layer_that_has_been_called_travels(self, travel: str, options: dict):
        """To another process, device or file: DataParallel replicates, torch.save pickles."""
        x, edge_index, edge_attr = self.inputs()
        theirs = Net(**options).double()
        ours = converted(theirs)
        expected = ours(x, edge_index, edge_attr)

        if travel == "deepcopy":
            copied = deepcopy(ours)
        elif travel == "pickle":
            copied = pickle.loads(pickle.dumps(ours))
        elif travel == "torch.save":
            torch.save(ours, stream := io.BytesIO())
            stream.seek(0)
            copied = torch.load(stream, weights_only=False)
        elif travel == "state_dict":
            copied = converted(Net(**options).double())
            copied.load_state_dict(ours.state_dict())
        else:
            copied = replica(ours)

        assert torch.equal(copied(x, edge_index, edge_attr), expected)

    @pytest.mark.parametrize("filters", ["a perceptron", "any module"])
    @pytest.mark.parametrize("low_memory", [False, True])
    def test_gradients_of_a_replica_reach_the_parameters(self, filters: str, low_memory: bool):
        """`parameters()` of a replica is empty."""
        x, edge_index, edge_attr = self.inputs()
        layer = nnconv(FILTERS[filters]()).double()
        ours = ECConv.from_nnconv(layer, low_memory=low_memory)

        def call(module: nn.Module, x: Tensor) -> Tensor:
            return replica(module)(x, edge_index, edge_attr) if module is ours else module(x, edge_index, edge_attr)

        agree(layer, ours, call, x)

    def test_data_parallel_without_devices_calls_the_model(self):
        x, edge_index, edge_attr = self.inputs()
        theirs = Net().double()

        agree(theirs, ours := converted(theirs), lambda m, x: nn.DataParallel(m)(x, edge_index, edge_attr), x)

        assert not any(isinstance(part, pyg.NNConv) for part in ours.modules())


def replica(module: nn.Module) -> nn.Module:
    """Return what DataParallel makes for a device, where parameters are tensors computed from those of the module.

    Written after `torch.nn.parallel.replicate`, which needs a GPU.
    """
    copied = module._replicate_for_data_parallel()
    for name, part in module._modules.items():
        copied._modules[name] = None if part is None else replica(part)
    copied._former_parameters = {}
    for name, parameter in module._parameters.items():
        copied._former_parameters[name] = None if parameter is None else parameter.clone()
        setattr(copied, name, copied._former_parameters[name])
    return copied


def test_widths_that_are_known_since_the_first_call_are_kept():
    """NNConv((3, -1), ...) learns the width of the targets from its first call."""
    layer = pyg.NNConv((D_IN, -1), D_OUT, FILTERS["a perceptron"]())
    x, edges = (torch.randn(12, D_IN), torch.randn(N, 7)), random_edges(sources=12)
    with pytest.raises(ValueError, match=r"widths .* not known yet: call it once"):
        ECConv.from_nnconv(layer)

    expected = layer(x, *edges)

    close(ECConv.from_nnconv(layer)(x, *edges), expected)
