"""What finds neighbours in a test: cells and trees in C++, or scipy's trees."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from edgecond.data.pyramid import cells as native


@contextmanager
def running_on(engine: str) -> Iterator[None]:
    """Search with the C++ extension ("cells") or with scipy."""
    if engine == "cells" and native._extension is None:
        pytest.skip("this machine has no C++ extension")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "_extension", native._extension if engine == "cells" else None)
        yield
