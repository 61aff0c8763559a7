"""Every network of the paper: Sections 4.1 to 4.4 and Appendix B."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from edgecond.notation import Architecture, Parametric

PAPER = Path(__file__).parents[2] / "../shared/paper/ecc-paper.tex"


class Network(NamedTuple):
    written: str
    parametric_layers: int
    resolutions: int
    classes: int


NETWORKS = {
    # both counts are the paper's
    "Sydney": Network(
        "C(16)-C(32)-MP(0.25,0.5)-C(32)-C(32)-MP(0.75,1.5)-C(64)-MP(1.5,1.5)-GAP-FC(64)-D(0.2)-FC(14)",
        7,
        4,
        14,
    ),
    "ModelNet10": Network(
        "C(16)-C(32)-MP(2.5/32,7.5/32)-C(32)-C(32)-MP(7.5/32,22.5/32)-C(64)-GMP-FC(64)-D(0.2)-FC(10)",
        7,
        3,
        10,
    ),
    "NCI1": Network("C(48)-C(48)-C(48)-MP-C(48)-C(64)-MP-C(64)-GAP-FC(64)-D(0.1)-FC(2)", 8, 3, 2),
    # the parametric layers are the paper's, the resolutions are counted by hand
    "MNIST": Network("C(16)-MP(2,3.4)-C(32)-MP(4,6.8)-C(64)-MP(8,30)-C(128)-D(0.5)-FC(10)", 5, 4, 10),
    # both counts are by hand
    "ModelNet40": Network(
        "C(24)-C(48)-MP(2.5/32,7.5/32)-C(48)-C(48)-MP(7.5/32,22.5/32)-C(96)-GMP-FC(64)-D(0.2)-FC(40)",
        7,
        3,
        40,
    ),
    "MUTAG": Network("C(16)-C(32)-C(48)-MP-C(64)-MP-GAP-FC(64)-D(0.2)-FC(2)", 6, 3, 2),
    "ENZYMES": Network(
        "C(64)-C(64)-C(96)-MP-C(96)-C(128)-MP-C(128)-C(160)-MP-C(160)-GAP-FC(192)-D(0.2)-FC(6)", 10, 4, 6
    ),
    "D&D": Network(
        "C(48)-C(48)-C(48)-MP-C(48)-MP-C(64)-MP-C(64)-MP-C(64)-MP-C(64)-MP-GAP-FC(64)-D(0.2)-FC(2)", 10, 7, 2
    ),
}
every_network = pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)


@every_network
def test_a_network_of_the_paper_prints_back_unchanged(network: Network):
    assert str(Architecture(network.written)) == network.written


@every_network
def test_a_network_of_the_paper_has_the_layers_that_the_paper_states(network: Network):
    architecture = Architecture(network.written)

    assert architecture.parametric_layers == network.parametric_layers
    assert architecture.resolutions == network.resolutions
    assert architecture.classes == network.classes


def test_only_the_network_for_mnist_is_strided():
    """Section 4.4: the last convolution has a stride of 30 and maps all points to a single point."""
    strided = [name for name, network in NETWORKS.items() if Architecture(network.written).strided]

    assert strided == ["MNIST"]


@pytest.mark.skipif(not PAPER.exists(), reason="the paper's source is not beside the project")
def test_the_networks_are_those_in_the_source_of_the_paper():
    text = PAPER.read_text(encoding="utf-8")
    configuration = r"\bC\(\d+\)(?:-[A-Z]+(?:\([\d.,/]+\))?)+"

    networks = re.findall(configuration, text)
    stated = re.findall(rf"(\d) parametric layers(?: and (\d) levels of graph resolution)?.*?({configuration})", text)
    wider = re.findall(r"the network is wider \((.*?)\) and", text)

    assert set(networks) == {network.written for name, network in NETWORKS.items() if name != "ModelNet40"}
    assert {(written, int(layers), int(levels or 4)) for layers, levels, written in stated} == {
        NETWORKS[name][:3] for name in ("Sydney", "ModelNet10", "NCI1", "MNIST")
    }
    modelnet40 = Architecture(NETWORKS["ModelNet40"].written)
    assert wider == [", ".join(str(layer) for layer in modelnet40 if isinstance(layer, Parametric))]
