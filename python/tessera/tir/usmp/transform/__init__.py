"""Passes that put allocations into pools."""

from .transform import assign_pool_info, convert_pool_allocations_to_offsets
