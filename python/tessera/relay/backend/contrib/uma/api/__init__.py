"""The parts of a UMA backend."""

from .codegen import UMACodegen
from .lower import UMALower
from .partitioner import UMAPartitioner

__all__ = ["UMACodegen", "UMALower", "UMAPartitioner"]
