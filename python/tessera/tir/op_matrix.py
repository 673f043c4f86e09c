"""Builtins of matrix units, asynchronous copies and halves of vectors."""

from __future__ import annotations

from typing import Any

from .expr import Call, Var
from .op_calls import call_intrin

__all__ = [
    "mma_fill",
    "mma_store",
    "ptx_commit_group",
    "ptx_cp_async",
    "ptx_ldmatrix",
    "ptx_mma",
    "ptx_mma_sp",
    "ptx_wait_group",
    "tvm_bmma_sync",
    "tvm_fill_fragment",
    "tvm_load_matrix_sync",
    "tvm_mma_sync",
    "tvm_store_matrix_sync",
    "vectorcombine",
    "vectorhigh",
    "vectorlow",
]


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
