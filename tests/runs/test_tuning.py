"""A search is shared and resumed, compares trials on validation data alone, and is never worse than the default."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgecond.data.kinds import Range, ReadOptions, Split
from edgecond.errors import CheckpointError, DataError, RecipeError
from edgecond.runs import tuning, user_data
from edgecond.runs.run import Interrupted
from edgecond.runs.settings_file import read_settings
from tests.sentences import mentions

pytest.importorskip("optuna")
pytest.importorskip("rdkit")
NETWORK = "C(4)-GAP-FC(1)"
SETTINGS = {"network": NETWORK, "hidden": [4], "train.epochs": 4, "train.batch_size": 8}
SPACE = {"train.learning_rate": Range(1e-4, 1e-1, log=True), "dropout": Range(0.0, 0.5)}


def molecules(directory: Path, *, of_test: float = 0.0) -> tuning.Problem:
    """Chains of carbon whose target is their length, and `of_test` for the molecules of the test set."""
    split = Split()
    names = ["C" * length + end for length in range(1, 21) for end in ("O", "N")]

    def load(extra: np.ndarray) -> user_data.Loaded:
        rows = [f"{name},{len(name) / 3 + more}" for name, more in zip(names, extra, strict=True)]
        (directory / "chains.csv").write_text("\n".join(["smiles,length", *rows]) + "\n")
        return user_data.load(directory / "chains.csv", ReadOptions(target=("length",)), split)

    test = load(np.zeros(len(names))).split(split).parts.test
    extra = np.zeros(len(names))
    extra[test] = of_test
    return tuning.problem(load(extra), split, settings=SETTINGS, space=SPACE)


def study(directory: Path, **options) -> tuning.Study:
    return tuning.Study(directory / "study", molecules(directory, **options))


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> tuning.Study:
    """A study of four trials."""
    found = study(tmp_path_factory.mktemp("search"))
    found.optimise(4)
    return found


def test_the_first_trial_is_the_default_and_the_best_is_never_worse(search: tuning.Study):
    default, *others = search.outcomes()
    recipe = search.problem.recipe
    assert default.is_default
    assert default.settings == {"train.learning_rate": recipe.train.learning_rate, "dropout": recipe.dropout}
    assert len(others) == 3
    assert not any(other.is_default for other in others)
    assert search.best().value == min(trial.value for trial in search.outcomes() if trial.value is not None)
    assert search.best().value <= default.value


def test_the_best_recipe_is_a_file_that_a_training_takes(search: tuning.Study):
    settings = read_settings(search.write_recipe())

    assert settings == search.best().settings
    assert settings.keys() == SPACE.keys()


def test_the_value_of_a_trial_is_the_metric_of_its_last_epoch(search: tuning.Study):
    """The model of a recipe without a validation set is that of the last epoch, so that no epoch is chosen here."""
    outcome = search.outcomes()[0]

    assert list(outcome.curve) == [25, 50, 75, 100]
    assert outcome.value == outcome.curve[100]


def test_targets_of_the_test_set_take_no_part(search: tuning.Study, tmp_path: Path):
    """The same trials have the same metrics, whatever is to be predicted on the test set."""
    other = study(tmp_path, of_test=1000.0)
    other.optimise(2)

    assert search.problem.folds[0][0].digest != other.problem.folds[0][0].digest
    assert [trial.value for trial in search.outcomes()[:2]] == [trial.value for trial in other.outcomes()]


def test_the_test_set_is_that_of_a_training(tmp_path: Path):
    problem = molecules(tmp_path)
    trained = user_data.read(tmp_path / "chains.csv", target=("length",))

    ((train, validation),) = problem.folds

    seen = np.union1d(train.numbers, validation.numbers)
    assert np.array_equal(seen, trained.parts.train)
    assert len(validation) == round(tuning.VALIDATION * len(seen))


def stop_after(steps: int):
    left = [steps]

    def observe(step, batches, epochs) -> bool:
        left[0] -= 1
        return left[0] > 0

    return observe


def test_a_trial_that_was_interrupted_is_resumed_by_the_next_process(tmp_path: Path):
    search = study(tmp_path)
    search.claim(2).run()
    interrupted = search.claim(2)
    with pytest.raises(Interrupted):
        interrupted.run(observe=stop_after(9))

    resumed = tuning.Study(tmp_path / "study", search.problem)
    claim = resumed.claim(2)

    assert (claim.number, claim.settings) == (interrupted.number, interrupted.settings)
    steps = []
    claim.run(observe=lambda step, *_: steps.append(step) or True)
    assert steps[0].epoch > 0  # from its checkpoint
    assert resumed.claim(2) is None
    assert [trial.number for trial in resumed.outcomes()] == [0, 1]


def test_two_processes_never_run_the_same_trial(tmp_path: Path):
    one, other = study(tmp_path), study(tmp_path)

    first, second = one.claim(3), other.claim(3)

    assert (first.number, second.number) == (0, 1)
    first.run()
    third = other.claim(3)
    assert third.number == 2
    assert one.claim(3) is None  # the others are running


def test_trials_differ_and_the_same_seed_gives_the_same_ones(search: tuning.Study, tmp_path: Path):
    again = study(tmp_path)
    again.optimise(3)

    tried, repeated = ([trial.settings for trial in each.outcomes()] for each in (search, again))

    assert tried[:3] == repeated
    assert tried[1] != tried[2]


def test_a_trial_that_is_worse_than_most_others_ends_early_and_the_default_does_not(tmp_path: Path, monkeypatch):
    search = study(tmp_path)
    for _ in range(tuning.STARTUP + 1):
        search.claim(100).run()
    measured = [trial for trial in search.outcomes() if trial.value is not None]
    assert len(measured) >= tuning.STARTUP
    monkeypatch.setattr(tuning.Claim, "settings", {"train.learning_rate": 1e-9, "dropout": 0.0})  # which learns nothing

    bad = search.claim(100).run()

    assert bad.value is None
    assert 0 < max(bad.curve) < 100
    assert search.best().value < bad.curve[max(bad.curve)]


def test_a_trial_that_diverges_counts_and_has_its_reason(tmp_path: Path, monkeypatch):
    search = study(tmp_path)
    search.claim(2).run()
    monkeypatch.setattr(tuning.Claim, "settings", {"train.batch_size": -1})

    failed = search.claim(2).run()

    assert failed.value is None
    assert "batch_size" in failed.reason
    assert search.claim(2) is None
    assert search.best().is_default


def test_a_study_is_resumed_with_the_same_data_and_space_only(tmp_path: Path):
    search = study(tmp_path)
    search.claim(1).run()
    narrower = tuning.Problem(search.problem.recipe, {"dropout": Range(0.0, 0.1)}, search.problem.folds, "")

    with mentions("study", "same data, settings and space", "space, split", "another directory", kind=CheckpointError):
        tuning.Study(tmp_path / "study", narrower)


def test_inner_folds_cover_the_training_set_once(tmp_path: Path):
    whole = molecules(tmp_path)
    loaded = user_data.load(tmp_path / "chains.csv", ReadOptions(target=("length",)), Split())

    problem = tuning.problem(loaded, Split(), settings=SETTINGS, space=SPACE, inner_folds=3)

    held = np.concatenate([validation.numbers for _, validation in problem.folds])
    everything = np.union1d(whole.folds[0][0].numbers, whole.folds[0][1].numbers)
    assert np.array_equal(np.sort(held), everything)
    for train, validation in problem.folds:
        assert not np.intersect1d(train.numbers, validation.numbers).size
        assert len(train) + len(validation) == len(everything)


def test_a_trial_on_inner_folds_has_their_mean(tmp_path: Path):
    molecules(tmp_path)
    loaded = user_data.load(tmp_path / "chains.csv", ReadOptions(target=("length",)), Split())
    problem = tuning.problem(loaded, Split(), settings=SETTINGS, space=SPACE, inner_folds=2)

    outcome = tuning.Study(tmp_path / "study", problem).claim(1).run()

    singles = [
        tuning.Study(tmp_path / f"fold{number}", tuning.Problem(problem.recipe, SPACE, [fold], problem.digest))
        for number, fold in enumerate(problem.folds)
    ]
    assert outcome.value == pytest.approx(np.mean([search.claim(1).run().value for search in singles]))


@pytest.mark.parametrize(
    ("space", "words"),
    [
        ({"train.rate": (0.1,)}, ["train.rate", "train.learning_rate"]),
        ({"dropout": Range(0.5, 0.9)}, ["dropout", "default, 0.05", "from 0.5 to 0.9"]),
        ({"hidden": ([16],)}, ["at least one setting"]),  # which SETTINGS fix
    ],
)
def test_a_space_that_does_not_fit_is_refused(tmp_path: Path, space, words):
    molecules(tmp_path)
    loaded = user_data.load(tmp_path / "chains.csv", ReadOptions(target=("length",)), Split())

    with mentions(*words, kind=RecipeError):
        tuning.problem(loaded, Split(), settings=SETTINGS, space=space)


def test_folds_and_a_validation_set_exclude_each_other(tmp_path: Path):
    molecules(tmp_path)
    split = Split(share=0.1)
    loaded = user_data.load(tmp_path / "chains.csv", ReadOptions(target=("length",)), split)

    with mentions("validation set", "Leave one out", kind=DataError):
        tuning.problem(loaded, split, space=SPACE, inner_folds=3)
