"""Training with a weight for each row of a table: `edgecond train --weights COLUMN`."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from edgecond.cli import app
from edgecond.runs.model import Model
from tests.sentences import mentions

pytest.importorskip("rdkit")
run = CliRunner().invoke
SETTINGS = ["--target", "k", "--epochs", "1", "--set", "network=C(4)-GAP-FC(4)-FC(1)"]


def table(path: Path, targets: list[float], weights: list[object]) -> Path:
    rows = [f"{'C' * (1 + n % 9)}O,{k},{w}" for n, (k, w) in enumerate(zip(targets, weights, strict=True))]
    path.write_text("smiles,k,w\n" + "\n".join(rows) + "\n")
    return path


def trained(data: Path, out: Path, *words: str) -> str:
    result = run(app, ["train", str(data), *SETTINGS, *words, "--out", str(out)])
    assert result.exit_code == 0, result.output
    return result.output


def test_rows_of_weight_0_are_not_learned_from(tmp_path: Path):
    """Two of them swap their targets, which leaves mean and scale of all targets: the same network comes out."""
    weights = [0.0 if n % 4 == 3 else 1.5 for n in range(40)]
    targets = [float(n) for n in range(40)]
    swapped = targets.copy()
    swapped[3], swapped[7] = targets[7], targets[3]
    test = table(tmp_path / "test.csv", targets[:3], weights[:3])
    networks = []
    for number, each in enumerate((targets, swapped)):
        data = table(tmp_path / f"rates{number}.csv", each, weights)
        trained(data, tmp_path / str(number), "--weights", "w", "--numbers", "--test", str(test))
        networks.append(Model.load(tmp_path / str(number)).network.state_dict())

    assert all(networks[0][name].equal(networks[1][name]) for name in networks[0])


def test_a_run_is_resumed_with_the_same_weights_only(tmp_path: Path):
    data = table(tmp_path / "rates.csv", [n * 0.37 for n in range(40)], [1 + n % 2 for n in range(40)])
    trained(data, tmp_path / "run", "--weights", "w")

    result = run(app, ["train", str(data), *SETTINGS, "--out", str(tmp_path / "run")])

    assert result.exit_code == 2
    assert mentions(result.output, "same settings", "it differs in weights", "--restart")


@pytest.mark.parametrize(
    ("weight", "message"),
    [("", "found '' in row 3"), ("heavy", "found 'heavy' in row 3"), ("-1", "found '-1' in row 3")],
)
def test_a_wrong_weight_is_named_with_its_row(tmp_path: Path, weight: str, message: str):
    data = table(tmp_path / "rates.csv", [1.0, 2.0, 3.0], [1, weight, 1])

    result = run(app, ["train", str(data), *SETTINGS, "--weights", "w", "--out", str(tmp_path / "run")])

    assert result.exit_code == 2
    assert mentions(result.output, "column 'w' must hold a weight of at least 0 in each row", message)


def test_weights_are_for_tables(tmp_path: Path):
    result = run(app, ["train", "sydney", "--weights", "w", "--out", str(tmp_path / "run")])

    assert result.exit_code == 2
    assert mentions(result.output, "--weights is an option for your own data")
