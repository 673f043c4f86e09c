"""Cumsum and cumprod, sorting and searching; signatures are v0.10's."""

from __future__ import annotations

import functools
import operator
from typing import Any, Callable

from tessera import te, tir
from tessera.target import Target
from tessera.te import Tensor
from tessera.tir.op import call_packed

from . import _ffi_api

__all__ = ["argsort", "binary_search", "cumprod", "cumsum", "scanop", "searchsorted", "sort", "topk", "unique"]


def _flat(data: Tensor) -> Tensor:
    size = 1
    for extent in data.shape:
        size = size * extent
    return _ffi_api.reshape(data, [size])


def _running(data: Tensor, axis: int | None, dtype: str | None, exclusive: bool | None, is_product: bool) -> Tensor:
    data, axis = (_flat(data), 0) if axis is None else (data, axis)
    return _ffi_api.running(data, axis, is_product, bool(exclusive), dtype or data.dtype)


def cumsum(data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None) -> Tensor:
    """Cumulative sums along `axis`, or of the flattened tensor."""
    return _running(data, axis, dtype, exclusive, False)


def cumprod(data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None) -> Tensor:
    """Cumulative products along `axis`, or of the flattened tensor."""
    return _running(data, axis, dtype, exclusive, True)


def scanop(
    data: Tensor,
    binop: Callable[[Any, Any], Any],
    identity_value: Any,
    op_name: str,
    axis: int | None = None,
    dtype: str | None = None,
    exclusive: bool | None = None,
) -> Tensor:
    """Running results of any binary operation along `axis`, or over the flattened tensor."""
    data, axis = (_flat(data), 0) if axis is None else (data, axis)
    axis = axis + len(data.shape) if axis < 0 else axis
    others = [extent for i, extent in enumerate(data.shape) if i != axis]

    out_type, extent = dtype or data.dtype, data.shape[axis]
    target = Target.current(allow_none=True)
    is_for_gpu = target is not None and "gpu" in target.keys

    def body(ins: Any, outs: Any) -> Any:
        builder = tir.ir_builder.create()

        def line(rest: list[Any]) -> None:
            def index(step: Any) -> list[Any]:
                return [*rest[:axis], step, *rest[axis:]]

            def element(step: Any) -> Any:
                return ins[0].vload(index(step)).astype(out_type)

            with builder.for_range(0, tir.min(extent, 1)) as i:
                first = tir.const(identity_value, out_type) if exclusive else element(i)
                builder.emit(outs[0].vstore(index(i), first))
            with builder.for_range(0, tir.max(extent - 1, 0)) as i:
                value = binop(outs[0].vload(index(i)), element(i if exclusive else i + 1))
                builder.emit(outs[0].vstore(index(i + 1), value))

        def nest(rest: list[Any]) -> None:
            if len(rest) == len(others):
                return line(rest)
            with builder.for_range(0, others[len(rest)]) as i:
                nest([*rest, i])

        def threads() -> None:
            """A thread of a device for each line."""
            thread = te.thread_axis("blockIdx.x")
            count = functools.reduce(operator.mul, others, tir.const(1, "int32"))
            builder.scope_attr(thread, "thread_extent", count)
            at: Any = thread.var
            rest: list[Any] = []
            for length in reversed(others):
                rest.insert(0, tir.indexmod(at, length))
                at = tir.indexdiv(at, length)
            line(rest)

        if is_for_gpu:
            threads()
        else:
            nest([])
        return builder.get()

    return te.extern([data.shape], [data], body, dtype=[dtype or data.dtype], name=op_name, tag=op_name)


def sort(data: Tensor, axis: int = -1, is_ascend: bool | int = 1) -> Tensor:
    """The elements along `axis` in order."""
    return _ffi_api.sort(data, axis, bool(is_ascend))


def argsort(
    data: Tensor, valid_count: Any = None, axis: int = -1, is_ascend: bool | int = 1, dtype: str = "float32"
) -> Tensor:
    """Indices that sort the elements along `axis`; of each line only the first `valid_count`, where it is given."""
    if valid_count is None:
        return _ffi_api.argsort(data, axis, bool(is_ascend), dtype)

    def body(ins: Any, outs: Any) -> Any:
        return call_packed("tvm.contrib.sort.argsort_nms", ins[0], ins[1], outs[0], axis, bool(is_ascend))

    options = {"dtype": dtype, "name": "argsort_nms_cpu", "tag": "argsort_nms_cpu"}
    return te.extern([data.shape], [data, valid_count], body, **options)


def topk(
    data: Tensor, k: Any = 1, axis: int = -1, ret_type: str = "both", is_ascend: bool = False, dtype: str = "int64"
) -> Any:
    """The first k elements along `axis` in falling (or rising) order: values, indices, or both."""
    count = data.shape[axis] if isinstance(k, int) and k < 1 else k
    out = _ffi_api.topk(data, count, axis, ret_type, is_ascend, dtype)
    return [*out] if ret_type == "both" else out[0]


def searchsorted(sorted_sequence: Tensor, values: Tensor, right: bool = False, out_dtype: str = "int64") -> Tensor:
    """Where values belong in a sorted sequence."""
    return _ffi_api.searchsorted(sorted_sequence, values, right, out_dtype)


def unique(data: Tensor, is_sorted: bool = True, return_counts: bool = False) -> Any:
    """The different elements of a vector, and where they are."""
    return [*_ffi_api.unique(data, is_sorted, return_counts)]


def binary_search(
    ib: Any, sequence_offset: Any, search_range: Any, sorted_sequence: Any, value: Any, right: bool, out_dtype: str
) -> Any:
    """Statements of an IR builder that find where a value belongs among `search_range` sorted ones; gives the index.

    `right`: behind equal values, else before them.
    """
    low = ib.allocate(out_dtype, (1,), name="lo", scope="local")
    high = ib.allocate(out_dtype, (1,), name="hi", scope="local")
    low[0] = tir.Cast(out_dtype, 0)
    high[0] = tir.Cast(out_dtype, search_range)
    with ib.while_loop(low[0] < high[0]):
        middle = tir.floordiv(low[0] + high[0], tir.const(2, out_dtype))
        here = sorted_sequence[sequence_offset + middle]
        is_before = (value >= here) if right else (value > here)
        with ib.if_scope(is_before):
            low[0] = middle + tir.const(1, out_dtype)
        with ib.else_scope():
            high[0] = middle
    return low[0]
