"""The package imports fast, and every public name resolves."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import edgecond


def test_importing_the_package_imports_no_torch():
    """`import edgecond` and `edgecond --help` must answer at once; torch alone takes a second or more."""
    code = "import sys, edgecond; print({'torch', 'numpy', 'jaxtyping'} & set(sys.modules))"

    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert answer.stdout == "set()\n"


@pytest.mark.parametrize("name", edgecond.__all__)
def test_every_public_name_resolves(name: str):
    """A name is imported on its first use, and is what its module defines."""
    value = getattr(edgecond, name)

    if name != "__version__":
        assert value is getattr(import_module(edgecond._MODULE_OF[name]), name)
    assert name in dir(edgecond)


def test_the_names_that_type_checkers_see_are_the_public_names():
    """The imports under TYPE_CHECKING are never run; this compares them with those that are."""
    tree = ast.parse(Path(edgecond.__file__).read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module != "importlib"]

    seen = {name.name: node.module for node in imports for name in node.names if node.module != "typing"}

    assert seen == edgecond._MODULE_OF


def test_a_name_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"^module 'edgecond' has no attribute 'NNConv'$"):
        _ = edgecond.NNConv
