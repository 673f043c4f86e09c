"""Mutators: how evolutionary search changes decisions."""

from .mutator import Mutator, PyMutator
from .mutators import MutateComputeLocation, MutateParallel, MutateThreadBinding, MutateTileSize, MutateUnroll

__all__ = [
    "MutateComputeLocation",
    "MutateParallel",
    "MutateThreadBinding",
    "MutateTileSize",
    "MutateUnroll",
    "Mutator",
    "PyMutator",
]
