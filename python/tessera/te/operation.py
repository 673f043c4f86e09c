"""Making tensors: placeholder, compute, scan, extern; and axes."""

from __future__ import annotations

import inspect
from numbers import Integral as _Integral
from typing import Any, Callable

from ..ir import Array, PrimExpr
from ..runtime.object_generic import convert
from ..tir import IterVar, PrimFunc, Stmt, Var, decl_buffer
from ..tir import expr as _expr
from . import _ffi_api, tag
from . import tensor as _tensor


def placeholder(shape: Any, dtype: str | None = None, name: str = "placeholder") -> _tensor.Tensor:
    """A tensor given from outside."""
    shape = (shape,) if isinstance(shape, (PrimExpr, _Integral)) else shape
    return _ffi_api.Placeholder(shape, "float32" if dtype is None else dtype, name)


def _axis_names(fcompute: Callable[..., Any], ndim: int, varargs_names: Any) -> tuple[list[str], int]:
    """Names of the axes by the arguments of `fcompute`, and how many of them it takes."""
    spec = inspect.getfullargspec(fcompute)
    if spec.varargs is None and len(spec.args) == 0:
        return [f"i{i}" for i in range(ndim)], ndim
    if spec.varargs is not None:
        # fcompute(a, b, *args): the rest are called i<position>, or as varargs_names says
        if spec.kwonlyargs:
            raise ValueError("keyword arguments are not allowed in fcompute")
        rest = ndim - len(spec.args)
        names = list(varargs_names) if varargs_names else [f"i{i}" for i in range(len(spec.args), ndim)]
        if varargs_names and len(names) != rest:
            raise RuntimeError(f"Number of varargs ({rest}) does not match number of varargs_names ({len(names)})")
        return spec.args + names, ndim
    if spec.varkw or spec.defaults or spec.kwonlyargs:
        raise ValueError("default and keyword arguments are not allowed in fcompute")
    names = list(spec.args)
    if inspect.ismethod(fcompute):
        names = names[1:]
    return names, len(names)


def compute(
    shape: Any,
    fcompute: Callable[..., Any],
    name: str = "compute",
    tag: str = "",  # pylint: disable=redefined-outer-name
    attrs: Any = None,
    varargs_names: Any = None,
) -> Any:
    """A tensor of `shape` whose element at (i, j, ...) is ``fcompute(i, j, ...)``.

    The arguments of `fcompute` name the axes. A list or tuple of expressions gives several tensors.
    """
    tag = _scoped_tag(tag)
    shape = (shape,) if isinstance(shape, (PrimExpr, _Integral)) else shape
    shape = [int(s) if isinstance(s, float) else s for s in shape]  # for python3
    names, out_ndim = _axis_names(fcompute, len(shape), varargs_names)
    if out_ndim != len(names):
        raise ValueError(f"fcompute do not match dimension, ndim={out_ndim}")
    axes = [IterVar((0, extent), axis, 0) for axis, extent in zip(names, shape[:out_ndim])]
    body = fcompute(*[axis.var for axis in axes])
    if isinstance(body, _tensor.TensorIntrinCall):
        for i, extent in enumerate(shape[out_ndim:]):
            axes.append(IterVar((0, extent), f"ax{i}", 4))
        op = _ffi_api.TensorComputeOp(
            name,
            tag,
            axes,
            body.reduce_axis,
            out_ndim,
            body.intrin,
            body.tensors,
            body.regions,
            body.scalar_inputs,
        )
    else:
        if not isinstance(body, (list, tuple, Array)):
            body = [body]
        if any(value is None for value in body):
            raise ValueError(f"compute {name}: fcompute returned None; it has to return an expression")
        op = _ffi_api.ComputeOp(name, tag, attrs, axes, convert(body))
    outputs = tuple(op.output(i) for i in range(op.num_outputs))
    return outputs[0] if len(outputs) == 1 else outputs


def _scoped_tag(given: str) -> str:
    return tag.scoped_tag(given)


def scan(
    init: Any,
    update: Any,
    state_placeholder: Any,
    inputs: Any = None,
    name: str = "scan",
    tag: str = "",  # pylint: disable=redefined-outer-name
    attrs: Any = None,
) -> Any:
    """A recurrence over the first axis: `init` gives its first rows, `update` row t from rows before it.

    `update` reads earlier rows through `state_placeholder`, ``state[t - 1, i]``.
    """
    tag = _scoped_tag(tag)
    init, update, state_placeholder = (
        [x] if isinstance(x, _tensor.Tensor) else x for x in (init, update, state_placeholder)
    )
    inputs = [inputs] if isinstance(inputs, _tensor.Tensor) else inputs or []
    if len(init) != len(update) or len(init) != len(state_placeholder):
        raise ValueError("init, update, state_placeholder must have same length")
    axis = IterVar((init[0].shape[0], update[0].shape[0]), f"{name}.idx", 3)
    op = _ffi_api.ScanOp(name, tag, attrs, axis, init, update, state_placeholder, inputs)
    outputs = [op.output(i) for i in range(len(update))]
    return outputs[0] if len(outputs) == 1 else outputs


def extern(
    shape: Any,
    inputs: Any,
    fcompute: Callable[..., Any],
    name: str = "extern",
    dtype: Any = None,
    in_buffers: Any = None,
    out_buffers: Any = None,
    tag: str = "",  # pylint: disable=redefined-outer-name
    attrs: Any = None,
) -> Any:
    """Tensors computed by a statement of the user's own.

    ``fcompute(ins, outs)`` gets buffers for `inputs` and for the outputs, and returns the statement or a call.
    """
    tag = _scoped_tag(tag)
    shape = (shape,) if isinstance(shape, (PrimExpr, _Integral)) else shape
    if shape == () or isinstance(shape[0], (PrimExpr, _Integral)):
        shape = [shape]
    in_buffers = (
        [in_buffers] if in_buffers is not None and not isinstance(in_buffers, (list, tuple, Array)) else in_buffers
    )
    out_buffers = (
        [out_buffers] if out_buffers is not None and not isinstance(out_buffers, (list, tuple, Array)) else out_buffers
    )
    if in_buffers is not None and len(inputs) != len(in_buffers):
        raise RuntimeError(f"Number of inputs and in_buffers mismatch: {len(inputs)} vs {len(in_buffers)}.")
    if out_buffers is not None and len(shape) != len(out_buffers):
        raise RuntimeError(f"Number of outputs and out_buffers mismatch: {len(shape)} vs {len(out_buffers)}.")
    types = set()
    input_placeholders = []
    for i, tensor in enumerate(inputs):
        if not isinstance(tensor, _tensor.Tensor):
            raise ValueError("expect inputs to be tensor")
        if in_buffers is None:
            input_placeholders.append(decl_buffer(tensor.shape, tensor.dtype, tensor.op.name))
        else:
            input_placeholders.append(in_buffers[i])
        types.add(tensor.dtype)
    if dtype is None:
        if len(types) != 1:
            raise ValueError("Cannot infer output type, please provide dtype argument")
        dtype = [next(iter(types))] * len(shape)
    if isinstance(dtype, str):
        dtype = [dtype] * len(shape)
    if out_buffers is None:
        output_placeholders = [decl_buffer(dims, dt, name) for dims, dt in zip(shape, dtype)]
    else:
        output_placeholders = list(out_buffers)
    body = fcompute(input_placeholders, output_placeholders)
    if isinstance(body, PrimExpr):
        from ..tir import Evaluate

        body = Evaluate(body)
    if not isinstance(body, Stmt):
        raise ValueError(
            f"Function '{fcompute.__name__}' should return PrimExpr or Stmt, but it returned '{type(body)}'"
        )
    op = _ffi_api.ExternOp(name, tag, attrs, inputs, input_placeholders, output_placeholders, body)
    outputs = [op.output(i) for i in range(len(output_placeholders))]
    return outputs[0] if len(outputs) == 1 else outputs


def extern_primfunc(input_tensors: list[_tensor.Tensor], primfunc: PrimFunc, **kwargs: Any) -> Any:
    """Tensors computed by a function: what it only writes are the outputs, `input_tensors` stand for what it reads.

    A function that reads everything it writes (a reduction, an update in place) has its last written buffer as output.
    """
    in_buffers, out_buffers = _inputs_and_outputs(primfunc)
    if len(in_buffers) != len(input_tensors):
        names = ", ".join(buffer.name for buffer in in_buffers)
        raise ValueError(
            f"extern_primfunc: the function reads {names}; {len(input_tensors)} tensors are given for them"
        )
    for tensor, buffer in zip(input_tensors, in_buffers):
        if len(tensor.shape) != len(buffer.shape) or tensor.dtype != buffer.dtype:
            raise ValueError(
                f"extern_primfunc: {tensor.op.name} is {tensor.dtype} of shape {list(tensor.shape)}, "
                f"buffer {buffer.name} of the function is {buffer.dtype} of shape {list(buffer.shape)}"
            )
    return extern(
        [buffer.shape for buffer in out_buffers],
        input_tensors,
        lambda ins, outs: primfunc.body,
        dtype=[buffer.dtype for buffer in out_buffers],
        in_buffers=in_buffers,
        out_buffers=out_buffers,
        **kwargs,
    )


def _inputs_and_outputs(primfunc: PrimFunc) -> tuple[list, list]:
    """The buffers that a function takes in and gives out, in the order of its parameters."""
    from ..tir import BufferLoad, BufferStore, stmt_functor

    read: list = []
    written: list = []

    def note(node: Any) -> None:
        if isinstance(node, (BufferLoad, BufferStore)):
            (read if isinstance(node, BufferLoad) else written).append(node.buffer)

    stmt_functor.post_order_visit(primfunc.body, note)
    ordered = [primfunc.buffer_map[param] for param in primfunc.params if param in primfunc.buffer_map]
    if len(ordered) != len(primfunc.params):
        raise ValueError("extern_primfunc needs a function whose parameters are all buffers")
    ins = [buffer for buffer in ordered if any(buffer.same_as(other) for other in read)]
    outs = [buffer for buffer in ordered if any(buffer.same_as(other) for other in written)]
    if not outs:
        raise ValueError("extern_primfunc: the function writes none of its parameters")
    only_written = [buffer for buffer in outs if not any(buffer.same_as(other) for other in ins)]
    if only_written:
        return ins, only_written
    return [buffer for buffer in ins if not buffer.same_as(outs[-1])], [outs[-1]]


def var(name: str = "tindex", dtype: str = "int32", span: Any = None) -> Var:
    """A variable."""
    return Var(name, dtype, span)


def const(dtype: Any = "int32", span: Any = None) -> Any:
    """A constant. The number is the argument `dtype` and its type `span`, as in v0.10; `te.const` has better names."""
    from ..tir import const as make

    return make(dtype, span)


def size_var(name: str = "size", dtype: str = "int32", span: Any = None) -> Any:
    """A variable that is never negative, like the size of a tensor."""
    return _expr.SizeVar(name, dtype, span)


def thread_axis(dom: Any = None, tag: str = "", name: str = "", span: Any = None) -> IterVar:
    """An axis of threads: ``thread_axis("threadIdx.x")`` or ``thread_axis((0, 32), "threadIdx.x")``."""
    if isinstance(dom, str):
        tag, dom = dom, None
    if not tag:
        raise ValueError("tag must be given as Positional or keyword argument")
    return IterVar(dom, name or tag, 1, tag, span)


def reduce_axis(dom: Any, name: str = "rv", thread_tag: str = "", span: Any = None) -> IterVar:
    """An axis to reduce over, from dom[0] up to dom[1], which is not part of it."""
    return IterVar(dom, name, 2, thread_tag, span)


def create_prim_func(ops: list[_tensor.Tensor]) -> PrimFunc:
    """The function, written with blocks, that computes the tensors in `ops` that are not placeholders from the others."""
    if not isinstance(ops, (list, tuple, Array)):
        ops = [ops]
    return _ffi_api.CreatePrimFunc(ops)


__all__ = [
    "compute",
    "const",
    "create_prim_func",
    "extern",
    "extern_primfunc",
    "placeholder",
    "reduce_axis",
    "scan",
    "size_var",
    "thread_axis",
    "var",
]
