"""The types of scripts: T.int32, T.handle, T.Buffer[(8,), "float32"], T.Ptr[T.float32, "shared"]."""

from __future__ import annotations

import re
from typing import Any


def is_scalar_type(name: str) -> bool:
    """A name under T that is a scalar or vector type: T.int32, T.float16x8, T.handle, ..."""
    return re.fullmatch(r"boolean|handle|void|bool(x\d+)?|(int|uint|float|bfloat)\d+(x\d+)?", name) is not None


class ScriptType:
    """A scalar or vector type; called inside a script it makes a constant or a cast."""

    def __init__(self, name: str):
        self.dtype = {"boolean": "bool"}.get(name, name)

    def evaluate(self) -> Any:
        """The IR type."""
        from tessera import ir

        return ir.PrimType(self.dtype)

    def __call__(self, value: Any) -> Any:
        return convert_scalar(self.dtype, value)

    def __repr__(self) -> str:
        return f"T.{self.dtype}"


def convert_scalar(dtype: str, value: Any) -> Any:
    """A number as a constant of `dtype`; an expression cast to it, without folding."""
    from tessera import tir

    if isinstance(value, str):
        value = float(value)  # "inf", "-inf", "nan"
    if isinstance(value, (bool, int, float)):
        if dtype.startswith(("float", "bfloat")) and "x" not in dtype:
            return tir.FloatImm(dtype, float(value))
        return tir.const(value, dtype)
    if isinstance(value, tir.PrimExpr) and value.dtype == dtype:
        return value
    return tir.Cast(dtype, value)


class PointerAnnotation:
    """T.Ptr[T.float32, "shared"] once its arguments are known."""

    def __init__(self, element: Any, scope: str):
        self.element, self.scope = element, scope

    def evaluate(self) -> Any:
        from tessera import ir

        element = ir.TupleType([]) if self.element is None else self.element.evaluate()
        return ir.PointerType(element, self.scope)


class _Ptr:
    def __getitem__(self, args: Any) -> PointerAnnotation:
        element, scope = args if isinstance(args, tuple) else (args, "")
        return PointerAnnotation(element, scope)


class TupleAnnotation:
    """T.Tuple[T.int32, T.handle] once its arguments are known."""

    def __init__(self, parts: tuple):
        self.parts = parts

    def evaluate(self) -> Any:
        from tessera import ir

        return ir.TupleType([part.evaluate() for part in self.parts])


class _TupleType:
    def __getitem__(self, args: Any) -> TupleAnnotation:
        return TupleAnnotation(args if isinstance(args, tuple) else (args,))


class BufferAnnotation:
    """T.Buffer[shape, dtype, ...] once its arguments are known; takes what match_buffer takes."""

    def __init__(self, args: tuple, kwargs: dict):
        self.args, self.kwargs = args, kwargs


class _Buffer:
    """A tensor in memory: `A: T.Buffer[(8, 16), "float32"]`, or `T.Buffer(...)` with what `match_buffer` takes."""

    def __getitem__(self, args: Any) -> BufferAnnotation:
        if not isinstance(args, tuple):
            args = (args,)
        elif len(args) > 1 and not (isinstance(args[1], (str, ScriptType)) or hasattr(args[1], "dtype")):
            raise ValueError(f'T.Buffer[{args}] has no dtype: write T.Buffer[{args}, "float32"]')
        return BufferAnnotation(args, {})

    def __call__(self, *args: Any, **kwargs: Any) -> BufferAnnotation:
        return BufferAnnotation(args, kwargs)


Buffer = _Buffer()
Ptr = _Ptr()
Tuple = _TupleType()
