"""Copies of the project as a clone of it has them: without anything that was built."""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent


def project_files() -> list[str]:
    """Return the files that are tracked, or new and not ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def copy_project(folder: Path) -> None:
    """Copy these files into a folder."""
    for name in project_files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
