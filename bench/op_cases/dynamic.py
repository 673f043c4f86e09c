"""Models that are measured with fixed and with dynamic extents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx

from .case import OPSET, node, random

Names = Sequence[str | None]  # of the axes of an input; None: the extent is fixed in both forms


class DynamicCase(NamedTuple):
    name: str
    fixed: bytes
    dynamic: bytes
    inputs: dict[str, np.ndarray]


def case_of(
    name: str,
    nodes: list[onnx.NodeProto],
    inputs: dict[str, np.ndarray],
    axes: Mapping[str, Names],
    weights: Mapping[str, np.ndarray] | None = None,
) -> DynamicCase:
    def model(is_dynamic: bool) -> bytes:
        value = onnx.helper.make_tensor_value_info
        shapes = {
            key: [(axis if is_dynamic and axis else extent) for axis, extent in zip(axes[key], x.shape)]
            for key, x in inputs.items()
        }
        graph = onnx.helper.make_graph(
            nodes,
            "case",
            [value(key, onnx.TensorProto.FLOAT, shape) for key, shape in shapes.items()],
            [value(nodes[-1].output[0], onnx.TensorProto.FLOAT, None)],
            [onnx.numpy_helper.from_array(x, key) for key, x in (weights or {}).items()],
        )
        opsets = [onnx.helper.make_opsetid("", OPSET)]
        return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()

    return DynamicCase(name, model(False), model(True), inputs)


def of_one(name: str, op: str, x: np.ndarray, names: Names, weights: Any = None, **attributes: Any) -> DynamicCase:
    """One node, of the input and the weights."""
    weights = weights or {}
    return case_of(name, [node(op, ["x", *weights], "y", **attributes)], {"x": x}, {"x": names}, weights)


def resize(mode: str) -> DynamicCase:
    nodes = [node("Resize", ["x", "", "scales"], "y", mode=mode, coordinate_transformation_mode="half_pixel")]
    weights = {"scales": np.array([1, 1, 2, 2], "float32")}
    return case_of(f"Resize {mode} x2", nodes, {"x": random(1, 64, 40, 40)}, {"x": (None, None, "h", "w")}, weights)


def rows() -> list[DynamicCase]:
    x = random(1, 128, 768)
    scale = {"s": random(768), "b": random(768)}
    mean = lambda of, to: node("ReduceMean", [of], to, axes=[-1], keepdims=1)  # noqa: E731
    finish = [node("Add", ["var", "e"], "ve"), node("Sqrt", ["ve"], "sd"), node("Div", ["d", "sd"], "n")]
    layer = [mean("x", "m"), node("Sub", ["x", "m"], "d"), node("Mul", ["d", "d"], "q"), mean("q", "var"), *finish]
    layer += [node("Mul", ["n", "s"], "t"), node("Add", ["t", "b"], "y")]
    rms = [node("Mul", ["x", "x"], "q"), mean("q", "var"), node("Add", ["var", "e"], "ve"), node("Sqrt", ["ve"], "sd")]
    rms += [node("Div", ["x", "sd"], "n"), node("Mul", ["n", "s"], "y")]
    axes, epsilon = ("n", "t", None), {"e": np.array(1e-5, "float32")}
    all_axes = (None, None, "t", "u")
    return [
        of_one("LayerNormalization 128x768", "LayerNormalization", x, axes, scale, axis=-1),
        case_of("layer norm of primitives 128x768", layer, {"x": x}, {"x": axes}, scale | epsilon),
        case_of("RMS norm of primitives 128x768", rms, {"x": x}, {"x": axes}, {"s": scale["s"]} | epsilon),
        of_one("Softmax 128x768", "Softmax", x, axes, axis=-1),
        of_one("Softmax 12x128x128, dynamic rows", "Softmax", random(1, 12, 128, 128), all_axes, axis=-1),
        of_one("Softmax 12x100x100, dynamic rows", "Softmax", random(1, 12, 100, 100), all_axes, axis=-1),
        of_one("ReduceMean 128x768", "ReduceMean", x, axes, axes=[-1]),
    ]


def windows() -> list[DynamicCase]:
    image, pool = (None, None, "h", "w"), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
    x = random(1, 64, 56, 56)
    conv = {"w": random(64, 64, 3, 3), "b": random(64)}
    same = {"pads": [1, 1, 1, 1]}
    batch = ("n", None, None, None)
    return [
        of_one("MaxPool 3x3 / 2, 64x56x56", "MaxPool", x, image, **pool),
        of_one("AveragePool 3x3 / 2, 64x56x56", "AveragePool", x, image, **pool),
        of_one("MaxPool 3x3 / 2, dynamic batch", "MaxPool", x, batch, **pool),
        of_one("GlobalAveragePool 64x56x56", "GlobalAveragePool", x, image),
        of_one("GlobalAveragePool, dynamic batch", "GlobalAveragePool", x, batch),
        resize("nearest"),
        resize("linear"),
        of_one("Conv 3x3 64x56x56, dynamic batch", "Conv", x, batch, conv, **same),
        of_one("Conv 3x3 64x56x56", "Conv", x, image, conv, **same),
        of_one("Conv 3x3 / 2 64x56x56", "Conv", x, image, conv, strides=[2, 2], **same),
        of_one(
            "depthwise 3x3 64x56x56", "Conv", x, image, {"w": random(64, 1, 3, 3), "b": random(64)}, group=64, **same
        ),
    ]


def contractions() -> list[DynamicCase]:
    weight, heads = {"w": random(768, 768)}, ("n", None, "t", None)
    qkv = {name: random(1, 12, 128, 64) for name in "qkv"}
    attention = [node("Transpose", ["k"], "kt", perm=[0, 1, 3, 2]), node("MatMul", ["q", "kt"], "s")]
    attention += [node("Mul", ["s", "scale"], "t"), node("Softmax", ["t"], "p"), node("MatMul", ["p", "v"], "y")]
    scale = {"scale": np.array(0.125, "float32")}
    return [
        of_one("MatMul 1x768x768", "MatMul", random(1, 768), ("n", None), weight),
        of_one("MatMul 128x768x768", "MatMul", random(128, 768), ("n", None), weight),
        of_one("MatMul 100x768x768", "MatMul", random(100, 768), ("n", None), weight),
        case_of("attention 12x128x64", attention, qkv, dict.fromkeys("qkv", heads), scale),
        case_of("QK^T 12x128x64", attention[:2], {k: qkv[k] for k in "qk"}, dict.fromkeys("qk", heads)),
    ]


def elements() -> list[DynamicCase]:
    gelu = [node("Div", ["x", "r"], "d"), node("Erf", ["d"], "f"), node("Add", ["f", "one"], "g")]
    gelu += [node("Mul", ["x", "g"], "m"), node("Mul", ["m", "half"], "y")]
    numbers = {"r": np.array(2**0.5, "float32"), "one": np.array(1, "float32"), "half": np.array(0.5, "float32")}
    text, image = ("n", "t", None), (None, None, "h", "w")
    pair = {name: random(1, 64, 40, 40) for name in "ab"}
    heads = random(1, 128, 12, 64)
    return [
        case_of("GELU 128x3072", gelu, {"x": random(1, 128, 3072)}, {"x": text}, numbers),
        case_of("Relu 64x40x40", [node("Relu", ["a"], "y")], {"a": pair["a"]}, {"a": image}),
        case_of("Add 64x40x40", [node("Add", ["a", "b"], "y")], pair, dict.fromkeys("ab", image)),
        of_one("Transpose 128x12x64 -> 12x128x64", "Transpose", heads, ("n", "t", None, None), perm=[0, 2, 1, 3]),
        of_one("Transpose 128x768 -> 768x128", "Transpose", random(1, 128, 768), text, perm=[0, 2, 1]),
        of_one("Transpose 64x40x40 -> 40x40x64", "Transpose", pair["a"], image, perm=[0, 2, 3, 1]),
        case_of("Concat channels", [node("Concat", ["a", "b"], "y", axis=1)], pair, dict.fromkeys("ab", image)),
        case_of("Concat rows", [node("Concat", ["a", "b"], "y", axis=2)], pair, dict.fromkeys("ab", image)),
        of_one("Pad 64x40x40", "Pad", pair["a"], image, {"p": np.array([0, 0, 1, 1, 0, 0, 1, 1])}),
    ]


def cases() -> list[DynamicCase]:
    return [*rows(), *windows(), *contractions(), *elements()]
