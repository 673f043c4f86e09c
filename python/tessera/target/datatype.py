"""Custom element types: their names, and how what is computed with them is lowered.

A type is registered under a code of 129 or more, and is then written ``custom[name]bits``. Its values are unsigned
integers of that many bits to the machine; a function for each operator says what to do with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import ir, tir
from .._ffi.registry import get_global_func, register_func
from .._ffi.runtime_ctypes import DataType
from ..tir.op_calls import call_intrin, call_pure_extern

__all__ = [
    "create_lower_func",
    "create_min_lower_func",
    "get_type_code",
    "get_type_name",
    "get_type_registered",
    "lower_call_pure_extern",
    "lower_ite",
    "register",
    "register_min_func",
    "register_op",
]


def register(type_name: str, type_code: int) -> None:
    """Names a type: ``register("posit", 131)`` makes "custom[posit]16" a type."""
    get_global_func("runtime._datatype_register")(type_code, type_name)


def get_type_name(type_code: int) -> str:
    """The name that a code was registered with."""
    return get_global_func("runtime._datatype_get_type_name")(type_code)


def get_type_code(type_name: str) -> int:
    """The code that a name was registered with."""
    return get_global_func("runtime._datatype_get_type_code")(type_name)


def get_type_registered(type_code: int) -> bool:
    """Whether the code has a name."""
    return get_global_func("runtime._datatype_get_type_registered")(type_code)


def register_op(
    lower_func: Callable[[Any], Any],
    op_name: str,
    target: str,
    src_type_name: str,
    dest_type_name: str | None = None,
    intrinsic_name: str | None = None,
) -> None:
    """Says how an operator on a custom type is lowered for a kind of target.

    `op_name` is the name of a node: "Add", "Max", "LT", "FloatImm", ... A "Cast" goes from `src_type_name` to
    `dest_type_name`, one of which may be "float", "int" or "uint"; a "Call" names its operator in `intrinsic_name`, such as
    "tir.exp". The function is given the node, operands lowered, and gives an expression of the unsigned integer type.
    """
    parts = ["tvm.datatype.lower", target, op_name]
    if op_name == "Cast":
        if dest_type_name is None:
            raise ValueError("register_op of a Cast needs dest_type_name, the type that it casts to")
        parts.append(dest_type_name)
    elif op_name == "Call":
        if intrinsic_name is None:
            raise ValueError("register_op of a Call needs intrinsic_name, the operator that is called")
        parts.append(intrinsic_name)
    register_func(".".join([*parts, src_type_name]), lower_func, override=True)


def register_min_func(func: Callable[[int], Any], type_name: str) -> None:
    """Says what the smallest value of a type is, as a function of its bits."""
    register_func("tvm.datatype.min." + type_name, func, override=True)


def create_min_lower_func(extern_func_map: dict[int, str], type_name: str) -> Callable[[int], Any]:
    """A function for `register_min_func` that calls the extern function of the number of bits."""

    def lower(num_bits: int) -> Any:
        if num_bits not in extern_func_map:
            raise RuntimeError(f"missing minimum function for custom[{type_name}]{num_bits}")
        call = ir.Op.get("tir.call_pure_extern")
        return tir.Call(f"custom[{type_name}]{num_bits}", call, [tir.StringImm(extern_func_map[num_bits])])

    return lower


def create_lower_func(extern_func_map: dict[Any, str]) -> Callable[[Any], Any]:
    """A function for `register_op` that calls an extern function.

    The map has the function's name by the number of bits, for a cast by ``(bits before, bits after)``.
    """

    def lower(op: Any) -> Any:
        if DataType(op.dtype).lanes > 1:
            raise RuntimeError(f"an extern function takes single values, and {type(op).__name__} is {op.dtype}")
        operands, key = _operands_and_key(op)
        if key not in extern_func_map:
            raise RuntimeError(f"missing lower function for {type(op).__name__} of {key} bits, {op.dtype}")
        return call_pure_extern(_words(op.dtype), extern_func_map[key], *operands)

    return lower


def lower_ite(ite_op: Any) -> Any:
    """``if_then_else`` of custom values chooses between their words."""
    return call_intrin(_words(ite_op.dtype), "tir.if_then_else", *ite_op.args)


def lower_call_pure_extern(op: Any) -> Any:
    """A call of an extern function that gives a custom value gives its word."""
    return call_intrin(_words(op.dtype), "tir.call_pure_extern", *op.args)


def _operands_and_key(op: Any) -> tuple[list[Any], Any]:
    bits = DataType(op.dtype).bits
    if isinstance(op, tir.Cast):
        return [op.value], (DataType(op.value.dtype).bits, bits)
    if isinstance(op, tir.FloatImm):
        return [tir.const(op.value, "float64")], bits
    if isinstance(op, tir.Call):
        return list(op.args), bits
    return [op.a, op.b], DataType(op.a.dtype).bits


def _words(dtype: str) -> str:
    """The integer type that values of a custom type are kept as; other types are themselves."""
    if not dtype.startswith("custom["):
        return dtype
    kind = DataType(dtype)
    return f"uint{kind.bits}" + (f"x{kind.lanes}" if kind.lanes > 1 else "")
