"""Operators by name, with the slots that the parts of the compiler fill."""

from __future__ import annotations

from typing import Any, Callable

from .._ffi.registry import get_global_func, register_object
from . import _ffi_api
from .expr import RelayExpr

__all__ = ["Op", "register_intrin_lowering", "register_op_attr"]


@register_object("Op")
class Op(RelayExpr):
    """One operator. Two are the same only by identity."""

    def __init__(self) -> None:
        raise RuntimeError("Cannot create op, use get instead")

    @staticmethod
    def get(op_name: str) -> Op:
        """The operator of that name."""
        return _ffi_api.GetOp(op_name)

    @staticmethod
    def list_op_names() -> Any:
        """Names of all operators, sorted."""
        return _ffi_api.ListOpNames()

    def get_attr(self, attr_name: str) -> Any:
        """The value of a slot, or None."""
        return _ffi_api.OpGetAttr(self, attr_name)

    def has_attr(self, attr_name: str) -> bool:
        """True when the slot is filled."""
        return bool(_ffi_api.OpHasAttr(self, attr_name))

    def set_attr(self, attr_name: str, value: Any, plevel: int = 10) -> None:
        """Fills a slot; of two values the one with the higher level stays."""
        _ffi_api.OpSetAttr(self, attr_name, value, plevel)

    def reset_attr(self, attr_name: str) -> None:
        """Empties a slot."""
        _ffi_api.OpResetAttr(self, attr_name)

    def add_type_rel(self, rel_name: str, type_rel_func: Callable[..., Any] | None = None) -> None:
        """Says the type of calls: type_rel_func(argument types, attrs); without one, by the relation of
        that name (`tvm.relay.type_relation.<rel_name>`: "Broadcast", "Identity", ...)."""
        _ffi_api.OpAddTypeRel(self, rel_name, type_rel_func)

    def set_num_inputs(self, n: int) -> None:
        """Says how many inputs the operator takes."""
        _ffi_api.OpSetNumInputs(self, n)

    def add_argument(self, name: str, type: str, description: str) -> None:
        """Says what the next input is, in words."""
        _ffi_api.OpAddArgument(self, name, type, description)

    def set_attrs_type_key(self, key: str) -> None:
        """Says which type the attributes of a call have."""
        _ffi_api.OpSetAttrsTypeKey(self, key)

    def set_support_level(self, level: int) -> None:
        """Says how well the operator is supported; lower is better."""
        _ffi_api.OpSetSupportLevel(self, level)


def register_op_attr(op_name: str, attr_key: str, value: Any = None, level: int = 10) -> Any:
    """Fills a slot of the operator of that name, which is made when there is none; also a decorator."""

    def register(value: Any) -> Any:
        _ffi_api.RegisterOpAttr(op_name, attr_key, value, level)
        return value

    return register(value) if value is not None else register


def register_intrin_lowering(op_name: str, target: str, *, f: Callable[..., Any] | None = None, level: int = 10) -> Any:
    """Says what a call of `op_name` becomes on `target`: `f(call)` gives the new expression; also a decorator."""

    def register(f: Callable[..., Any]) -> Callable[..., Any]:
        get_global_func("ir.RegisterOpAttr")(op_name, target + ".FLowerIntrinsic", f, level)
        return f

    return register(f) if f is not None else register
