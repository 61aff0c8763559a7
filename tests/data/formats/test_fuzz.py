"""Whatever the bytes of a file: reading gives points, or an error that names the file, and nothing else.

`tests/test_fuzz.py` damages a file of every format.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from edgecond.data.formats import ENDINGS
from tests.data.formats.files import every_kind
from tests.fuzzing import MUTATIONS
from tests.readers import points

KINDS = every_kind()


@pytest.mark.parametrize("ending", ENDINGS)
def test_random_bytes_give_points_or_an_error(tmp_path: Path, ending: str):
    for number in range(MUTATIONS):
        random = Random(number)
        (tmp_path / f"random{ending}").write_bytes(random.randbytes(random.randint(0, 300)))

        points(tmp_path / f"random{ending}")


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_cut_anywhere_gives_points_or_an_error(tmp_path: Path, kind: str):
    ending, data = KINDS[kind]
    for length in range(0, len(data), max(1, len(data) // 60)):
        (tmp_path / f"cut{ending}").write_bytes(data[:length])

        points(tmp_path / f"cut{ending}")
