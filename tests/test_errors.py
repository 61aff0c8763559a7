"""Every error of the package can be caught by one name, and an unknown name gets a suggestion."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

import edgecond
from edgecond.errors import counted, did_you_mean, EdgecondError

ROOT = Path(edgecond.__file__).parent


def exceptions() -> list[tuple[str, str]]:
    """Module and name of each class in the package that is raised somewhere and ends in Error, or stops a run."""
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        module = ".".join(("edgecond", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and node.name.endswith(("Error", "Exception", "Interrupted")):
                found.append((module, node.name))
    return found


@pytest.mark.parametrize(("module", "name"), exceptions())
def test_every_exception_is_an_edgecond_error(module: str, name: str):
    assert issubclass(getattr(import_module(module), name), EdgecondError)


def test_a_name_in_other_letters_is_suggested_as_it_is_written():
    assert did_you_mean("LOGP", ["logP", "smiles"]) == " Did you mean logP?"


def test_where_nothing_is_similar_the_names_are_listed_or_nothing_is_said():
    """By hand: `cora` shares no two letters in a row with either name."""
    assert did_you_mean("cora", ["sydney", "mnist"]) == " Known names: sydney, mnist."
    assert did_you_mean("cora", ["sydney", "mnist"], list_known=False) == ""
    assert did_you_mean("cora", []) == ""


@pytest.mark.parametrize(("number", "text"), [(0, "0 files"), (1, "1 file"), (2, "2 files"), (1200, "1200 files")])
def test_one_is_singular(number: int, text: str):
    assert counted(number, "file") == text
