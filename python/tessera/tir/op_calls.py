"""Calls of packed and foreign functions, and the builtins that lowering works with."""

from __future__ import annotations

from typing import Any

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
    "mma_fill",
    "mma_store",
    "ptx_commit_group",
    "ptx_cp_async",
    "ptx_ldmatrix",
    "ptx_mma",
    "ptx_mma_sp",
    "ptx_wait_group",
    "trace",
    "tvm_access_ptr",
    "tvm_bmma_sync",
    "tvm_fill_fragment",
    "tvm_load_matrix_sync",
    "tvm_mma_sync",
    "tvm_stack_alloca",
    "tvm_stack_make_array",
    "tvm_stack_make_shape",
    "tvm_store_matrix_sync",
    "tvm_struct_get",
    "tvm_struct_set",
    "tvm_thread_allreduce",
    "tvm_throw_last_error",
    "tvm_tuple",
    "type_annotation",
    "undef",
    "vectorcombine",
    "vectorhigh",
    "vectorlow",
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


def tvm_load_matrix_sync(
    fragment: Var, m: Any, n: Any, k: Any, index: Any, buffer_ptr: Any, stride: Any, layout: str
) -> Call:
    """Loads a matrix fragment (warp-wide)."""
    return call_intrin("handle", "tir.tvm_load_matrix_sync", fragment, m, n, k, index, buffer_ptr, stride, layout)


def tvm_store_matrix_sync(
    fragment: Var, m: Any, n: Any, k: Any, index: Any, buffer_ptr: Any, stride: Any, layout: str
) -> Call:
    """Stores a matrix fragment (warp-wide)."""
    return call_intrin("handle", "tir.tvm_store_matrix_sync", fragment, m, n, k, index, buffer_ptr, stride, layout)


def tvm_mma_sync(
    fragment_d: Var,
    index_d: Any,
    fragment_a: Var,
    index_a: Any,
    fragment_b: Var,
    index_b: Any,
    fragment_c: Var,
    index_c: Any,
) -> Call:
    """d = a * b + c on matrix fragments (warp-wide)."""
    args = (fragment_d, index_d, fragment_a, index_a, fragment_b, index_b, fragment_c, index_c)
    return call_intrin("handle", "tir.tvm_mma_sync", *args)


def tvm_bmma_sync(
    fragment_d: Var,
    index_d: Any,
    fragment_a: Var,
    index_a: Any,
    fragment_b: Var,
    index_b: Any,
    fragment_c: Var,
    index_c: Any,
) -> Call:
    """The same on fragments of single bits."""
    args = (fragment_d, index_d, fragment_a, index_a, fragment_b, index_b, fragment_c, index_c)
    return call_intrin("handle", "tir.tvm_bmma_sync", *args)


def tvm_fill_fragment(fragment: Var, m: Any, n: Any, k: Any, index: Any, value: Any) -> Call:
    """Fills a matrix fragment with one value."""
    return call_intrin("handle", "tir.tvm_fill_fragment", fragment, m, n, k, index, value)


def ptx_mma(
    dtype: str,
    shape: str,
    A_layout: str,
    B_layout: str,
    A_dtype: str,
    B_dtype: str,
    C_dtype: str,
    multiplicand_a: Var,
    a_index: Any,
    multiplicand_b: Var,
    b_index: Any,
    accumulator: Var,
    c_index: Any,
    saturate: bool,
    operator: Any = None,
) -> Call:
    """PTX mma on registers."""
    args = [shape, A_layout, B_layout, A_dtype, B_dtype, C_dtype, multiplicand_a, a_index, multiplicand_b, b_index]
    args += [accumulator, c_index, saturate]
    if operator is not None:
        args.append(operator)
    return call_intrin(dtype, "tir.ptx_mma", *args)


def ptx_mma_sp(
    dtype: str,
    shape: str,
    A_layout: str,
    B_layout: str,
    A_dtype: str,
    B_dtype: str,
    C_dtype: str,
    multiplicand_a: Var,
    a_index: Any,
    multiplicand_b: Var,
    b_index: Any,
    accumulator: Var,
    c_index: Any,
    metadata: Any,
    meta_index: Any,
    sparse_selector: Any,
    saturate: bool,
) -> Call:
    """PTX mma with a sparse first operand."""
    args = [shape, A_layout, B_layout, A_dtype, B_dtype, C_dtype, multiplicand_a, a_index, multiplicand_b, b_index]
    args += [accumulator, c_index, metadata, meta_index, sparse_selector, saturate]
    return call_intrin(dtype, "tir.ptx_mma_sp", *args)


def mma_store(dtype: str, m: Any, n: Any, dst_ptr: Any, src_ptr: Any, src_offset: Any, dst_stride: Any) -> Call:
    """Stores the registers of an mma result."""
    return call_intrin(dtype, "tir.mma_store", m, n, dst_ptr, src_ptr, src_offset, dst_stride)


def mma_fill(dtype: str, local_size: Any, local_ptr: Any, offset: Any) -> Call:
    """Sets the registers of an mma accumulator to zero."""
    return call_intrin(dtype, "tir.mma_fill", local_size, local_ptr, offset)


def ptx_ldmatrix(
    dtype: str, trans: bool, num: Any, type: str, local_ptr: Any, local_offset: Any, smem_ptr: Any, smem_offset: Any
) -> Call:
    """PTX ldmatrix from shared memory."""
    args = (trans, num, type, local_ptr, local_offset, smem_ptr, smem_offset)
    return call_intrin(dtype, "tir.ptx_ldmatrix", *args)


def ptx_cp_async(
    dtype: str, shared_ptr: Any, shared_offset: Any, global_ptr: Any, global_offset: Any, bytes: Any
) -> Call:
    """PTX cp.async from global to shared memory."""
    return call_intrin(dtype, "tir.ptx_cp_async", shared_ptr, shared_offset, global_ptr, global_offset, bytes)


def ptx_commit_group() -> Call:
    """Closes a group of asynchronous copies."""
    return call_intrin("", "tir.ptx_commit_group")


def ptx_wait_group(num: Any) -> Call:
    """Waits until at most `num` groups of copies are under way."""
    return call_intrin("", "tir.ptx_wait_group", num)


def vectorlow(dtype: str, vec: Any) -> Call:
    """The lower half of a vector."""
    return call_intrin(dtype, "tir.vectorlow", vec)


def vectorhigh(dtype: str, vec: Any) -> Call:
    """The upper half of a vector."""
    return call_intrin(dtype, "tir.vectorhigh", vec)


def vectorcombine(dtype: str, vec1: Any, vec2: Any) -> Call:
    """Two vectors as one."""
    return call_intrin(dtype, "tir.vectorcombine", vec1, vec2)


def TVMBackendAllocWorkspace(
    device_type: int, device_id: int, nbytes: Any, dtype_code_hint: int, dtype_bits_hint: int
) -> Call:
    """Temporary memory from the runtime's pool."""
    args = (device_type, device_id, nbytes, dtype_code_hint, dtype_bits_hint)
    return call_intrin("handle", "tir.TVMBackendAllocWorkspace", *args)


def TVMBackendFreeWorkspace(device_type: int, device_id: int, ptr: Any) -> Call:
    """Gives temporary memory back."""
    return call_intrin("int32", "tir.TVMBackendFreeWorkspace", device_type, device_id, ptr)
