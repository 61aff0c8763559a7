"""Runs on user data: one test set or all folds, one after the other or in parallel, and a final model of everything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TYPE_CHECKING

import typer

from edgecond.cli.console import echo, users_errors
from edgecond.cli.running import (
    in_parallel,
    is_one_of_many,
    place_for,
    precompute,
    print_kept_evaluation,
    watched,
    words_of,
    written,
)
from edgecond.errors import counted

if TYPE_CHECKING:
    from edgecond.runs.crossvalidation import FoldResult
    from edgecond.runs.run import Trained
    from edgecond.runs.source import Source
    from edgecond.runs.user_data import Dataset, Loaded


@dataclass(frozen=True)
class UserRuns:
    """Runs on user data.

    Attributes:
        source: Where the data are, and how they are read and split.
        loaded: The data.
        epochs: Number of epochs instead of the one that fits the data.
        settings: Other settings, by their dotted names.
        options: Other arguments of `ensemble.train`.
        out: Directory of the runs.
    """

    source: Source
    loaded: Loaded
    epochs: int | None
    settings: Mapping[str, Any]
    options: Mapping[str, Any]
    out: Path

    def dataset(self, fold: int) -> Dataset:
        """Return the data with the test set of a fold."""
        with users_errors():
            split = replace(self.source.split, fold=fold)
            return self.loaded.split(split, epochs=self.epochs, settings=self.settings)

    def one(self) -> None:
        """Train on all but one test set, and print the metrics on it."""
        from edgecond.nn import parallel

        dataset = self.dataset(self.source.split.fold)
        if parallel.rank() == 0 and not is_one_of_many():
            echo("\n".join([*dataset.notes, *dataset.leakage]))
        fold = self.source.split.fold
        trained = self._train(dataset, fold, self.out, f" fold {fold}" if is_one_of_many() else "")
        if parallel.rank() == 0 and not is_one_of_many():
            self._print_validation(dataset, trained)
            print_kept_evaluation(trained, self.out)
            echo(f"The model is in {self.out}; `edgecond report {self.out}` writes a page about it.")

    def folds(self, jobs: int | None, on: str | None, context: Any) -> None:
        """Train and test all folds, and print their metrics, mean and spread.

        Args:
            jobs: Number of processes or tasks at a time, if it was given.
            on: What `--on` names; none for this machine.
            context: The command line, which other processes are given with one fold each.
        """
        from edgecond.nn import parallel
        from edgecond.runs.crossvalidation import fold_directory

        count = self.source.split.folds
        assert count is not None
        first = self.dataset(0)
        if parallel.rank() == 0:
            echo("\n".join([*first.notes, *(f"fold 0, {note}" for note in first.leakage)]))
        if on or (jobs or 1) > 1:
            changes = {"jobs": None, "on": None, "final": False}
            commands = [words_of(context, fold=k, out=fold_directory(self.out, k), **changes) for k in range(count)]
            with place_for(on, jobs, {"--out": self.out}, context) as place:
                precompute(first.recipe, first.train)
                if status := in_parallel(commands, place):
                    raise typer.Exit(status)
        else:
            for fold in range(count):
                dataset = first if fold == 0 else self.dataset(fold)
                self._train(dataset, fold, fold_directory(self.out, fold), f" fold {fold}")
        if parallel.rank() == 0:
            self._print_folds(count)

    def final(self) -> None:
        """Train on everything, apart from what calibrates the model."""
        from edgecond.nn import parallel
        from edgecond.runs import ensemble
        from edgecond.runs.crossvalidation import FINAL
        from edgecond.runs.recipe import with_settings

        dataset, directory = self.dataset(0), self.out / FINAL
        with users_errors():
            recipe = with_settings(dataset.recipe, {"train.patience": None})  # nothing is left to validate on
            train, calibration = self.loaded.everything(self.source.split, recipe.calibration)
        watched(
            f"{recipe.name} final",
            ensemble.train,
            recipe,
            0,
            self.source.split.seed,
            directory=directory,
            parts=(train, train),
            calibration=calibration,
            split="everything",
            compared=True,
            **self.options,
        )
        if parallel.rank() == 0:
            with users_errors():
                replace(self.source, final=True).save(directory)
            used = f"all {len(train)} examples"
            if calibration is not None:
                used = f"{len(train)} examples and calibrated with {len(calibration)}"
            where = "mean of the folds" if self.source.split.folds else "test set"
            echo(
                f"The final model, trained on {used}, is in {directory}. "
                f"No example is left to test it on: its metrics are those of the {where} above."
            )

    def _train(self, dataset: Dataset, fold: int, directory: Path, name: str) -> Trained:
        from edgecond.nn import parallel
        from edgecond.runs import ensemble

        trained = watched(
            f"{dataset.recipe.name}{name}",
            ensemble.train,
            dataset.recipe,
            fold,
            self.source.split.seed,
            directory=directory,
            parts=(dataset.train, dataset.test),
            validation=dataset.validation,
            calibration=dataset.calibration,
            split=dataset.split_digest,
            compared=True,
            **self.options,
        )
        if parallel.rank() == 0:
            with users_errors():
                split = replace(self.source.split, fold=fold)
                replace(self.source, split=split, leakage=dataset.leakage).save(directory)
        return trained

    def _print_validation(self, dataset: Dataset, trained: Trained) -> None:
        if dataset.validation is None:
            return
        model = trained.model
        with users_errors():
            metrics = model.evaluate(dataset.validation, views=1)
        epoch = f"epoch {model.about['epochs']} of {len(trained.history)}"
        echo(f"{epoch} is best on {counted(len(dataset.validation), 'validation example')}: {written(model, metrics)}")

    def _print_folds(self, count: int) -> None:
        """Print the metrics of all folds, and write them and the out-of-fold predictions."""
        from edgecond.runs import crossvalidation
        from edgecond.runs.model import FILE, Model

        results: list[FoldResult] = []
        for fold in range(count):
            dataset = self.dataset(fold)
            with users_errors():
                directory = crossvalidation.fold_directory(self.out, fold)
                model = Model.load(directory)
                results.append(crossvalidation.evaluate_fold(model, dataset, fold))
                model.with_metrics(dataset.test, results[-1].metrics).save(directory / FILE)
            echo(f"fold {fold}, {counted(len(dataset.test), 'test example')}: {written(model, results[-1].metrics)}")
        means, spreads = crossvalidation.summarise(results)
        echo(f"mean of {count} folds: {written(model, means)}")
        echo(f"standard deviation over folds: {written(model, spreads)}")
        with users_errors():
            crossvalidation.write(self.out, results)
        echo(
            f"The models are in {self.out / 'fold0'} to {self.out / f'fold{count - 1}'}, and predictions for all test "
            f"examples in {self.out / crossvalidation.PREDICTIONS}."
        )
