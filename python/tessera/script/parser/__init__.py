"""Reading TVMScript: decorators and text to PrimFuncs and IRModules."""

from .entry import from_source, ir_module, prim_func

__all__ = ["from_source", "ir_module", "prim_func"]
