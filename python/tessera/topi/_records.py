"""Functions of tensors that are computes of operator records."""

from __future__ import annotations

from typing import Any

from ..ir.attrs import make_node
from ..ir.op import Op
from . import _ffi_api

__all__ = ["call_record", "const_int", "const_tuple", "result_type"]


def call_record(name: str, inputs: list, attrs: dict[str, Any] | None = None, attrs_key: str | None = None) -> Any:
    """The tensors that the operator `name` computes: one, or a list of several."""
    key = attrs_key or str(Op.get(name).attrs_type_key)
    outs = list(_ffi_api.by_record(name, make_node(key, **(attrs or {})) if key else None, inputs))
    return outs[0] if len(outs) == 1 else outs


def const_int(value: Any) -> int:
    """A number from one, or from a constant expression."""
    return int(getattr(value, "value", value))


def const_tuple(values: Any, count: int) -> tuple[int, ...]:
    """`count` numbers from one or several."""
    if isinstance(values, int) or not hasattr(values, "__len__"):
        return (const_int(values),) * count
    return tuple(const_int(value) for value in values)


def result_type(out_dtype: str | None) -> str:
    """A type attribute: empty where none is given."""
    return out_dtype or ""
