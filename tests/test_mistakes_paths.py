"""Paths that cannot be used and options out of range are answered by a sentence and status 2, like other mistakes."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.test_mistakes import data, edgecond, has, runs, sentence_of, SMALL  # noqa: F401 (fixtures)

LONG = "a" * 5000


@pytest.fixture(autouse=True)
def beside_the_data(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setenv("EDGECOND_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(data)


@pytest.mark.parametrize(
    "words",
    [
        ["train", LONG],
        ["predict", LONG, "shapes"],
        ["evaluate", LONG],
        ["report", LONG],
        ["export", LONG],
        ["table", "1", "--results", LONG],
        ["evaluate", "{}", "--data", LONG],
        ["train", "shapes", *SMALL, "--out", LONG],
        ["predict", "{}", "shapes", "--out", LONG],
    ],
    ids=lambda words: " ".join(words)[:20],
)
def test_a_name_of_5_000_characters_is_an_error(words: list[str], runs: Path):  # noqa: F811
    """Linux has names of at most 255 bytes."""
    answer = edgecond(*(word.format(runs / "shapes") for word in words))

    assert has(sentence_of(answer), "aaa", "File name too long")


@pytest.mark.parametrize(
    ("file", "verb", "fact"),
    [
        ("data.json", ["evaluate", "{}"], "there is none that can be read"),
        ("log.jsonl", ["report", "{}"], "it is a pipe or a device"),
        ("checkpoint.safetensors", ["train", "shapes", *SMALL, "--out", "{}"], "it is a pipe or a device"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_a_pipe_in_the_directory_of_a_run_is_an_error(
    file: str,
    verb: list[str],
    fact: str,
    runs: Path,  # noqa: F811
    tmp_path: Path,
):
    """Reading a pipe that nobody writes to would wait forever."""
    run = Path(shutil.copytree(runs / "shapes", tmp_path / "run"))
    (run / file).unlink()
    os.mkfifo(run / file)

    answer = edgecond(*(word.format(run) for word in verb))

    assert has(sentence_of(answer), run, file, fact)


def test_a_damaged_record_is_an_error(tmp_path: Path):
    (folder := tmp_path / "sydney" / "ecc").mkdir(parents=True)
    record = {"fold": 0, "seed": 0, "epochs": 1, "metrics": {"accuracy": 0.5}}
    for content, facts in (("[]", ["valid dictionary"]), (json.dumps(record), ["the metric f1", "accuracy"])):
        (folder / "fold0-seed0.json").write_text(content)

        assert has(sentence_of(edgecond("table", 1, "--results", tmp_path)), folder / "fold0-seed0.json", *facts)


@pytest.mark.parametrize(
    "option",
    [["--target", "x"], ["--folds", "3"], ["--scaffold"], ["--up", "x"], ["--meshes"], ["--columns", "x=a"]],
    ids=lambda option: option[0],
)
def test_an_option_for_user_data_is_an_error_for_a_named_data_set(option: list[str]):
    """It was ignored."""
    sentence = sentence_of(edgecond("train", "synthetic", *option))

    assert has(sentence, option[0], "your own data", "synthetic", "Leave it out")


@pytest.mark.parametrize(
    ("setting", "facts"),
    [
        ("network=C(99999999999)-GAP-FC(6)", ["at most 268,435,456 weights", "smaller widths"]),
        ("hidden=[1000000000,1000000000]", ["at most 268,435,456 weights", "smaller widths"]),
        (f"network=C({10**30})-GAP-FC(6)", ["larger than any file can hold", "smaller widths"]),
        ("hidden=" + "[" * 3000, ["hidden", "valid tuple"]),
        ("options={points=1000000000}", ["at most 4,194,304 points"]),
        ("options={points=-1}", ["points", "from 0 to 4294967295", "-1"]),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_a_setting_that_needs_too_much_memory_is_an_error_before_it_is_allocated(
    setting: str, facts: list[str], tmp_path: Path
):
    assert has(sentence_of(edgecond("train", "synthetic", "--set", setting, "--out", tmp_path / "run")), *facts)


@pytest.mark.parametrize(
    "words",
    [
        ["train", "shapes", "--workers", "100000"],
        ["predict", "{}", "shapes", "--views", "100000"],
        ["evaluate", "{}", "--views", "100000"],
    ],
    ids=lambda words: words[0],
)
def test_a_number_of_processes_or_views_beyond_reason_is_an_error(words: list[str], runs: Path):  # noqa: F811
    """100,000 processes would be started one by one, each of 300 MB."""
    answer = edgecond(*(word.format(runs / "shapes") for word in words))

    assert answer.exit_code == 2
    assert words[-2] in answer.stderr
