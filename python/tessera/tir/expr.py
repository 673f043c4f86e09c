"""Expressions over machine values, with Python's operators.

Constructors (``Add(a, b)``) make bare nodes and want operands of one type; operators (``a + b``) match types and fold.
"""

from __future__ import annotations

from typing import Any as Value

from .._ffi.registry import register_object
from ..ir import Array, Op, PrimExpr, Range, RelayExpr, Span
from ..ir import _ffi_api as _ir_api
from ..runtime.object import Object
from . import _ffi_api
from .operators import EqualOp, ExprOp, IntImmEnum, NotEqualOp, div_ambiguity_error

__all__ = [
    "EQ",
    "GE",
    "GT",
    "LE",
    "LT",
    "NE",
    "Add",
    "And",
    "Any",
    "BinaryOpExpr",
    "Broadcast",
    "BufferLoad",
    "Call",
    "CallEffectKind",
    "Cast",
    "CmpExpr",
    "CommReducer",
    "ConstExpr",
    "Div",
    "EqualOp",
    "ExprOp",
    "FloatImm",
    "FloorDiv",
    "FloorMod",
    "IntImm",
    "IntImmEnum",
    "IterVar",
    "Let",
    "Load",
    "LogicalExpr",
    "Max",
    "Min",
    "Mod",
    "Mul",
    "Not",
    "NotEqualOp",
    "Or",
    "PrimExprWithOp",
    "ProducerLoad",
    "Ramp",
    "Reduce",
    "Select",
    "Shuffle",
    "SizeVar",
    "StringImm",
    "Sub",
    "Var",
    "div_ambiguity_error",
]


class PrimExprWithOp(ExprOp, PrimExpr):
    """An expression with Python's operators."""

    # __eq__ is not a comparison here, so objects hash as what they are.
    __hash__ = PrimExpr.__hash__


class ConstExpr(PrimExprWithOp):
    """A constant."""


class _TwoOperands(PrimExprWithOp):
    a: PrimExpr
    b: PrimExpr

    def __init__(self, a: Value, b: Value, span: Span | None = None):
        make = getattr(_ffi_api, self._type_key.removeprefix("tir."))
        self.__init_handle_by_constructor__(make, a, b, span)


class BinaryOpExpr(_TwoOperands):
    """An operation on two numbers of one type."""


class CmpExpr(_TwoOperands):
    """A comparison of two numbers of one type."""


class LogicalExpr(_TwoOperands):
    """Logic on booleans."""


@register_object("tir.Var")
class Var(PrimExprWithOp):
    """A variable; the same only as itself. `dtype` is a str, or a Type such as a PointerType."""

    def __init__(self, name: str, dtype: Value, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.Var, name, dtype, span)

    @property
    def name_hint(self) -> str:
        return self.name


@register_object("tir.SizeVar")
class SizeVar(Var):
    """A variable known to be zero or more."""

    def __init__(self, name: str, dtype: Value, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.SizeVar, name, dtype, span)


@register_object("tir.IterVar")
class IterVar(ExprOp, Object):
    """One dimension of an iteration space; stands for its variable in expressions. Compares by identity."""

    __eq__ = Object.__eq__
    __ne__ = Object.__ne__
    __hash__ = Object.__hash__

    DataPar = 0
    ThreadIndex = 1
    CommReduce = 2
    Ordered = 3
    DimInfo = 4
    Unrolled = 5
    Vectorized = 6
    Parallelized = 7
    Tensorized = 8

    def __init__(self, dom: Value, var: Value, iter_type: int, thread_tag: str = "", span: Span | None = None):
        if dom is not None:
            if isinstance(dom, (list, tuple)):
                if len(dom) != 2:
                    raise TypeError("need to be list of ranges")
                dom = Range(dom[0], dom[1])
            if not isinstance(dom, Range):
                raise TypeError(f"dom needs to be a Range or a pair, got {dom!r}")
        if not isinstance(var, Var):
            var = Var(var if var is not None else "iter", "int32" if dom is None else dom.extent.dtype)
        self.__init_handle_by_constructor__(_ffi_api.IterVar, dom, var, iter_type, thread_tag, span)


@register_object("tir.CommReducer")
class CommReducer(Object):
    """A commutative, associative combination of tuples: `result` in terms of `lhs` and `rhs`."""

    def __init__(self, lhs: Value, rhs: Value, result: Value, identity_element: Value, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.CommReducer, lhs, rhs, result, identity_element, span)


@register_object("tir.Reduce")
class Reduce(PrimExprWithOp):
    """Component `value_index` of the reduction of `src` over `rdom` where `condition` holds."""

    def __init__(
        self,
        combiner: CommReducer,
        src: Value,
        rdom: Value,
        condition: Value,
        value_index: int,
        init: Value = None,
        span: Span | None = None,
    ):
        self.__init_handle_by_constructor__(
            _ffi_api.Reduce, combiner, src, rdom, condition, value_index, init or [], span
        )


@register_object
class FloatImm(ConstExpr):
    """A floating-point constant."""

    def __init__(self, dtype: str, value: float, span: Span | None = None):
        self.__init_handle_by_constructor__(_ir_api.FloatImm, dtype, value, span)

    def __float__(self) -> float:
        return self.value


@register_object
class IntImm(ConstExpr):
    """An integer constant; usable as an index and as a truth value."""

    def __init__(self, dtype: str, value: int, span: Span | None = None):
        self.__init_handle_by_constructor__(_ir_api.IntImm, dtype, value, span)

    def __hash__(self) -> int:
        return self.value

    def __int__(self) -> int:
        return self.value

    def __index__(self) -> int:
        return self.value

    def __nonzero__(self) -> bool:
        return self.value != 0

    def __eq__(self, other: Value) -> Value:
        return _ffi_api._OpEQ(self, other, None)

    def __ne__(self, other: Value) -> Value:
        return _ffi_api._OpNE(self, other, None)

    def __bool__(self) -> bool:
        return self.__nonzero__()


@register_object("tir.StringImm")
class StringImm(ConstExpr):
    """A text constant; compares by its text."""

    def __init__(self, value: str, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.StringImm, value, span)

    def __eq__(self, other: Value) -> Value:
        return self.value == (other.value if isinstance(other, ConstExpr) else other)

    def __ne__(self, other: Value) -> Value:
        return not self == other

    def __hash__(self) -> int:
        return PrimExpr.__hash__(self)


@register_object("tir.Cast")
class Cast(PrimExprWithOp):
    """`value` as a value of type `dtype`."""

    def __init__(self, dtype: str, value: Value, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.Cast, dtype, value, span)


@register_object("tir.Add")
class Add(BinaryOpExpr):
    """a + b"""


@register_object("tir.Sub")
class Sub(BinaryOpExpr):
    """a - b"""


@register_object("tir.Mul")
class Mul(BinaryOpExpr):
    """a * b"""


@register_object("tir.Div")
class Div(BinaryOpExpr):
    """a / b; on integers the quotient is rounded towards zero"""


@register_object("tir.Mod")
class Mod(BinaryOpExpr):
    """The remainder of Div; it has the sign of a"""


@register_object("tir.FloorDiv")
class FloorDiv(BinaryOpExpr):
    """a // b"""


@register_object("tir.FloorMod")
class FloorMod(BinaryOpExpr):
    """The remainder of FloorDiv; it has the sign of b"""


@register_object("tir.Min")
class Min(BinaryOpExpr):
    """The smaller of both"""


@register_object("tir.Max")
class Max(BinaryOpExpr):
    """The larger of both"""


@register_object("tir.EQ")
class EQ(CmpExpr):
    """a == b"""


@register_object("tir.NE")
class NE(CmpExpr):
    """a != b"""


@register_object("tir.LT")
class LT(CmpExpr):
    """a < b"""


@register_object("tir.LE")
class LE(CmpExpr):
    """a <= b"""


@register_object("tir.GT")
class GT(CmpExpr):
    """a > b"""


@register_object("tir.GE")
class GE(CmpExpr):
    """a >= b"""


@register_object("tir.And")
class And(LogicalExpr):
    """Both"""


@register_object("tir.Or")
class Or(LogicalExpr):
    """at least one"""


@register_object("tir.Not")
class Not(LogicalExpr):
    """The opposite"""

    def __init__(self, a: Value, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.Not, a, span)


@register_object("tir.Select")
class Select(PrimExprWithOp):
    """One of two values; both may be evaluated. `if_then_else` is the lazy form."""

    def __init__(self, condition: Value, true_value: Value, false_value: Value, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.Select, condition, true_value, false_value, span)


@register_object("tir.Load")
class Load(PrimExprWithOp):
    """A load from a bare pointer; programs use BufferLoad."""

    def __init__(self, dtype: str, buffer_var: Value, index: Value, predicate: Value = None, span: Span | None = None):
        raise NotImplementedError("tir.Load is no longer part of programs: declare a buffer and use tir.BufferLoad")


@register_object("tir.BufferLoad")
class BufferLoad(PrimExprWithOp):
    """An element of a buffer, or a vector of them where the last index is a vector."""

    def __init__(self, buffer: Value, indices: Value, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.BufferLoad, buffer, indices, span)


@register_object("tir.ProducerLoad")
class ProducerLoad(PrimExprWithOp):
    """An element of a tensor."""

    def __init__(self, producer: Value, indices: Value, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.ProducerLoad, producer, indices, span)


@register_object("tir.Ramp")
class Ramp(PrimExprWithOp):
    """The vector base, base + stride, ..., base + (lanes - 1) * stride."""

    def __init__(self, base: Value, stride: Value, lanes: int, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.Ramp, base, stride, lanes, span)


@register_object("tir.Broadcast")
class Broadcast(PrimExprWithOp):
    """The vector of `lanes` times the same value."""

    def __init__(self, value: Value, lanes: int, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.Broadcast, value, lanes, span)


@register_object("tir.Shuffle")
class Shuffle(PrimExprWithOp):
    """Lanes picked by index from the concatenation of `vectors`."""

    def __init__(self, vectors: Value, indices: Value, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.Shuffle, vectors, indices, span)


class CallEffectKind:
    """What a call may do besides giving its value."""

    ExprAnnotation = IntImmEnum(0)
    Pure = IntImmEnum(1)
    ReadState = IntImmEnum(2)
    UpdateState = IntImmEnum(3)
    Opaque = UpdateState


@register_object("tir.Call")
class Call(PrimExprWithOp):
    """A call of an operator, given as an Op or by its full name, or of a GlobalVar's function."""

    def __init__(self, dtype: str, op: RelayExpr | str, args: Value, span: Span | None = None):
        if isinstance(op, str):
            if not op.startswith("tir."):
                raise ValueError(
                    f"Cannot handle str op argument {op}. An operator goes by its full name, such as "
                    "tir.exp; a function of a library is called by tvm.tir.call_extern or call_packed"
                )
            op = Op.get(op)
        if isinstance(args, (list, tuple, Array)):
            args = [_address_of_buffer(arg) for arg in args]
        self.__init_handle_by_constructor__(_ffi_api.Call, dtype, op, args, span)


def _address_of_buffer(value: Value) -> Value:
    from .buffer import Buffer
    from .ir_builder import BufferVar

    value = value.asobject() if isinstance(value, BufferVar) else value
    return value.data if isinstance(value, Buffer) else value


@register_object("tir.Let")
class Let(PrimExprWithOp):
    """`body` with `var` standing for `value`."""

    def __init__(self, var: Var, value: Value, body: Value, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.Let, var, value, body, span)


@register_object("tir.Any")
class Any(PrimExprWithOp):
    """An unknown dimension of a Relay shape."""

    def __init__(self, span: Span | None = None):
        self.__init_handle_by_constructor__(_ffi_api.Any, span)
