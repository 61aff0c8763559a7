"""The wheel has all that the package needs, and works where there is neither the project nor a compiler."""

import os
import shutil
import site
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.copies import copy_project, project_files

pytestmark = [
    pytest.mark.newcomer,
    pytest.mark.skipif(
        os.environ.get("EDGECOND_NATIVE") == "0" or not shutil.which("c++"), reason="a wheel has C++ kernels"
    ),
]
BINARIES = ["data/pyramid/_cells", "graph/_edges", "nn/kernels/_kernels"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the source distribution from a fresh copy, and the wheel from the source distribution."""
    project = tmp_path_factory.mktemp("project")
    copy_project(project)
    done = subprocess.run(
        [sys.executable, "-m", "build"],
        cwd=project,
        capture_output=True,
        text=True,
        env=os.environ | {"EDGECOND_NATIVE": "1"},
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    (built,) = (project / "dist").glob("*.whl")
    return built


def test_a_wheel_has_every_file_of_the_package_and_its_binaries_and_nothing_else(wheel: Path):
    """Expected are the files of the project itself; C++ sources travel in the source distribution only."""
    tracked = {name.removeprefix("src/") for name in project_files() if name.startswith("src/edgecond/")}
    sources = {name for name in tracked if "/cpp/" in name}

    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}

    assert packed == tracked - sources | {f"edgecond/{name}.abi3.so" for name in BINARIES}
    assert sources


def test_one_wheel_serves_every_python_from_3_11_on(wheel: Path):
    """The tag of Python's stable ABI: cp311-abi3."""
    _, _, python, abi, platform = wheel.stem.split("-")

    assert (python, abi) == ("cp311", "abi3")
    assert platform != "any"


def test_a_wheel_works_in_a_clean_environment_without_a_compiler(wheel: Path, tmp_path: Path):
    """Only the programs of that environment are found; dependencies are those of the tests, not downloaded again."""
    environment, empty = tmp_path / "environment", tmp_path / "empty"
    empty.mkdir()
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text("\n".join(site.getsitepackages()))
    clean = {"PATH": str(environment / "bin"), "CC": "/bin/false", "CXX": "/bin/false", "HOME": str(tmp_path)}

    def run(*command: str) -> str:
        done = subprocess.run(
            [environment / "bin" / command[0], *command[1:]], cwd=empty, capture_output=True, text=True, env=clean
        )
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        return done.stdout

    run("python", "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", str(wheel))

    where = run("python", "-c", "import edgecond; print(edgecond.__file__)")
    assert Path(where.strip()).is_relative_to(packages)
    assert "C++" in run("edgecond", "info")
    run("python", "-c", "from edgecond.data.pyramid import _cells; from edgecond.graph import _edges")
    assert "sydney/ecc" in run("edgecond", "list")  # recipes
    run("edgecond", "demo", "--epochs", "1")
    predicted = run("edgecond", "predict", "runs/demo", *map(str, sorted(empty.glob("runs/demo/examples/*.npy"))))
    assert len(predicted.splitlines()) == 4  # a header, and a row for each of three digits
    run("edgecond", "report", "runs/demo")
