"""Unified static memory planning: fixed offsets in memory pools for all that a module allocates."""

from . import algo, analysis, transform, utils
from .utils import BufferInfo, PoolAllocation
