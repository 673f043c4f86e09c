"""Matrices in the registers of a warp: ldmatrix, mma.sync and what fills and stores their results.

A 16 by 16 matrix of halves (16 by 32 of bytes) lies in a buffer (32 lanes, elements of a lane) of scope "warp"; the
functions named ``..._layout`` say which lane holds which element, as the instructions have it.
"""

from __future__ import annotations

from typing import Any, Callable

from ..._ffi import register_func
from ...runtime import convert
from ...script import tir as T
from ..expr import Cast, IntImm
from ..function import PrimFunc

Scripts = tuple[PrimFunc, PrimFunc]
Layout = Callable[[Any, Any], tuple[Any, Any]]

M_DIM = 16
N_DIM = 16
WARP_SIZE = 32
HALF_WARP = WARP_SIZE // 2


def shared_16x16_to_ldmatrix_32x8_layout(i: Any, j: Any) -> tuple[Any, Any]:
    """The lane and the index in it of element (i, j) of 16 by 16 halves."""
    return 4 * (i % 8) + (j % 8) // 2, 4 * (j // 8) + (i // 8) * 2 + (j % 2)


def shared_16x32_to_ldmatrix_32x16_layout(i: Any, j: Any) -> tuple[Any, Any]:
    """The same for 16 by 32 bytes."""
    return 4 * (i % 8) + (j % 16) // 4, 8 * (j // 16) + (i // 8) * 4 + j % 4


def shared_32x16_to_ldmatrix_32x16_layout(i: Any, j: Any) -> tuple[Any, Any]:
    """The same for 32 by 16 bytes."""
    return (i % 16) // 4 + 4 * (j % 8), 8 * (j // 8) + (i // 16) * 4 + i % 4


@register_func("tir.index_map.shared_16x16_to_ldmatrix_32x8_layout")
def index_map_shared_16x16_to_ldmatrix_32x8_layout(ind: Any) -> Any:
    """The layout as a function of a list of indices, for index maps by name."""
    return convert(list(shared_16x16_to_ldmatrix_32x8_layout(ind[0], ind[1])))


def _element(buffer: Any, layout: Layout, i: Any, j: Any) -> Any:
    lane, index = layout(i, j)
    return buffer[lane, index]


def _layout_of(k_dim: int, is_b: bool, transposed: bool) -> Layout:
    if k_dim == 16:
        return shared_16x16_to_ldmatrix_32x8_layout
    if is_b and not transposed:
        return shared_32x16_to_ldmatrix_32x16_layout
    return shared_16x32_to_ldmatrix_32x16_layout


def _row_of_lane(k_dim: int, is_b: bool, transposed: bool) -> Callable[[Any, Any], Any]:
    """Where the eight elements begin that a lane hands to ldmatrix, by lane and row stride."""
    if k_dim == 32 and is_b and not transposed:
        return (
            lambda lane, stride: stride
        )  # bytes are not transposed by ldmatrix: code generation needs the stride only
    width = 8 if k_dim == 16 else 16
    if transposed:
        return lambda lane, stride: (
            stride * 8 * (lane // HALF_WARP) + stride * (lane % 8) + width * ((lane % HALF_WARP) // 8)
        )
    return lambda lane, stride: stride * (lane % HALF_WARP) + width * (lane // HALF_WARP)


def get_ldmatrix_intrin(k_dim: int, dtype: str, is_b: bool, transposed: bool, shared_scope: str = "shared") -> Scripts:
    """Shared memory to the registers of a warp, four 8 by 8 matrices at once."""
    if (k_dim, dtype) not in ((16, "float16"), (32, "int8")):
        raise ValueError(f"ldmatrix loads 16 columns of float16 or 32 of int8, not {k_dim} of {dtype}")
    if transposed and not is_b:
        raise ValueError("only the right matrix may be transposed")
    local_size = (M_DIM * k_dim) // WARP_SIZE
    by_columns = is_b and not transposed
    rows, columns = (k_dim, M_DIM) if by_columns else (M_DIM, k_dim)
    layout, row_of_lane = _layout_of(k_dim, is_b, transposed), _row_of_lane(k_dim, is_b, transposed)

    def lane_of(i: Any, j: Any) -> Any:
        return layout(i, j)[0]

    def index_of(i: Any, j: Any) -> Any:
        return layout(i, j)[1]

    @T.prim_func
    def desc(warp_handle: T.handle, shared_handle: T.handle) -> None:
        shared = T.match_buffer(shared_handle, (rows, columns), dtype, align=64, offset_factor=16, scope=shared_scope)
        warp = T.match_buffer(warp_handle, (WARP_SIZE, local_size), dtype, align=64, offset_factor=16, scope="warp")
        with T.block("root"):
            T.reads(shared[0:rows, 0:columns])
            T.writes(warp[0:WARP_SIZE, 0:local_size])
            for i, j in T.grid(rows, columns):
                with T.block("shared_warp"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    T.reads(shared[vi, vj])
                    T.writes(warp[lane_of(vi, vj), index_of(vi, vj)])
                    warp[lane_of(vi, vj), index_of(vi, vj)] = shared[vi, vj]

    @T.prim_func
    def impl(warp_handle: T.handle, shared_handle: T.handle) -> None:
        row = T.var("int32")
        column = T.var("int32")
        shared = T.match_buffer(
            shared_handle,
            (rows, columns),
            dtype,
            align=64,
            offset_factor=16,
            scope=shared_scope,
            strides=[row, column],
        )
        warp = T.match_buffer(warp_handle, (WARP_SIZE, local_size), dtype, align=64, offset_factor=16, scope="warp")
        with T.block("root"):
            T.reads(shared[0:rows, 0:columns])
            T.writes(warp[0:WARP_SIZE, 0:local_size])
            tx = T.env_thread("threadIdx.x")
            T.launch_thread(tx, WARP_SIZE)
            T.evaluate(
                T.ptx_ldmatrix(
                    by_columns,
                    4,
                    ".b16",
                    warp.data,
                    warp.elem_offset + local_size * tx,
                    shared.access_ptr("r"),
                    row_of_lane(tx, row),
                    dtype=dtype,
                )
            )

    return desc, impl


def get_mma_intrin(k_dim: int, out_dtype: str, b_transposed: bool) -> Scripts:
    """C += A B for 16 by 16 results, as two instructions of eight columns each."""
    local_size = (M_DIM * k_dim) // WARP_SIZE
    local_size_out = (M_DIM * N_DIM) // WARP_SIZE
    in_dtype = "int8" if out_dtype == "int32" else "float16"
    short = {"float16": "fp16", "float32": "fp32", "int8": "int8", "int32": "int32"}
    in_short, out_short, shape = short[in_dtype], short[out_dtype], f"m16n8k{k_dim}"
    left_layout = _layout_of(k_dim, False, False)
    right_layout = _layout_of(k_dim, True, b_transposed)
    sum_layout = shared_16x16_to_ldmatrix_32x8_layout

    def left(a: Any, i: Any, k: Any) -> Any:
        value = _element(a, left_layout, i, k)
        return value if in_dtype == out_dtype else Cast(out_dtype, value)

    def right(b: Any, k: Any, j: Any) -> Any:
        value = _element(b, right_layout, j, k) if b_transposed else _element(b, right_layout, k, j)
        return value if in_dtype == out_dtype else Cast(out_dtype, value)

    def lane_of(i: Any, j: Any) -> Any:
        return sum_layout(i, j)[0]

    def index_of(i: Any, j: Any) -> Any:
        return sum_layout(i, j)[1]

    @T.prim_func
    def desc(a: T.handle, b: T.handle, c: T.handle) -> None:
        A = T.match_buffer(a, (WARP_SIZE, local_size), in_dtype, align=64, offset_factor=16, scope="warp")
        B = T.match_buffer(b, (WARP_SIZE, local_size), in_dtype, align=64, offset_factor=16, scope="warp")
        C = T.match_buffer(c, (WARP_SIZE, local_size_out), out_dtype, align=64, offset_factor=16, scope="warp")
        with T.block("root"):
            T.reads(C[0:WARP_SIZE, 0:local_size_out], A[0:WARP_SIZE, 0:local_size], B[0:WARP_SIZE, 0:local_size])
            T.writes(C[0:WARP_SIZE, 0:local_size_out])
            for i, j, k in T.grid(M_DIM, N_DIM, k_dim):
                with T.block("C"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    C[lane_of(vi, vj), index_of(vi, vj)] = C[lane_of(vi, vj), index_of(vi, vj)] + left(
                        A, vi, vk
                    ) * right(B, vk, vj)

    @T.prim_func
    def impl(a: T.handle, b: T.handle, c: T.handle) -> None:
        A = T.match_buffer(a, (WARP_SIZE, local_size), in_dtype, align=64, offset_factor=16, scope="warp")
        B = T.match_buffer(b, (WARP_SIZE, local_size), in_dtype, align=64, offset_factor=16, scope="warp")
        C = T.match_buffer(c, (WARP_SIZE, local_size_out), out_dtype, align=64, offset_factor=16, scope="warp")
        with T.block("root"):
            T.reads(C[0:WARP_SIZE, 0:local_size_out], A[0:WARP_SIZE, 0:local_size], B[0:WARP_SIZE, 0:local_size])
            T.writes(C[0:WARP_SIZE, 0:local_size_out])
            tx = T.env_thread("threadIdx.x")
            T.launch_thread(tx, WARP_SIZE)
            T.evaluate(
                T.ptx_mma(
                    shape,
                    "row",
                    "col",
                    in_short,
                    in_short,
                    out_short,
                    A.data,
                    A.elem_offset + tx * local_size,
                    B.data,
                    B.elem_offset + tx * local_size,
                    C.data,
                    C.elem_offset + tx * local_size_out,
                    False,
                    dtype=out_dtype,
                )
            )
            T.evaluate(
                T.ptx_mma(
                    shape,
                    "row",
                    "col",
                    in_short,
                    in_short,
                    out_short,
                    A.data,
                    A.elem_offset + tx * local_size,
                    B.data,
                    B.elem_offset + tx * local_size + local_size // 2,
                    C.data,
                    C.elem_offset + tx * local_size_out + local_size_out // 2,
                    False,
                    dtype=out_dtype,
                )
            )

    return desc, impl


def get_mma_fill_intrin(dtype: str, local_size: int) -> Scripts:
    """Zeros in the registers of a result."""
    zero = IntImm("int32", 0).astype(dtype)

    def lane_of(i: Any, j: Any) -> Any:
        return shared_16x16_to_ldmatrix_32x8_layout(i, j)[0]

    def index_of(i: Any, j: Any) -> Any:
        return shared_16x16_to_ldmatrix_32x8_layout(i, j)[1]

    @T.prim_func
    def desc(a: T.handle) -> None:
        C = T.match_buffer(a, [WARP_SIZE, local_size], dtype=dtype, scope="warp")
        with T.block("root"):
            T.reads()
            T.writes(C[0:WARP_SIZE, 0:local_size])
            for i, j in T.grid(M_DIM, N_DIM):
                with T.block("C_warp"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[lane_of(vi, vj), index_of(vi, vj)] = zero

    @T.prim_func
    def impl(a: T.handle) -> None:
        C = T.match_buffer(a, [WARP_SIZE, local_size], dtype=dtype, scope="warp", offset_factor=1)
        with T.block("root"):
            T.reads()
            T.writes(C[0:WARP_SIZE, 0:local_size])
            tx = T.env_thread("threadIdx.x")
            T.launch_thread(tx, WARP_SIZE)
            T.evaluate(T.mma_fill(local_size, C.data, C.elem_offset, dtype=dtype))

    return desc, impl


def get_mma_store_intrin(dtype: str, local_size: int, scope: str = "global") -> Scripts:
    """The registers of a result to memory."""

    def element(buffer: Any, i: Any, j: Any) -> Any:
        return _element(buffer, shared_16x16_to_ldmatrix_32x8_layout, i, j)

    @T.prim_func
    def desc(a: T.handle, c: T.handle) -> None:
        warp = T.match_buffer(a, [WARP_SIZE, local_size], dtype=dtype, scope="warp")
        C = T.match_buffer(c, [M_DIM, N_DIM], dtype=dtype, scope=scope)
        with T.block("root"):
            T.reads(warp[0:WARP_SIZE, 0:local_size])
            T.writes(C[0:M_DIM, 0:N_DIM])
            for i, j in T.grid(M_DIM, N_DIM):
                with T.block("C_warp"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = element(warp, vi, vj)

    @T.prim_func
    def impl(a: T.handle, c: T.handle) -> None:
        row = T.var("int32")
        column = T.var("int32")
        warp = T.match_buffer(a, [WARP_SIZE, local_size], dtype=dtype, scope="warp", offset_factor=1)
        C = T.match_buffer(c, [M_DIM, N_DIM], dtype=dtype, scope=scope, offset_factor=1, strides=[row, column])
        with T.block("root"):
            T.reads(warp[0:WARP_SIZE, 0:local_size])
            T.writes(C[0:M_DIM, 0:N_DIM])
            tx = T.env_thread("threadIdx.x")
            T.launch_thread(tx, WARP_SIZE)
            T.evaluate(T.mma_store(M_DIM, N_DIM, C.access_ptr("w"), warp.data, warp.elem_offset, row, dtype=dtype))

    return desc, impl
