"""How far a network sees: the distance at which a point can still change the prediction for another (Section 3.4)."""

from __future__ import annotations

from math import sqrt

from edgecond.data.pyramid import Resolutions
from edgecond.notation import Architecture, C, Pooling

_DIAGONAL = sqrt(3)


def receptive_field(network: Architecture, resolutions: Resolutions) -> float:
    r"""Return a distance beyond which points do not change the prediction for a point, by a network with V.

    A voxel of resolution $r$ has the diagonal $r \sqrt 3$, and the centroid that replaces its points lies in it. So the
    position of a vertex depends on points up to the sum of the diagonals of its level and of all finer ones away. A
    convolution sees as far as the vertices within its radius do. A vertex pools into the nearest centroid, which is no
    farther than a diagonal: that of its own voxel is not. Which one is nearest depends on all centroids as near as
    that. V leads back along the pool maps.

    Args:
        network: The network, whose prediction is for each vertex.
        resolutions: Resolution and radius of each level; see `levels_of`.
    """
    level, back = 0, 0.0
    place = signal = field = _DIAGONAL * (resolutions[0][0] or 0)  # how far position and signal of a vertex depend
    for layer in network:
        if isinstance(layer, C):
            signal = resolutions[level][1] + max(signal, place)
        elif isinstance(layer, Pooling):
            level += 1
            diagonal = _DIAGONAL * (resolutions[level][0] or 0)
            place += diagonal
            signal = diagonal + max(signal, diagonal + place)
            back += diagonal
        field = max(field, back + signal)
    return field + _DIAGONAL * (resolutions[0][0] or 0)
