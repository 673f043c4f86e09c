"""Tensor intrinsics: hardware instructions described by a small computation."""

from __future__ import annotations

from typing import Any, Callable

from .._ffi.registry import register_object
from ..ir import PrimExpr, Range
from ..runtime.object import Object
from ..runtime.object_generic import convert
from ..tir import Evaluate, Stmt, decl_buffer
from ..tir import expr as _expr
from . import _ffi_api
from . import tensor as _tensor


def _region(tensor_slice: _tensor.TensorSlice) -> list[Range]:
    """The rectangle that a slice such as ``A[i, 0:16]`` names."""
    region = []
    for index in tensor_slice.indices:
        if isinstance(index, slice):
            assert index.step is None
            region.append(Range(index.start, index.stop))
        elif isinstance(index, _expr.IterVar):
            region.append(Range.from_min_extent(index.var, 1))
        else:
            begin = convert(index)
            region.append(Range.from_min_extent(begin, 1))
    return region


@register_object
class TensorIntrin(Object):
    """An instruction; called on slices inside `te.compute`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tensors = [x.tensor for x in args if isinstance(x, _tensor.TensorSlice)]
        scalar_inputs = [x for x in args if not isinstance(x, _tensor.TensorSlice)]
        regions = [_region(x) for x in args if isinstance(x, _tensor.TensorSlice)]
        reduce_axis: Any = []
        if "reduce_axis" in kwargs:
            reduce_axis = kwargs["reduce_axis"]
            if not isinstance(reduce_axis, (list, tuple)):
                reduce_axis = [reduce_axis]
        return _ffi_api.TensorIntrinCall(self, tensors, regions, list(reduce_axis), scalar_inputs)


def decl_tensor_intrin(
    op: Any,
    fcompute: Callable[..., Any],
    name: str = "tensor_intrin",
    binds: Any = None,
    scalar_params: Any = None,
    default_buffer_params: Any = None,
) -> TensorIntrin:
    """An instruction that computes what `op` does.

    ``fcompute(ins, outs)`` gets buffers and returns the statement, or a tuple (body, reduce_init, reduce_update).
    `binds` gives tensors buffers of their own; the others are made with `default_buffer_params`.
    """
    if not isinstance(op, _tensor.Operation):
        raise TypeError("expect Operation")
    inputs = op.input_tensors
    binds = binds if binds else {}
    tensors = [*inputs, *(op.output(i) for i in range(op.num_outputs))]
    params = default_buffer_params or {}
    buffers = []
    for tensor in tensors:
        buffer = binds.get(tensor)
        if buffer is None:
            buffer = decl_buffer(tensor.shape, tensor.dtype, tensor.op.name, **params)
        buffers.append(buffer)
    ins, outs = buffers[: len(inputs)], buffers[len(inputs) :]
    body = fcompute(ins, outs, scalar_params) if scalar_params else fcompute(ins, outs)
    if isinstance(body, (PrimExpr, Stmt)):
        body = [body]
    parts = [Evaluate(part) if isinstance(part, PrimExpr) else part for part in body]
    parts = parts + [None] * (3 - len(parts))
    return _ffi_api.TensorIntrin(name, op, inputs, buffers, scalar_params or [], *parts)


__all__ = ["TensorIntrin", "decl_tensor_intrin"]
