"""Models are pushed to a server that answers as the Hub does, and pulled from it, byte by byte."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgecond.errors import CheckpointError
from edgecond.runs import hub
from edgecond.runs.model import Model
from tests.runs.hub_server import fake_hub, FakeHub

MODEL = Path(__file__).parents[1] / "fixtures" / "clouds-1.safetensors"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_IMPLICIT_TOKEN", True)
    with fake_hub() as server:
        yield server


def test_a_model_that_was_pushed_is_pulled_byte_by_byte_with_its_card(server: FakeHub, tmp_path: Path):
    address = hub.push(MODEL, "me/model", endpoint=server.url)
    model = hub.pull("me/model", tmp_path / "pulled", endpoint=server.url)

    assert address.startswith(f"{server.url}/me/model/commit/")
    assert (tmp_path / "pulled" / "model.safetensors").read_bytes() == MODEL.read_bytes()
    assert model.classes == Model.load(MODEL).classes
    card = server.files["README.md"].decode()
    assert card.startswith("---\nlibrary_name: edgecond\n")
    assert card.endswith(model.card())
    assert sorted(server.files) == ["README.md", "model.safetensors"]


@pytest.mark.parametrize("private", [True, False])
def test_a_repository_is_private_unless_asked_otherwise(server: FakeHub, private: bool):
    hub.push(MODEL, "me/model", endpoint=server.url, **({} if private else {"private": False}))

    assert server.private is private


def test_what_is_not_a_model_is_refused_before_it_is_written(server: FakeHub, tmp_path: Path):
    server.files["model.safetensors"] = b"not a model"

    with pytest.raises(CheckpointError):
        hub.pull("me/model", tmp_path / "pulled", endpoint=server.url)
    assert not (tmp_path / "pulled").exists()


@pytest.mark.parametrize("repository", ["you/model", "../../model", "no repository"])
def test_another_repository_is_one_sentence(server: FakeHub, tmp_path: Path, repository: str):
    with pytest.raises(hub.HubError, match="must be a repository"):
        hub.pull(repository, tmp_path / "pulled", endpoint=server.url)
    with pytest.raises(hub.HubError, match="must be a repository"):
        hub.push(MODEL, repository, endpoint=f"{server.url}/nowhere")


def test_without_the_library_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)

    with pytest.raises(hub.HubError, match=r"pip install 'edgecond\[hub\]'"):
        hub.push(MODEL, "me/model")
