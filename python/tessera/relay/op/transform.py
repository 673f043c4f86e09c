"""Operators that move, choose or make elements; signatures are v0.10's.

A shape, a number of times or bounds of a slice may be given as a tensor: a constant one counts as its numbers, any other
makes a call of the operator under `dyn`, whose result has a shape that is known only at run time.
"""

from __future__ import annotations

from typing import Any

from ..expr import Call, Constant, Expr, Tuple, TupleWrapper, const
from . import dyn
from ._arguments import as_list, as_shape, as_tensor, is_dynamic, number_or_tensor
from ._make import call_op

__all__ = [
    "adv_index",
    "arange",
    "argwhere",
    "broadcast_to",
    "broadcast_to_like",
    "cast",
    "cast_like",
    "collapse_sum_like",
    "collapse_sum_to",
    "concatenate",
    "cumprod",
    "cumsum",
    "einsum",
    "expand_dims",
    "full",
    "full_like",
    "gather",
    "gather_nd",
    "invert_permutation",
    "layout_transform",
    "matrix_set_diag",
    "meshgrid",
    "one_hot",
    "ones",
    "reinterpret",
    "repeat",
    "reshape",
    "reshape_like",
    "reverse",
    "reverse_reshape",
    "reverse_sequence",
    "scatter",
    "scatter_add",
    "scatter_nd",
    "segment_sum",
    "sequence_mask",
    "slice_like",
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
    "tile",
    "transpose",
    "trilu",
    "unique",
    "unravel_index",
    "where",
    "zeros",
]

_INIT = "relay.attrs.InitOpAttrs"


def cast(data: Expr, dtype: str) -> Call:
    """The elements as another type."""
    return call_op("cast", [data], {"dtype": dtype})


def cast_like(data: Expr, dtype_like: Expr) -> Call:
    """The elements as the type of another tensor's."""
    return call_op("cast_like", [data, dtype_like])


def reinterpret(data: Expr, dtype: str) -> Call:
    """The bits of the elements read as another type."""
    return call_op("reinterpret", [data], {"dtype": dtype})


def expand_dims(data: Expr, axis: Any, num_newaxis: int = 1) -> Call:
    """New dimensions of extent 1 before `axis`."""
    axis = number_or_tensor(axis)
    if is_dynamic(axis):
        return dyn._make.expand_dims(data, axis, num_newaxis)
    return call_op("expand_dims", [data], {"axis": int(axis), "num_newaxis": num_newaxis})


def transpose(data: Expr, axes: Any = None) -> Call:
    """The dimensions in another order, or reversed."""
    return call_op("transpose", [data], {"axes": None if axes is None else as_list(axes)})


def squeeze(data: Expr, axis: Any = None) -> Call:
    """Without dimensions of extent 1: those given, or all."""
    if is_dynamic(axis):
        return dyn._make.squeeze(data, axis)
    return call_op("squeeze", [data], {"axis": None if axis is None else as_list(axis)})


def reshape(data: Expr, newshape: Any, allowzero: bool = False) -> Call:
    """The same elements under another shape: 0 keeps an extent, -1 is inferred, -2 keeps the rest, -3 merges two,
    -4 splits one into the next two."""
    if is_dynamic(newshape):
        return dyn._make.reshape(data, newshape, allowzero)
    return call_op("reshape", [data], {"newshape": as_list(newshape), "allowzero": allowzero})


def reverse_reshape(data: Expr, newshape: Any) -> Call:
    """As reshape, with the special numbers read from the last dimension to the first."""
    return call_op("contrib_reverse_reshape", [data], {"newshape": as_list(newshape)})


def reshape_like(
    data: Expr,
    shape_like: Expr,
    lhs_begin: int = 0,
    lhs_end: int | None = None,
    rhs_begin: int = 0,
    rhs_end: int | None = None,
) -> Call:
    """The same elements, with dimensions lhs_begin to lhs_end replaced by rhs_begin to rhs_end of another tensor."""
    attrs = {"lhs_begin": lhs_begin, "lhs_end": lhs_end, "rhs_begin": rhs_begin, "rhs_end": rhs_end}
    return call_op("reshape_like", [data, shape_like], attrs)


def argwhere(condition: Expr) -> Call:
    """The indices of the elements that are not zero, one row each."""
    return call_op("argwhere", [condition])


def scatter(data: Expr, indices: Expr, updates: Expr, axis: int) -> Call:
    """The data with updates written where the indices point along `axis`."""
    return call_op("scatter", [data, indices, updates], {"axis": axis}, "relay.attrs.ScatterAttrs")


def scatter_add(data: Expr, indices: Expr, updates: Expr, axis: int) -> Call:
    """The data with updates added where the indices point along `axis`."""
    return call_op("scatter_add", [data, indices, updates], {"axis": axis}, "relay.attrs.ScatterAddAttrs")


def scatter_nd(data: Expr, indices: Expr, updates: Expr, mode: str = "update") -> Call:
    """The data with updates written ("update"), added ("add") or combined by "min" or "max" where columns of indices
    point."""
    return call_op("scatter_nd", [data, indices, updates], {"mode": mode}, "relay.attrs.ScatterNDAttrs")


def take(data: Expr, indices: Expr, axis: int | None = None, batch_dims: int = 0, mode: str = "clip") -> Call:
    """Elements by index: of the flattened tensor, or slices along `axis`. An index out of range is clipped, wrapped, or
    ("fast") reads some element."""
    return call_op("take", [data, indices], {"axis": axis, "batch_dims": batch_dims, "mode": mode})


def full(fill_value: Any, shape: Any = (), dtype: str = "") -> Call:
    """A tensor filled with one value."""
    if is_dynamic(shape):
        return dyn._make.full(fill_value, shape, dtype)
    return call_op("full", [fill_value], {"shape": as_shape(shape), "dtype": dtype})


def full_like(data: Expr, fill_value: Any) -> Call:
    """One value in the shape and type of another tensor."""
    return call_op("full_like", [data, fill_value])


def zeros(shape: Any, dtype: str) -> Call:
    """A tensor of zeros."""
    if is_dynamic(shape):
        return dyn._make.zeros(shape, dtype)
    return call_op("zeros", [], {"shape": as_shape(shape), "dtype": dtype})


def ones(shape: Any, dtype: str) -> Call:
    """A tensor of ones."""
    if is_dynamic(shape):
        return dyn._make.ones(shape, dtype)
    return call_op("ones", [], {"shape": as_shape(shape), "dtype": dtype})


def arange(start: Any, stop: Any = None, step: Any = None, dtype: str = "float32") -> Call:
    """start, start + step, ... to before stop; from 0 when only one number is given."""
    if stop is None:
        start, stop = const(0, dtype=dtype), start
    bounds = [bound if isinstance(bound, Expr) else const(bound, dtype=dtype) for bound in (start, stop)]
    bounds.append(step if isinstance(step, Expr) else const(1 if step is None else step, dtype=dtype))
    attrs = {"start": bounds[0], "stop": bounds[1], "step": bounds[2], "dtype": dtype}
    return call_op("arange", bounds, attrs)


def meshgrid(data: Any, indexing: str = "ij") -> TupleWrapper:
    """The coordinates of each point of a grid, one tensor per vector of `data`."""
    parts = [*data]
    if not parts:
        raise ValueError("relay.meshgrid requires at least 1 input array")
    return TupleWrapper(call_op("meshgrid", [Tuple(parts)], {"indexing": indexing}), len(parts))


def repeat(data: Expr, repeats: int, axis: int) -> Call:
    """Each element several times along `axis`."""
    return call_op("repeat", [data], {"repeats": repeats, "axis": axis})


def tile(data: Expr, reps: Any) -> Call:
    """The whole tensor several times along each dimension."""
    if is_dynamic(reps):
        return dyn._make.tile(data, reps)
    return call_op("tile", [data], {"reps": as_list(reps)})


def reverse(data: Expr, axis: int) -> Call:
    """The elements along `axis` in reverse order."""
    return call_op("reverse", [data], {"axis": axis})


def reverse_sequence(data: Expr, seq_lengths: Expr, seq_axis: int = 1, batch_axis: int = 0) -> Call:
    """The first elements of each sequence, as many as are given, in reverse order."""
    return call_op("reverse_sequence", [data, seq_lengths], {"seq_axis": seq_axis, "batch_axis": batch_axis})


def where(condition: Expr, x: Expr, y: Expr) -> Call:
    """x where the condition holds, else y."""
    return call_op("where", [condition, x, y])


def broadcast_to(data: Expr, shape: Any) -> Call:
    """Broadcast to a shape: extents of 1 repeated, dimensions added in front."""
    if is_dynamic(shape):
        return dyn._make.broadcast_to(data, shape)
    return call_op("broadcast_to", [data], {"shape": as_shape(shape)}, _INIT)


def broadcast_to_like(data: Expr, broadcast_type: Expr) -> Call:
    """Broadcast to the shape of another tensor."""
    return call_op("broadcast_to_like", [data, broadcast_type])


def collapse_sum_like(data: Expr, collapse_type: Expr) -> Call:
    """Summed over the dimensions that were broadcast from the shape of another tensor."""
    return call_op("collapse_sum_like", [data, collapse_type])


def collapse_sum_to(data: Expr, shape: Any) -> Call:
    """Summed over the dimensions that were broadcast from a shape."""
    if is_dynamic(shape):
        raise NotImplementedError("collapse_sum_to: the shape must be a constant; collapse_sum_like takes a tensor's")
    numbers = as_list(shape)
    return call_op("collapse_sum_to", [data, const(numbers, "int32")], {"shape": numbers}, _INIT)


def _parts(data: Any, name: str) -> Any:
    parts = data if isinstance(data, Expr) else Tuple([*data])
    if isinstance(parts, Tuple) and not list(parts.fields):
        raise ValueError(f"relay.{name} requires data to be non-empty.")
    return parts


def concatenate(data: Any, axis: int) -> Call:
    """Tensors one after the other along `axis`."""
    if not isinstance(axis, int):
        raise ValueError("For now, we only support integer axis")
    return call_op("concatenate", [_parts(data, "concatenate")], {"axis": axis})


def stack(data: Any, axis: int) -> Call:
    """Tensors along a new axis."""
    if not isinstance(axis, int):
        raise ValueError("For now, we only support integer axis")
    return call_op("stack", [_parts(data, "stack")], {"axis": axis})


def einsum(data: Any, equation: str) -> Call:
    """The sum of products over the letters of an equation such as "ij,jk->ik"."""
    return call_op("einsum", [_parts(data, "einsum")], {"equation": equation})


def split(data: Expr, indices_or_sections: Any, axis: int = 0) -> TupleWrapper:
    """Equal parts along `axis`, or parts that begin at the indices given."""
    if isinstance(indices_or_sections, int):
        count = indices_or_sections
    else:
        indices_or_sections = list(indices_or_sections)
        count = len(indices_or_sections) + 1
    call = call_op("split", [data], {"indices_or_sections": indices_or_sections, "axis": axis})
    return TupleWrapper(call, count)


def strided_slice(
    data: Expr, begin: Any, end: Any, strides: Any = None, axes: Any = None, slice_mode: str = "end"
) -> Call:
    """A part of a tensor, as Python's slices mean it. With slice_mode "size", `end` holds extents (-1: to the end)."""
    strides = [1] if strides is None else strides
    if is_dynamic(begin, end, strides):
        if axes is not None:
            raise ValueError("axes is not supported when begin, end or strides are known only at run time")
        length = next((_length_of(value) for value in (begin, end, strides) if isinstance(value, Constant)), None)
        if not isinstance(strides, Expr) and length and len(as_list(strides)) == 1:
            strides = as_list(strides) * length
        return dyn._make.strided_slice(data, as_tensor(begin), as_tensor(end), as_tensor(strides), slice_mode)
    attrs = {"begin": as_list(begin), "end": as_list(end), "strides": as_list(strides), "slice_mode": slice_mode}
    return call_op("strided_slice", [data], {**attrs, "axes": None if axes is None else as_list(axes)})


def _length_of(value: Constant) -> int:
    return int(value.data.shape[0])


def strided_set(data: Expr, v: Expr, begin: Any, end: Any, strides: Any = None) -> Call:
    """The data with the elements of v in a part of it."""
    begins = as_tensor(begin, "int64")
    if strides is None:
        count = _length_of(begins) if isinstance(begins, Constant) else 1
        strides = [1] * count
    return call_op("strided_set", [data, v, begins, as_tensor(end), as_tensor(strides)])


def slice_like(data: Expr, shape_like: Expr, axes: Any = None) -> Call:
    """The first elements along `axes` (all when none are given), as many as another tensor has."""
    return call_op("slice_like", [data, shape_like], {"axes": None if axes is None else as_list(axes)})


def layout_transform(data: Expr, src_layout: str, dst_layout: str) -> Call:
    """The elements in another layout, such as NCHW to NCHW16c."""
    return call_op("layout_transform", [data], {"src_layout": src_layout, "dst_layout": dst_layout})


def gather(data: Expr, axis: int, indices: Expr) -> Call:
    """For each position of `indices` the element that it names along `axis`."""
    return call_op("gather", [data, indices], {"axis": axis})


def gather_nd(data: Expr, indices: Expr, batch_dims: int = 0, index_rank: int | None = None) -> Call:
    """Elements or slices that columns of indices name."""
    return call_op("gather_nd", [data, indices], {"batch_dims": batch_dims, "index_rank": index_rank})


def sequence_mask(data: Expr, valid_length: Expr, mask_value: float = 0, axis: int = 0) -> Call:
    """One value from the given length of each sequence on; `axis` counts the elements of a sequence."""
    return call_op("sequence_mask", [data, valid_length], {"mask_value": float(mask_value), "axis": axis})


def one_hot(indices: Expr, on_value: Any, off_value: Any, depth: Any, axis: int, dtype: str) -> Call:
    """on_value at the position the index names along a new axis of `depth` elements, off_value elsewhere."""
    depth = number_or_tensor(depth)
    if is_dynamic(depth):
        return dyn._make.one_hot(indices, on_value, off_value, depth, axis, dtype)
    return call_op("one_hot", [indices, on_value, off_value], {"depth": int(depth), "axis": axis, "dtype": dtype})


def unravel_index(indices: Expr, shape: Expr) -> Call:
    """Offsets in a flattened tensor as indices, one row per dimension."""
    return call_op("unravel_index", [indices, as_tensor(shape)])


def sparse_to_dense(sparse_indices: Expr, output_shape: Any, sparse_values: Expr, default_value: Any = 0) -> Call:
    """A tensor of a default value, with other values at the given indices."""
    if default_value == 0 and not isinstance(default_value, Expr):
        default_value = const(0)
    if is_dynamic(output_shape):
        return dyn._make.sparse_to_dense(sparse_indices, output_shape, sparse_values, default_value)
    attrs = {"output_shape": as_list(output_shape)}
    return call_op("sparse_to_dense", [sparse_indices, sparse_values, default_value], attrs)


def sparse_fill_empty_rows(
    sparse_indices: Expr, sparse_values: Expr, dense_shape: Expr, default_value: Expr
) -> TupleWrapper:
    """Indices and values with one default entry for each row that has none, and which rows those were."""
    args = [sparse_indices, sparse_values, dense_shape, default_value]
    return TupleWrapper(call_op("sparse_fill_empty_rows", args), 3)


def sparse_reshape(sparse_indices: Expr, prev_shape: Expr, new_shape: Expr) -> TupleWrapper:
    """Indices of a sparse tensor after a reshape, and the shape with -1 filled in."""
    return TupleWrapper(call_op("sparse_reshape", [sparse_indices, prev_shape, new_shape]), 2)


def segment_sum(data: Expr, segment_ids: Expr, num_segments: int | None = None) -> Call:
    """Row s of the result is the sum of the rows of data whose id is s. The number of rows is known only at run time."""
    rows: Expr
    if num_segments:
        rows = const([num_segments], "int64")
    else:
        greatest = call_op("max", [segment_ids], {"axis": [0], "keepdims": True, "exclude": False})
        rows = call_op("add", [cast(greatest, "int64"), const([1], "int64")])
    row_shape = strided_slice(call_op("shape_of", [data], {"dtype": "int64"}), [1], [-1], slice_mode="size")
    zeros_of = dyn._make.full(cast_like(const(0), data), concatenate([rows, row_shape], 0), "")
    return scatter_nd(zeros_of, expand_dims(segment_ids, 0), data, "add")


def matrix_set_diag(data: Expr, diagonal: Expr, k: Any = 0, align: str = "RIGHT_LEFT") -> Call:
    """Diagonals k (or k[0] to k[1]) of the last two dimensions replaced. `align` says to which side shorter diagonals
    above and below the main one are aligned."""
    first, last = (k[0], k[-1]) if isinstance(k, (tuple, list)) else (k, k)
    above, below = align.split("_")
    attrs = {
        "k1": first,
        "k2": last,
        "super_diag_right_align": above == "RIGHT",
        "sub_diag_right_align": below == "RIGHT",
    }
    return call_op("matrix_set_diag", [data, diagonal], attrs)


def adv_index(inputs: Any) -> Call:
    """inputs[0][inputs[1], inputs[2], ...]: elements by tensors of indices that are broadcast to each other."""
    return call_op("adv_index", [_parts(inputs, "adv_index")])


def sliding_window(data: Expr, axis: int, window_shape: Any, strides: Any) -> Call:
    """All windows over the dimensions from `axis` on: first which window, then where in it."""
    attrs = {"axis": axis, "window_shape": as_list(window_shape), "strides": as_list(strides)}
    return call_op("sliding_window", [data], attrs)


def _scan(name: str, data: Expr, axis: int | None, dtype: str | None, exclusive: bool | None) -> Call:
    attrs = {"axis": axis, "dtype": dtype or "", "exclusive": None if exclusive is None else bool(exclusive)}
    return call_op(name, [data], attrs, "relay.attrs.ScanopAttrs")


def cumsum(data: Expr, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None) -> Call:
    """Cumulative sums along `axis`, or of the flattened tensor; exclusive ones leave out the element itself."""
    return _scan("cumsum", data, axis, dtype, exclusive)


def cumprod(data: Expr, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None) -> Call:
    """Cumulative products along `axis`, or of the flattened tensor; exclusive ones leave out the element itself."""
    return _scan("cumprod", data, axis, dtype, exclusive)


def unique(data: Expr, is_sorted: bool = True, return_counts: bool = False) -> TupleWrapper:
    """The different elements of a vector, the first index of each, where each element went, how many there are, and how
    often each occurs."""
    attrs = {"sorted": is_sorted, "return_counts": return_counts}
    return TupleWrapper(call_op("unique", [data], attrs, "relay.attrs.UniqueAttrs"), 5 if return_counts else 4)


def invert_permutation(data: Expr) -> Call:
    """out[data[i]] = i."""
    return call_op("invert_permutation", [data])


def stft(
    data: Expr,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Expr | None = None,
    normalized: bool = False,
    onesided: bool = True,
) -> Call:
    """The Fourier transform of windows of a signal: (batch, frequencies, windows, real and imaginary part)."""
    window = ones([n_fft], "int32") if window is None else window
    attrs = {
        "n_fft": n_fft,
        "hop_length": n_fft // 4 if hop_length is None else hop_length,
        "win_length": n_fft if win_length is None else win_length,
        "normalized": normalized,
        "onesided": onesided,
    }
    return call_op("stft", [data, window], attrs, "relay.attrs.StftAttrs")


def trilu(data: Expr, k: Any, upper: bool = True) -> Call:
    """The upper or lower triangle from diagonal k on; zeros elsewhere."""
    k = k if isinstance(k, Expr) else const(k, dtype="int64")
    return call_op("trilu", [data, k], {"upper": upper}, "relay.attrs.TriluAttrs")
