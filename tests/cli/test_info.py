"""The verb `info`."""

import torch
from typer.testing import CliRunner

from edgecond import __version__
from edgecond.cli import app
from edgecond.nn import kernels


def test_versions_and_kernels_are_printed():
    result = CliRunner().invoke(app, ["info"])

    facts = dict(line.split(maxsplit=1) for line in result.output.splitlines())
    assert facts["edgecond"] == __version__
    assert facts["torch"] == torch.__version__
    assert facts["kernels"] == (f"C++, {kernels.instruction_set()}" if kernels.available() else "torch")
    assert facts["threads"] == str(torch.get_num_threads())
