"""The verb `push`."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from edgecond.cli import app
from edgecond.runs import hub

run = CliRunner().invoke


@pytest.mark.parametrize("words", [[], ["--public"]])
def test_a_model_is_pushed_as_a_private_one_by_default(words: list[str], monkeypatch: pytest.MonkeyPatch):
    asked = []

    def push(path: Path, repository: str, *, private: bool) -> str:
        asked.append((str(path), repository, private))
        return "https://example.org/commit"

    monkeypatch.setattr(hub, "push", push)

    result = run(app, ["push", "runs/x", "me/model", *words])

    assert asked == [("runs/x", "me/model", not words)]
    assert result.stdout == "The model is at https://example.org/commit.\n"


def test_a_path_that_is_no_model_is_one_sentence(tmp_path: Path):
    pytest.importorskip("huggingface_hub")

    result = run(app, ["push", str(tmp_path), "me/model"])

    assert result.exit_code == 2
    assert "must be a model file" in result.stderr
