"""The package starts fast: the command line answers at once, and importing the layer takes little longer than torch."""

import os
import subprocess
import sys

import pytest

from tests.sentences import mentions

ATTEMPTS = 5  # the best one counts, as the machine may be busy


def python(*arguments: str) -> str:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True).stdout


def test_importing_the_package_imports_neither_torch_nor_numpy():
    code = "import sys, edgecond; print({'torch', 'numpy'} & set(sys.modules), edgecond.__version__)"

    assert python("-c", code).startswith("set() ")


def test_help_answers_within_half_a_second():
    """Processor time is measured, which is elapsed time on an idle machine."""

    def seconds() -> float:
        before = os.times()
        assert "Usage" in python("-m", "edgecond", "--help")
        after = os.times()
        return after.children_user - before.children_user + after.children_system - before.children_system

    assert any(seconds() < 0.5 for _ in range(ATTEMPTS))


@pytest.mark.slow
def test_importing_the_layer_takes_less_than_a_fifth_of_a_second_beyond_torch():
    code = """
import time
import torch
start = time.process_time()
import edgecond
edgecond.ECConv
print(time.process_time() - start)
"""

    assert any(float(python("-c", code)) < 0.2 for _ in range(ATTEMPTS))


def test_public_names_are_found_on_first_use_and_listed():
    code = "import edgecond; print([n for n in edgecond.__all__ if not hasattr(edgecond, n) or n not in dir(edgecond)])"

    assert python("-c", code) == "[]\n"


def test_an_unknown_name_is_an_attribute_error():
    import edgecond

    with mentions("'edgecond'", "'NNConv'", kind=AttributeError):
        edgecond.NNConv  # noqa: B018
