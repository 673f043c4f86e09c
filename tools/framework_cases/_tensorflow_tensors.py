"""Operators of TensorFlow that make and rearrange tensors; see `framework_cases`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from . import Case
from ._tensorflow_model import Feeds, Fixed, case, floats, graph_case, ints


def _shapes() -> Iterator[Case]:
    x = floats(2, 3, 4)
    yield case("Reshape", tensor=x, shape=Fixed([4, -1]))
    yield case("Reshape", "nothing", tensor=x[:1, :1, :1], shape=Fixed([]))
    yield case("ExpandDims", input=x, axis=Fixed(-1))
    yield case("Squeeze", input=floats(2, 1, 3, 1))
    yield case("Squeeze", "one", input=floats(2, 1, 3, 1), axis=[-1])
    yield case("Transpose", x=x, perm=Fixed([2, 0, 1]))
    yield case("Rank", input=x)
    yield case("Size", input=x, out_type="int64")
    yield case("Shape", input=x)
    yield case("BroadcastTo", input=floats(3, 1), shape=Fixed([2, 3, 4]))
    yield case("BroadcastArgs", s0=ints(2, low=3, high=4), s1=np.array([2, 1, 3], "int32"))
    yield case("Fill", dims=Fixed([2, 3]), value=floats())
    yield case("Fill", "dynamic", dims=np.array([2, 3], "int32"), value=Fixed(1.5, "float32"))
    yield case("Range", start=Fixed(1), limit=Fixed(9), delta=Fixed(3))
    yield case("Range", "floats", start=Fixed(1, "float32"), limit=Fixed(-2, "float32"), delta=Fixed(-0.5, "float32"))
    yield case("Range", "dynamic", start=np.array(1, "int32"), limit=np.array(9, "int32"), delta=Fixed(2))
    yield case("IdentityN", input=[x, floats(2)])
    for value in (0.0, 5.0):
        yield case("OneHot", indices=ints(2, 3, low=-1, high=4), depth=Fixed(4), on_value=floats(), off_value=Fixed(value, "float32"), axis=1)  # fmt: skip
    for kind in ("REFLECT", "SYMMETRIC"):
        yield case("MirrorPad", kind, input=x, paddings=Fixed([[1, 0], [2, 1], [0, 3]]), mode=kind)
    yield case("Pad", input=x, paddings=Fixed([[1, 0], [2, 1], [0, 3]]))
    yield case("PadV2", input=x, paddings=Fixed([[1, 0], [2, 1], [0, 3]]), constant_values=floats())
    yield case("Tile", input=x, multiples=Fixed([2, 1, 3]))
    yield case("ReverseV2", tensor=x, axis=Fixed([0, -1]))

    def shape_at_run_time(tf: Any, feeds: Feeds) -> list[Any]:
        data = feeds.tensor(x, [None, None, 4])
        shape = tf.shape(data)
        return [shape, tf.raw_ops.Reshape(tensor=data, shape=[shape[0] * shape[1], 4]), tf.size(data)]

    yield graph_case("Shape", "dynamic", shape_at_run_time)
    yield graph_case("Reshape", "dynamic", shape_at_run_time)
    yield graph_case("Size", "dynamic", shape_at_run_time)


def _pieces() -> Iterator[Case]:
    x = floats(2, 6, 4)
    yield case("Concat", concat_dim=Fixed(1), values=[x, x[:, :2]])
    yield case("ConcatV2", values=[x, x[:, :2]], axis=Fixed(-2))
    yield case("Pack", values=[x, -x], axis=1)
    yield case("Unpack", value=x, num=6, axis=1)
    yield case("Split", axis=Fixed(1), value=x, num_split=3)
    yield case("SplitV", value=x, size_splits=Fixed([1, 3, -1]), axis=Fixed(1), num_split=3)
    yield case("Slice", input=x, begin=Fixed([0, 1, 2]), size=Fixed([2, 3, -1]))
    yield case("Slice", "dynamic", input=x, begin=np.array([0, 1, 2], "int32"), size=Fixed([2, 3, 1]))
    strides: dict[str, Any] = {"begin": Fixed([0, 1, 3]), "end": Fixed([2, 5, 0]), "strides": Fixed([1, 2, -1])}
    yield case("StridedSlice", input=x, **strides)
    yield case("StridedSlice", "masks", input=x, **strides, begin_mask=2, end_mask=4)
    yield case("StridedSlice", "shrink", input=x, **strides, shrink_axis_mask=2)
    yield case("StridedSlice", "new axis", input=x, **strides, new_axis_mask=2)
    yield case("StridedSlice", "ellipsis", input=x, begin=Fixed([0, 1]), end=Fixed([0, 3]), strides=Fixed([1, 1]), ellipsis_mask=1)  # fmt: skip
    yield case("Gather", params=x, indices=ints(3, 2, low=0, high=2))
    yield case("GatherV2", params=x, indices=ints(3, 2, low=0, high=6), axis=Fixed(1))
    yield case("GatherV2", "batch", params=x, indices=ints(2, 3, low=0, high=6), axis=Fixed(1), batch_dims=1)
    yield case("GatherNd", params=x, indices=np.array([[[0, 5], [1, 2]], [[1, 1], [0, 0]]], "int32"))
    yield case("GatherNd", "elements", params=x, indices=np.array([[0, 5, 1], [1, 2, 3]], "int64"))
    yield case("InvertPermutation", x=np.array([3, 0, 2, 1], "int32"))
    yield case("UnravelIndex", indices=np.array([3, 7, 11], "int32"), dims=Fixed([3, 4]))
    yield case("UnravelIndex", "one", indices=np.array(7, "int32"), dims=Fixed([3, 4]))
    yield case("TopKV2", input=x, k=Fixed(2))
    repeated = np.array([4, 1, 4, 0, 1, 9, 4], "int32")
    yield case("Unique", x=repeated)
    yield case("UniqueWithCounts", x=repeated)
    yield case("UniqueWithCounts", "int64", x=repeated, out_idx="int64")
    yield case("Where", condition=x > 0.5)
    yield case("Where", "numbers", condition=np.round(x[0]))
    blocks = floats(2, 4, 6, 8)
    for operator in ("DepthToSpace", "SpaceToDepth"):
        yield case(operator, input=blocks, block_size=2)
    yield case("SpaceToBatchND", input=blocks, block_shape=Fixed([2, 3]), paddings=Fixed([[1, 1], [0, 3]]))
    yield case("BatchToSpaceND", input=floats(8, 4, 6, 3), block_shape=Fixed([2, 2]), crops=Fixed([[0, 1], [2, 0]]))


def _sparse() -> Iterator[Case]:
    where, values = np.array([[0, 1], [1, 3], [2, 0]], "int64"), floats(3)
    shape = Fixed([4, 5], "int64")
    yield case("SparseToDense", sparse_indices=where, output_shape=shape, sparse_values=values, default_value=floats())
    yield case("SparseToDense", "vector", sparse_indices=np.array([1, 3], "int32"), output_shape=Fixed([5]), sparse_values=floats(2), default_value=Fixed(0, "float32"))  # fmt: skip
    for a, b in ((False, False), (True, False), (False, True), (True, True)):
        dense = floats(4 if a else 5, 3)
        yield case("SparseTensorDenseMatMul", f"adjoint {a} {b}", a_indices=where, a_values=values, a_shape=shape, b=dense.T.copy() if b else dense, adjoint_a=a, adjoint_b=b)  # fmt: skip
    yield case("SparseTensorDenseAdd", a_indices=where, a_values=values, a_shape=shape, b=floats(4, 5, seed=1))
    outputs = ("output_indices", "output_values", "empty_row_indicator", "reverse_index_map")
    yield case("SparseFillEmptyRows", "", outputs, indices=where, values=values, dense_shape=shape, default_value=floats())  # fmt: skip
    full = np.array([[0, 1], [1, 3], [2, 0], [3, 3]], "int64")
    yield case("SparseFillEmptyRows", "nothing is empty", outputs, indices=full, values=floats(4), dense_shape=shape, default_value=floats())  # fmt: skip
    yield case("SparseReshape", input_indices=where, input_shape=shape, new_shape=Fixed([2, -1], "int64"))
    yield case("SparseReshape", "vector", input_indices=where, input_shape=shape, new_shape=Fixed([20], "int64"))


def cases() -> Iterator[Case]:
    yield from _shapes()
    yield from _pieces()
    yield from _sparse()
