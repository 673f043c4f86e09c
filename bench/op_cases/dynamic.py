"""Models that are measured with fixed and with dynamic extents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx

from .case import OPSET, node, random

Names = Sequence[str | None]  # of the axes of an input; None: the extent is fixed in both forms
Inputs = dict[str, np.ndarray]


class DynamicCase(NamedTuple):
    """One dynamic model; a model of fixed extents and inputs for each shape that is measured."""

    name: str
    dynamic: bytes
    fixed: list[bytes]
    inputs: list[Inputs]


def case_of(
    name: str,
    nodes: list[onnx.NodeProto],
    inputs: Sequence[Inputs],
    axes: Mapping[str, Names],
    weights: Mapping[str, np.ndarray] | None = None,
) -> DynamicCase:
    def model(given: Inputs, is_dynamic: bool) -> bytes:
        info, dtype = onnx.helper.make_tensor_value_info, onnx.helper.np_dtype_to_tensor_dtype
        shapes = {
            key: [(axis if is_dynamic and axis else extent) for axis, extent in zip(axes[key], x.shape)]
            for key, x in given.items()
        }
        graph = onnx.helper.make_graph(
            nodes,
            "case",
            [info(key, dtype(x.dtype), shapes[key]) for key, x in given.items()],
            [info(nodes[-1].output[0], onnx.TensorProto.FLOAT, None)],
            [onnx.numpy_helper.from_array(x, key) for key, x in (weights or {}).items()],
        )
        opsets = [onnx.helper.make_opsetid("", OPSET)]
        return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()

    return DynamicCase(name, model(inputs[0], True), [model(each, False) for each in inputs], list(inputs))


def of_one(
    name: str, op: str, xs: Sequence[np.ndarray], names: Names, weights: Any = None, **attributes: Any
) -> DynamicCase:
    """One node, of the input and the weights."""
    weights = weights or {}
    nodes = [node(op, ["x", *weights], "y", **attributes)]
    return case_of(name, nodes, [{"x": x} for x in xs], {"x": names}, weights)


def pairs(*shapes: tuple[int, ...], names: str = "ab") -> list[Inputs]:
    return [{name: random(*shape) for name in names} for shape in shapes]


IMAGE: Names = (None, None, "h", "w")
TEXT: Names = ("n", "t", None)
IMAGES = [random(1, 64, side, side) for side in (56, 28, 101)]
SMALL_IMAGES = [(1, 64, 40, 40), (1, 64, 20, 33), (1, 64, 96, 128)]
TEXTS = [random(1, length, 768) for length in (128, 77, 512)]


def resize(mode: str) -> DynamicCase:
    nodes = [node("Resize", ["x", "", "scales"], "y", mode=mode, coordinate_transformation_mode="half_pixel")]
    weights = {"scales": np.array([1, 1, 2, 2], "float32")}
    inputs = [{"x": random(*shape)} for shape in SMALL_IMAGES]
    return case_of(f"Resize {mode} x2", nodes, inputs, {"x": IMAGE}, weights)


def rows() -> list[DynamicCase]:
    xs = [{"x": x} for x in TEXTS]
    scale = {"s": random(768), "b": random(768)}
    mean = lambda of, to: node("ReduceMean", [of], to, axes=[-1], keepdims=1)  # noqa: E731
    finish = [node("Add", ["var", "e"], "ve"), node("Sqrt", ["ve"], "sd"), node("Div", ["d", "sd"], "n")]
    layer = [mean("x", "m"), node("Sub", ["x", "m"], "d"), node("Mul", ["d", "d"], "q"), mean("q", "var"), *finish]
    layer += [node("Mul", ["n", "s"], "t"), node("Add", ["t", "b"], "y")]
    rms = [node("Mul", ["x", "x"], "q"), mean("q", "var"), node("Add", ["var", "e"], "ve"), node("Sqrt", ["ve"], "sd")]
    rms += [node("Div", ["x", "sd"], "n"), node("Mul", ["n", "s"], "y")]
    epsilon = {"e": np.array(1e-5, "float32")}
    scores = [random(1, 12, length, length) for length in (128, 100, 333)]
    return [
        of_one("LayerNormalization t x 768", "LayerNormalization", TEXTS, TEXT, scale, axis=-1),
        case_of("layer norm of primitives t x 768", layer, xs, {"x": TEXT}, scale | epsilon),
        case_of("RMS norm of primitives t x 768", rms, xs, {"x": TEXT}, {"s": scale["s"]} | epsilon),
        of_one("Softmax t x 768", "Softmax", TEXTS, TEXT, axis=-1),
        of_one("Softmax 12 x t x t", "Softmax", scores, (None, None, "t", "u"), axis=-1),
        of_one("ReduceMean t x 768", "ReduceMean", TEXTS, TEXT, axes=[-1]),
        of_one("ReduceMean over t", "ReduceMean", TEXTS, TEXT, axes=[1]),
        of_one("ReduceMean of channels", "ReduceMean", IMAGES, IMAGE, axes=[1]),
        of_one("ReduceMax of columns 768 x t", "ReduceMax", [x[0].T.copy() for x in TEXTS], (None, "t"), axes=[0]),
    ]


def windows() -> list[DynamicCase]:
    pool = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
    conv = {"w": random(64, 64, 3, 3), "b": random(64)}
    pointwise = {"w": random(64, 64, 1, 1), "b": random(64)}
    same = {"pads": [1, 1, 1, 1]}
    batch, batches = ("n", None, None, None), [random(count, 64, 56, 56) for count in (1, 2, 5)]
    depthwise = {"w": random(64, 1, 3, 3), "b": random(64)}
    return [
        of_one("MaxPool 3x3 / 2", "MaxPool", IMAGES, IMAGE, **pool),
        of_one("MaxPool 2x2 / 2", "MaxPool", IMAGES, IMAGE, kernel_shape=[2, 2], strides=[2, 2]),
        of_one("AveragePool 3x3 / 2", "AveragePool", IMAGES, IMAGE, **pool),
        of_one("AveragePool 3x3", "AveragePool", IMAGES, IMAGE, kernel_shape=[3, 3], **same),
        of_one("MaxPool 3x3 / 2, batch", "MaxPool", batches, batch, **pool),
        of_one("GlobalAveragePool", "GlobalAveragePool", IMAGES, IMAGE),
        of_one("GlobalAveragePool, batch", "GlobalAveragePool", batches, batch),
        resize("nearest"),
        resize("linear"),
        of_one("Conv 3x3, batch", "Conv", batches, batch, conv, **same),
        of_one("Conv 3x3", "Conv", IMAGES, IMAGE, conv, **same),
        of_one("Conv 1x1", "Conv", IMAGES, IMAGE, pointwise),
        of_one("Conv 3x3 / 2", "Conv", IMAGES, IMAGE, conv, strides=[2, 2], **same),
        of_one("depthwise 3x3", "Conv", IMAGES, IMAGE, depthwise, group=64, **same),
    ]


def contractions() -> list[DynamicCase]:
    weight, heads = {"w": random(768, 768)}, ("n", None, "t", None)
    qkv = pairs(*((1, 12, length, 64) for length in (128, 100, 384)), names="qkv")
    attention = [node("Transpose", ["k"], "kt", perm=[0, 1, 3, 2]), node("MatMul", ["q", "kt"], "s")]
    attention += [node("Mul", ["s", "scale"], "t"), node("Softmax", ["t"], "p"), node("MatMul", ["p", "v"], "y")]
    scale = {"scale": np.array(0.125, "float32")}
    products = [{k: each[k] for k in "qk"} for each in qkv]
    matrices = lambda *counts: [random(count, 768) for count in counts]  # noqa: E731
    return [
        of_one("MatMul of few rows x768x768", "MatMul", matrices(1, 2, 7), ("n", None), weight),
        of_one("MatMul x768x768", "MatMul", matrices(128, 100, 333), ("n", None), weight),
        case_of("attention 12 x t x 64", attention, qkv, dict.fromkeys("qkv", heads), scale),
        case_of("QK^T 12 x t x 64", attention[:2], products, dict.fromkeys("qk", heads)),
    ]


def elements() -> list[DynamicCase]:
    gelu = [node("Div", ["x", "r"], "d"), node("Erf", ["d"], "f"), node("Add", ["f", "one"], "g")]
    gelu += [node("Mul", ["x", "g"], "m"), node("Mul", ["m", "half"], "y")]
    numbers = {"r": np.array(2**0.5, "float32"), "one": np.array(1, "float32"), "half": np.array(0.5, "float32")}
    hidden = [{"x": random(1, length, 3072)} for length in (128, 77, 512)]
    pair, names = pairs(*SMALL_IMAGES), dict.fromkeys("ab", IMAGE)
    apart = {"a": (None, None, "h", "w"), "b": (None, None, "u", "v")}
    beside = [{"a": each["a"], "b": random(1, 64, 1, each["a"].shape[3])} for each in pair]
    images, columns = [each["a"] for each in pair], {"a": TEXT, "b": (None, "t", None)}
    column = [{"a": x, "b": random(1, x.shape[1], 1)} for x in TEXTS]
    heads = [random(1, length, 12, 64) for length in (128, 77, 512)]
    chain = [node("Add", ["a", "b"], "c"), node("Mul", ["c", "b"], "d"), node("Relu", ["d"], "y")]
    table = {"table": random(1000, 768)}
    indices = [{"i": np.arange(length)[None] * 7 % 1000} for length in (128, 77, 512)]
    return [
        case_of("GELU t x 3072", gelu, hidden, {"x": TEXT}, numbers),
        case_of("Relu", [node("Relu", ["a"], "y")], [{"a": x} for x in images], {"a": IMAGE}),
        case_of("Add", [node("Add", ["a", "b"], "y")], pair, names),
        case_of("Add, not known to be equal", [node("Add", ["a", "b"], "y")], pair, apart),
        case_of("Add, Mul, Relu, not known to be equal", chain, pair, apart),
        case_of("Mul, broadcast rows not known to be", [node("Mul", ["a", "b"], "y")], beside, apart),
        case_of("Mul by a column", [node("Mul", ["a", "b"], "y")], column, columns),
        of_one("Transpose t x 12 x 64 -> 12 x t x 64", "Transpose", heads, ("n", "t", None, None), perm=[0, 2, 1, 3]),
        of_one("Transpose t x 768 -> 768 x t", "Transpose", TEXTS, TEXT, perm=[0, 2, 1]),
        of_one("Transpose 64 x h x w -> h x w x 64", "Transpose", images, IMAGE, perm=[0, 2, 3, 1]),
        case_of("Concat channels", [node("Concat", ["a", "b"], "y", axis=1)], pair, names),
        case_of("Concat rows", [node("Concat", ["a", "b"], "y", axis=2)], pair, names),
        of_one("Pad", "Pad", images, IMAGE, {"p": np.array([0, 0, 1, 1, 0, 0, 1, 1])}),
        case_of("Gather rows", [node("Gather", ["table", "i"], "y")], indices, {"i": ("n", "t")}, table),
    ]


def integers() -> list[DynamicCase]:
    """Linear layers as onnxruntime.quantization.quantize_dynamic writes them, and a product of two inputs."""
    xs = [random(length, 768) for length in (128, 77, 512)]
    weights = {
        "w": np.random.default_rng(0).integers(-127, 128, (768, 768), dtype="int8"),
        "z": np.zeros((), "int8"),
        "s": np.array(0.01, "float32"),
    }
    quantize = onnx.helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "xs", "xz"])
    layer = [quantize, node("MatMulInteger", ["q", "w", "xz", "z"], "p"), node("Cast", ["p"], "f", to=1)]
    layer += [node("Mul", ["xs", "s"], "scale"), node("Mul", ["f", "scale"], "y")]
    other = onnx.helper.make_node("DynamicQuantizeLinear", ["v"], ["r", "vs", "vz"])
    two = [quantize, other, node("MatMulInteger", ["q", "r", "xz", "vz"], "p"), node("Cast", ["p"], "f", to=1)]
    two += [node("Mul", ["xs", "vs"], "scale"), node("Mul", ["f", "scale"], "y")]
    inputs = [{"x": random(length, 64), "v": random(64, length)} for length in (128, 77, 384)]
    return [
        case_of("int8 linear layer x768x768", layer, [{"x": x} for x in xs], {"x": ("n", None)}, weights),
        case_of("int8 product of two inputs", two, inputs, {"x": ("n", None), "v": (None, "m")}),
    ]


def cases() -> list[DynamicCase]:
    return [*rows(), *windows(), *contractions(), *elements(), *integers()]
