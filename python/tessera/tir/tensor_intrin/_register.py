"""Making pairs of scripts known by name."""

from ..function import PrimFunc, TensorIntrin


def register(name: str, scripts: tuple[PrimFunc, PrimFunc]) -> str:
    """Registers a description and the implementation of it; returns the name."""
    TensorIntrin.register(name, *scripts)
    return name
