"""Networks of the paper keep their layers when they are adapted to other data."""

from edgecond.data.kinds.networks import adapted


def test_lengths_are_scaled_and_the_last_layer_has_the_outputs():
    network = "C(16)-MP(0.25,0.5)-C(32)-GAP-FC(64)-D(0.2)-FC(14)"

    assert str(adapted(network, 3, unit=2.0)) == "C(16)-MP(0.5,1)-C(32)-GAP-FC(64)-D(0.2)-FC(3)"
    assert str(adapted(network, 3, per_vertex=True)) == "C(16)-MP(0.25,0.5)-C(32)-V-FC(64)-D(0.2)-FC(3)"
    assert str(adapted("C(16)-MP-GMP-FC(2)", 5)) == "C(16)-MP-GMP-FC(5)"
