"""How the settings of a recipe make samples of examples: augmented clouds, or pyramids of general graphs."""

from edgecond.data.preparation.base import no_progress, Preparation, Progress, SampleSettings
from edgecond.data.preparation.clouds import CloudPreparation
from edgecond.data.preparation.graphs import GraphPreparation

__all__ = ["CloudPreparation", "GraphPreparation", "Preparation", "Progress", "SampleSettings", "no_progress"]
