"""Programs built piece by piece: frames that are entered, and functions that add to the innermost one."""

from . import ir as ir
from . import tir as tir
from .base import IRBuilder, IRBuilderFrame
