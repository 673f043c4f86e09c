"""TFLite's operators, each in a file of its own, against TensorFlow Lite's interpreter."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import Case, Pairs
from ._tflite_model import C, Out, Tensor, imported, oracle, schema, write

TITLE = "TFLite"
ORACLE = "tf.lite.Interpreter of tensorflow-cpu 2.21.0, without delegates"
OPERATORS = [
    "ABS",
    "ADD",
    "ADD_N",
    "ARG_MAX",
    "ARG_MIN",
    "AVERAGE_POOL_2D",
    "BATCH_TO_SPACE_ND",
    "CAST",
    "CEIL",
    "CONCATENATION",
    "CONV_2D",
    "COS",
    "DENSIFY",
    "DEPTH_TO_SPACE",
    "DEPTHWISE_CONV_2D",
    "DEQUANTIZE",
    "DETECTION_POSTPROCESS",
    "DIV",
    "ELU",
    "EQUAL",
    "EXP",
    "EXPAND_DIMS",
    "FAKE_QUANT",
    "FILL",
    "FLOOR_DIV",
    "FLOOR_MOD",
    "FLOOR",
    "FULLY_CONNECTED",
    "GATHER",
    "GATHER_ND",
    "GREATER_EQUAL",
    "GREATER",
    "HARD_SWISH",
    "L2_NORMALIZATION",
    "L2_POOL_2D",
    "LEAKY_RELU",
    "LESS_EQUAL",
    "LESS",
    "LOCAL_RESPONSE_NORMALIZATION",
    "LOG",
    "LOG_SOFTMAX",
    "LOGICAL_AND",
    "LOGICAL_NOT",
    "LOGICAL_OR",
    "LOGISTIC",
    "MATRIX_DIAG",
    "MATRIX_SET_DIAG",
    "MAX_POOL_2D",
    "MAXIMUM",
    "MEAN",
    "MINIMUM",
    "MIRROR_PAD",
    "MUL",
    "NEG",
    "NOT_EQUAL",
    "ONE_HOT",
    "PACK",
    "PAD",
    "PADV2",
    "POW",
    "PRELU",
    "RANGE",
    "QUANTIZE",
    "REDUCE_ANY",
    "REDUCE_MAX",
    "REDUCE_MIN",
    "REDUCE_PROD",
    "RELU",
    "RELU6",
    "RELU_N1_TO_1",
    "RESHAPE",
    "RESIZE_BILINEAR",
    "RESIZE_NEAREST_NEIGHBOR",
    "ROUND",
    "RSQRT",
    "REVERSE_SEQUENCE",
    "REVERSE_V2",
    "SELECT",
    "SHAPE",
    "SIN",
    "SLICE",
    "SOFTMAX",
    "SPACE_TO_BATCH_ND",
    "SPACE_TO_DEPTH",
    "SPARSE_TO_DENSE",
    "SPLIT",
    "SPLIT_V",
    "SQRT",
    "SQUARE",
    "SQUARED_DIFFERENCE",
    "SQUEEZE",
    "STRIDED_SLICE",
    "SUB",
    "SUM",
    "TAN",
    "TANH",
    "TILE",
    "TOPK_V2",
    "TRANSPOSE_CONV",
    "TRANSPOSE",
    "UNPACK",
    "UNIDIRECTIONAL_SEQUENCE_LSTM",
    "WHERE",
    "ZEROS_LIKE",
    "NON_MAX_SUPPRESSION_V5",
]

Q8 = (0.05, 3)  # a scale and zero point of int8


def floats(*shape: int, seed: int = 0, low: float = -2, high: float = 2) -> np.ndarray:
    return np.random.RandomState(seed).uniform(low, high, shape).astype("float32")


def ints(*shape: int, seed: int = 0, low: int = -100, high: int = 100, dtype: str = "int8") -> np.ndarray:
    return np.random.RandomState(seed).randint(low, high, shape).astype(dtype)


def T(value: Any, quant: Any = None, **more: Any) -> Tensor:
    return Tensor(value, quant=quant, **more)


def run(content: bytes, feeds: list[np.ndarray]) -> Pairs:
    want = oracle(content, feeds)
    got = imported(content, feeds)
    if len(got) != len(want):
        raise ValueError(f"{len(got)} results, not {len(want)}")
    return list(zip(got, want))


def case(
    op: str,
    inputs: list[Any],
    outputs: Any = None,
    options: Any = None,
    name: str = "",
    version: int = 0,
    custom: bytes | None = None,
    row: str = "",
) -> Case:
    outputs = outputs or [Out()]
    feeds = [one.value for one in inputs if one is not None and not one.constant and not one.variable]
    is_integer = any(out.quant for out in outputs)
    kind = name or ("int8" if is_integer else "float32")
    return Case(
        row or op,
        kind,
        lambda: run(write([(op, inputs, outputs, options, custom)], versions=version), feeds),
        steps=1 if is_integer else 0,
    )


def unary() -> Iterator[Case]:
    positive = floats(2, 3, 4, low=0.2, high=3)
    for op, value, options in [
        ("ABS", floats(2, 3, 4), None), ("CEIL", floats(2, 3), None), ("COS", floats(2, 3), None), ("ELU", floats(2, 9), None),
        ("EXP", floats(2, 3), None), ("FLOOR", floats(2, 3), None), ("HARD_SWISH", floats(2, 50, low=-5, high=5), None),
        ("LEAKY_RELU", floats(2, 3), ("LeakyReluOptions", {"alpha": 0.3})), ("LOG", positive, None), ("LOGISTIC", floats(2, 30), None),
        ("NEG", floats(2, 3), None), ("RELU", floats(2, 3), None), ("RELU6", floats(2, 30, low=-9, high=9), None),
        ("RELU_N1_TO_1", floats(2, 30), None), ("ROUND", np.append(floats(20), [0.5, 1.5, -0.5, 2.5]).astype("float32"), None),
        ("RSQRT", positive, None), ("SIN", floats(2, 3), None), ("SQRT", positive, None), ("SQUARE", floats(2, 3), None),
        ("TANH", floats(2, 30), None), ("L2_NORMALIZATION", floats(2, 3), ("L2NormOptions", {})), ("LOG_SOFTMAX", floats(2, 7), None),
        ("SOFTMAX", floats(2, 7), ("SoftmaxOptions", {"beta": 1.5})), ("ZEROS_LIKE", floats(2, 3), None),
        ("LOCAL_RESPONSE_NORMALIZATION", floats(1, 4, 5, 9), ("LocalResponseNormalizationOptions", {"radius": 2, "bias": 1.0, "alpha": 0.3, "beta": 0.7})),
        ("MATRIX_DIAG", floats(2, 4), None),
    ]:  # fmt: skip
        yield case(op, [T(value)], options=options)
    for op, q, options, version in [
        ("ABS", Q8, None, 2), ("LOGISTIC", (1 / 256, -128), None, 2), ("TANH", (1 / 128, 0), None, 2), ("RELU", Q8, None, 2),
        ("RELU6", Q8, None, 2), ("LEAKY_RELU", Q8, ("LeakyReluOptions", {"alpha": 0.3}), 2), ("HARD_SWISH", Q8, None, 1),
        ("ELU", Q8, None, 1), ("EXP", Q8, None, 2), ("SOFTMAX", (1 / 256, -128), ("SoftmaxOptions", {"beta": 1.0}), 2),
        ("LOG_SOFTMAX", (16 / 256, 127), None, 2), ("L2_NORMALIZATION", (1 / 128, 0), ("L2NormOptions", {}), 2),
    ]:  # fmt: skip
        yield case(op, [T(ints(2, 40), Q8)], [Out("int8", q)], options, version=version)
    yield case("LOGICAL_NOT", [T(np.array([[True, False]]))], [Out("bool")])


def binary() -> Iterator[Case]:
    a, b = floats(2, 3, 4), floats(2, 3, 4, seed=1, low=0.5)
    relu = {"fusedActivationFunction": 1}
    for op, options in [
        ("ADD", ("AddOptions", relu)),
        ("SUB", ("SubOptions", {})),
        ("MUL", ("MulOptions", relu)),
        ("DIV", ("DivOptions", {})),
        ("MAXIMUM", None),
        ("MINIMUM", None),
        ("SQUARED_DIFFERENCE", None),
        ("FLOOR_DIV", None),
        ("FLOOR_MOD", None),
    ]:
        yield case(op, [T(a), T(b)], options=options)
        yield case(op, [T(a), T(b[:, :1])], options=options, name="broadcast")
    yield case("POW", [T(b), T(a)])
    for op in ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM"):
        options = (f"{op.capitalize()}Options", {}) if len(op) == 3 else None
        q = Q8 if options else (0.04, -5)
        yield case(
            op,
            [T(ints(2, 30), (0.04, -5)), T(ints(2, 30, seed=1), Q8 if options else q)],
            [Out("int8", (0.1, 2) if options else q)],
            options,
            version=2,
        )
        if options:
            yield case(
                op,
                [
                    T(ints(2, 30, dtype="uint8", low=0, high=255), (0.04, 120)),
                    T(ints(2, 30, seed=1, dtype="uint8", low=0, high=255), (0.03, 100)),
                ],
                [Out("uint8", (0.1, 110))],
                options,
                name="uint8",
            )
    yield case(
        "ADD",
        [T(ints(3, 4, dtype="int32")), T(ints(3, 4, seed=1, dtype="int32"))],
        [Out("int32")],
        ("AddOptions", {}),
        name="int32",
    )
    yield case(
        "FLOOR_DIV",
        [T(ints(3, 9, dtype="int32")), T(ints(3, 9, seed=1, low=1, dtype="int32"))],
        [Out("int32")],
        name="int32",
    )
    yield case(
        "FLOOR_MOD",
        [T(ints(3, 9, dtype="int32")), T(ints(3, 9, seed=1, low=1, dtype="int32"))],
        [Out("int32")],
        name="int32",
    )
    x, y = ints(3, 9, low=0, high=4, dtype="int32"), ints(3, 9, seed=1, low=0, high=4, dtype="int32")
    for op in ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL"):
        yield case(op, [T(x), T(y)], [Out("bool")], name="int32")
        yield case(op, [T(x.astype("float32")), T(y.astype("float32"))], [Out("bool")])
    for op in ("LOGICAL_AND", "LOGICAL_OR"):
        yield case(op, [T(x > 1), T(y > 1)], [Out("bool")], name="bool")
    yield case("ADD_N", [T(a), T(b), T(a * 2)])
    yield case("PRELU", [T(floats(2, 3, 3, 4)), C(floats(1, 1, 4, seed=2), "float32")])
    yield case("SELECT", [T(x > 1), T(x.astype("float32")), T(y.astype("float32"))])


def reductions() -> Iterator[Case]:
    x = floats(2, 3, 4, 5)
    for op in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"):
        for keeps in (False, True):
            yield case(
                op, [T(x), C([1, 2])], options=("ReducerOptions", {"keepDims": keeps}), name=f"keep_dims={keeps}"
            )
    yield case("REDUCE_ANY", [T(x > 1.9), C([1, -1])], [Out("bool")], ("ReducerOptions", {}))
    q = ints(2, 4, 5, 3)
    yield case(
        "MEAN", [T(q, Q8), C([1, 2])], [Out("int8", (0.02, 1))], ("ReducerOptions", {"keepDims": True}), version=2
    )
    yield case("SUM", [T(q, Q8), C([1, 2])], [Out("int8", (0.5, 1))], ("ReducerOptions", {}), version=2)
    yield case("REDUCE_MAX", [T(q, Q8), C([1, 2])], [Out("int8", Q8)], ("ReducerOptions", {}), version=2)
    yield case("REDUCE_MIN", [T(q, Q8), C([1, 2])], [Out("int8", Q8)], ("ReducerOptions", {}), version=2)
    for op in ("ARG_MAX", "ARG_MIN"):
        kind = "ArgMaxOptions" if op == "ARG_MAX" else "ArgMinOptions"
        yield case(op, [T(x), C([2])], [Out("int32")], (kind, {"outputType": 2}))
        yield case(op, [T(x), C([-1])], [Out("int64")], (kind, {"outputType": 4}), name="int64")
    yield case("TOPK_V2", [T(x), C(3)], [Out(), Out("int32")])


def movements() -> Iterator[Case]:
    x = floats(2, 4, 6, 4)
    q = ints(2, 4, 6, 4)
    moves: list[tuple[str, list[Any], Any]] = [
        ("BATCH_TO_SPACE_ND", [C([1, 2]), C([[0, 0], [1, 0]])], None), ("DEPTH_TO_SPACE", [], ("DepthToSpaceOptions", {"blockSize": 2})),
        ("SPACE_TO_BATCH_ND", [C([2, 2]), C([[0, 0], [1, 1]])], None), ("SPACE_TO_DEPTH", [], ("SpaceToDepthOptions", {"blockSize": 2})),
        ("EXPAND_DIMS", [C(1)], None), ("MIRROR_PAD", [C([[0, 0], [1, 2], [2, 1], [0, 0]])], ("MirrorPadOptions", {"mode": 0})),
        ("PAD", [C([[0, 0], [1, 2], [2, 1], [0, 0]])], None), ("RESHAPE", [C([8, -1])], ("ReshapeOptions", {"newShape": [8, 24]})),
        ("REVERSE_V2", [C([1])], None), ("SLICE", [C([0, 1, 2, 0]), C([2, 2, 4, 3])], None),
        ("STRIDED_SLICE", [C([0, 1, 5, 0]), C([2, 3, 0, 3]), C([1, 1, -2, 2])], ("StridedSliceOptions", {"beginMask": 1, "shrinkAxisMask": 2})),
        ("TILE", [C([1, 2, 1, 3])], None), ("TRANSPOSE", [C([0, 3, 1, 2])], None),
    ]  # fmt: skip
    for op, rest, options in moves:
        shape = (2, 2, 4, 3) if op == "SLICE" else (1,)
        yield case(op, [T(x), *rest], [Out(shape=shape)], options=options)
        version = 1 if op in ("EXPAND_DIMS", "RESHAPE") else 2
        yield case(op, [T(q, Q8), *rest], [Out("int8", Q8, shape)], options, version=version)
    yield case(
        "MIRROR_PAD",
        [T(x), C([[0, 0], [1, 2], [2, 1], [0, 0]])],
        options=("MirrorPadOptions", {"mode": 1}),
        name="symmetric",
    )
    yield case("RESHAPE", [T(x)], options=("ReshapeOptions", {"newShape": [8, 24]}), name="shape in the options")
    yield case("SQUEEZE", [T(floats(2, 1, 3, 1))], options=("SqueezeOptions", {"squeezeDims": [1]}))
    yield case("PADV2", [T(x), C([[0, 0], [1, 2], [2, 1], [0, 0]]), C(1.5, "float32")])
    yield case("CONCATENATION", [T(x), T(x * 2)], options=("ConcatenationOptions", {"axis": -1}))
    yield case(
        "CONCATENATION", [T(q, Q8), T(q, Q8)], [Out("int8", Q8)], ("ConcatenationOptions", {"axis": 1}), version=2
    )
    yield case("PACK", [T(x), T(x * 2)], options=("PackOptions", {"axis": 1, "valuesCount": 2}))
    yield case("UNPACK", [T(x)], [Out() for _ in range(4)], ("UnpackOptions", {"axis": 1, "num": 4}))
    yield case("SPLIT", [C(2), T(x)], [Out() for _ in range(3)], ("SplitOptions", {"numSplits": 3}))
    yield case("SPLIT_V", [T(x), C([1, 3, 2]), C(2)], [Out() for _ in range(3)], ("SplitVOptions", {"numSplits": 3}))
    yield case("REVERSE_SEQUENCE", [T(x), C([2, 3])], options=("ReverseSequenceOptions", {"seqDim": 1, "batchDim": 0}))
    yield case("GATHER", [T(x), C([[0, 3], [2, 1]])], options=("GatherOptions", {"axis": 1}))
    yield case("GATHER", [T(q, Q8), C([[0, 3], [2, 1]])], [Out("int8", Q8)], ("GatherOptions", {"axis": 2}))
    yield case("GATHER_ND", [T(x), C([[0, 3], [1, 1]])])
    yield case("FILL", [C([2, 3]), T(np.float32(1.5))])
    yield case("SHAPE", [T(x)], [Out("int32")], ("ShapeOptions", {"outType": 2}))
    yield case("RANGE", [C(1), C(9), C(3)], [Out("int32")])
    yield case(
        "ONE_HOT",
        [T(np.array([[0, 2], [1, 3]], "int32")), C(4), C(2.0, "float32"), C(-1.0, "float32")],
        options=("OneHotOptions", {"axis": -1}),
    )
    yield case("WHERE", [T(x > 0.5)], [Out("int64")])
    yield case(
        "SPARSE_TO_DENSE",
        [C([[0, 1], [2, 3]]), C([3, 4]), T(floats(2)), C(-1.0, "float32")],
        options=("SparseToDenseOptions", {}),
    )
    yield case("MATRIX_SET_DIAG", [T(floats(2, 3, 3)), T(floats(2, 3, seed=1))])
    for kind in ("int32", "int64", "float32", "bool"):
        yield case(
            "CAST",
            [T(x)],
            [Out(kind)],
            ("CastOptions", {"inDataType": 0, "outDataType": {"int32": 2, "int64": 4, "float32": 0, "bool": 6}[kind]}),
            name=kind,
        )
    for half, align in ((False, False), (True, False), (False, True)):
        options = {"alignCorners": align, "halfPixelCenters": half}
        yield case("RESIZE_BILINEAR", [T(x), C([7, 5])], options=("ResizeBilinearOptions", options), name=str(options))
        yield case(
            "RESIZE_NEAREST_NEIGHBOR",
            [T(x), C([7, 5])],
            options=("ResizeNearestNeighborOptions", options),
            name=str(options),
        )
    yield case(
        "RESIZE_NEAREST_NEIGHBOR",
        [T(q, Q8), C([8, 12])],
        [Out("int8", Q8)],
        ("ResizeNearestNeighborOptions", {}),
        version=2,
    )
    yield case("RESIZE_BILINEAR", [T(q, Q8), C([8, 12])], [Out("int8", Q8)], ("ResizeBilinearOptions", {}), version=2)


def quantization() -> Iterator[Case]:
    x = floats(3, 20)
    yield case("QUANTIZE", [T(x)], [Out("int8", Q8)])
    yield case("QUANTIZE", [T(ints(3, 20), (0.04, -5))], [Out("int8", Q8)], name="requantize")
    yield case("DEQUANTIZE", [T(ints(3, 20), Q8)], version=2, name="int8")
    yield case("DEQUANTIZE", [T(ints(3, 20, low=0, high=255, dtype="uint8"), (0.1, 130))], name="uint8")
    yield case("DEQUANTIZE", [C(x.astype("float16"), "float16")], version=3, name="float16")
    yield case("FAKE_QUANT", [T(x)], options=("FakeQuantOptions", {"min": -1.0, "max": 1.5, "numBits": 8}))


def contractions() -> Iterator[Case]:
    x, w, b = floats(2, 9, 8, 3), floats(5, 3, 2, 3, seed=1), floats(5, seed=2)
    options = {
        "padding": 0,
        "strideW": 2,
        "strideH": 1,
        "fusedActivationFunction": 1,
        "dilationWFactor": 1,
        "dilationHFactor": 1,
    }
    yield case("CONV_2D", [T(x), C(w, "float32"), C(b, "float32")], options=("Conv2DOptions", options))
    yield case(
        "CONV_2D",
        [T(x), C(w, "float32"), C(b, "float32")],
        options=("Conv2DOptions", {**options, "padding": 1, "strideW": 1, "dilationHFactor": 2}),
        name="valid, dilated",
    )
    dw = {**options, "depthMultiplier": 2}
    yield case(
        "DEPTHWISE_CONV_2D",
        [T(x), C(floats(1, 3, 3, 6, seed=1), "float32"), C(floats(6, seed=2), "float32")],
        options=("DepthwiseConv2DOptions", {**dw, "strideH": 2}),
    )
    q, wq = ints(2, 9, 8, 3), ints(5, 3, 2, 3, seed=1)
    scales = np.linspace(0.01, 0.03, 5)
    bias = ints(5, seed=2, low=-2000, high=2000, dtype="int32")
    yield case(
        "CONV_2D",
        [T(q, Q8), C(wq, "int8", quant=(scales, 0)), C(bias, quant=(0.05 * scales, 0))],
        [Out("int8", (0.6, -4))],
        ("Conv2DOptions", options),
        version=3,
        name="int8 by channel",
    )
    u, wu = ints(2, 9, 8, 3, low=0, high=255, dtype="uint8"), ints(5, 3, 2, 3, seed=1, low=0, high=255, dtype="uint8")
    yield case(
        "CONV_2D",
        [T(u, (0.05, 120)), C(wu, "uint8", quant=(0.02, 130)), C(bias, quant=(0.001, 0))],
        [Out("uint8", (0.6, 124))],
        ("Conv2DOptions", options),
        name="uint8",
    )
    dq, channel = ints(1, 3, 3, 6, seed=1), np.linspace(0.01, 0.03, 6)
    yield case(
        "DEPTHWISE_CONV_2D",
        [T(q, Q8), C(dq, "int8", quant=(channel, 0), axis=3), C(bias[[0, 1, 2, 3, 4, 0]], quant=(0.05 * channel, 0))],
        [Out("int8", (0.3, -4))],
        ("DepthwiseConv2DOptions", {**dw, "strideH": 2}),
        version=3,
        name="int8 by channel",
    )
    f = {"fusedActivationFunction": 1, "weightsFormat": 0, "keepNumDims": False}
    yield case(
        "FULLY_CONNECTED",
        [T(floats(4, 7)), C(floats(5, 7, seed=1), "float32"), C(b, "float32")],
        options=("FullyConnectedOptions", f),
    )
    yield case(
        "FULLY_CONNECTED",
        [T(floats(2, 3, 7)), C(floats(5, 7, seed=1), "float32"), None],
        options=("FullyConnectedOptions", {**f, "keepNumDims": True}),
        version=5,
        name="keep_num_dims",
    )
    yield case(
        "FULLY_CONNECTED",
        [T(ints(4, 7), Q8), C(ints(5, 7, seed=1), "int8", quant=(0.02, 0)), C(bias, quant=(0.001, 0))],
        [Out("int8", (0.3, -4))],
        ("FullyConnectedOptions", f),
        version=4,
    )
    t = {"padding": 0, "strideW": 2, "strideH": 2}
    yield case(
        "TRANSPOSE_CONV",
        [C([2, 18, 16, 5]), C(floats(5, 3, 3, 3, seed=1), "float32"), T(x)],
        options=("TransposeConvOptions", t),
    )
    yield case(
        "TRANSPOSE_CONV",
        [C([2, 19, 17, 5]), C(floats(5, 3, 3, 3, seed=1), "float32"), T(x)],
        options=("TransposeConvOptions", {**t, "padding": 1}),
        name="valid",
    )
    yield case(
        "TRANSPOSE_CONV",
        [C([2, 18, 16, 5]), C(ints(5, 3, 3, 3, seed=1), "int8", quant=(0.02, 0)), T(q, Q8)],
        [Out("int8", (0.6, -4))],
        ("TransposeConvOptions", t),
        version=2,
    )
    pool = {"padding": 0, "strideW": 2, "strideH": 2, "filterWidth": 3, "filterHeight": 2}
    for op in ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"):
        yield case(op, [T(x)], options=("Pool2DOptions", pool))
        yield case(
            op,
            [T(x)],
            options=("Pool2DOptions", {**pool, "padding": 1, "fusedActivationFunction": 1}),
            name="valid, relu",
        )
        if op != "L2_POOL_2D":
            yield case(op, [T(q, Q8)], [Out("int8", Q8)], ("Pool2DOptions", pool), version=2)


def sparse() -> Iterator[Case]:
    def make() -> Pairs:
        s = schema()
        dense = np.where(np.random.RandomState(0).rand(4, 6) > 0.6, floats(4, 6), 0).astype("float32")
        rows, columns = np.nonzero(dense)
        first, second = s.DimensionMetadataT(), s.DimensionMetadataT()
        first.format, first.denseSize = 0, 4
        second.format, second.denseSize = 1, 0
        for name, values in (("Segments", np.searchsorted(rows, np.arange(5))), ("Indices", columns)):
            vector = s.Int32VectorT()
            vector.values = [int(v) for v in values]
            setattr(second, f"array{name}", vector)
            setattr(second, f"array{name}Type", 1)
        sparsity = s.SparsityParametersT()
        sparsity.traversalOrder, sparsity.blockMap, sparsity.dimMetadata = [0, 1], [], [first, second]
        weight, out = C(dense[rows, columns], "float32", sparsity=(sparsity, dense.shape)), Out()
        x, result = T(floats(4, 6, seed=1)), Out()
        content = write(
            [("DENSIFY", [weight], [out], None, None), ("ADD", [x, out], [result], ("AddOptions", {}), None)]
        )
        return run(content, [x.value])

    yield Case("DENSIFY", "csr", make)


def lstm() -> Iterator[Case]:
    def make(cifg: bool, projection: bool) -> Case:
        size, cells, outs = 3, 5, 4 if projection else 5
        seeds = iter(range(100))

        def weight(*shape: int) -> Tensor:
            return C(floats(*shape, seed=next(seeds), low=-0.6, high=0.6), "float32")

        inputs: list[Any] = [T(floats(2, 6, size))]
        inputs += [None if cifg and i == 0 else weight(cells, size) for i in range(4)]
        inputs += [None if cifg and i == 0 else weight(cells, outs) for i in range(4)]
        inputs += [None] * 3
        inputs += [None if cifg and i == 0 else weight(cells) for i in range(4)]
        inputs += [weight(outs, cells), weight(outs)] if projection else [None, None]
        inputs += [T(np.zeros((2, outs), "float32"), variable=True), T(np.zeros((2, cells), "float32"), variable=True)]
        options = (
            "UnidirectionalSequenceLSTMOptions",
            {"fusedActivationFunction": 4, "cellClip": 0.0, "projClip": 0.0, "timeMajor": False},
        )
        return case(
            "UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, [Out()], options, name=f"cifg={cifg} projection={projection}"
        )

    yield make(False, False)
    yield make(True, False)
    yield make(False, True)


def detection() -> Iterator[Case]:
    rng = np.random.RandomState(0)
    boxes = rng.uniform(0, 1, (20, 4)).astype("float32")
    boxes[:, 2:] = boxes[:, :2] + 0.4 * boxes[:, 2:]
    scores = rng.permutation(20).astype("float32") / 20
    inputs = [T(boxes), T(scores), C(8), C(0.4, "float32"), C(0.1, "float32"), C(0.0, "float32")]
    yield case("NON_MAX_SUPPRESSION_V5", inputs, [Out("int32"), Out(), Out("int32", shape=())])

    def postprocess(regular: bool) -> Case:
        flexbuffers: Any = importlib.import_module("flatbuffers.flexbuffers")

        builder = flexbuffers.Builder()
        with builder.Map():
            for key, value in (
                ("max_detections", 6),
                ("max_classes_per_detection", 1),
                ("detections_per_class", 5),
                ("num_classes", 3),
            ):
                builder.Int(key, value)
            builder.Bool("use_regular_nms", regular)
            for key, number in (
                ("nms_score_threshold", 0.05),
                ("nms_iou_threshold", 0.5),
                ("y_scale", 10.0),
                ("x_scale", 10.0),
                ("h_scale", 5.0),
                ("w_scale", 5.0),
            ):
                builder.Float(key, number)
        anchors = rng.uniform(0.2, 0.8, (15, 4)).astype("float32")
        codes = rng.uniform(-1, 1, (1, 15, 4)).astype("float32")
        classes = (rng.permutation(60).reshape(1, 15, 4) / 60).astype("float32")
        inputs = [T(codes), T(classes), C(anchors, "float32")]
        return case(
            "TFLite_Detection_PostProcess",
            inputs,
            [Out(shape=(1, 1, 1)), Out(shape=(1, 1)), Out(shape=(1, 1)), Out()],
            custom=bytes(builder.Finish()),
            name=f"regular={regular}",
            row="DETECTION_POSTPROCESS",
        )

    yield postprocess(False)
    yield postprocess(True)


def cases() -> list[Case]:
    """All of them. TAN is no builtin operator of TFLite: v0.10's table names it, no file can."""
    importlib.import_module("tensorflow")
    families = (unary, binary, reductions, movements, quantization, contractions, sparse, lstm, detection)
    return [one for family in families for one in family()]
