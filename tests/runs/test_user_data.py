"""Data of one's own are recognised by what is in them, divided evenly, and trained from the command line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from typer.testing import CliRunner

from edgecond.cli import app
from edgecond.data.datasets import synthetic
from edgecond.data.kinds import Split
from edgecond.errors import DataError, RecipeError
from edgecond.runs import user_data
from edgecond.runs.model import Model
from edgecond.runs.recipe import find
from tests.data.datasets import tiny
from tests.sentences import mentions, refused

ALCOHOLS = ["C" * n + "O" for n in range(1, 31)]  # solubility falls with the length of the chain


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGECOND_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def clouds(tmp_path: Path) -> Path:
    """Shapes of the synthetic dataset as files, 6 of the first class, 20 of the second and 10 of the third."""
    examples, _ = synthetic.load(train=120, test=6, points=60)
    counts = {0: 6, 1: 20, 2: 10}
    for number, (cloud, y) in enumerate(examples):
        if counts.get(y, 0):
            counts[y] -= 1
            path = tmp_path / "shapes" / examples.classes[y]
            path.mkdir(parents=True, exist_ok=True)
            np.save(path / f"{number}.npy", cloud.positions.numpy())
    return tmp_path / "shapes"


def table(tmp_path: Path, header: str, rows: list[str]) -> Path:
    path = tmp_path / "molecules.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def test_clouds_of_users_are_rotated_in_training_and_seen_from_twelve_orientations(clouds: Path):
    """Section 4.2: 12 orientations vote. The row plus/modelnet10, from which they start, is not rotated."""
    recipe, row = user_data.read(clouds, folds=3).recipe, find("plus/modelnet10")

    assert (recipe.augment.rotate, recipe.orientations, recipe.shape) == (True, 12, False)
    assert (row.augment.rotate, row.orientations) == (False, 1)


def test_a_folder_of_clouds_has_a_network_in_units_of_their_spacing(clouds: Path):
    """Section 4.2: ModelNet10 has the resolutions 1, 2.5 and 7.5 and the radii 2, 7.5 and 22.5, in 32nds."""
    found = user_data.read(clouds, folds=3)

    recipe = found.recipe
    u = recipe.input.resolution
    assert recipe.input.radius == pytest.approx(2 * u)
    lengths = [(pooling.resolution, pooling.radius) for pooling in recipe.network.poolings]
    assert np.array(lengths) == pytest.approx(np.array([(2.5 * u, 7.5 * u), (7.5 * u, 22.5 * u)]), rel=1e-2)
    assert recipe.network.classes == 3
    assert recipe.balanced  # 20 of one class and 6 of another
    assert (len(found.train), len(found.test)) == (24, 12)
    assert sorted(np.bincount(found.test.ys)) == [2, 3, 7] or sorted(np.bincount(found.test.ys)) == [2, 4, 6]


def test_a_column_of_numbers_is_a_quantity_and_one_of_few_words_a_class(tmp_path: Path):
    path = table(
        tmp_path,
        "smiles,logS,kind",
        [f"{smiles},{-0.3 * i + 0.01 * i * i},{'short' if i < 15 else 'long'}" for i, smiles in enumerate(ALCOHOLS)],
    )

    quantity, kind = (user_data.read(path, target=[name]) for name in ("logS", "kind"))

    assert (quantity.recipe.task, kind.recipe.task) == ("regression", "classification")
    assert (quantity.train.classes, kind.train.classes) == (("logS",), ("long", "short"))
    assert quantity.test.ys.shape == (6, 1)
    assert np.bincount(kind.test.ys).tolist() == [3, 3]


def test_a_column_that_is_asked_for_twice_is_predicted_once(tmp_path: Path):
    path = table(tmp_path, "smiles,a,b", [f"{smiles},{i + 0.5},{2 * i}" for i, smiles in enumerate(ALCOHOLS)])

    found = user_data.read(path, target=["b", "a", "b"])
    train, test = found.train, found.test

    assert train.classes == test.classes == ("b", "a")
    assert all(b == 2 * (a - 0.5) for b, a in torch.cat([train.ys, test.ys]).tolist())


def test_several_questions_may_have_blanks(tmp_path: Path):
    path = table(
        tmp_path, "smiles,a,b", [f"{smiles},{i % 2},{'' if i % 3 else 1}" for i, smiles in enumerate(ALCOHOLS)]
    )

    found = user_data.read(path, target=["a", "b"])

    assert (found.recipe.task, found.recipe.network.classes) == ("multilabel", 2)
    assert np.isnan(found.train.ys.numpy()).any()


def test_targets_of_different_kinds_need_a_network_each(tmp_path: Path):
    path = table(tmp_path, "smiles,a,b", [f"{smiles},{i % 2},{i / 7}" for i, smiles in enumerate(ALCOHOLS)])

    with mentions(
        "got a (classes), b (numbers). Train a network for each sort, or ... with --numbers.", kind=DataError
    ):
        user_data.read(path, target=["a", "b"])
    assert user_data.read(path, target=["a", "b"], numbers=True).recipe.task == "regression"


def test_classes_that_are_texts_cannot_be_numbers(tmp_path: Path):
    path = table(tmp_path, "smiles,a,b", [f"{smiles},{'xy'[i % 2]},{i / 7}" for i, smiles in enumerate(ALCOHOLS)])

    with mentions("got a (classes), b (numbers). Train a network for each sort.", kind=DataError):
        user_data.read(path, target=["a", "b"])


def test_molecules_without_a_target_are_neither_trained_on_nor_tested(tmp_path: Path):
    """Arithmetic: of thirty molecules two are left out, of the others a fifth is tested."""
    answers = ["," if i in (4, 7) else f"{i % 2},{i / 7}" for i in range(30)]
    rows = [f"{smiles},{answer}" for smiles, answer in zip(ALCOHOLS, answers, strict=True)]
    path = table(tmp_path, "smiles,a,logS", rows)

    for target in ("a", "logS"):
        found = user_data.read(path, target=[target])
        assert len(found.train) + len(found.test) == 28
        assert found.notes[:3] == (
            "28 molecules; 2 rows skipped",
            f"skipped: row 6: column '{target}' is blank.",
            f"skipped: row 9: column '{target}' is blank.",
        )
        assert not torch.cat([found.train.ys, found.test.ys]).isnan().any()


def test_a_graph_without_a_class_is_named_by_its_number(tmp_path: Path):
    """A batch has graphs, numbered as PyG numbers them, and neither molecules nor rows."""
    y = torch.tensor([0.0, 1.0, 0.0, torch.nan, 1.0])
    path = tiny.pairs(tmp_path / "graphs.safetensors", 5, y=y)

    with refused(
        f"{path}, y must have a class for every graph: that of graph 3, counted from 0, is "
        "NaN. Remove such graphs from the batch.",
        DataError,
    ):
        user_data.read(path)


def test_what_is_not_there_and_a_fold_too_many_are_refused(tmp_path: Path):
    with pytest.raises(DataError, match=r"none must be a folder, or a \.csv, .* file: it does not exist"):
        user_data.read(tmp_path / "none")
    with pytest.raises(DataError, match=r"numbered from 0 to 4: got 5\."):
        user_data.read(tmp_path, fold=5)


def test_tu_files_are_recognised_in_a_folder_and_in_a_zip(tmp_path: Path):
    """The tiny dataset has one graph of each class, too few to divide: that is what all say."""
    folder = tiny.write(tmp_path)
    packed = tiny.pack(folder)
    loud = packed.rename(packed.with_name(packed.name.upper()))
    for path in (folder, tiny.pack(folder), loud):
        with refused(
            "2 folds, one of which is the test set, need at least 2 examples of each class: found 1 of -1. "
            "Ask for fewer folds, or add examples.",
            DataError,
        ):
            user_data.read(path, folds=2)


def invoked(*words: str) -> str:
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == 0, result.output
    return result.output


def test_clouds_go_from_files_to_figures(clouds: Path, tmp_path: Path):
    run = str(tmp_path / "run")

    trained = invoked("train", str(clouds), "--folds", "3", "--fold", "0", "--epochs", "2", "--out", run)
    evaluated = invoked("evaluate", run)

    assert "36 clouds in 3 classes" in trained
    assert "rare classes count as much as frequent ones" in trained
    assert trained.splitlines()[-2] == evaluated.splitlines()[-1]
    assert evaluated.splitlines()[-2].startswith("12 test examples: f1 ")
    assert evaluated.splitlines()[-1].startswith("(mean scores of 12 views; ")


def test_molecules_go_from_a_table_to_figures(tmp_path: Path):
    path = table(tmp_path, "smiles,logS", [*[f"{s},{-0.3 * len(s)}" for s in ALCOHOLS], "C1CC,7"])
    run = str(tmp_path / "run")

    trained = invoked("train", str(path), "--target", "logS", "--epochs", "4", "--out", run)
    evaluated = invoked("evaluate", run)

    assert "30 molecules; 1 rows skipped" in trained
    assert "skipped: row 32: " in trained
    assert trained.splitlines()[-2] == evaluated.splitlines()[-1]
    assert evaluated.splitlines()[-1].startswith("6 test examples: rmse ")


def test_one_unreadable_file_among_many_is_reported_and_does_not_stop_the_rest(clouds: Path, tmp_path: Path):
    run = str(tmp_path / "run")
    invoked("train", str(clouds), "--folds", "3", "--fold", "0", "--epochs", "1", "--out", run)
    broken = clouds / "broken.npy"
    broken.write_bytes(b"no array")

    result = CliRunner().invoke(app, ["predict", run, str(clouds), "--probabilities"])

    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert result.exit_code == 1
    assert f"{broken} cannot be read: " in result.stderr
    assert len(rows) == 36
    for row in rows:
        chances = {name[2:-1]: float(p) for name, p in row.items() if name.startswith("p(")}
        assert sum(chances.values()) == pytest.approx(1, abs=1e-3)
        assert row["class"] == max(chances, key=chances.__getitem__)


def test_quantities_of_new_molecules_are_predicted_in_their_units(tmp_path: Path):
    """Trained on values around 1000, even a few steps predict some; a row that is no molecule is reported."""
    path = table(tmp_path, "smiles,weight", [f"{s},{1000 + len(s)}" for s in ALCOHOLS])
    new = tmp_path / "new.csv"
    new.write_text("name,SMILES\none,CCO\nnothing,C1CC\ntwo,CCCCCCN\n")
    run = str(tmp_path / "run")
    invoked("train", str(path), "--target", "weight", "--epochs", "2", "--out", run)

    result = CliRunner().invoke(app, ["predict", run, str(new), "--json"])

    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 1
    assert f"{new}, row 3: " in result.stderr
    assert [(row["row"], row["smiles"]) for row in rows] == [(2, "CCO"), (4, "CCCCCCN")]
    assert all(900 < row["weight"] < 1100 for row in rows)


def test_what_is_in_one_group_is_not_divided(tmp_path: Path):
    """Thirty molecules of ten laboratories: five folds of two laboratories each."""
    path = table(tmp_path, "smiles,logS,laboratory", [f"{s},{i / 7},lab{i % 10}" for i, s in enumerate(ALCOHOLS)])

    tests = [user_data.read(path, target=["logS"], group="laboratory", fold=fold).test.numbers for fold in range(5)]

    assert all(len(numbers) == 6 and len({number % 10 for number in numbers}) == 2 for numbers in tests)
    assert sorted(np.concatenate(tests).tolist()) == list(range(30))
    with pytest.raises(DataError, match="by scaffold or by group: got both"):
        user_data.read(path, target=["logS"], group="laboratory", scaffold=True)


def test_every_setting_can_be_set_by_its_name(clouds: Path):
    found = user_data.read(
        clouds, folds=3, epochs=20, settings={"train.learning_rate": 0.03, "augment.drop": 0.0, "balanced": False}
    )

    assert found.recipe.train.learning_rate == 0.03
    assert found.recipe.augment.drop == 0
    assert not found.recipe.balanced
    assert (found.recipe.train.epochs, found.recipe.train.schedule) == (20, "cosine")
    with pytest.raises(RecipeError, match=r"got 'train\.learning_rat'\. Did you mean train\.learning_rate"):
        user_data.read(clouds, folds=3, settings={"train.learning_rat": 1})


def test_tensors_of_a_batch_go_from_a_file_to_figures(tmp_path: Path):
    """Rings and paths of six vertices, told apart by a closing edge; attributes of edges are learned from."""
    edges, count = [], 30
    for number in range(count):
        ends = [(i, i + 1) for i in range(5)] + ([(5, 0)] if number % 2 else [])
        edges += [(6 * number + a, 6 * number + b) for i, j in ends for a, b in ((i, j), (j, i))]
    tensors = {
        "edge_index": torch.tensor(edges).T.contiguous(),
        "edge_attr": torch.rand(len(edges), 2),
        "ptr": torch.arange(0, 6 * count + 1, 6),
        "y": torch.arange(count) % 2,
    }
    save_file(tensors, tmp_path / "rings.safetensors")
    run = str(tmp_path / "run")

    trained = invoked("train", str(tmp_path / "rings.safetensors"), "--epochs", "2", "--out", run)

    assert "30 graphs, mean |V| 6.00" in trained
    assert "24 training examples, 6 test examples" in trained
    assert ", accuracy " in invoked("evaluate", run).splitlines()[-1]


def test_data_that_were_moved_are_asked_for_and_can_be_named(clouds: Path, tmp_path: Path):
    """A run remembers where its data were; a model file alone does not."""
    run = tmp_path / "run"
    trained = invoked("train", str(clouds), "--folds", "3", "--fold", "0", "--epochs", "1", "--out", str(run))
    clouds.rename(tmp_path / "elsewhere")

    for verb in ("evaluate", "report"):
        lost = CliRunner().invoke(app, [verb, str(run)])
        assert lost.exit_code == 2
        assert f"{clouds} does not exist" in lost.stderr
        assert lost.stderr.endswith("name their new place with --data.\n")
    alone = CliRunner().invoke(app, ["evaluate", str(run / "model.safetensors")])
    assert alone.exit_code == 2
    assert "must be the directory of a run" in alone.stderr
    found = invoked("evaluate", str(run), "--data", str(tmp_path / "elsewhere"))
    assert found.splitlines()[-1] == trained.splitlines()[-2]
    assert "f1_legacy" not in found  # which is the paper's for Sydney alone


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"path": 5}', '{"path": "x", "import": "os"}', '{"path": "x", "folds": "many"}', "\xff"]
)
def test_a_run_that_says_nonsense_of_its_data_gives_a_sentence(clouds: Path, tmp_path: Path, text: str):
    run = tmp_path / "run"
    run.mkdir()
    recipe = user_data.read(clouds, folds=3).recipe
    Model.new(recipe, user_data.read(clouds, folds=3).train, 0).save(run / "model.safetensors")
    (run / "data.json").write_text(text, "latin-1")

    result = CliRunner().invoke(app, ["evaluate", str(run)])

    assert result.exit_code == 2
    assert isinstance(result.exception, SystemExit)
    assert result.stderr.startswith(str(run))


def test_everything_is_trained_on_apart_from_a_calibration_set(tmp_path: Path):
    """Arithmetic: of thirty alcohols, in six groups of five, a fifth is one group or more, and none is divided."""
    rows = [f"{smiles},{-len(smiles) / 7},batch{number // 5}" for number, smiles in enumerate(ALCOHOLS)]
    dataset = user_data.read(table(tmp_path, "smiles,logS,batch", rows), target=("logS",), group="batch")
    how = Split(seed=3)

    whole, none = dataset.loaded.everything(how, 0.0)
    train, calibration = dataset.loaded.everything(how, 0.2)

    assert (whole, none) == (dataset.everything, None)
    assert sorted([*train.numbers, *calibration.numbers]) == list(range(30))
    assert len({number // 5 for number in calibration.numbers.tolist()}) * 5 == len(calibration) > 0
