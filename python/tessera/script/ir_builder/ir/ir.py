"""What makes modules."""

from __future__ import annotations

from .frame import IRModuleFrame

__all__ = ["ir_module"]


def ir_module() -> IRModuleFrame:
    """A module of the functions that are built inside."""
    return IRModuleFrame()
