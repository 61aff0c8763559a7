"""Every network can be parsed and printed, and errors point at the character that is wrong."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgecond.notation import AP, Architecture, C, D, FC, GAP, GMP, Layer, MP, NotationError, Number, V

decimals = st.floats(1e-12, 1e12) | st.integers(1, 1000)
numbers = decimals | st.builds("{}/{}".format, decimals, decimals).map(Number)
widths = st.integers(1, 10**6)
dropouts = st.builds(D, st.floats(0, 1, exclude_max=True))


@st.composite
def networks(draw: st.DrawFn) -> list[Layer]:
    """Draw a network: convolution and pooling layers, then global pooling, V or a strided C, then FC."""
    kinds = st.sampled_from([MP, AP])
    clouds = draw(st.booleans())
    poolings = kinds.flatmap(lambda kind: st.builds(kind, numbers, numbers) if clouds else st.builds(kind))
    on_graphs = draw(st.lists(st.builds(C, widths) | poolings | dropouts, max_size=8))
    last = draw(st.builds(C, widths) | st.sampled_from([GAP(), GMP(), V()]))
    needed = draw(st.lists(st.builds(FC, widths), min_size=int(last == V()), max_size=1))
    return [*on_graphs, last, *needed, *draw(st.lists(st.builds(FC, widths) | dropouts, max_size=4 * len(needed)))]


@given(networks())
def test_parsing_and_printing_are_inverse(layers: list[Layer]):
    written = "-".join(map(str, layers))

    network = Architecture(written)

    assert network == tuple(layers)
    assert str(network) == written
    assert Architecture(str(network)) == network
    assert hash(Architecture(str(network))) == hash(network)


@given(st.lists(st.sampled_from(["C(16)", "MP", "MP(1,2)", "GAP", "V", "FC(2)", "D(.5)", *"CMPD()-,./013e x\n"])))
def test_any_string_is_a_network_or_an_error_within_it(pieces: list[str]):
    written = "".join(pieces)

    try:
        parsed, position = Architecture(str(Architecture(written))), 0
    except NotationError as error:
        parsed, position = None, error.position

    assert parsed is None or parsed == Architecture(written)
    assert 0 <= position <= len(written)


def test_a_layer_is_printed_the_way_the_paper_writes_it():
    network = Architecture("C(16)-C(32)-MP(2.5/32,7.5/32)-GMP-FC(10)")

    assert repr(network[2]) == str(network[2]) == "MP(2.5/32,7.5/32)"
    assert repr(network) == "Architecture('C(16)-C(32)-MP(2.5/32,7.5/32)-GMP-FC(10)')"


def test_a_fraction_is_a_float_equal_to_its_value():
    network = Architecture("MP(2.5/32,7.5/32)")

    assert network.poolings[0].resolution == 2.5 / 32
    assert network == Architecture("MP(0.078125,0.234375)")


def test_spaces_between_layers_and_numbers_are_ignored():
    assert str(Architecture("  C(16) - MP( 0.25, 0.5 )-GAP\n")) == "C(16)-MP(0.25,0.5)-GAP"


def test_a_network_is_an_immutable_sequence_of_layers():
    network = Architecture("C(16)-MP-GAP-D(0.1)-FC(2)")

    assert len(network) == 5
    assert list(network) == [C(16), MP(), GAP(), D(0.1), FC(2)]
    assert network[1:3] == (MP(), GAP())
    with pytest.raises(TypeError):
        network[0] = C(32)
    with pytest.raises(AttributeError):
        network[0].width = 32


def test_layers_of_different_kinds_differ():
    assert len({C(16), FC(16), MP(), AP(), GAP(), GMP(), V()}) == 7


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda network: pickle.loads(pickle.dumps(network))])
def test_a_copy_is_equal_and_is_printed_the_same(copied):
    network = Architecture("MP(2.5/32,7.5/32)-GAP-FC(2)")

    assert copied(network) == network
    assert str(copied(network)) == str(network)


def test_a_pooling_layer_leads_to_the_next_level():
    """By hand: GAP and FC stay on the last level."""
    assert Architecture("C(1)-MP-C(1)-C(1)-AP-C(1)-GAP-FC(2)").levels == (0, 0, 1, 1, 1, 2, 2, 2)


def test_unpooling_leads_from_the_last_level_to_the_first():
    """By hand: FC after V is applied to the vertices of level 0."""
    assert Architecture("C(1)-MP-C(1)-AP-C(1)-V-D(0.1)-FC(2)").levels == (0, 0, 1, 1, 2, 2, 0, 0)
    assert Architecture("C(1)-V-FC(2)").per_vertex
    assert not Architecture("C(1)-GAP-FC(2)").per_vertex


def test_the_number_of_classes_is_the_width_of_the_last_fc():
    assert Architecture("C(16)-GAP-FC(64)-FC(10)-D(0.1)").classes == 10
    assert Architecture("C(16)-GAP").classes is None


def test_a_network_is_strided_if_fc_follows_c():
    """Section 4.4: the last convolution maps all points to a single point."""
    assert Architecture("C(16)-MP(8,30)-C(128)-D(0.5)-FC(10)").strided
    assert not Architecture("C(16)-GAP-FC(10)").strided
    assert not Architecture("C(16)-V-FC(10)").strided
    assert not Architecture("C(16)-C(32)").strided


LAYER = "a layer is one of C, MP, AP, GAP, GMP, V, FC, D: found"
WIDTH = "a width must be a positive integer: found"
GRAPH = "convolution, pooling and V must come before GAP, GMP, V and FC: found"
FULLY = "FC follows C, GAP, GMP, V or another FC: found"
SCORES = "V must be followed by FC, which scores the classes: found the end"
ERRORS = [
    # a missing layer
    ("", "^", f"{LAYER} the end"),
    ("  ", "^", f"{LAYER} the end"),
    ("C(16)-X(3)-GAP", "      ^", f"{LAYER} 'X'"),
    ("C(16)-c(16)", "      ^", f"{LAYER} 'c'"),
    ("C(16)--GAP", "      ^", f"{LAYER} '-'"),
    ("-GAP", "^", f"{LAYER} '-'"),
    ("GAP-", "    ^", f"{LAYER} the end"),
    ("GAP- ", "    ^", f"{LAYER} the end"),
    ("16", "^", f"{LAYER} '16'"),
    ("GAP-\x1b\n☃", "    ^", f"{LAYER} '\\x1b'"),
    # a layer that is written wrongly
    ("C-GAP", " ^", "C is written C(width): found '-'"),
    ("C16", " ^", "C is written C(width): found '16'"),
    ("C(16-GAP", "    ^", "C is written C(width): found '-'"),
    ("C(16", "    ^", "C is written C(width): found the end"),
    ("C(16,3)", "    ^", "C is written C(width): found ','"),
    ("MP(0.25)", "       ^", "MP is written MP or MP(resolution,radius): found ')'"),
    ("AP(1,2,3)", "      ^", "AP is written AP or AP(resolution,radius): found ','"),
    ("MP(1/2/3,1)", "      ^", "MP is written MP or MP(resolution,radius): found '/'"),
    ("C(16))", "     ^", "C is written C(width), then a dash or the end: found ')'"),
    ("GAP(3)", "   ^", "GAP is written GAP, then a dash or the end: found '('"),
    ("C(16)GAP", "     ^", "C is written C(width), then a dash or the end: found 'GAP'"),
    # a number out of range
    ("C()", "  ^", f"{WIDTH} ')'"),
    ("C(0)", "  ^", f"{WIDTH} '0'"),
    ("C(-3)", "  ^", f"{WIDTH} '-'"),
    ("FC(1.5)", "   ^", f"{WIDTH} '1.5'"),
    ("FC(016)", "   ^", f"{WIDTH} '016'"),
    ("FC(ten)", "   ^", f"{WIDTH} 'ten'"),
    ("C(" + "9" * 5000 + ")", "  ^", f"{WIDTH} '999"),
    ("MP(0,1)", "   ^", "a resolution must be a positive number or fraction: found '0'"),
    ("MP(1/0,1)", "   ^", "a resolution must be a positive number or fraction: found '1/0'"),
    ("MP(1, -1)", "      ^", "a radius must be a positive number or fraction: found '-'"),
    ("MP(1,1e999)", "     ^", "a radius must be a positive number or fraction: found '1e999'"),
    ("D(1)", "  ^", "a dropout probability must be at least 0 and below 1: found '1'"),
    ("D(-0.1)", "  ^", "a dropout probability must be at least 0 and below 1: found '-'"),
    ("D(nan)", "  ^", "a dropout probability must be at least 0 and below 1: found 'nan'"),
    # a layer out of order
    ("GAP-C(3)", "    ^", f"{GRAPH} 'C'"),
    ("C(3)-FC(2)-MP", "           ^", f"{GRAPH} 'MP'"),
    ("GAP-GAP", "    ^", f"{GRAPH} 'GAP'"),
    ("C(3)-FC(2)-GMP", "           ^", f"{GRAPH} 'GMP'"),
    ("FC(2)", "^", f"{FULLY} 'FC'"),
    ("C(3)-MP-D(0.1)-FC(2)", "               ^", f"{FULLY} 'FC'"),
    ("C(3)-V-C(3)-FC(2)", "       ^", f"{GRAPH} 'C'"),
    ("GAP-V-FC(2)", "    ^", f"{GRAPH} 'V'"),
    ("V-V-FC(2)", "  ^", f"{GRAPH} 'V'"),
    ("C(3)-V", "      ^", SCORES),
    ("C(3)-V-D(0.1) ", "             ^", SCORES),
    ("C(3)-V(2)-FC(2)", "      ^", "V is written V, then a dash or the end: found '('"),
    ("MP-AP(1,2)", "   ^", "all pooling layers or none must have a resolution and a radius: found 'AP'"),
    ("MP(1,2)-MP", "        ^", "all pooling layers or none must have a resolution and a radius: found 'MP'"),
]


@pytest.mark.parametrize(("written", "caret", "message"), ERRORS)
def test_an_error_points_at_the_character(written: str, caret: str, message: str):
    with pytest.raises(NotationError) as caught:
        Architecture(written)

    assert caught.value.position == caret.index("^")
    assert str(caught.value).startswith(message)
    assert str(caught.value).endswith(f"\n  {caret}")


def test_an_error_has_the_rule_the_layer_and_advice():
    with pytest.raises(NotationError) as caught:
        Architecture("C(16)-MP-FC(2)")

    assert str(caught.value) == (
        "FC follows C, GAP, GMP, V or another FC: found 'FC' at character 10. "
        "Pool globally before it, as in GAP-FC(2).\n"
        "  C(16)-MP-FC(2)\n"
        "           ^"
    )
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_network_must_be_a_string():
    with pytest.raises(TypeError, match="a network must be a string: got list"):
        Architecture([C(16)])
