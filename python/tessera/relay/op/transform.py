"""Operators that move, choose or make elements; signatures are v0.10's."""

from __future__ import annotations

from typing import Any

from ..expr import Call, Expr, Tuple, TupleWrapper
from ._make import call_op

__all__ = [
    "cast",
    "clip",
    "concatenate",
    "expand_dims",
    "full",
    "full_like",
    "layout_transform",
    "ones",
    "reinterpret",
    "reshape",
    "split",
    "squeeze",
    "stack",
    "take",
    "transpose",
    "where",
    "zeros",
]


def cast(data: Expr, dtype: str) -> Call:
    """The elements as another type."""
    return call_op("cast", [data], {"dtype": dtype})


def reinterpret(data: Expr, dtype: str) -> Call:
    """The bits of the elements read as another type."""
    return call_op("reinterpret", [data], {"dtype": dtype})


def clip(a: Expr, a_min: float, a_max: float) -> Call:
    """Each element brought into [a_min, a_max]."""
    return call_op("clip", [a], {"a_min": float(a_min), "a_max": float(a_max)})


def reshape(data: Expr, newshape: Any, allowzero: bool = False) -> Call:
    """The same elements under another shape: 0 keeps an extent, -1 is inferred, -2 keeps the rest, -3 joins two,
    -4 splits one into the next two."""
    if isinstance(newshape, Expr):
        raise NotImplementedError("reshape to a shape known only at run time (dyn.reshape) is not there yet")
    shape = [newshape] if isinstance(newshape, int) else list(newshape)
    return call_op("reshape", [data], {"newshape": shape, "allowzero": allowzero})


def transpose(data: Expr, axes: Any = None) -> Call:
    """The dimensions in another order, or reversed."""
    return call_op("transpose", [data], {"axes": None if axes is None else list(axes)})


def expand_dims(data: Expr, axis: int, num_newaxis: int = 1) -> Call:
    """New dimensions of extent 1 before `axis`."""
    return call_op("expand_dims", [data], {"axis": axis, "num_newaxis": num_newaxis})


def squeeze(data: Expr, axis: Any = None) -> Call:
    """Without dimensions of extent 1: those given, or all."""
    axes = [axis] if isinstance(axis, int) else axis
    return call_op("squeeze", [data], {"axis": axes})


def _parts(data: Any) -> Any:
    parts = data if isinstance(data, Expr) else Tuple([*data])
    if isinstance(parts, Tuple) and not list(parts.fields):
        raise ValueError("relay.concatenate requires data to be non-empty.")
    return parts


def concatenate(data: Any, axis: int) -> Call:
    """Tensors one after the other along `axis`."""
    if not isinstance(axis, int):
        raise ValueError("For now, we only support integer axis")
    return call_op("concatenate", [_parts(data)], {"axis": axis})


def stack(data: Any, axis: int) -> Call:
    """Tensors along a new axis."""
    if not isinstance(axis, int):
        raise ValueError("For now, we only support integer axis")
    return call_op("stack", [_parts(data)], {"axis": axis})


def split(data: Expr, indices_or_sections: Any, axis: int = 0) -> TupleWrapper:
    """Equal parts along `axis`, or parts that begin at the places given."""
    if isinstance(indices_or_sections, int):
        count = indices_or_sections
    else:
        indices_or_sections = list(indices_or_sections)
        count = len(indices_or_sections) + 1
    call = call_op("split", [data], {"indices_or_sections": indices_or_sections, "axis": axis})
    return TupleWrapper(call, count)


def take(data: Expr, indices: Expr, axis: int | None = None, batch_dims: int = 0, mode: str = "clip") -> Call:
    """Elements by index: of the flattened tensor, or slices along `axis`. An index out of range is clipped, wrapped, or
    ("fast") not looked at."""
    return call_op("take", [data, indices], {"axis": axis, "batch_dims": batch_dims, "mode": mode})


def where(condition: Expr, x: Expr, y: Expr) -> Call:
    """x where the condition holds, else y."""
    return call_op("where", [condition, x, y])


def layout_transform(data: Expr, src_layout: str, dst_layout: str) -> Call:
    """The elements in another layout, such as NCHW to NCHW16c."""
    return call_op("layout_transform", [data], {"src_layout": src_layout, "dst_layout": dst_layout})


def _shape(shape: Any) -> list[Any]:
    if isinstance(shape, Expr):
        raise NotImplementedError("a shape known only at run time (dyn.*) is not there yet")
    return [shape] if isinstance(shape, int) else list(shape)


def zeros(shape: Any, dtype: str) -> Call:
    """A tensor of zeros."""
    return call_op("zeros", [], {"shape": _shape(shape), "dtype": dtype})


def ones(shape: Any, dtype: str) -> Call:
    """A tensor of ones."""
    return call_op("ones", [], {"shape": _shape(shape), "dtype": dtype})


def full(fill_value: Any, shape: Any = (), dtype: str = "") -> Call:
    """A tensor filled with one value."""
    return call_op("full", [fill_value], {"shape": _shape(shape), "dtype": dtype})


def full_like(data: Expr, fill_value: Any) -> Call:
    """One value in the shape and type of another tensor."""
    return call_op("full_like", [data, fill_value])
