"""The types of scripts: T.int32, T.handle, T.Buffer[(8,), "float32"], T.Ptr[T.float32, "shared"]."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def scalar_type_names() -> Iterator[str]:
    """Every name under T that is a scalar or vector type."""
    yield from ("bool", "boolean", "handle", "void")
    for kind in ("int", "uint", "float"):
        for bits in (8, 16, 32, 64):
            for lanes in ("", "x4", "x8", "x16", "x32", "x64"):
                yield f"{kind}{bits}{lanes}"
    for lanes in ("", "x4", "x8", "x16", "x32", "x64"):
        yield f"bfloat16{lanes}"


class ScriptType:
    """A scalar or vector type; called inside a script it makes a constant or a cast."""

    def __init__(self, name: str):
        self.dtype = {"boolean": "bool"}.get(name, name)

    def evaluate(self) -> Any:
        """The IR type."""
        from tessera import ir

        if self.dtype == "void":
            return ir.TupleType([])
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

        return ir.PointerType(self.element.evaluate(), self.scope)


class _Ptr:
    def __getitem__(self, args: Any) -> PointerAnnotation:
        element, scope = args if isinstance(args, tuple) else (args, "")
        return PointerAnnotation(element, scope)


class _TupleType:
    def __getitem__(self, args: Any) -> Any:
        from tessera import ir

        parts = args if isinstance(args, tuple) else (args,)
        return ir.TupleType([part.evaluate() for part in parts])


class BufferAnnotation:
    """T.Buffer[shape, dtype, ...] once its arguments are known; takes what match_buffer takes."""

    def __init__(self, args: tuple, kwargs: dict):
        self.args, self.kwargs = args, kwargs


class _Buffer:
    def __getitem__(self, args: Any) -> BufferAnnotation:
        if not isinstance(args, tuple) or (args and all(isinstance(a, int) for a in args)):
            args = (args,)
        return BufferAnnotation(args, {})

    def __call__(self, *args: Any, **kwargs: Any) -> BufferAnnotation:
        return BufferAnnotation(args, kwargs)


Buffer = _Buffer()
Ptr = _Ptr()
Tuple = _TupleType()
