"""Passes over loop programs."""

from .function_pass import PrimFuncPass, prim_func_pass
from .transform import *
