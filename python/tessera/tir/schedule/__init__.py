"""Rewriting programs of blocks."""

from . import analysis, transform
from .block_scope import BlockScope, Dependency, DepKind, StmtSRef
from .instruction import Instruction, InstructionKind
from .schedule import BlockRV, ExprRV, LoopRV, Schedule, ScheduleError
from .state import ScheduleDebugMask, ScheduleState
from .trace import Trace

__all__ = [
    "BlockRV",
    "BlockScope",
    "DepKind",
    "Dependency",
    "ExprRV",
    "Instruction",
    "InstructionKind",
    "LoopRV",
    "Schedule",
    "ScheduleDebugMask",
    "ScheduleError",
    "ScheduleState",
    "StmtSRef",
    "Trace",
    "analysis",
    "transform",
]
