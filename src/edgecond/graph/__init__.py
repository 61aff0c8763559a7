"""The values that data and networks share: clouds, meshes, labelled graphs, pyramids and samples (Section 3)."""

from edgecond.graph.batch import collate
from edgecond.graph.cloud import Cloud, Mesh
from edgecond.graph.graph import Graph, Rows
from edgecond.graph.labels import Labels
from edgecond.graph.pyramid import Pyramid, Sample

__all__ = ["Cloud", "Graph", "Labels", "Mesh", "Pyramid", "Rows", "Sample", "collate"]
