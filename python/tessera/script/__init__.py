"""TVMScript: loop programs written as Python text, read and printed.

from tvm.script import tir as T

@T.prim_func
def add_one(A: T.Buffer[(8,), "float32"], B: T.Buffer[(8,), "float32"]):
    for i in T.serial(8):
        B[i] = A[i] + T.float32(1)
"""

from . import tir
from .parser import from_source, ir_module

__all__ = ["from_source", "ir_module", "tir"]
