"""Programs of a dynamic dimension with versions for some of its sizes, chosen when they run."""

from __future__ import annotations

from typing import Any

from ...ir import GlobalVar, IRModule
from .. import op as _op
from ..expr import Call, If, Tuple, TupleGetItem, Var, bind, const
from ..function import Function
from ..ty import Any as AnyDim
from ..ty import TensorType, TupleType
from . import _ffi_api

__all__ = ["FlexibleShapeDispatch", "flexible_dispatch", "override_shape", "specialize_body"]


def override_shape(tensor_type: TensorType, axis: int, dim: Any) -> TensorType:
    """A type with another extent of one axis."""
    shape = list(tensor_type.shape)
    shape[axis] = dim
    return TensorType(shape, tensor_type.dtype)


def _override_result(result: Any, axis: int, dim: Any) -> Any:
    if isinstance(result, TupleType):
        return TupleType([override_shape(field, axis, dim) for field in result.fields])
    return override_shape(result, axis, dim)


def _copy(function: Function, types: list[Any]) -> Function:
    """The function with parameters of its own, of these types."""
    params = [Var(param.name_hint, kind) for param, kind in zip(function.params, types)]
    body = bind(function.body, dict(zip(function.params, params)))
    return Function(params, body, None, function.type_params)


def specialize_body(
    mod: IRModule, function: Function, axis: int, dim: int, input_indices: list[int], affects_output: bool = True
) -> tuple[GlobalVar, IRModule]:
    """The module with a version of a function for one extent, and that version's name."""
    types = [param.type_annotation for param in function.params]
    for i in input_indices:
        types[i] = override_shape(types[i], axis, dim)
    copied = _copy(function, types)
    if affects_output and function.ret_type is not None:
        copied = Function(
            copied.params, copied.body, _override_result(function.ret_type, axis, dim), copied.type_params
        )
    name = GlobalVar(f"main_{dim}")
    out = IRModule(dict(mod.functions), dict(mod.type_definitions))
    out[name] = copied
    return name, _ffi_api.InferType()(out)


def _size(data: Var, axis: int) -> Any:
    return _op.take(_op.shape_of(data, dtype="int64"), const(axis, "int64"), axis=0)


def _padded(data: Var, rank: int, axis: int, size: Any, bucket: int, pad_value: float) -> Any:
    """`data` up to the bucket's extent."""
    zeros = const([[0, 0]], "int64")
    missing = _op.reshape(const(bucket, "int64") - size, [1, 1])
    widths = [_op.concatenate([const([[0]], "int64"), missing], axis=1) if i == axis else zeros for i in range(rank)]
    return _op.nn.pad(data, _op.concatenate(widths, axis=0), pad_value=const(pad_value, "float32"))


def _cropped(result: Any, kind: Any, axis: int, size: Any) -> Any:
    """The part of a result that was asked for."""
    rank = len(kind.shape)
    begin, strides = const([0] * rank, "int64"), const([1] * rank, "int64")
    extents = _op.shape_of(result, dtype="int64")
    wanted = _op.reshape(size, [1])
    parts = [wanted if i == axis else _op.take(extents, const([i], "int64"), axis=0) for i in range(rank)]
    return _op.strided_slice(result, begin, _op.concatenate(parts, axis=0), strides)


def flexible_dispatch(
    mod: IRModule,
    buckets: list[int],
    axis: int = 0,
    auto_pad: bool = False,
    pad_value: float = 0,
    input_indices: list[int] | None = None,
    affects_output: bool = True,
) -> IRModule:
    """A module whose "main" takes any extent along `axis`, with a static version for each of the buckets.

    Other extents take the dynamic program, or with `auto_pad` the next larger version, padded and cropped. `input_indices`
    are the inputs that have the dimension, by default all.
    """
    mod = _ffi_api.InferType()(mod)
    main = mod["main"]
    indices = list(range(len(main.params))) if input_indices is None else list(input_indices)
    types = [param.type_annotation for param in main.params]
    for i in indices:
        types[i] = override_shape(types[i], axis, AnyDim())
    params = [Var(param.name_hint, kind) for param, kind in zip(main.params, types)]
    size = Var("size")
    out = mod
    versions = []
    for bucket in sorted(buckets):
        name, out = specialize_body(out, main, axis, bucket, indices, affects_output)
        versions.append((bucket, name))

    def call(bucket: int, name: GlobalVar) -> Any:
        if not auto_pad:
            return Call(name, params)
        args: list[Any] = [
            _padded(param, len(types[i].shape), axis, size, bucket, pad_value) if i in indices else param
            for i, param in enumerate(params)
        ]
        result = Call(name, args)
        if not affects_output:
            return result
        if isinstance(main.ret_type, TupleType):
            fields = enumerate(main.ret_type.fields)
            return Tuple([_cropped(TupleGetItem(result, i), kind, axis, size) for i, kind in fields])
        return _cropped(result, main.ret_type, axis, size)

    body = bind(main.body, dict(zip(main.params, params)))
    for bucket, name in reversed(versions):
        is_it = _op.less_equal(size, const(bucket, "int64")) if auto_pad else _op.equal(size, const(bucket, "int64"))
        body = If(is_it, call(bucket, name), body)
    body = bind(body, {size: _size(params[indices[0]], axis)})
    out["main"] = Function(params, body, None, main.type_params, main.attrs)
    return _ffi_api.InferType()(out)


class FlexibleShapeDispatch:
    """`flexible_dispatch` as a pass."""

    def __init__(
        self,
        buckets: list[int],
        axis: int = 0,
        auto_pad: bool = False,
        pad_value: float = 0,
        input_indices: list[int] | None = None,
        affects_output: bool = True,
    ):
        self.axis, self.buckets, self.auto_pad = axis, buckets, auto_pad
        self.pad_value, self.input_indices, self.affects_output = pad_value, input_indices, affects_output

    def __call__(self, mod: IRModule) -> IRModule:
        """The module with a dispatching "main"."""
        options = (self.buckets, self.axis, self.auto_pad, self.pad_value, self.input_indices, self.affects_output)
        return flexible_dispatch(mod, *options)
