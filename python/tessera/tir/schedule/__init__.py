"""Rewriting programs of blocks."""

from .schedule import BlockRV, ExprRV, LoopRV, Schedule, ScheduleError
from .trace import Instruction, InstructionKind, Trace

__all__ = [
    "BlockRV",
    "ExprRV",
    "Instruction",
    "InstructionKind",
    "LoopRV",
    "Schedule",
    "ScheduleError",
    "Trace",
]
