"""The networks of the paper, adapted to other data."""

from __future__ import annotations

from edgecond.notation import Architecture, GlobalPooling, Layer, Pooling


def adapted(network: str, outputs: int, *, unit: float = 1.0, per_vertex: bool = False) -> Architecture:
    """Return a network with other lengths and another number of outputs; with V where vertices have targets.

    Args:
        network: A network in the paper's notation, which ends with an FC.
        outputs: Number of outputs.
        unit: Factor on all resolutions and radii.
        per_vertex: Whether each vertex has targets of its own: V takes the place of global pooling.
    """

    def written(layer: Layer) -> str:
        match layer:
            case Pooling(float(resolution), float(radius)):
                return f"{type(layer).__name__}({resolution * unit:.3g},{radius * unit:.3g})"
            case GlobalPooling() if per_vertex:
                return "V"
        return str(layer)

    *layers, last = Architecture(network)
    return with_outputs(Architecture("-".join([*map(written, layers), str(last)])), outputs)


def with_outputs(network: Architecture, outputs: int) -> Architecture:
    """Return a network that ends with an FC with another number of outputs."""
    return Architecture("-".join([*map(str, network[:-1]), f"FC({outputs})"]))
