"""The verb `pull`."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from edgecond.cli import app
from edgecond.runs import hub
from edgecond.runs.model import Model

run = CliRunner().invoke


def test_a_model_is_pulled_into_a_directory_of_its_name(trained: tuple[Path, str], monkeypatch: pytest.MonkeyPatch):
    asked = []

    def pull(repository: str, to: Path, **options: Any) -> Model:
        asked.append((repository, to, options))
        return Model.load(trained[0])

    monkeypatch.setattr(hub, "pull", pull)

    result = run(app, ["pull", "me/model", "--revision", "v1"])

    assert asked == [("me/model", Path("models/me/model"), {"revision": "v1"})]
    assert "`edgecond models models/me/model` prints its card" in result.stdout
