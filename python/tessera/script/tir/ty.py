"""Types of scripts that are evaluated when an annotation is read."""

from __future__ import annotations

from typing import Any

from ... import ir

__all__ = ["ConcreteType", "GenericPtrType", "GenericTupleType", "TypeGeneric", "VoidType"]


class TypeGeneric:
    """Something that is, or makes, a type."""

    def evaluate(self) -> Any:
        """The IR type."""
        raise TypeError(f"{type(self).__name__} is no type before it is given its arguments in brackets")

    def require_type_generic_at(self, idx: int) -> bool:
        """True where the argument at `idx` is a type itself."""
        return False


class ConcreteType(TypeGeneric):
    """A scalar type, by its name."""

    def __init__(self, vtype: Any):
        self.type = ir.PrimType(vtype) if isinstance(vtype, str) else vtype

    def evaluate(self) -> Any:
        return self.type

    def __call__(self, *args: Any) -> Any:
        from ..parser.annotations import convert_scalar

        return convert_scalar(self.type.dtype, *args)


class VoidType(ConcreteType):
    """The type of no value."""

    def __init__(self) -> None:
        super().__init__(ir.TupleType([]))


class GenericPtrType(TypeGeneric):
    """Pointers: `ptr[T.float32, "shared"]`."""

    def __getitem__(self, args: Any) -> ConcreteType:
        element, scope = args if isinstance(args, tuple) else (args, "")
        return ConcreteType(ir.PointerType(element.evaluate(), scope))

    def require_type_generic_at(self, idx: int) -> bool:
        return idx != 1


class GenericTupleType(TypeGeneric):
    """Tuples: `tuple[T.int32, T.handle]`."""

    def __getitem__(self, args: Any) -> ConcreteType:
        parts = args if isinstance(args, tuple) else (args,)
        return ConcreteType(ir.TupleType([part.evaluate() for part in parts]))

    def require_type_generic_at(self, idx: int) -> bool:
        return True
