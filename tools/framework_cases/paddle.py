"""Operators of PaddlePaddle, each in a program of its own; see `framework_cases`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from . import Case
from ._paddle_by_hand import without_oracle
from ._paddle_layers import layers
from ._paddle_program import bools, case, ints, tensor

TITLE = "PaddlePaddle"
ORACLE = (
    "PaddlePaddle 3.3.1 on CPUs, each program as ProgramDesc and as PIR; elementwise_prod, floor_mod, pad1d and pad2d, "
    "which it does not have, against NumPy"
)
OPERATORS = [
    "abs",
    "acos",
    "addmm",
    "arg_max",
    "arg_min",
    "argsort",
    "asin",
    "assign",
    "assign_value",
    "atan",
    "batch_norm",
    "bicubic_interp_v2",
    "bilinear_interp_v2",
    "bmm",
    "brelu",
    "cast",
    "ceil",
    "clip",
    "concat",
    "conv2d",
    "conv2d_transpose",
    "cos",
    "cosh",
    "cumsum",
    "depthwise_conv2d",
    "dot",
    "dropout",
    "elementwise_add",
    "elementwise_div",
    "elementwise_floordiv",
    "elementwise_max",
    "elementwise_min",
    "elementwise_mod",
    "elementwise_mul",
    "elementwise_pow",
    "elementwise_prod",
    "elementwise_sub",
    "elu",
    "equal",
    "erf",
    "exp",
    "expand_v2",
    "expand_as_v2",
    "feed",
    "fill_any_like",
    "fill_constant",
    "fill_constant_batch_size_like",
    "flatten_contiguous_range",
    "floor",
    "floor_mod",
    "gather",
    "gather_nd",
    "gelu",
    "greater_equal",
    "greater_than",
    "group_norm",
    "hard_shrink",
    "hard_sigmoid",
    "hard_swish",
    "instance_norm",
    "isfinite_v2",
    "isinf_v2",
    "isnan_v2",
    "layer_norm",
    "leaky_relu",
    "less_equal",
    "less_than",
    "log",
    "log2",
    "log10",
    "log1p",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logsigmoid",
    "log_softmax",
    "logsumexp",
    "lookup_table_v2",
    "matmul",
    "matmul_v2",
    "meshgrid",
    "mul",
    "mv",
    "nearest_interp_v2",
    "not_equal",
    "pad1d",
    "pad2d",
    "pad3d",
    "pixel_shuffle",
    "pool2d",
    "pow",
    "prelu",
    "range",
    "relu",
    "relu6",
    "reshape2",
    "round",
    "reciprocal",
    "reduce_all",
    "reduce_any",
    "reduce_max",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "reduce_mean",
    "rnn",
    "rsqrt",
    "scale",
    "scatter",
    "scatter_nd_add",
    "selu",
    "shape",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "size",
    "slice",
    "softmax",
    "softplus",
    "softsign",
    "split",
    "strided_slice",
    "sqrt",
    "square",
    "squeeze2",
    "swish",
    "tan",
    "tanh",
    "transpose2",
    "unsqueeze2",
]


def _elementwise() -> Iterator[Case]:
    x, positive = tensor(2, 3, 4), tensor(2, 3, 4, low=0.1, high=3)
    for name in [
        "abs",
        "atan",
        "ceil",
        "cos",
        "cosh",
        "erf",
        "exp",
        "floor",
        "gelu",
        "hard_shrink",
        "hard_sigmoid",
        "hard_swish",
        "leaky_relu",
        "logsigmoid",
        "reciprocal",
        "relu",
        "relu6",
        "round",
        "selu",
        "sigmoid",
        "sign",
        "sin",
        "sinh",
        "softplus",
        "softsign",
        "square",
        "swish",
        "tan",
        "tanh",
        "elu",
        "brelu",
    ]:
        yield case(name, {"X": x})
    for name in ("acos", "asin"):
        yield case(name, {"X": tensor(2, 5, low=-1, high=1)})
    for name in ("log", "log2", "log10", "log1p", "rsqrt", "sqrt"):
        yield case(name, {"X": positive})
    yield case("abs", {"X": ints(3, 4)})
    yield case("relu", {"X": tensor(3, 4, dtype="float64")})
    yield case("gelu", {"X": x}, approximate=True)
    yield case("hard_shrink", {"X": x}, threshold=1.0)
    yield case("hard_sigmoid", {"X": 3 * x}, slope=0.3, offset=0.4)
    yield case("hard_swish", {"X": 3 * x}, threshold=6.0, scale=6.0, offset=3.0)
    yield case("leaky_relu", {"X": x}, alpha=0.3)
    yield case("elu", {"X": x}, alpha=0.5)
    yield case("selu", {"X": x}, scale=1.5, alpha=2.0)
    yield case("softplus", {"X": 10 * x}, beta=2.0, threshold=5.0)
    yield case("brelu", {"X": x}, t_min=-0.5, t_max=1.0)
    yield case("round", {"X": np.array([0.5, 1.5, -0.5, -2.5, 2.4], "float32")})
    yield case("pow", {"X": positive}, factor=2.5)
    yield case("pow", {"X": positive, "FactorTensor": np.array([1.5], "float32")})
    special = np.array([1, np.inf, -np.inf, np.nan, 0], "float32")
    for name in ("isfinite_v2", "isinf_v2", "isnan_v2"):
        yield case(name, {"X": special})
    yield case("isfinite_v2", {"X": ints(4)})
    for bias_after in (True, False):
        yield case("scale", {"X": x}, scale=2.5, bias=0.5, bias_after_scale=bias_after)
    yield case("scale", {"X": ints(3, 4)}, scale=2.0, bias=1.0, bias_after_scale=True)
    yield case("scale", {"X": x, "ScaleTensor": np.array([1.5], "float32")}, bias=1.0, bias_after_scale=True)
    yield case("clip", {"X": x}, min=-1.0, max=0.5)
    low, high = np.array([-0.5], "float32"), np.array([0.7], "float32")
    yield case("clip", {"X": x, "Min": low, "Max": high}, min=0.0, max=0.0)
    yield case("cast", {"X": 3 * x}, in_dtype=5, out_dtype=2)
    yield case("cast", {"X": ints(3, 4)}, in_dtype=3, out_dtype=5)
    yield case("cast", {"X": x}, in_dtype=5, out_dtype=0)
    yield case("prelu", {"X": tensor(2, 3, 4, 4)}, constants={"Alpha": tensor(1)}, mode="all", data_format="NCHW")
    yield case("prelu", {"X": tensor(2, 3, 4, 4)}, constants={"Alpha": tensor(3)}, mode="channel", data_format="NCHW")
    yield case("prelu", {"X": tensor(2, 4, 4, 3)}, constants={"Alpha": tensor(3)}, mode="channel", data_format="NHWC")
    yield case("prelu", {"X": x}, constants={"Alpha": tensor(1, 3, 4)}, mode="element", data_format="NCHW")
    yield case("dropout", {"X": x}, {"Out": 1, "Mask": -1}, dropout_prob=0.4, is_test=True)
    implementation = "upscale_in_train"
    yield case(
        "dropout",
        {"X": x},
        {"Out": 1, "Mask": -1},
        dropout_prob=0.4,
        is_test=True,
        dropout_implementation=implementation,
    )


def _binary() -> Iterator[Case]:
    x, y = tensor(2, 3, 4), tensor(2, 3, 4, seed=3, low=0.3, high=2)
    for name in ("add", "sub", "mul", "div", "max", "min", "mod", "floordiv", "pow"):
        op, left = f"elementwise_{name}", np.abs(x) if name == "pow" else x
        yield case(op, {"X": left, "Y": y}, axis=-1)
        yield case(op, {"X": left, "Y": y[0, :, 0]}, axis=1)
        yield case(op, {"X": left, "Y": y[0]}, axis=-1)
        if name not in ("div", "pow"):
            yield case(op, {"X": ints(3, 4), "Y": ints(3, 4, low=1, seed=4)}, axis=-1)
    yield case("elementwise_mod", {"X": -ints(3, 4, low=1), "Y": ints(3, 4, low=1, seed=4)}, axis=-1)
    yield case("elementwise_floordiv", {"X": ints(3, 4), "Y": -ints(3, 4, low=1, seed=4)}, axis=-1)
    yield case("elementwise_div", {"X": x, "Y": y[:, :, :1]}, axis=-1)
    a, b = ints(3, 4, low=0, high=3), ints(3, 4, low=0, high=3, seed=5)
    for name in ("equal", "not_equal", "less_than", "less_equal", "greater_than", "greater_equal"):
        yield case(name, {"X": a, "Y": b})
        yield case(name, {"X": a.astype("float32"), "Y": b[:1].astype("float32")})
    for name in ("logical_and", "logical_or", "logical_xor"):
        yield case(name, {"X": bools(3, 4), "Y": bools(3, 4, seed=5)})
    yield case("logical_not", {"X": bools(3, 4)})


def _reductions() -> Iterator[Case]:
    x = tensor(2, 3, 4)
    for name in ("sum", "mean", "max", "min", "prod"):
        for dim, keep, everything in (([1], False, False), ([0, -1], True, False), ([0], False, True)):
            yield case(f"reduce_{name}", {"X": x}, dim=dim, keep_dim=keep, reduce_all=everything)
    for name in ("all", "any"):
        for dim, keep, everything in (([1], False, False), ([0], True, True)):
            yield case(f"reduce_{name}", {"X": bools(3, 2)}, dim=dim, keep_dim=keep, reduce_all=everything)
    yield case("reduce_sum", {"X": ints(3, 4)}, dim=[0])
    yield case("logsumexp", {"X": x}, axis=[1], keepdim=False, reduce_all=False)
    yield case("logsumexp", {"X": x}, axis=[0], keepdim=True, reduce_all=True)
    for name in ("arg_max", "arg_min"):
        yield case(name, {"X": x}, axis=1, keepdims=False, flatten=False, dtype=3)
        yield case(name, {"X": x}, axis=-1, keepdims=True, flatten=False, dtype=2)
        yield case(name, {"X": x}, axis=0, keepdims=False, flatten=True, dtype=3)
    for descending in (False, True):
        yield case("argsort", {"X": x}, {"Out": 1, "Indices": 1}, axis=1, descending=descending)
    for exclusive in (False, True):
        for reverse in (False, True):
            yield case("cumsum", {"X": x}, axis=1, flatten=False, exclusive=exclusive, reverse=reverse)
    yield case("cumsum", {"X": x}, axis=-1, flatten=True)
    yield case("softmax", {"X": x}, axis=-1)
    yield case("softmax", {"X": x}, axis=1)
    yield case("log_softmax", {"X": x}, axis=1)


def _matmuls() -> Iterator[Case]:
    a, b = tensor(2, 3, 4), tensor(2, 4, 5, seed=3)
    yield case("bmm", {"X": a, "Y": b})
    yield case("matmul_v2", {"X": a, "Y": b}, trans_x=False, trans_y=False)
    yield case("matmul_v2", {"X": a.transpose(0, 2, 1), "Y": b.transpose(0, 2, 1)}, trans_x=True, trans_y=True)
    yield case("matmul_v2", {"X": a, "Y": b[0]}, trans_x=False, trans_y=False)
    yield case("matmul_v2", {"X": a, "Y": tensor(4)}, trans_x=False, trans_y=False)
    yield case("matmul_v2", {"X": tensor(4), "Y": tensor(4, seed=2)}, trans_x=False, trans_y=False)
    yield case("matmul", {"X": a, "Y": b}, transpose_X=False, transpose_Y=False, alpha=0.5)
    yield case("matmul", {"X": a, "Y": b.transpose(0, 2, 1)}, transpose_X=False, transpose_Y=True, alpha=1.0)
    yield case("mul", {"X": tensor(2, 3, 4), "Y": tensor(12, 5)}, x_num_col_dims=1, y_num_col_dims=1)
    yield case("mul", {"X": tensor(2, 3, 4), "Y": tensor(2, 2, 5)}, x_num_col_dims=2, y_num_col_dims=2)
    yield case("mv", {"X": a[0], "Vec": tensor(4)})
    yield case("dot", {"X": tensor(5), "Y": tensor(5, seed=2)})
    yield case("dot", {"X": tensor(3, 5), "Y": tensor(3, 5, seed=2)})
    yield case("addmm", {"Input": tensor(3, 5), "X": a[0], "Y": b[0]}, Alpha=0.5, Beta=2.0)
    yield case("addmm", {"Input": tensor(1, 5), "X": a[0], "Y": b[0]}, Alpha=1.0, Beta=1.0)


def _shapes() -> Iterator[Case]:
    x = tensor(2, 3, 4)
    with_shape = {"Out": 1, "XShape": -1}
    for shape in ([6, 4], [0, -1], [4, 3, -1]):
        yield case("reshape2", {"X": x}, with_shape, shape=shape)
    yield case("reshape2", {"X": x}, with_shape, {"Shape": np.array([4, 6], "int32")}, shape=[4, 6])
    yield case("transpose2", {"X": x}, with_shape, axis=[2, 0, 1])
    yield case("flatten_contiguous_range", {"X": tensor(2, 3, 4, 5)}, with_shape, start_axis=1, stop_axis=2)
    yield case("flatten_contiguous_range", {"X": x}, with_shape, start_axis=0, stop_axis=-1)
    yield case("squeeze2", {"X": tensor(1, 3, 1, 4)}, with_shape, axes=[0, -2])
    yield case("squeeze2", {"X": tensor(1, 3, 1, 4)}, with_shape, axes=[])
    yield case("unsqueeze2", {"X": x}, with_shape, axes=[0, 2])
    yield case("concat", {"X": [x, tensor(2, 1, 4, seed=4)]}, axis=1)
    yield case("concat", {"X": [x, x]}, constants={"AxisTensor": np.array([2], "int32")}, axis=0)
    yield case("split", {"X": x}, {"Out": 2}, axis=2, num=2, sections=[])
    yield case("split", {"X": x}, {"Out": 3}, axis=2, num=0, sections=[1, 2, 1])
    yield case("split", {"X": x}, {"Out": 2}, axis=1, num=0, sections=[2, -1])
    yield case("slice", {"Input": x}, axes=[1, 2], starts=[1, -3], ends=[3, 100], infer_flags=[1, 1], decrease_axis=[])
    yield case("slice", {"Input": x}, axes=[1], starts=[1], ends=[2], infer_flags=[1], decrease_axis=[1])
    starts, ends = np.array([1], "int32"), np.array([3], "int32")
    yield case(
        "slice",
        {"Input": x},
        constants={"StartsTensor": starts, "EndsTensor": ends},
        axes=[2],
        starts=[-1],
        ends=[-1],
        infer_flags=[-1],
    )
    flags: dict[str, Any] = {"infer_flags": [1, 1], "decrease_axis": []}
    yield case("strided_slice", {"Input": x}, axes=[1, 2], starts=[0, -1], ends=[3, 0], strides=[2, -2], **flags)
    yield case(
        "strided_slice", {"Input": tensor(6, 5)}, axes=[0, 1], starts=[5, 0], ends=[0, 4], strides=[-2, 3], **flags
    )
    yield case("expand_v2", {"X": tensor(3, 1)}, shape=[2, 3, 4])
    yield case("expand_v2", {"X": tensor(3, 1)}, shape=[-1, 4])
    yield case("expand_as_v2", {"X": tensor(3, 1), "Y": x}, target_shape=[2, 3, 4])
    yield case("meshgrid", {"X": [tensor(2), tensor(3), tensor(4)]}, {"Out": 3})
    yield case("shape", {"Input": x})
    yield case("size", {"Input": x})
    yield case("assign", {"X": x})
    yield case("assign", {"X": ints(3)})
    yield case("fill_any_like", {"X": x}, value=2.5, dtype=5)
    yield case("fill_any_like", {"X": x}, value=3.0, dtype=3)
    yield case("fill_any_like", {"X": ints(3)}, value=3.0, dtype=-1)
    batch: dict[str, Any] = {"input_dim_idx": 0, "output_dim_idx": 1, "dtype": 5, "value": 1.5, "str_value": ""}
    yield case("fill_constant_batch_size_like", {"Input": x}, shape=[4, -1], **batch)


def _indices() -> Iterator[Case]:
    x = tensor(5, 3, 4)
    rows = np.array([4, 0, 2], "int64")
    yield case("gather", {"X": x, "Index": rows})
    yield case("gather", {"X": x, "Index": rows[1:].astype("int32")}, axis=2)
    yield case("gather_nd", {"X": x, "Index": np.array([[1, 2], [4, 0]], "int64")})
    yield case("gather_nd", {"X": x, "Index": np.array([[[1, 2, 3]], [[0, 0, 0]]], "int64")})
    yield case("scatter", {"X": x, "Ids": rows, "Updates": tensor(3, 3, 4, seed=4)}, overwrite=True)
    twice = np.array([1, 1, 2], "int64")
    yield case("scatter", {"X": x, "Ids": twice, "Updates": tensor(3, 3, 4, seed=4)}, overwrite=False)
    index = np.array([[1, 2], [4, 0], [1, 2]], "int64")
    yield case("scatter_nd_add", {"X": x, "Index": index, "Updates": tensor(3, 4, seed=4)})
    ids = ints(2, 3, low=0, high=6)
    yield case("lookup_table_v2", {"Ids": ids}, constants={"W": tensor(6, 4)}, padding_idx=-1)
    yield case("lookup_table_v2", {"Ids": np.array([[0, 2, 5]], "int64")}, constants={"W": tensor(6, 4)}, padding_idx=2)


def cases() -> Iterator[Case]:
    """All cases."""
    yield from _elementwise()
    yield from _binary()
    yield from _reductions()
    yield from _matmuls()
    yield from _shapes()
    yield from _indices()
    yield from layers()
    yield from without_oracle()
