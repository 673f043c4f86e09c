"""Small helpers of computes and schedules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .. import arith, te, tir
from ..target import Target
from . import tag

__all__ = [
    "InvalidShapeError",
    "ceil_div",
    "const_matrix",
    "const_vector",
    "equal_const_int",
    "get_const_float",
    "get_const_int",
    "get_const_tuple",
    "get_float_tuple",
    "get_max_power2_factor",
    "get_shape",
    "is_empty_shape",
    "is_target",
    "make_idx",
    "nchw_pack_layout",
    "nchw_xc_layout",
    "ncw_pack_layout",
    "ncw_xc_layout",
    "prod",
    "ravel_index",
    "simplify",
    "swap",
    "traverse_inline",
    "unravel_index",
    "within_index",
]


class InvalidShapeError(ValueError):
    """A schedule does not take tensors of this shape."""


# ---- numbers ---------------------------------------------------------------------------------------------------------


def simplify(expr: Any) -> Any:
    """The expression, simplified; numbers are themselves."""
    return arith.Analyzer().simplify(expr) if isinstance(expr, tir.PrimExpr) else expr


def _constant(expr: Any, kind: Any, what: str) -> Any:
    value = simplify(expr)
    if not isinstance(value, kind):
        raise ValueError(f"{expr} is no constant {what}")
    return value.value


def get_const_int(expr: Any) -> int:
    """The value of a constant; a ValueError for what is none."""
    return expr if isinstance(expr, int) else int(_constant(expr, tir.IntImm, "integer"))


def get_const_float(expr: Any) -> float:
    """The value of a constant; a ValueError for what is none."""
    return float(expr) if isinstance(expr, (int, float)) else float(_constant(expr, tir.FloatImm, "number"))


def equal_const_int(expr: Any, value: int) -> bool:
    """True when an expression is this constant."""
    found = simplify(expr)
    return int(getattr(found, "value", found)) == value if isinstance(found, (int, tir.IntImm)) else False


def get_const_tuple(in_tuple: Iterable[Any]) -> tuple[Any, ...]:
    """Numbers of constant expressions; what is none (a variable, `?`) stays."""

    def number(item: Any) -> Any:
        if isinstance(item, (tir.Var, tir.Any)):
            return item
        value = simplify(item)
        return int(value.value) if isinstance(value, tir.IntImm) else value

    return tuple(number(item) for item in in_tuple)


def get_float_tuple(in_tuple: Iterable[Any]) -> tuple[float, ...]:
    """Numbers of constant expressions."""
    return tuple(get_const_float(item) for item in in_tuple)


def prod(x: Sequence[Any]) -> Any:
    """The product of all; 1 of none."""
    out: Any = 1
    for i, item in enumerate(x):
        out = item if i == 0 else out * item
    return out if len(x) else tir.const(1, "int32")


def ceil_div(a: Any, b: Any) -> Any:
    """a / b, rounded up."""
    return tir.indexdiv(a + (b - 1), b)


def get_max_power2_factor(n: int, max_value: int | None = None) -> int:
    """The largest power of two that divides `n`, at most `max_value`."""
    out = 1
    while n % (2 * out) == 0 and (max_value is None or 2 * out <= max_value):
        out *= 2
    return out


# ---- indices ---------------------------------------------------------------------------------------------------------


def ravel_index(indices: Sequence[Any], shape: Sequence[Any]) -> Any:
    """The number of an element, row by row."""
    out: Any = None
    for index, extent in zip(indices, shape):
        out = index if out is None else out * extent + index
    return out


def unravel_index(idx: Any, shape: Sequence[Any]) -> list[Any]:
    """The indices of an element, of its number."""
    out = []
    for extent in reversed(list(shape)):
        out.append(tir.indexmod(idx, extent))
        idx = tir.indexdiv(idx, extent)
    return out[::-1]


def swap(arr: Sequence[Any], axis: int) -> list[Any]:
    """The list with its last item and that at `axis` swapped."""
    out = list(arr)
    out[axis], out[-1] = out[-1], out[axis]
    return out


def is_empty_shape(shape: Iterable[Any]) -> bool:
    """True when a tensor of the shape has no elements."""
    return any(equal_const_int(extent, 0) for extent in shape)


def within_index(b: Any, e: Any, s: Any, i: Any) -> Any:
    """Whether `i` is one of b, b + s, b + 2 s, ... before `e`."""
    forward = tir.all(s > 0, b <= i, i < e)
    backward = tir.all(s < 0, i <= b, i > e)
    on_step = tir.Select(s > 0, tir.indexmod(i - b, s), tir.indexmod(b - i, -s)).equal(0)
    return tir.all(tir.any(forward, backward), on_step)


def make_idx(b: Any, e: Any, s: Any, z: Any, i: Any) -> Any:
    """The number of `i` among b, b + s, b + 2 s, ... of an axis of extent `z`; for what `within_index` holds of."""
    del e
    first = tir.min(b, z - 1)
    return tir.Select(s > 0, tir.indexdiv(i - first, s), tir.indexdiv(first - i, -s))


# ---- constant tensors --------------------------------------------------------------------------------------------------


def _select(values: Sequence[Any], index: Any, dtype: str) -> Any:
    out: Any = tir.const(0, dtype)
    for i, value in enumerate(values):
        out = tir.Select(index.equal(i), value, out)
    return out


def const_vector(vector: np.ndarray, name: str = "const_vector") -> te.Tensor:
    """A tensor of one dimension with these values, as selections that loops of known extents fold away."""
    dtype = str(vector.dtype)
    values = [tir.const(value.item(), dtype) for value in vector]
    return te.compute(vector.shape, lambda i: _select(values, i, dtype), name=name)


def const_matrix(matrix: np.ndarray, name: str = "const_matrix") -> te.Tensor:
    """The same of two dimensions."""
    dtype = str(matrix.dtype)
    rows = [[tir.const(value.item(), dtype) for value in row] for row in matrix]
    return te.compute(matrix.shape, lambda i, j: _select([_select(row, j, dtype) for row in rows], i, dtype), name=name)


# ---- layouts -----------------------------------------------------------------------------------------------------------


def get_shape(src_shape: Sequence[Any], src_layout: Any, dst_layout: Any) -> list[Any]:
    """The shape of a tensor in another layout of the same axes."""
    if src_layout == dst_layout:
        return list(get_const_tuple(src_shape))
    source, wanted = (tir.layout(x) if isinstance(x, str) else x for x in (src_layout, dst_layout))
    return list(get_const_tuple(tir.bijective_layout(source, wanted).forward_shape(src_shape)))


def _has_layout(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text) is not None


def nchw_pack_layout(layout_info: str) -> bool:
    """True for NCHW with split batch and channels, such as NCHW4n8c."""
    return _has_layout(r"NCHW\d+n\d+c", layout_info)


def nchw_xc_layout(layout_info: str) -> bool:
    """True for NCHW with split channels, such as NCHW16c."""
    return _has_layout(r"NCHW\d+c", layout_info)


def ncw_pack_layout(layout_info: str) -> bool:
    """True for NCW with split batch and channels."""
    return _has_layout(r"NCW\d+n\d+c", layout_info)


def ncw_xc_layout(layout_info: str) -> bool:
    """True for NCW with split channels."""
    return _has_layout(r"NCW\d+c", layout_info)


# ---- schedules ---------------------------------------------------------------------------------------------------------


def is_target(names: str | Sequence[str]) -> bool:
    """True when the current target has one of these keys."""
    wanted = [names] if isinstance(names, str) else names
    target: Any = Target.current(allow_none=False)
    return any(name in target.keys for name in wanted)


def traverse_inline(s: te.Schedule, final_op: Any, callback: Callable[[Any], None]) -> None:
    """Calls `callback` with each operation that leads to `final_op`, inputs first; injective ones are inlined before."""
    visited = set()

    def visit(op: Any) -> None:
        if op in visited:
            return
        visited.add(op)
        if tag.is_injective(op.tag):
            if op not in s.outputs:
                s[op].compute_inline()
            for tensor in op.input_tensors:
                if isinstance(tensor.op, te.ComputeOp):
                    visit(tensor.op)
        callback(op)

    visit(final_op)
