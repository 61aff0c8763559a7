"""The backends of the neighbour search: the C++ extension and scipy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from edgecond.data.pyramid import cells


@contextmanager
def using(backend: str) -> Iterator[None]:
    """Search with the C++ extension ("cpp") or with scipy ("scipy")."""
    if backend == "cpp" and cells._extension is None:
        pytest.skip("the C++ extension is not built")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells, "_extension", cells._extension if backend == "cpp" else None)
        yield
