"""Calls of primitives as traces keep them."""

from __future__ import annotations

from typing import Any

from ..._ffi import register_object
from ...runtime import Object
from . import _ffi_api


@register_object("tir.InstructionKind")
class InstructionKind(Object):
    """The name of a primitive in traces."""

    name: str

    @staticmethod
    def get(name: str) -> InstructionKind:
        """The kind of that name; a ValueError when there is none."""
        return _ffi_api.InstructionKindGet(name)

    @property
    def is_pure(self) -> bool:
        """True for primitives that change nothing."""
        return _ffi_api.InstructionKindIsPure(self)


@register_object("tir.Instruction")
class Instruction(Object):
    """One call of a primitive."""

    kind: InstructionKind
    inputs: list[Any]
    attrs: list[Any]
    outputs: list[Any]

    def __init__(self, kind: InstructionKind, inputs: list[Any], attrs: list[Any], outputs: list[Any]):
        self.__init_handle_by_constructor__(_ffi_api.Instruction, kind, inputs, attrs, outputs)

    def __str__(self) -> str:
        return _ffi_api.InstructionAsPython(self)

    __repr__ = __str__
