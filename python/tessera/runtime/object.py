"""The base of all objects of the core."""

from __future__ import annotations

from typing import Any

from .._ffi.registry import get_global_func, register_object
from .._ffi_core import ObjectBase, ObjectRValueRef

__all__ = ["Object", "ObjectRValueRef", "PyNativeObject"]


def _new_object(cls: Any) -> Any:
    """An object without contents, for unpickling."""
    return cls.__new__(cls)


@register_object("runtime.Object")
class Object(ObjectBase):
    """An object of the core. Its fields are attributes; two handles are equal when the object is the same."""

    __slots__ = ()

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._field_names()})

    def __repr__(self) -> str:
        text = get_global_func("node.AsRepr", allow_missing=True)
        return text(self) if text is not None else f"{self._core_type()}({self.handle.value:#x})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_new_object, (type(self),), self.__getstate__())

    def __getstate__(self) -> dict[str, Any]:
        return {"handle": get_global_func("node.SaveJSON")(self) if self.handle else None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if state["handle"] is not None:
            self.__init_handle_by_constructor__(get_global_func("node.LoadJSON"), state["handle"])


class PyNativeObject:
    """A class of Python's own (str, ...) whose values are objects of the core at the same time."""

    __slots__ = ()
