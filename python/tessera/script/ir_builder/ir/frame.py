"""The frame of a module."""

from __future__ import annotations

from typing import Any

from ....ir import GlobalVar, IRModule
from ..base import IRBuilder, IRBuilderFrame

__all__ = ["IRModuleFrame"]


class IRModuleFrame(IRBuilderFrame):
    """Functions by name."""

    def __init__(self) -> None:
        super().__init__()
        self.functions: dict[str, Any] = {}

    def leave(self, builder: IRBuilder) -> None:
        """The module is the result."""
        builder.result = IRModule({GlobalVar(name): function for name, function in self.functions.items()})
