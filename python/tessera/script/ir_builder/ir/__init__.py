"""Modules."""

from .frame import IRModuleFrame
from .ir import ir_module
