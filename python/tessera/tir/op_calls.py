"""Calls of packed and foreign functions, and the builtins that lowering works with; see also tir.op_matrix."""

from __future__ import annotations

from typing import Any

from .._ffi.registry import register_func
from ..ir import GlobalVar, Op, Span
from ..runtime.object_generic import const, convert
from .expr import BufferLoad, Call, StringImm, Var

__all__ = [
    "TVMBackendAllocWorkspace",
    "TVMBackendFreeWorkspace",
    "address_of",
    "assume",
    "call_cpacked",
    "call_cpacked_lowered",
    "call_extern",
    "call_intrin",
    "call_llvm_intrin",
    "call_llvm_pure_intrin",
    "call_packed",
    "call_packed_lowered",
    "call_pure_extern",
    "call_tir",
    "lookup_param",
    "trace",
    "tvm_access_ptr",
    "tvm_stack_alloca",
    "tvm_stack_make_array",
    "tvm_stack_make_shape",
    "tvm_struct_get",
    "tvm_struct_set",
    "tvm_thread_allreduce",
    "tvm_throw_last_error",
    "tvm_tuple",
    "type_annotation",
    "undef",
]


def _packed_argument(value: Any) -> Any:
    """What a packed call passes for `value`; a Buffer becomes the tensor structure that stands for it."""
    from .buffer import Buffer

    if not isinstance(value, Buffer):
        return value
    shape = Call("handle", "tir.tvm_stack_make_shape", value.shape)
    strides = Call("handle", "tir.tvm_stack_make_shape", value.strides) if value.strides else 0
    args = [value.data, shape, strides, len(value.shape), const(0, dtype=value.dtype), value.elem_offset]
    return Call("handle", Op.get("tir.tvm_stack_make_array"), args)


def call_packed_lowered(*args: Any, span: Span | None = None) -> Call:
    """A packed call whose arguments lie in stack slots already."""
    return Call("int32", Op.get("tir.tvm_call_packed_lowered"), [_packed_argument(x) for x in args], span)


def call_cpacked_lowered(*args: Any, span: Span | None = None) -> Call:
    """The same through the C calling convention, of a function of this module."""
    return Call("int32", Op.get("tir.tvm_call_cpacked_lowered"), [_packed_argument(x) for x in args], span)


def call_packed(*args: Any, span: Span | None = None) -> Call:
    """Calls the packed function of the name given first; any effect is possible."""
    return Call("int32", Op.get("tir.tvm_call_packed"), [_packed_argument(x) for x in args], span)


def call_cpacked(*args: Any, span: Span | None = None) -> Call:
    """Calls a function of this module, named first, through the packed C signature."""
    return Call("int32", Op.get("tir.tvm_call_cpacked"), [_packed_argument(x) for x in args], span)


def call_intrin(dtype: str, func_name: str | Op, *args: Any, span: Span | None = None) -> Call:
    """Calls an operator, given by its full name ("tir.exp"), with a result of type `dtype`."""
    return Call(dtype, func_name, convert(args), span)


def call_pure_extern(dtype: str, func_name: str, *args: Any, span: Span | None = None) -> Call:
    """Calls a C function that has no effect besides its result."""
    return Call(dtype, Op.get("tir.call_pure_extern"), convert((StringImm(func_name), *args)), span)


def call_extern(dtype: str, func_name: str, *args: Any, span: Span | None = None) -> Call:
    """Calls a C function."""
    return Call(dtype, Op.get("tir.call_extern"), convert((StringImm(func_name), *args)), span)


def call_tir(global_var: GlobalVar, *args: Any) -> Call:
    """Calls a function of the same module."""
    return Call(dtype="void", op=global_var, args=args)


def _llvm_intrinsic(name: str) -> Any:
    from ..target.codegen import llvm_lookup_intrinsic_id

    number = llvm_lookup_intrinsic_id(name) if isinstance(name, str) else name
    if number == 0:
        raise ValueError(f"Unknown llvm intrinsic function {name}")
    return const(number, "uint32")


def call_llvm_intrin(dtype: str, name: str, *args: Any, span: Span | None = None) -> Call:
    """Calls an LLVM intrinsic; the first of `args` says how many arguments its signature has."""
    return call_intrin(dtype, Op.get("tir.call_llvm_intrin"), _llvm_intrinsic(name), *args, span=span)


def call_llvm_pure_intrin(dtype: str, name: str, *args: Any, span: Span | None = None) -> Call:
    """The same for an intrinsic without effect."""
    return call_intrin(dtype, Op.get("tir.call_llvm_pure_intrin"), _llvm_intrinsic(name), *args, span=span)


@register_func("tvm.default_trace_action", override=True)
def _print_traced(*args: Any) -> None:
    print(list(args))


def trace(args: Any, trace_action: str = "tvm.default_trace_action") -> Call:
    """Calls the packed function `trace_action` with `args` at run time; the value is the last of them."""
    if not isinstance(args, list):
        raise Exception("tvm.tir.trace consumes the args as list type")
    call_args = [_packed_argument(x) for x in args]
    call_args.insert(0, trace_action)
    return Call(args[-1].dtype, Op.get("tir.tvm_call_trace_packed"), call_args)


def tvm_stack_alloca(dtype_str: str, num: Any) -> Call:
    """Room on the stack for `num` "shape", "array", "arg_value" or "arg_tcode" items."""
    return call_intrin("handle", "tir.tvm_stack_alloca", dtype_str, num)


def tvm_stack_make_shape(*args: Any) -> Call:
    """A shape on the stack."""
    return call_intrin("handle", "tir.tvm_stack_make_shape", *args)


def tvm_stack_make_array(data: Any, shape: Any, strides: Any, ndim: Any, arr_dtype: Any, elem_offset: Any) -> Call:
    """A DLTensor on the stack."""
    return call_intrin("handle", "tir.tvm_stack_make_array", data, shape, strides, ndim, arr_dtype, elem_offset)


def tvm_tuple(*value: Any) -> Call:
    """Values that belong together, as the value of an attribute."""
    return call_intrin("handle", "tir.tvm_tuple", *value)


def tvm_struct_get(arr: Any, index: int, field: int, dtype: str) -> Call:
    """A field of element `index` of an array of structures."""
    return call_intrin(dtype, "tir.tvm_struct_get", arr, index, field)


def tvm_struct_set(arr: Any, index: int, field: int, value: Any) -> Call:
    """Sets a field of element `index` of an array of structures."""
    return call_intrin("int32", "tir.tvm_struct_set", arr, index, field, value)


def address_of(buffer_load: BufferLoad, span: Span | None = None) -> Call:
    """The address of an element."""
    return call_intrin("handle", "tir.address_of", buffer_load, span=span)


def lookup_param(param_name: str, span: Span | None = None) -> Call:
    """A parameter of the model by name."""
    return call_intrin("handle", "tir.lookup_param", param_name, span=span)


def assume(cond: Any = None) -> Call:
    """Something the compiler may rely on."""
    return call_intrin("int32", "tir.assume", cond)


def undef() -> Call:
    """A value that nobody uses."""
    return call_intrin("int32", "tir.undef")


def tvm_thread_allreduce(*freduce_args: Any) -> Call:
    """A reduction over the threads of a block."""
    return call_intrin("handle", "tir.tvm_thread_allreduce", *freduce_args)


def type_annotation(dtype: str) -> Call:
    """A type as an argument."""
    return call_intrin(dtype, "tir.type_annotation")


def tvm_access_ptr(ptype: Any, data: Var, offset: Any, extent: Any, rw_mask: int) -> Call:
    """The address of element `offset`, read (1), written (2) or both over `extent` elements."""
    return call_intrin("handle", "tir.tvm_access_ptr", ptype, data, offset, extent, rw_mask)


def tvm_throw_last_error() -> Call:
    """Raises the error that the last failed call left."""
    return call_intrin("handle", "tir.tvm_throw_last_error")


def TVMBackendAllocWorkspace(
    device_type: int, device_id: int, nbytes: Any, dtype_code_hint: int, dtype_bits_hint: int
) -> Call:
    """Temporary memory from the runtime's pool."""
    args = (device_type, device_id, nbytes, dtype_code_hint, dtype_bits_hint)
    return call_intrin("handle", "tir.TVMBackendAllocWorkspace", *args)


def TVMBackendFreeWorkspace(device_type: int, device_id: int, ptr: Any) -> Call:
    """Gives temporary memory back."""
    return call_intrin("int32", "tir.TVMBackendFreeWorkspace", device_type, device_id, ptr)
