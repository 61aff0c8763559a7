"""The tests mirror the source, and the package has few enough names to be read with `ls` ."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src/edgecond"
BENCHMARKS = TESTS.parent / "benchmarks"

TESTED_ELSEWHERE = {  # modules, and packages whose modules are tested together
    "__main__.py": "test_startup.py runs `python -m edgecond`",
    "data/kinds/base.py": "an interface: every kind is tested",
    "data/kinds/reading.py": "values: every kind is read, and runs/test_source.py keeps every option",
    "data/kinds/pictures.py": "values: report/test_drawings.py draws them",
    "data/preparation/base.py": "an interface: every preparation is tested",
    "nn/convolution/aggregation": "nn/convolution tests every aggregation with every algorithm",
    "nn/convolution/algorithm.py": "an interface: every algorithm is tested",
    "nn/convolution/diagonal.py": "nn/layers tests diagonal filters",
    "nn/kernels": "nn/kernels/test_init.py compares the backends with each other",
    "nn/nnconv.py": "nn/layers/test_nnconv.py converts layers",
    "nn/optimizers": "nn/test_optimizers.py tests every optimizer",
    "nn/schedules": "nn/test_schedules.py tests every schedule",
    "nn/tasks/findings.py": "values: report/test_contents.py shows them",
}
ABOUT_WHOLE_PACKAGES = {  # tests that are not about a single module
    "data/formats/test_fuzz.py": "random bytes for every format",
    "estimator/test_checks.py": "scikit-learn's checks of estimators",
    "estimator/test_multilabel.py": "classifiers of several labels",
    "paper": "one file per claim of the paper",
    "report/test_browser.py": "a report in a browser",
    "runs/test_resume.py": "interrupted and resumed runs",
}


def mirrored_tests(module: Path, tests: Path) -> set[Path]:
    """Find the tests of A/B.py: A/test_B.py, A/test_B_TOPIC.py and those in the folder A/B.

    Those of the package A/B are A/B/test_init.py, A/test_B.py and A/test_B_TOPIC.py.
    """
    if module.name != "__init__.py":
        folder, name = tests / module.parent, module.stem.lstrip("_")
        inside = (folder / module.stem).rglob("test_*.py")
    elif module.parent.name:
        folder, name = tests / module.parent.parent, module.parent.name
        inside = (folder / name).glob("test_init.py")
    else:
        return set(tests.glob("test_init.py"))
    return {*folder.glob(f"test_{name}.py"), *folder.glob(f"test_{name}_*.py"), *inside}


def without_tests(source: Path, tests: Path) -> set[Path]:
    """Find the modules that have no tests; a package may also be tested by any test in its folder."""
    modules = {path.relative_to(source) for path in source.rglob("*.py")}
    return {
        module
        for module in modules
        if not mirrored_tests(module, tests)
        and not (module.name == "__init__.py" and module.parent.name and any((tests / module.parent).glob("test_*.py")))
    }


def without_source(source: Path, tests: Path) -> set[Path]:
    """Find the tests in sub-folders that are not about a module at the mirrored place."""
    mirrored = {test for path in source.rglob("*.py") for test in mirrored_tests(path.relative_to(source), tests)}
    return {path.relative_to(tests) for path in set(tests.glob("*/**/test_*.py")) - mirrored}


def unlisted(paths: Iterable[Path], entries: Iterable[str]) -> list[str]:
    """Return the paths that neither are entries nor lie within one."""
    return sorted(str(path) for path in paths if not {path.as_posix(), *map(Path.as_posix, path.parents)} & {*entries})


def unneeded(entries: Iterable[str], paths: set[Path]) -> list[str]:
    """Return the entries that exempt none of the paths."""
    return [entry for entry in entries if not any(path.is_relative_to(entry) for path in paths)]


def test_every_module_has_tests_at_the_mirrored_place():
    """Write the missing test, or say in TESTED_ELSEWHERE where the module is tested."""
    assert unlisted(without_tests(SOURCE, TESTS), TESTED_ELSEWHERE) == []


def test_every_test_has_its_source_at_the_mirrored_place():
    """Tests at the root of tests/ are about the whole; those of benchmarks mirror the folder of that name."""
    strays = {path for path in without_source(SOURCE, TESTS) if path.parts[0] != BENCHMARKS.name}

    assert unlisted(strays, ABOUT_WHOLE_PACKAGES) == []
    benchmarks = [path.name.removeprefix("test_") for path in (TESTS / BENCHMARKS.name).glob("test_*.py")]
    assert [name for name in benchmarks if not (BENCHMARKS / name).is_file()] == []


def test_every_exception_is_needed():
    """An entry for a module that has moved, or that has its own test by now, is to be deleted."""
    assert unneeded(TESTED_ELSEWHERE, without_tests(SOURCE, TESTS)) == []
    assert unneeded(ABOUT_WHOLE_PACKAGES, without_source(SOURCE, TESTS)) == []


def test_a_module_without_tests_and_a_test_without_source_are_found(tmp_path: Path):
    """By hand, with every place at which tests may be."""
    source, tests = tmp_path / "src", tmp_path / "tests"
    modules = ["__init__.py", "a.py", "b/__init__.py", "b/c.py", "b/_d.py", "b/e.py", "f/__init__.py", "f/g.py"]
    files = [
        "test_init.py",
        "test_a_errors.py",
        "b/test_c.py",
        "b/test_d.py",
        "b/e/test_x.py",
        "test_f.py",
        "b/test_y.py",
    ]
    for path in [*(source / name for name in modules), *(tests / name for name in files)]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    assert without_tests(source, tests) == {Path("f/g.py")}
    assert without_source(source, tests) == {Path("b/test_y.py")}


def test_the_package_shows_at_most_16_names():
    """CONTRIBUTING.md: a hall, two wings, a roof, and you can see it with `ls`."""
    folders = {path.parent for path in SOURCE.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    names = {path.name for path in SOURCE.iterdir() if path.is_file() or any(f.is_relative_to(path) for f in folders)}

    assert len(names) <= 16, sorted(names)
