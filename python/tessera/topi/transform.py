"""Functions that move, choose, repeat or make elements; signatures are v0.10's."""

from __future__ import annotations

from typing import Any

from tessera.te import Tensor
from tessera.tir import PrimExpr

from . import _ffi_api

__all__ = [
    "adv_index",
    "arange",
    "argwhere",
    "concatenate",
    "einsum",
    "expand_dims",
    "expand_like",
    "flip",
    "gather",
    "gather_nd",
    "hybrid_argwhere_1d",
    "hybrid_argwhere_2d",
    "hybrid_argwhere_3d",
    "hybrid_argwhere_4d",
    "hybrid_argwhere_5d",
    "invert_permutation",
    "layout_transform",
    "matmul",
    "matrix_set_diag",
    "meshgrid",
    "ndarray_size",
    "one_hot",
    "repeat",
    "reshape",
    "reverse_sequence",
    "scatter",
    "scatter_add",
    "scatter_nd",
    "sequence_mask",
    "shape",
    "sliding_window",
    "sparse_fill_empty_rows",
    "sparse_reshape",
    "sparse_to_dense",
    "split",
    "squeeze",
    "stack",
    "stft",
    "strided_set",
    "strided_slice",
    "take",
    "take_legalize",
    "tensordot",
    "tile",
    "transpose",
    "trilu",
    "unravel_index",
    "where",
]


def _list(value: Any) -> list[Any]:
    return [value] if isinstance(value, (int, PrimExpr)) else [*value]


def expand_dims(a: Tensor, axis: int, num_newaxis: int = 1) -> Tensor:
    """New dimensions of extent 1 before `axis`."""
    return _ffi_api.expand_dims(a, axis, num_newaxis)


def expand_like(a: Tensor, shape_like: Tensor, axis: Any) -> Tensor:
    """Broadcast to the shape of another tensor; `axis` are the dimensions of it that `a` does not have."""
    axes = sorted(i + len(shape_like.shape) if i < 0 else i for i in _list(axis))
    out = a
    if len(a.shape) != len(shape_like.shape):
        for i in axes:
            out = expand_dims(out, i)
    return _ffi_api.broadcast_to(out, shape_like.shape)


def transpose(a: Tensor, axes: Any = None) -> Tensor:
    """The dimensions in another order, or reversed."""
    return _ffi_api.transpose(a, axes)


def flip(a: Tensor, axis: int = 0) -> Tensor:
    """The elements along `axis` in reverse order."""
    return _ffi_api.reverse_sequence(a, None, axis, 0)


def reverse_sequence(a: Tensor, seq_lengths: Tensor, seq_axis: int = 1, batch_axis: int = 0) -> Tensor:
    """The first elements of each sequence, as many as are given, in reverse order."""
    return _ffi_api.reverse_sequence(a, seq_lengths, seq_axis, batch_axis)


def strided_slice(
    a: Tensor, begin: Any, end: Any, strides: Any = None, axes: Any = None, slice_mode: str = "end"
) -> Tensor:
    """A part of a tensor, as Python's slices mean it.

    With tensors for begin, end and strides a run decides: the extents of the result are new variables.
    """
    if isinstance(begin, Tensor):
        if not isinstance(end, Tensor) or axes:
            raise ValueError("a slice by tensors takes begin and end of all axes as tensors")
        return _ffi_api.dynamic_strided_slice(a, begin, end, strides)
    return _ffi_api.strided_slice(a, _list(begin), _list(end), _list(strides or []), _list(axes or []), slice_mode)


def strided_set(a: Tensor, v: Tensor, begin: Tensor, end: Tensor, strides: Tensor | None = None) -> Tensor:
    """The tensor with the elements of v in a part of it."""
    if strides is None:
        strides = _ffi_api.full(begin.shape, begin.dtype, 1)
    return _ffi_api.strided_set(a, v, begin, end, strides)


def reshape(a: Tensor, newshape: Any) -> Tensor:
    """The same elements in row-major order under another shape."""
    return _ffi_api.reshape(a, _list(newshape))


def squeeze(a: Tensor, axis: Any = None) -> Tensor:
    """Without dimensions of extent 1: those given, or all."""
    return _ffi_api.squeeze(a, axis)


def concatenate(a_tuple: Any, axis: int = 0) -> Tensor:
    """Tensors one after the other along `axis`."""
    return _ffi_api.concatenate([*a_tuple], axis)


def stack(a: Any, axis: int) -> Tensor:
    """Tensors along a new axis."""
    return _ffi_api.stack([*a], axis)


def split(ary: Tensor, indices_or_sections: Any, axis: int = 0) -> Any:
    """Equal parts along `axis`, or parts that begin at the indices given."""
    return _ffi_api.split(ary, indices_or_sections, axis)


def take(a: Tensor, indices: Tensor, axis: int | None = None, batch_dims: int = 0, mode: str = "clip") -> Tensor:
    """Elements by index: of the flattened tensor, or slices along `axis`."""
    return _ffi_api.take(a, indices, axis, batch_dims, mode)


def gather(data: Tensor, axis: int, indices: Tensor) -> Tensor:
    """For each position of `indices` the element that it names along `axis`."""
    return _ffi_api.gather(data, axis, indices)


def gather_nd(a: Tensor, indices: Tensor, batch_dims: int = 0) -> Tensor:
    """Elements or slices that columns of indices name."""
    return _ffi_api.gather_nd(a, indices, batch_dims)


def adv_index(data: Tensor, indices: Any) -> Tensor:
    """data[indices[0], indices[1], ...], the indices broadcast to each other."""
    return _ffi_api.adv_index(data, [*indices])


def matmul(a: Tensor, b: Tensor, transp_a: bool = False, transp_b: bool = False) -> Tensor:
    """The matmul of two matrices."""
    return _ffi_api.matmul(a, b, transp_a, transp_b)


def tensordot(a: Tensor, b: Tensor, axes: Any) -> Tensor:
    """A contraction over a number of dimensions (the last of a, the first of b), or over those of a and of b that are given."""
    if isinstance(axes, int):
        first = range(len(a.shape) - axes, len(a.shape))
        return _ffi_api.tensordot(a, b, [*first], [*range(axes)])
    left, right = ([axis] if isinstance(axis, int) else [*axis] for axis in axes)
    return _ffi_api.tensordot(a, b, left, right)


def einsum(subscripts: str, *operand: Tensor) -> Tensor:
    """The sum of products over the letters of an equation such as "ij,jk->ik"."""
    return _ffi_api.einsum(subscripts, [*operand])


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: str = "float32") -> Tensor:
    """start, start + step, ... to before stop; from 0 when only one number is given."""
    start, stop = (0, start) if stop is None else (start, stop)
    return _ffi_api.arange(start, stop, step, dtype)


def meshgrid(a_tuple: Any, indexing: str) -> Any:
    """The coordinates of each point of a grid, one tensor per vector."""
    return _ffi_api.meshgrid([*a_tuple], indexing)


def repeat(a: Tensor, repeats: int, axis: int) -> Tensor:
    """Each element several times along `axis`."""
    return _ffi_api.repeat(a, repeats, axis)


def tile(a: Tensor, reps: Any) -> Tensor:
    """The whole tensor several times along each dimension."""
    return _ffi_api.tile(a, _list(reps))


def layout_transform(array: Tensor, src_layout: str, dst_layout: str) -> Tensor:
    """The elements in another layout, such as NCHW to NCHW16c."""
    if src_layout == dst_layout:
        return array
    return _ffi_api.layout_transform(array, src_layout, dst_layout)


def shape(array: Tensor, dtype: str = "int32") -> Tensor:
    """The extents as a vector."""
    return _ffi_api.shape(array, dtype)


def ndarray_size(array: Tensor, dtype: str = "int32") -> Tensor:
    """The number of elements."""
    return _ffi_api.ndarray_size(array, dtype)


def sequence_mask(data: Tensor, valid_length: Tensor, mask_value: float = 0, axis: int = 0) -> Tensor:
    """One value from the given length of each sequence on."""
    return _ffi_api.sequence_mask(data, valid_length, float(mask_value), axis)


def where(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """x where the condition holds, else y."""
    return _ffi_api.where(condition, x, y)


def one_hot(indices: Tensor, on_value: Any, off_value: Any, depth: int, axis: int, dtype: str) -> Tensor:
    """on_value at the position that the index names along a new axis, off_value elsewhere."""
    return _ffi_api.one_hot(indices, on_value, off_value, depth, axis, dtype)


def unravel_index(indices: Tensor, shape: Tensor) -> Tensor:
    """Offsets in a flattened tensor as indices, one row per dimension."""
    return _ffi_api.unravel_index(indices, shape)


def sparse_to_dense(sparse_indices: Tensor, output_shape: Any, sparse_values: Tensor, default_value: Any = 0) -> Tensor:
    """A tensor of a default value, with other values at the given indices."""
    value = default_value() if isinstance(default_value, Tensor) else default_value
    return _ffi_api.sparse_to_dense(sparse_indices, _list(output_shape), sparse_values, value)


def sparse_reshape(
    sparse_indices: Tensor,
    prev_shape: Tensor,
    new_shape: Tensor,
    new_sparse_indices_shape: Any = None,
    new_shape_shape: Any = None,
) -> Any:
    """Indices of a sparse tensor after a reshape, and the shape with -1 filled in; their own shapes follow from the inputs."""
    del new_sparse_indices_shape, new_shape_shape
    return _ffi_api.sparse_reshape(sparse_indices, prev_shape, new_shape)


def sparse_fill_empty_rows(
    sparse_indices: Tensor,
    sparse_values: Tensor,
    dense_shape: Tensor,
    default_value: Tensor,
    new_sparse_indices_shape: Any,
    new_sparse_values_shape: Any,
    empty_row_indicator_shape: Any,
) -> Any:
    """Indices and values with one entry of the default for each row that has none, and which rows those are."""
    del dense_shape, new_sparse_values_shape
    value = default_value[0] if len(default_value.shape) else default_value()
    rows, count = empty_row_indicator_shape[0], new_sparse_indices_shape[0]
    return [*_ffi_api.sparse_fill_empty_rows(sparse_indices, sparse_values, value, rows, count)]


def hybrid_argwhere_1d(output_shape: Any, condition: Tensor) -> Tensor:
    """`argwhere` of a vector."""
    return argwhere(output_shape, condition)


def hybrid_argwhere_2d(output_shape: Any, condition: Tensor) -> Tensor:
    """`argwhere` of a matrix."""
    return argwhere(output_shape, condition)


def hybrid_argwhere_3d(output_shape: Any, condition: Tensor) -> Tensor:
    """`argwhere` of three dimensions."""
    return argwhere(output_shape, condition)


def hybrid_argwhere_4d(output_shape: Any, condition: Tensor) -> Tensor:
    """`argwhere` of four dimensions."""
    return argwhere(output_shape, condition)


def hybrid_argwhere_5d(output_shape: Any, condition: Tensor) -> Tensor:
    """`argwhere` of five dimensions."""
    return argwhere(output_shape, condition)


def matrix_set_diag(data: Tensor, diagonal: Tensor, k: Any = 0, align: str = "RIGHT_LEFT") -> Tensor:
    """Diagonals k (or k[0] to k[1]) of the last two dimensions replaced."""
    first, last = (k[0], k[-1]) if isinstance(k, (tuple, list)) else (k, k)
    above, below = align.split("_")
    return _ffi_api.matrix_set_diag(data, diagonal, first, last, above == "RIGHT", below == "RIGHT")


def sliding_window(data: Tensor, axis: int, window_shape: Any, strides: Any) -> Tensor:
    """All windows over the dimensions from `axis` on: first which window, then where in it."""
    return _ffi_api.sliding_window(data, axis, _list(window_shape), _list(strides))


def trilu(data: Tensor, k: Any, upper: bool) -> Tensor:
    """The upper or lower triangle from diagonal k on; zeros elsewhere."""
    return _ffi_api.trilu(data, k() if isinstance(k, Tensor) else k, upper)


def argwhere(output_shape: Any, condition: Tensor) -> Tensor:
    """The indices of the elements that are not zero, as many as the first extent of `output_shape` says."""
    return _ffi_api.argwhere(condition, output_shape[0])


def scatter(data: Tensor, indices: Tensor, updates: Tensor, axis: int = 0) -> Tensor:
    """The data with updates written where the indices point along `axis`."""
    return _ffi_api.scatter(data, indices, updates, axis, "update")


def scatter_add(data: Tensor, indices: Tensor, updates: Tensor, axis: int = 0) -> Tensor:
    """The data with updates added where the indices point along `axis`."""
    return _ffi_api.scatter(data, indices, updates, axis, "add")


def scatter_nd(data: Tensor, indices: Tensor, updates: Tensor, mode: str) -> Tensor:
    """The data with updates written or added where columns of indices point."""
    return _ffi_api.scatter_nd(data, indices, updates, mode)


def invert_permutation(data: Tensor) -> Tensor:
    """out[data[i]] = i."""
    return _ffi_api.invert_permutation(data)


def stft(
    data: Tensor,
    n_fft: int,
    hop_length: int,
    win_length: int,
    window: Tensor,
    normalized: bool,
    onesided: bool,
    output_shape: Any,
) -> Tensor:
    """The Fourier transform of windows of a signal."""
    return _ffi_api.stft(data, window, n_fft, hop_length, normalized, [*output_shape])


def take_legalize(attrs: Any, inputs: Any, types: Any) -> Any:
    """What a target has instead of `take`: nothing."""
    del attrs, inputs, types
    return None
