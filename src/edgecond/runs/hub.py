"""Models on the Hugging Face Hub: a model file and its card in a repository. Nothing happens unless it is asked for."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from edgecond.errors import EdgecondError
from edgecond.files import write_atomic
from edgecond.runs import card
from edgecond.runs.model import Model
from edgecond.runs.pretrained import FILE, model_file

CARD = "README.md"
"""File of the card in a repository, which the Hub shows."""


class HubError(EdgecondError):
    """A model cannot be pushed to the Hub, or pulled from it."""


def push(path: Path, repository: str, *, private: bool = True, endpoint: str | None = None) -> str:
    """Upload a model file and its card to a repository of the Hub, and return the address of the commit.

    The card names no path of this machine. You are the user that `hf auth login` has logged in.

    Args:
        path: A model file, the directory of a run, or the name of a pretrained model.
        repository: Repository, as USER/NAME, which is created if there is none.
        private: Whether a repository that is created is private.
        endpoint: Address of another server than that of Hugging Face.
    """
    library = _library()
    model = Model.load(path)
    text = card.header(model.about, model.kind.name, model.task) + model.card()
    files = {FILE: model_file(path).read_bytes(), CARD: text.encode()}
    api = library.HfApi(endpoint=endpoint)
    additions = [library.CommitOperationAdd(name, content) for name, content in files.items()]
    try:
        api.create_repo(repository, private=private, exist_ok=True)
        commit = api.create_commit(repository, additions, commit_message=f"Add {model.recipe.name}")
    except Exception as error:
        raise _refused(f"{repository} must be a repository that you may write to", error) from error
    return str(commit.commit_url)


def pull(repository: str, to: Path, *, revision: str | None = None, endpoint: str | None = None) -> Model:
    """Download the model of a repository of the Hub into a directory, and return it.

    Args:
        repository: Repository, as USER/NAME.
        to: Directory for the model file.
        revision: Branch, tag or commit instead of the last one.
        endpoint: Address of another server than that of Hugging Face.
    """
    library = _library()
    try:
        cached = library.hf_hub_download(repository, FILE, revision=revision, endpoint=endpoint)
    except Exception as error:
        raise _refused(f"{repository} must be a repository with a file {FILE}", error) from error
    model = Model.load(Path(cached))  # before it is copied: another file of that name is refused
    write_atomic(to / FILE, Path(cached).read_bytes())
    return model


def _library() -> ModuleType:
    try:
        import huggingface_hub
    except ImportError:
        raise HubError(
            "the Hub needs huggingface_hub, which is not installed. Run `pip install 'edgecond[hub]'`."
        ) from None
    library: ModuleType = huggingface_hub
    return library


def _refused(expected: str, error: Exception) -> HubError:
    """Return a sentence about an error of the Hub, of the network or of a name, each of which has its own type."""
    reason = str(error).strip().partition("\n")[0].rstrip(".")
    return HubError(f"{expected}: {reason}. Check its name, the network and `hf auth login`.")
