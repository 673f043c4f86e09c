"""Expressions of the graph language, with Python's operators."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from numbers import Number
from typing import Any

import numpy as np

from .._ffi.registry import register_object
from ..ir import Attrs, BaseFunc, GlobalVar, Op, RelayExpr, Span, Type
from ..ir.container import Array
from ..runtime import NDArray, convert
from ..runtime import ndarray as _nd
from . import _ffi_api
from . import ty as _ty
from .base import RelayNode

__all__ = [
    "Call",
    "Constant",
    "Expr",
    "ExprWithOp",
    "GlobalVar",
    "If",
    "Let",
    "RefCreate",
    "RefRead",
    "RefWrite",
    "StaticMemoryPlan",
    "StorageInfo",
    "TempExpr",
    "Tuple",
    "TupleGetItem",
    "TupleWrapper",
    "Var",
    "bind",
    "const",
    "var",
]

Expr = RelayExpr


def _operands(lhs: Any, rhs: Any) -> list[Any]:
    for side in (lhs, rhs):
        if isinstance(side, Number):
            raise TypeError(f'convert "{side}" with `const` first')
        if not isinstance(side, (RelayExpr, TupleWrapper)):
            raise TypeError(f"type {type(side)} not supported")
    return [lhs, rhs]


def _call_op(name: str, *args: Any, **attrs: Any) -> Any:
    return importlib.import_module("tessera.relay.op")._make_call(name, list(args), attrs)


class ExprWithOp(RelayExpr):
    """An expression that Python's operators apply to. `==` is identity; relay.equal compares values."""

    def astype(self, dtype: Any) -> Any:
        """The value converted to `dtype`."""
        return _call_op("cast", self, dtype=str(dtype))

    def __neg__(self) -> Any:
        return _call_op("negative", self)

    def __lt__(self, other: Any) -> Any:
        return _call_op("less", *_operands(self, other))

    def __gt__(self, other: Any) -> Any:
        return _call_op("greater", *_operands(self, other))

    def __ge__(self, other: Any) -> Any:
        return _call_op("greater_equal", *_operands(self, other))

    def __le__(self, other: Any) -> Any:
        return _call_op("less_equal", *_operands(self, other))

    def __add__(self, other: Any) -> Any:
        return _call_op("add", *_operands(self, other))

    def __radd__(self, other: Any) -> Any:
        return _call_op("add", *_operands(other, self))

    def __sub__(self, other: Any) -> Any:
        return _call_op("subtract", *_operands(self, other))

    def __rsub__(self, other: Any) -> Any:
        return _call_op("subtract", *_operands(other, self))

    def __mul__(self, other: Any) -> Any:
        return _call_op("multiply", *_operands(self, other))

    def __rmul__(self, other: Any) -> Any:
        return _call_op("multiply", *_operands(other, self))

    def __truediv__(self, other: Any) -> Any:
        return _call_op("divide", *_operands(self, other))

    def __rtruediv__(self, other: Any) -> Any:
        return _call_op("divide", *_operands(other, self))

    def __div__(self, other: Any) -> Any:
        return self.__truediv__(other)

    def __rdiv__(self, other: Any) -> Any:
        return self.__rtruediv__(other)

    def __call__(self, *args: Any) -> Call:
        """A call of this expression, which is a function."""
        return Call(self, args)


@register_object("relay.Constant")
class Constant(ExprWithOp):
    """A tensor known when the program is made."""

    def __init__(self, data: Any, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.Constant, data, span)


@register_object("relay.Tuple")
class Tuple(ExprWithOp):
    """Several values as one; `t[i]` is the i-th field itself."""

    def __init__(self, fields: Any, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.Tuple, fields, span)

    def __getitem__(self, index: int) -> Any:
        if index >= len(self):
            raise IndexError("Tuple index out of range")
        return self.fields[index]

    def __len__(self) -> int:
        return len(self.fields)

    def astype(self, _: Any) -> Any:
        raise TypeError("astype cannot be used on tuple")


@register_object("relay.Var")
class Var(ExprWithOp):
    """A local variable: a parameter, or bound by Let or a pattern."""

    def __init__(self, name_hint: str, type_annotation: Type | None = None, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.Var, name_hint, type_annotation, span)

    @property
    def name_hint(self) -> str:
        """The name the variable was made with; printers may number it."""
        return self.vid.name_hint


@register_object("relay.Call")
class Call(ExprWithOp):
    """Applies an operator, a function, a global or a constructor to arguments."""

    def __init__(self, op: Any, args: Any, attrs: Attrs | None = None, type_args: Any = None, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.Call, op, args, attrs, type_args or [], span)

    @property
    def type_args(self) -> Any:
        """What the type parameters of the callee are; of an operator, once types are inferred, the types of the arguments."""
        given = self._field("type_args")
        if given or not isinstance(self.op, Op) or self._checked_type_ is None:
            return given
        return [arg.checked_type for arg in self.args]


@register_object("relay.Let")
class Let(ExprWithOp):
    """Evaluates `value` once, before `body`, which knows it as `variable`."""

    def __init__(self, variable: Var, value: Any, body: Any, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.Let, variable, value, body, span)


@register_object("relay.If")
class If(ExprWithOp):
    """One of two values, by a scalar Boolean."""

    def __init__(self, cond: Any, true_branch: Any, false_branch: Any, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.If, cond, true_branch, false_branch, span)


@register_object("relay.TupleGetItem")
class TupleGetItem(ExprWithOp):
    """A field of a tuple."""

    def __init__(self, tuple_value: Any, index: int, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.TupleGetItem, tuple_value, index, span)


@register_object("relay.RefCreate")
class RefCreate(ExprWithOp):
    """A new reference that holds `value`."""

    def __init__(self, value: Any, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.RefCreate, value, span)


@register_object("relay.RefRead")
class RefRead(ExprWithOp):
    """What a reference holds."""

    def __init__(self, ref: Any, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.RefRead, ref, span)


@register_object("relay.RefWrite")
class RefWrite(ExprWithOp):
    """Puts a value into a reference; the result is the empty tuple."""

    def __init__(self, ref: Any, value: Any, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.RefWrite, ref, value, span)


@register_object("relay.TempExpr")
class TempExpr(ExprWithOp):
    """Stands in a graph while a pass works, and knows what it amounts to."""

    def realize(self) -> Any:
        """The expression that it stands for."""
        return _ffi_api.TempExprRealize(self)


class TupleWrapper:
    """The result of an operator with several outputs: a list of fields that is also one value."""

    def __init__(self, tuple_value: Any, size: int):
        self.tuple_value = tuple_value
        self.size = size

    def astuple(self) -> Any:
        """The tuple itself, as an expression."""
        return self.tuple_value

    def astext(self) -> str:
        """The text of the tuple."""
        return self.tuple_value.astext()

    def asobject(self) -> Any:
        return self.tuple_value

    def __getitem__(self, index: int) -> TupleGetItem:
        if not 0 <= index < len(self):
            raise IndexError("Tuple index out of range")
        return TupleGetItem(self.tuple_value, index)

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[TupleGetItem]:
        return (self[i] for i in range(self.size))

    def __repr__(self) -> str:
        return f"TupleWrapper({self.tuple_value!r}, {self.size})"

    def astype(self, _: Any) -> Any:
        raise TypeError("astype cannot be used on tuple")


@register_object("relay.StorageInfo")
class StorageInfo(RelayNode):
    """Where the memory plan puts the tensors of an expression: storages, kinds of devices, bytes."""

    def __init__(self, sids: Any, dev_types: Any, sizes: Any) -> None:
        self.__init_handle_by_constructor__(_ffi_api.StorageInfo, sids, dev_types, sizes)

    @property
    def storage_ids(self) -> Any:
        return _ffi_api.StorageInfoStorageIds(self)

    @property
    def virtual_devices(self) -> Any:
        return _ffi_api.StorageInfoVirtualDevices(self)

    @property
    def device_types(self) -> Any:
        return [device.device_type for device in self.virtual_devices]

    @property
    def storage_sizes(self) -> Any:
        return _ffi_api.StorageInfoStorageSizes(self)


@register_object("relay.StaticMemoryPlan")
class StaticMemoryPlan(RelayNode):
    """The memory plan of a function: a StorageInfo for each expression."""

    def __init__(self, expr_to_storage_info: Any) -> None:
        self.__init_handle_by_constructor__(_ffi_api.StaticMemoryPlan, expr_to_storage_info)


def var(name_hint: str, type_annotation: Any = None, shape: Any = None, dtype: str = "float32") -> Var:
    """A variable, with a type, with the shape and dtype of a tensor, or with neither for inference to find."""
    if type_annotation is not None and shape is not None:
        raise ValueError("Can only specify either type_annotation or shape.")
    if shape is not None:
        type_annotation = _ty.TensorType(shape, dtype)
    elif isinstance(type_annotation, str):
        type_annotation = _ty.TensorType((), type_annotation)
    return Var(name_hint, type_annotation)


def const(value: Any, dtype: str | None = None) -> Constant:
    """A constant. Without a dtype, values of 64 bits become int32 and float32; NDArrays stay as they are."""
    if isinstance(value, (Number, bool, list)):
        value = np.array(value, dtype=dtype)
    if isinstance(value, np.ndarray | np.generic) or (not isinstance(value, NDArray) and hasattr(value, "dtype")):
        narrow = {"int64": "int32", "float64": "float32"}.get(str(value.dtype)) if dtype is None else dtype
        value = _nd.array(value.astype(narrow) if narrow else value)
    if not isinstance(value, NDArray):
        raise AttributeError(f"{type(value).__name__!r} object has no attribute 'dtype'")
    return Constant(value)


def bind(expr: Any, binds: dict[Any, Any]) -> Any:
    """`expr` with free variables replaced; a parameter of a function that is replaced is no parameter any more."""
    return _ffi_api.Bind(expr, {key: convert(value) for key, value in binds.items()})


__all__ += ["Array", "BaseFunc", "Op"]
