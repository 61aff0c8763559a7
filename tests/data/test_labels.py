"""Labels of offsets agree with the table of Appendix C, one-hot labels number the offsets of a grid."""

from __future__ import annotations

from math import acos, atan2, pi, sqrt

import pytest
import torch
from torch import Tensor

from edgecond.data.labels import distinct_offsets, label_edges, label_graph, label_offsets, LABELLINGS
from edgecond.data.pyramid import cloud_pyramid
from edgecond.graph import Cloud, Graph, Labels
from tests.sentences import refused

every = pytest.mark.parametrize("labelling", LABELLINGS)

# The table of Appendix C, row by row, with the functions of Python.
TABLE = {
    "cartesian+spherical": lambda x, y, z, xy, d: (x, y, z, d, acos(z / d), atan2(y, x)),
    "cartesian": lambda x, y, z, xy, d: (x, y, z),
    "spherical": lambda x, y, z, xy, d: (d, acos(z / d), atan2(y, x)),
    "irz-all": lambda x, y, z, xy, d: (xy, z, d, acos(z / d)),
    "irz-cylindrical": lambda x, y, z, xy, d: (xy, z),
    "irz-spherical": lambda x, y, z, xy, d: (d, acos(z / d)),
    "distance": lambda x, y, z, xy, d: (d,),
    "none": lambda x, y, z, xy, d: (0,),
    "released": lambda x, y, z, xy, d: (x, y, z, d, acos(z / (d + 1e-6)), atan2(y, x)),
}


def offsets_of(*rows: tuple[float, float, float]) -> Tensor:
    return torch.tensor(rows, dtype=torch.float32)


def random_offsets(m: int = 50) -> Tensor:
    return torch.randn(m, 3, generator=torch.Generator().manual_seed(0))


def grid(size: int = 6) -> Cloud:
    axis = torch.arange(float(size))
    return Cloud(torch.cartesian_prod(axis, axis, torch.zeros(1)), torch.zeros(size * size, 1))


@every
def test_labels_are_those_of_the_appendix(labelling: str):
    """Appendix C, evaluated edge by edge."""
    offsets = random_offsets()

    labels = label_offsets(labelling, offsets)

    rows = offsets.double().tolist()
    expected = [TABLE[labelling](x, y, z, sqrt(x * x + y * y), sqrt(x * x + y * y + z * z)) for x, y, z in rows]
    torch.testing.assert_close(labels.values, torch.tensor(expected, dtype=torch.float32))
    assert labels.width == len(LABELLINGS[labelling])
    assert labels.index is None


@pytest.mark.parametrize("labelling", [name for name in LABELLINGS if name != "released"])
def test_the_label_of_a_self_loop_is_zero(labelling: str):
    """Self-edges are always present (Section 3.3); a zero offset has no direction, so its angles are set to 0."""
    assert label_offsets(labelling, torch.zeros(1, 3)).values.eq(0).all()


def test_the_inclination_of_a_self_loop_is_a_right_angle_in_the_released_code():
    """The authors divide by ||δ|| + 1e-6, so by hand arccos(0 / 1e-6) = π/2; elsewhere the labels are the paper's."""
    released, paper = (label_offsets(name, random_offsets()).values for name in ("released", "cartesian+spherical"))

    loop = label_offsets("released", torch.zeros(1, 3)).values

    assert loop.tolist() == [[0, 0, 0, 0, pytest.approx(pi / 2), 0]]
    torch.testing.assert_close(released, paper, rtol=0, atol=1e-4)


def test_labels_do_not_depend_on_the_number_of_threads():
    """Bit for bit: a worker process with one thread must build the same batches as a process with two."""
    offsets, threads = random_offsets(100_001), torch.get_num_threads()
    try:
        labels = []
        for count in (1, 2):
            torch.set_num_threads(count)
            labels.append(label_offsets("cartesian+spherical", offsets))
    finally:
        torch.set_num_threads(threads)

    assert labels[0].values.equal(labels[1].values)
    assert labels[0].values[-7:].equal(label_offsets("cartesian+spherical", offsets[-7:]).values)


def test_azimuth_covers_all_four_quadrants_and_inclination_both_poles():
    """By hand: the arctan of the paper covers the full circle, as Section 4.4 calls it 2π-periodic."""
    offsets = offsets_of((1, 0, 0), (0, 1, 0), (-1, 0, 0), (0, -1, 0), (-1, -1, 0), (0, 0, 2), (0, 0, -2))

    _, inclination, azimuth = label_offsets("spherical", offsets).values.T

    assert azimuth.tolist() == pytest.approx([0, pi / 2, pi, -pi / 2, -3 * pi / 4, 0, 0])
    assert inclination.tolist() == pytest.approx([pi / 2] * 5 + [0, pi])


@pytest.mark.parametrize("labelling", ["irz-all", "irz-cylindrical", "irz-spherical", "distance", "none"])
def test_irz_and_isotropic_labels_are_invariant_to_rotation_about_z(labelling: str):
    """Appendix C."""
    offsets = random_offsets()
    rotation = torch.tensor([[0.6, -0.8, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 1.0]])

    one, other = label_offsets(labelling, offsets), label_offsets(labelling, offsets @ rotation.T)

    torch.testing.assert_close(one.values, other.values)


@every
def test_compact_labels_are_the_same_labels(labelling: str):
    """Footnote 1: a 6x6 grid with radius 1.5 has the nine offsets of a 3x3 filter, each labelled once."""
    (level,) = cloud_pyramid([grid()], [(None, 1.5)]).levels

    labels = label_offsets(labelling, level.offsets, compact=True)

    assert len(labels.values) == 9
    torch.testing.assert_close(labels.per_edge(labels.values), label_offsets(labelling, level.offsets).values)


def test_one_hot_labels_number_the_offsets_of_a_filter():
    """Section 3.2: a 3x3 filter has an element for each of (-1, -1), (-1, 0), ..., (1, 1)."""
    levels = cloud_pyramid([grid()], [(None, 1.5)])

    (known,) = distinct_offsets(levels)
    (labels,) = label_edges("one-hot", levels, known=[known])

    assert known[:, :2].tolist() == [[x, y] for x in (-1, 0, 1) for y in (-1, 0, 1)]
    assert labels.values.equal(torch.eye(9))
    assert known[labels.index].equal(levels.levels[0].offsets)


def test_one_hot_labels_of_a_part_of_the_grid_are_those_of_the_complete_grid():
    """By hand: the offsets (-1, 0), (0, 0) and (1, 0) are numbers 1, 4 and 7 of a 3x3 filter."""
    known = distinct_offsets(cloud_pyramid([grid()], [(None, 1.5)]))
    pair = Cloud(offsets_of((2, 3, 0), (3, 3, 0)), torch.zeros(2, 1))

    (labels,) = label_edges("one-hot", cloud_pyramid([pair], [(None, 1.5)]), known=known)

    assert labels.index.tolist() == [4, 7, 1, 4]  # (0, 0), (1, 0), (-1, 0), (0, 0)


def test_an_offset_off_the_grid_has_no_one_hot_label():
    known = offsets_of((-1, 0, 0), (0, 0, 0), (1, 0, 0))
    with refused(
        "one-hot labels need offsets of a grid: found [0.5, 0.0, 0.0], which is none of the 3 known. "
        "Use another labelling for points off the grid."
    ):
        label_offsets("one-hot", offsets_of((1, 0, 0), (0.5, 0, 0)), known=known)


def test_one_hot_labels_need_the_offsets_of_the_grid():
    with pytest.raises(ValueError, match=r"offsets of the grid: got none\. Pass those of distinct_offsets"):
        label_offsets("one-hot", random_offsets())


def test_an_unknown_labelling_is_an_error_that_lists_the_known_ones():
    with refused(
        "a labelling must be one of cartesian+spherical, cartesian, spherical, irz-all, irz-cylindrical, "
        "irz-spherical, distance, none, released, one-hot: got 'polar'."
    ):
        label_offsets("polar", random_offsets())


# General graphs


def looped_path() -> Graph:
    """Build the path 0 - 1 - 2 with self-connections, whose label differs from that of edges."""
    source = torch.tensor([1, 0, 0, 2, 1, 1, 2])
    target = torch.tensor([0, 0, 1, 1, 1, 2, 2])
    kinds = torch.tensor([0, 1, 0, 0, 1, 0, 1])
    return Graph.from_edges(source, target, Labels.one_hot(kinds, 2), num_vertices=3)


@pytest.mark.parametrize(
    ("name", "two", "three"),
    [("1/sqrt(deg)", 2**-0.5, 3**-0.5), ("1/deg", 1 / 2, 1 / 3), ("sqrt(deg)", 2**0.5, 3**0.5), ("deg", 2, 3)],
)
@pytest.mark.parametrize("compact", [True, False])
def test_degrees_of_both_ends_are_appended(name: str, two: float, three: float, compact: bool):
    """Appendix F: L_deg(j) and L_deg(i), where the degree counts the self-connection; by hand on a path of three."""
    graph = looped_path()
    if not compact:
        graph = graph.with_labels(graph.labels.per_edge(graph.labels.values))

    labels = label_graph(f"given+{name}", graph).labels

    a, b = two, three
    expected = [[1, 0, b, a], [0, 1, a, a], [1, 0, a, b], [1, 0, a, b], [0, 1, b, b], [1, 0, b, a], [0, 1, a, a]]
    torch.testing.assert_close(labels.per_edge(labels.values), torch.tensor(expected, dtype=torch.float))
    assert len(labels.values) == (4 if compact else 7)  # distinct labels once (footnote 1)


def test_uniform_labels_give_all_edges_the_same_label():
    """Section 4.3, ECC without edge labels: with a single layer and no bias, F(1) is the only filter."""
    labels = label_graph("uniform", looped_path()).labels

    assert labels.values.tolist() == [[1.0]]
    assert labels.index.tolist() == [0] * 7


def test_given_labels_are_not_changed():
    graph = looped_path()

    assert label_graph("given", graph) is graph


def test_an_unknown_labelling_of_graphs_is_an_error():
    with refused(
        "a labelling must be one of given, given+1/sqrt(deg), given+1/deg, given+sqrt(deg), given+deg, uniform: "
        "got 'cartesian'."
    ):
        label_graph("cartesian", looped_path())
