"""What a file of some size may ask for; tests/test_crafted.py checks that readers keep to it."""

from __future__ import annotations

import pytest

from edgecond.data import budget
from edgecond.errors import DataError


def test_a_small_file_may_unpack_to_a_megabyte_and_a_large_one_to_a_hundred_times_its_size():
    assert budget.unpacked(10) == 2**20
    assert budget.unpacked(10**6) == 10**8
    assert budget.unpacked(10**9) == 4 * 2**30
    assert budget.unpacked(10**6, most=5000) == 5000


def test_a_small_file_may_have_a_one_hot_signal_of_128_mebibytes_and_a_large_one_200_bytes_for_each_of_its_own():
    """Half of `CONSTANT` and of `FACTOR`, in numbers of four bytes."""
    assert budget.one_hot(0) == 2**25
    assert budget.one_hot(10**6) == 2**25 + 5 * 10**7


def test_a_data_set_that_is_generated_has_at_most_four_million_points():
    budget.generated("shapes", 2**12, 24)  # 2^12 (24 + 1000) = 2^22

    with pytest.raises(DataError, match=r"at most 4,194,304 points.*4,097 clouds of 24 points"):
        budget.generated("shapes", 2**12 + 1, 24)
