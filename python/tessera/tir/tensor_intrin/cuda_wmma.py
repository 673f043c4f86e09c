"""Fragments of matrices held by a warp: filling, loading, multiplying and storing them by the wmma instructions."""

from __future__ import annotations

from typing import Any

from ...script import tir as T
from ..expr import Cast, IntImm, PrimExpr
from ..function import PrimFunc

Scripts = tuple[PrimFunc, PrimFunc]


def get_wmma_fragment_index(buffer: Any, m_dim: int, n_dim: int) -> PrimExpr:
    """Which fragment of its buffer a view begins at: fragments lie one after another, `n_dim` columns a row."""
    size = m_dim * n_dim
    return buffer.elem_offset // size + (buffer.elem_offset % size) // n_dim


def get_wmma_load_intrin(
    m_dim: int, n_dim: int, k_dim: int, dtype: str, shared_scope: str, is_b: bool, is_col_major: bool
) -> Scripts:
    """Shared memory to a fragment of the left matrix, or of the right one."""
    fragment = "wmma.matrix_b" if is_b else "wmma.matrix_a"
    layout = "col_major" if is_col_major else "row_major"

    @T.prim_func
    def desc(a: T.handle, c: T.handle) -> None:
        A = T.match_buffer(a, (m_dim, n_dim), dtype, align=64, offset_factor=16, scope=shared_scope)
        C = T.match_buffer(c, (m_dim, n_dim), dtype, align=64, offset_factor=16, scope=fragment)
        with T.block("root"):
            T.reads(A[0:m_dim, 0:n_dim])
            T.writes(C[0:m_dim, 0:n_dim])
            for i, j in T.grid(m_dim, n_dim):
                with T.block("load"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = A[vi, vj]

    @T.prim_func
    def impl(a: T.handle, c: T.handle) -> None:
        row = T.var("int32")
        column = T.var("int32")
        A = T.match_buffer(
            a, (m_dim, n_dim), dtype, align=64, offset_factor=16, scope=shared_scope, strides=[row, column]
        )
        C = T.match_buffer(c, (m_dim, n_dim), dtype, align=64, offset_factor=16, scope=fragment)
        with T.block("root"):
            T.reads(A[0:m_dim, 0:n_dim])
            T.writes(C[0:m_dim, 0:n_dim])
            T.evaluate(
                T.tvm_load_matrix_sync(
                    C.data,
                    m_dim,
                    n_dim,
                    k_dim,
                    get_wmma_fragment_index(C, m_dim, n_dim),
                    A.access_ptr("r"),
                    row,
                    layout,
                    dtype="handle",
                )
            )

    return desc, impl


def get_wmma_fill_intrin(m_dim: int, n_dim: int, k_dim: int, dtype: str) -> Scripts:
    """Zeros in an accumulator."""
    zero = IntImm("int32", 0).astype(dtype)

    @T.prim_func
    def desc(c: T.handle) -> None:
        C = T.match_buffer(c, (m_dim, n_dim), dtype, align=64, offset_factor=16, scope="wmma.accumulator")
        with T.block("root"):
            T.reads()
            T.writes(C[0:m_dim, 0:n_dim])
            for i, j in T.grid(m_dim, n_dim):
                with T.block("init"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = zero

    @T.prim_func
    def impl(c: T.handle) -> None:
        C = T.match_buffer(c, (m_dim, n_dim), dtype, align=64, offset_factor=16, scope="wmma.accumulator")
        with T.block("root"):
            T.reads()
            T.writes(C[0:m_dim, 0:n_dim])
            T.evaluate(
                T.tvm_fill_fragment(
                    C.data,
                    m_dim,
                    n_dim,
                    k_dim,
                    get_wmma_fragment_index(C, m_dim, n_dim),
                    T.float32(0),
                    dtype="handle",
                )
            )

    return desc, impl


def get_wmma_store_intrin(m_dim: int, n_dim: int, k_dim: int, dtype: str, scope: str) -> Scripts:
    """An accumulator to memory."""

    @T.prim_func
    def desc(a: T.handle, c: T.handle) -> None:
        A = T.match_buffer(a, (m_dim, n_dim), dtype, align=64, offset_factor=16, scope="wmma.accumulator")
        C = T.match_buffer(c, (m_dim, n_dim), dtype, align=64, offset_factor=16, scope=scope)
        with T.block("root"):
            T.reads(A[0:m_dim, 0:n_dim])
            T.writes(C[0:m_dim, 0:n_dim])
            for i, j in T.grid(m_dim, n_dim):
                with T.block("store"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = A[vi, vj]

    @T.prim_func
    def impl(a: T.handle, c: T.handle) -> None:
        row = T.var("int32")
        column = T.var("int32")
        A = T.match_buffer(a, (m_dim, n_dim), dtype, align=64, offset_factor=16, scope="wmma.accumulator")
        C = T.match_buffer(c, (m_dim, n_dim), dtype, align=64, offset_factor=16, scope=scope, strides=[row, column])
        with T.block("root"):
            T.reads(A[0:m_dim, 0:n_dim])
            T.writes(C[0:m_dim, 0:n_dim])
            T.evaluate(
                T.tvm_store_matrix_sync(
                    A.data,
                    m_dim,
                    n_dim,
                    k_dim,
                    get_wmma_fragment_index(A, m_dim, n_dim),
                    C.access_ptr("w"),
                    row,
                    "row_major",
                    dtype="handle",
                )
            )

    return desc, impl


def get_wmma_sync_intrin(
    m_dim: int, n_dim: int, k_dim: int, in_dtype: str, out_dtype: str, b_transposed: bool
) -> Scripts:
    """C += A B of fragments; B is n by k where it is transposed."""

    def widened(value: Any) -> Any:
        return value if in_dtype == out_dtype else Cast(out_dtype, value)

    def right(b: Any, k: Any, j: Any) -> Any:
        return b[j, k] if b_transposed else b[k, j]

    rows, columns = (n_dim, k_dim) if b_transposed else (k_dim, n_dim)

    @T.prim_func
    def desc(a: T.handle, b: T.handle, c: T.handle) -> None:
        A = T.match_buffer(a, (m_dim, k_dim), in_dtype, align=64, offset_factor=16, scope="wmma.matrix_a")
        B = T.match_buffer(b, (rows, columns), in_dtype, align=64, offset_factor=16, scope="wmma.matrix_b")
        C = T.match_buffer(c, (m_dim, n_dim), out_dtype, align=64, offset_factor=16, scope="wmma.accumulator")
        with T.block("root"):
            T.reads(C[0:m_dim, 0:n_dim], A[0:m_dim, 0:k_dim], B[0:rows, 0:columns])
            T.writes(C[0:m_dim, 0:n_dim])
            for i, j, k in T.grid(m_dim, n_dim, k_dim):
                with T.block(""):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    C[vi, vj] = C[vi, vj] + widened(A[vi, vk]) * widened(right(B, vk, vj))

    @T.prim_func
    def impl(a: T.handle, b: T.handle, c: T.handle) -> None:
        A = T.match_buffer(a, (m_dim, k_dim), in_dtype, align=64, offset_factor=16, scope="wmma.matrix_a")
        B = T.match_buffer(b, (rows, columns), in_dtype, align=64, offset_factor=16, scope="wmma.matrix_b")
        C = T.match_buffer(c, (m_dim, n_dim), out_dtype, align=64, offset_factor=16, scope="wmma.accumulator")
        with T.block("root"):
            T.reads(C[0:m_dim, 0:n_dim], A[0:m_dim, 0:k_dim], B[0:rows, 0:columns])
            T.writes(C[0:m_dim, 0:n_dim])
            T.evaluate(
                T.tvm_mma_sync(
                    C.data,
                    get_wmma_fragment_index(C, m_dim, n_dim),
                    A.data,
                    get_wmma_fragment_index(A, m_dim, k_dim),
                    B.data,
                    get_wmma_fragment_index(B, rows, columns),
                    C.data,
                    get_wmma_fragment_index(C, m_dim, n_dim),
                    dtype="handle",
                )
            )

    return desc, impl
