"""What the README shows runs as it stands."""

import re
from pathlib import Path

import pytest
import torch
from torch import nn

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS)
def test_every_block_of_python_runs(block, capsys):
    pyg = pytest.importorskip("torch_geometric.nn")
    given = {
        "nnconv": pyg.NNConv(2, 3, nn.Linear(4, 6)),
        "x": torch.randn(5, 2),
        "edge_index": torch.randint(0, 5, (2, 7)),
        "edge_attr": torch.randn(7, 4),
    }

    exec(block, given)

    assert given["y"].shape in {(5, 3), (3, 32)}


def test_every_verb_that_the_readme_names_exists():
    from edgecond.cli import app

    known = {command.name or command.callback.__name__ for command in app.registered_commands}
    named = {verb for match in re.findall(r"^edgecond (\w+)|`edgecond (\w+)", README, re.MULTILINE) for verb in match}

    assert named - {""}
    assert named - {""} <= known


def test_the_links_of_the_readme_lead_to_files():
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", README) if not link.startswith("http")]

    assert links
    assert all((Path(__file__).parent.parent / link).exists() for link in links)
