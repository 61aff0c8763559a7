"""Meshes as graphs along their edges, an extension of the paper (its Section 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from edgecond.data import folder
from edgecond.data.examples import Examples, PointExamples
from edgecond.data.formats import MESHES, read_surface
from edgecond.data.kinds.base import Learned, ReadOptions, Rows
from edgecond.data.kinds.cloud_rows import CloudReader
from edgecond.data.kinds.clouds import Clouds, layout_of
from edgecond.data.kinds.searching import Space
from edgecond.data.points import to_mesh
from edgecond.errors import DataError
from edgecond.graph import Cloud


class Meshes(Clouds):
    """Meshes in files."""

    name: ClassVar[str] = "meshes"
    unit: ClassVar[str] = "vertex"
    provides: ClassVar[frozenset[str]] = frozenset({"positions"})
    options: ClassVar[frozenset[str]] = frozenset({"meshes", "columns", "up"})
    suffixes: ClassVar[tuple[str, ...]] = (*MESHES, ".ply")
    writes_points: ClassVar[bool] = False
    from_meshes: ClassVar[bool] = True

    def holds(self, path: Path, options: ReadOptions) -> bool:
        return path.is_dir() and options.meshes

    def settings(self, examples: Any, base: Mapping[str, Any], dataset: str, per_vertex: bool) -> dict[str, Any]:
        return super().settings(examples, base, dataset, per_vertex) | {"input.edges": "mesh", "augment.drop": 0.0}

    def search_space(self, settings: Mapping[str, Any]) -> Space:
        return {name: what for name, what in super().search_space(settings).items() if name != "augment.drop"}

    def settings_note(self, settings: Mapping[str, Any]) -> str | None:
        spacing = settings["input.resolution"]
        return f"the spacing of 1,024 points on a mesh is {spacing:.3g}: resolutions and radii are multiples of it"

    def _signal(self, columns: Sequence[str]) -> str:
        return f"{super()._signal(columns)}; normals"

    def _spacing(self, examples: Examples | PointExamples) -> float:
        return folder.surface_spacing(examples.clouds)

    def read_file(self, path: Path, learned: Learned) -> Cloud:
        options = learned.settings.options
        return to_mesh(read_surface(path, **layout_of(options)), options.get("columns", ()), path)

    def accepts(self, row: Any) -> bool:
        return False

    def reader(self, rows: Rows) -> CloudReader:
        raise DataError("meshes are read from files: an estimator takes none. Use `edgecond train --meshes`.")

    def restore_reader(self, learned: Learned, about: Mapping[str, Any] | None) -> CloudReader:
        raise DataError(
            f"meshes are read from files: {learned.settings.name} is a model of meshes. Use `edgecond predict`."
        )

    _explanation = "What edges connect within a voxel becomes one vertex, and the edges between voxels stay."
