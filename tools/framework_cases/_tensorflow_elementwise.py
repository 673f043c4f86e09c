"""Element-wise operators of TensorFlow and reductions; see `framework_cases`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from . import Case
from ._tensorflow_model import Feeds, Fixed, case, floats, graph_case, ints


def _unary() -> Iterator[Case]:
    x, positive, small = floats(2, 3, 4), floats(2, 3, 4, low=0.1, high=3), floats(2, 3, 4, low=-0.9, high=0.9)
    for operator in ["Abs", "Asinh", "Atan", "Ceil", "Cos", "Cosh", "Erf", "Exp", "Expm1", "Floor", "Neg", "Sigmoid", "Sign", "Sin", "Sinh", "Square", "Tan", "Tanh", "ZerosLike"]:  # fmt: skip
        yield case(operator, x=x)
    for operator in ("Acos", "Asin", "Atanh"):
        yield case(operator, x=small)
    for operator in ("Log", "Log1p", "Rsqrt", "Sqrt"):
        yield case(operator, x=positive)
    yield case("Acosh", x=positive + 1)
    for operator in ("Elu", "Relu", "Relu6", "Selu", "Softplus", "Softsign"):
        yield case(operator, features=6 * x)
    yield case("LeakyRelu", features=x, alpha=0.3)
    halves = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.3, -0.7], "float32")
    for operator in ("Rint", "Round"):
        yield case(operator, x=halves)
    special = np.array([1, np.inf, -np.inf, np.nan, 0], "float32")
    for operator in ("IsFinite", "IsInf", "IsNan"):
        yield case(operator, x=special)
    for operator in ("Abs", "Neg", "Sign", "Square", "ZerosLike"):
        yield case(operator, "int32", x=ints(3, 4))
    yield case("Relu", "int32", features=ints(3, 4))
    yield case("LogicalNot", x=x > 0)
    for operator in ("Softmax", "LogSoftmax"):
        yield case(operator, logits=x)
        yield case(operator, "two dimensions", logits=3 * x[0])
    yield case("Identity", input=x)
    yield case("StopGradient", input=x)
    yield case("CheckNumerics", tensor=x, message="m")
    yield case("ClipByValue", t=x, clip_value_min=np.float32(-0.5), clip_value_max=np.float32(0.7))
    yield case("ClipByValue", "inputs", t=x, clip_value_min=floats(), clip_value_max=floats() + 1)
    for wanted in ("int32", "int64", "bool", "float64", "uint8", "float16"):
        yield case("Cast", f"to {wanted}", x=np.abs(3 * x), DstT=wanted)
    yield case("Cast", "of truths", x=x > 0, DstT="float32")
    yield case("Cast", "below 0", x=3 * x, DstT="int32")


def _binary() -> Iterator[Case]:
    x, y, row = floats(2, 3, 4), floats(2, 3, 4, seed=1), floats(3, 1, seed=2, low=0.3)
    for operator in ("Add", "AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "SquaredDifference", "FloorDiv",
                     "FloorMod", "Mod"):  # fmt: skip
        yield case(operator, x=x, y=y)
        yield case(operator, "broadcast", x=x, y=row)
    whole, other = ints(4, 9), np.where(ints(4, 9, seed=1) == 0, 1, ints(4, 9, seed=1)).astype("int32")
    for operator in ("Add", "AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference", "FloorDiv", "FloorMod",
                     "Mod", "TruncateMod"):  # fmt: skip
        yield case(operator, "int32", x=whole, y=other)
        yield case(operator, "int64", x=whole.astype("int64"), y=other.astype("int64"))
    yield case("TruncateMod", x=x, y=y)
    yield case("Pow", x=np.abs(x), y=y)
    yield case("Pow", "square", x=x, y=Fixed(2, "float32"))
    yield case("Pow", "int32", x=ints(3, 4, low=-3, high=4), y=ints(3, 4, seed=1, low=0, high=5))
    yield case("Atan2", y=x, x=y)
    for operator in ("Equal", "NotEqual", "Greater", "GreaterEqual", "Less", "LessEqual"):
        yield case(operator, x=np.round(x), y=np.round(y))
        yield case(operator, "int32, broadcast", x=whole, y=other[:1])
    for operator in ("LogicalAnd", "LogicalOr"):
        yield case(operator, x=x > 0, y=y > 0)
        yield case(operator, "broadcast", x=x > 0, y=row > 1)
    bits = ints(3, 4, low=0, high=20)
    for operator in ("LeftShift", "RightShift"):
        yield case(operator, x=bits, y=ints(3, 4, low=0, high=5))
    yield case("RightShift", "below 0", x=-bits, y=ints(3, 4, low=0, high=5))
    yield case("AddN", inputs=[x, y, x * y])
    yield case("Select", condition=x > 0, x=x, y=y)
    yield case("Select", "by rows", condition=np.array([True, False]), x=x, y=y)
    yield case("SelectV2", condition=x > 0, t=x, e=y)
    yield case("SelectV2", "broadcast", condition=row > 1, t=x, e=floats())


def _reductions() -> Iterator[Case]:
    x = floats(2, 3, 4, 5)
    for operator in ("Max", "Mean", "Min", "Prod", "Sum", "EuclideanNorm"):
        yield case(operator, input=x, axis=Fixed([1, -1]))
        yield case(operator, "keep_dims", input=x, axis=Fixed(2), keep_dims=True)
        yield case(operator, "no axes", input=x, axis=Fixed([]))
    for operator in ("Max", "Min", "Prod", "Sum", "Mean"):
        yield case(operator, "int32", input=ints(3, 4, 5), axis=Fixed([0, 2]))
    for operator in ("All", "Any"):
        yield case(operator, input=x > (1.0 if operator == "Any" else -1.0), axis=Fixed([1, 3]))
        yield case(operator, "keep_dims", input=x > 0, axis=Fixed([0]), keep_dims=True)
    for operator in ("ArgMax", "ArgMin"):
        yield case(operator, input=x, dimension=Fixed(2))
        yield case(operator, "int32", input=np.round(x), dimension=Fixed(-1), output_type="int32")
    counted = ints(12, low=0, high=6)
    yield case("Bincount", arr=counted, size=Fixed(8), weights=np.zeros(0, "float32"))
    yield case("Bincount", "weights", arr=counted, size=Fixed(8), weights=floats(12))
    yield case("Bincount", "cut", arr=counted, size=Fixed(4), weights=floats(12))
    for only in (False, True):
        yield case(
            "DenseBincount",
            f"binary_output={only}",
            input=counted,
            size=Fixed(8),
            weights=np.zeros(0, "float32"),
            binary_output=only,
        )
    yield case("DenseBincount", "weights", input=counted, size=Fixed(8), weights=floats(12))
    yield case("DenseBincount", "rows", input=counted.reshape(3, 4), size=Fixed(7), weights=floats(3, 4))
    rows, ids = floats(6, 3), np.array([0, 0, 1, 3, 3, 3], "int32")
    yield case("SegmentSum", data=rows, segment_ids=ids)
    yield case("SegmentSum", "known ids", data=rows, segment_ids=Fixed(ids))
    picks, of = np.array([0, 2, 5, 1, 1], "int32"), np.array([0, 0, 1, 3, 3], "int32")
    for kind in ("Sum", "SqrtN", "Mean"):
        yield case(f"SparseSegment{kind}", data=rows, indices=picks, segment_ids=of)
        yield case(f"SparseSegment{kind}", "known ids", data=rows, indices=Fixed(picks), segment_ids=Fixed(of))
        yield case(
            f"SparseSegment{kind}WithNumSegments", data=rows, indices=picks, segment_ids=of, num_segments=Fixed(5)
        )


def _effects() -> Iterator[Case]:
    x = floats(2, 3)

    def after_nothing(tf: Any, feeds: Feeds) -> list[Any]:
        data = feeds.tensor(x)
        with tf.control_dependencies([tf.raw_ops.NoOp()]):
            return [tf.identity(data) * 2]

    def after_assert(tf: Any, feeds: Feeds) -> list[Any]:
        data = feeds.tensor(x)
        check = tf.raw_ops.Assert(condition=tf.reduce_all(data > -5), data=[data])
        with tf.control_dependencies([check]):
            return [tf.identity(data) + 1]

    yield graph_case("NoOp", "", after_nothing)
    yield graph_case("Assert", "", after_assert)


def cases() -> Iterator[Case]:
    yield from _unary()
    yield from _binary()
    yield from _reductions()
    yield from _effects()
