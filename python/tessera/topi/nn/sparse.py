"""Sparse matrices in compressed rows (CSR), of elements or of dense blocks (BSR)."""

from __future__ import annotations

from typing import Any

from ... import te, tir
from ...target import generic_func
from ...te import Tensor
from .._records import const_int

__all__ = [
    "sparse_add",
    "sparse_conv2d",
    "sparse_dense",
    "sparse_dense_alter_layout",
    "sparse_dense_sp_lhs",
    "sparse_dense_sp_rhs",
    "sparse_transpose",
]


def _row(indptr: Tensor, row: Any) -> tuple[Any, Any]:
    """Where the entries of a row begin, and the axis over them."""
    return indptr[row], te.reduce_axis((0, indptr[row + 1] - indptr[row]), name="elem_idx")


def _times_csr(dense: Tensor, values: Tensor, indices: Tensor, indptr: Tensor, name: str, is_left: bool) -> Tensor:
    """Rows of a dense matrix times rows of a sparse one; (sparse, dense) where the sparse one is on the left."""
    rows = indptr.shape[0] - 1

    def body(i: Any, j: Any) -> Any:
        line, row = (j, i) if is_left else (i, j)
        start, entry = _row(indptr, row)
        at = start + entry
        return te.sum(values[at] * dense[line, indices[at]], axis=entry)

    shape = (rows, dense.shape[0]) if is_left else (dense.shape[0], rows)
    return te.compute(shape, body, tag=f"{name}_csrmm", name=f"{name}_csrmm")


def _times_bsr(dense: Tensor, values: Tensor, indices: Tensor, indptr: Tensor, name: str, is_left: bool) -> Tensor:
    """The same for blocks (height, width) that are dense."""
    _, height, width = (const_int(extent) for extent in values.shape)
    blocks = indptr.shape[0] - 1
    lines = dense.shape[0]

    def block(i: Any, j: Any, k: Any) -> Any:
        line, row, inner = (k, i, j) if is_left else (i, j, k)
        start, entry = _row(indptr, row)
        c = te.reduce_axis((0, width), name="c")
        at = start + entry
        return te.sum(values[at, inner, c] * dense[line, indices[at] * width + c], axis=[entry, c])

    shape = (blocks, height, lines) if is_left else (lines, blocks, height)
    parts = te.compute(shape, block, tag=f"{name}_bsrmm_block", name=f"{name}_bsrmm_block")
    if is_left:
        return te.compute(
            (blocks * height, lines),
            lambda m, n: parts[tir.floordiv(m, height), tir.floormod(m, height), n],
            tag=f"{name}_bsrmm",
            name=f"{name}_bsrmm",
        )
    return te.compute(
        (lines, blocks * height),
        lambda m, n: parts[m, tir.floordiv(n, height), tir.floormod(n, height)],
        tag=f"{name}_bsrmm",
        name=f"{name}_bsrmm",
    )


def sparse_dense_sp_rhs(data: Tensor, weight_data: Tensor, weight_indices: Tensor, weight_indptr: Tensor) -> Tensor:
    """data times the transpose of a sparse weight."""
    times = _times_csr if len(weight_data.shape) == 1 else _times_bsr
    return times(data, weight_data, weight_indices, weight_indptr, "sparse_dense_sp_rhs", False)


def sparse_dense_sp_lhs(data_data: Tensor, data_indices: Tensor, data_indptr: Tensor, weight: Tensor) -> Tensor:
    """Sparse data times the transpose of a weight."""
    times = _times_csr if len(data_data.shape) == 1 else _times_bsr
    return times(weight, data_data, data_indices, data_indptr, "sparse_dense_sp_lhs", True)


def sparse_dense(
    dense_data: Tensor, sparse_data: Tensor, sparse_indices: Tensor, sparse_indptr: Tensor, sparse_lhs: bool = False
) -> Tensor:
    """Linear layer of which one operand is sparse: the weight, or the data where `sparse_lhs` says so."""
    if sparse_lhs:
        return sparse_dense_sp_lhs(sparse_data, sparse_indices, sparse_indptr, dense_data)
    return sparse_dense_sp_rhs(dense_data, sparse_data, sparse_indices, sparse_indptr)


def sparse_transpose(sparse_data: Tensor, sparse_indices: Tensor, sparse_indptr: Tensor) -> Any:
    """The three tensors of the transpose of a square matrix in CSR."""
    if len(sparse_data.shape) != 1:
        raise ValueError(f"sparse_transpose takes a matrix in CSR, whose data is a vector, got {sparse_data.shape}")
    count, rows = sparse_data.shape[0], sparse_indptr.shape[0] - 1

    def body(ins: Any, outs: Any) -> Any:
        builder = tir.ir_builder.create()
        values, indices, indptr = (builder.buffer_ptr(tensor) for tensor in ins)
        out_values, out_indices, out_indptr = (builder.buffer_ptr(tensor) for tensor in outs)
        with builder.for_range(0, rows + 1) as row:
            out_indptr[row] = tir.const(0, out_indptr.dtype)
        with builder.for_range(0, count) as i:  # how many each column has, one index later
            column = indices[i] + 1
            out_indptr[column] = out_indptr[column] + 1
        with builder.for_range(0, rows) as row:  # where each column begins
            out_indptr[row + 1] = out_indptr[row + 1] + out_indptr[row]
        with builder.for_range(0, rows) as row, builder.for_range(0, indptr[row + 1] - indptr[row]) as j:
            entry = indptr[row] + j
            column = indices[entry]
            at = out_indptr[column]
            out_indices[at] = tir.Cast(out_indices.dtype, row)
            out_values[at] = values[entry]
            out_indptr[column] = out_indptr[column] + 1
        with builder.for_range(0, rows) as i:  # each begins where the one before it ended
            out_indptr[rows - i] = out_indptr[rows - i - 1]
        out_indptr[0] = tir.const(0, out_indptr.dtype)
        return builder.get()

    inputs = [sparse_data, sparse_indices, sparse_indptr]
    return te.extern(
        [tensor.shape for tensor in inputs],
        inputs,
        body,
        tag="sparse_transpose_csr",
        dtype=[tensor.dtype for tensor in inputs],
        name="out",
    )


def sparse_conv2d(
    dense_data: Tensor,
    sparse_data: Tensor,
    sparse_indices: Tensor,
    sparse_indptr: Tensor,
    layout: str = "NHWC",
    kernel_size: int = 1,
) -> Tensor:
    """Convolution with a sparse weight (channels, kernel size * input channels): 1x1, or 3x3 with padding 1 and stride 1.

    The columns of a 3x3 weight are in the order (row, column, channel) for NHWC, (channel, row, column) for NCHW.
    """
    if layout not in ("NHWC", "NCHW") or kernel_size not in (1, 3):
        raise ValueError(f"sparse_conv2d has NHWC and NCHW with kernels of 1 or 3, got {layout} and {kernel_size}")
    is_nhwc = layout == "NHWC"
    extents = dict(zip(layout, dense_data.shape))
    height, width = (
        (const_int(sparse_data.shape[1]), const_int(sparse_data.shape[2])) if len(sparse_data.shape) == 3 else (1, 1)
    )

    def value(at: Any, inner: Any, c: Any) -> Any:
        return sparse_data[at, inner, c] if len(sparse_data.shape) == 3 else sparse_data[at]

    def pixel(n: Any, y: Any, x: Any, channel: Any) -> Any:
        return dense_data[n, y, x, channel] if is_nhwc else dense_data[n, channel, y, x]

    def read(n: Any, y: Any, x: Any, column: Any) -> Any:
        if kernel_size == 1:
            return pixel(n, y, x, column)
        if is_nhwc:
            position, channel = tir.floordiv(column, extents["C"]), tir.floormod(column, extents["C"])
        else:
            channel, position = tir.floordiv(column, 9), tir.floormod(column, 9)
        row, col = y + tir.floordiv(position, 3) - 1, x + tir.floormod(position, 3) - 1
        inside = tir.all(row >= 0, row < extents["H"], col >= 0, col < extents["W"])
        return tir.if_then_else(inside, pixel(n, row, col, channel), tir.const(0, dense_data.dtype))

    blocks = sparse_indptr.shape[0] - 1

    def element(n: Any, y: Any, x: Any, channel: Any) -> Any:
        block, inner = tir.floordiv(channel, height), tir.floormod(channel, height)
        start, entry = _row(sparse_indptr, block)
        c = te.reduce_axis((0, width), name="c")
        at = start + entry
        return te.sum(value(at, inner, c) * read(n, y, x, sparse_indices[at] * width + c), axis=[entry, c])

    shape = [extents["N"], extents["H"], extents["W"], blocks * height]
    name = f"conv2d_sparse_{layout.lower()}"
    if is_nhwc:
        return te.compute(shape, element, name=name, tag=name)
    return te.compute(
        [shape[0], shape[3], shape[1], shape[2]], lambda n, o, y, x: element(n, y, x, o), name=name, tag=name
    )


def sparse_add(dense_data: Tensor, sparse_data: Tensor, sparse_indices: Tensor, sparse_indptr: Tensor) -> Tensor:
    """A dense matrix plus one in CSR."""

    def body(ins: Any, outs: Any) -> Any:
        builder = tir.ir_builder.create()
        dense, values, indices, indptr = (builder.buffer_ptr(tensor) for tensor in ins)
        out = builder.buffer_ptr(outs[0])
        rows, columns = dense_data.shape
        with builder.for_range(0, rows) as row, builder.for_range(0, columns) as column:
            out[row, column] = dense[row, column]
        with builder.for_range(0, rows) as row, builder.for_range(0, indptr[row + 1] - indptr[row]) as j:
            column = indices[indptr[row] + j]
            out[row, column] = out[row, column] + values[indptr[row] + j]
        return builder.get()

    inputs = [dense_data, sparse_data, sparse_indices, sparse_indptr]
    return te.extern(
        [dense_data.shape], inputs, body, dtype=dense_data.dtype, tag="sparse_add_csr", name="sparse_add_csr_output"
    )


@generic_func
def sparse_dense_alter_layout(_attrs: Any, _inputs: Any, _tinfos: Any, _out_type: Any) -> Any:
    """Another form of a sparse layer that a target wants: none; targets register theirs."""
    return None
