"""Products with constant weights, as layers have them, and attention."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx

from .case import Case, model_of, node, random, shape_text


def layer(rows: int, depth: int, units: int, after: str = "") -> Case:
    """`after`: the epilogue after the bias, by its name in ONNX; "Gelu" is written out with Erf, as exporters do."""
    inputs = {"x": random(1, rows, depth)}
    weights = {"w": random(depth, units) / np.float32(np.sqrt(depth)), "b": random(units)}
    nodes = [node("MatMul", ["x", "w"], "m"), node("Add", ["m", "b"], "y")]
    if after == "Gelu":
        weights |= {name: np.array(value, "float32") for name, value in (("r", 2**0.5), ("one", 1), ("half", 0.5))}
        nodes += [node("Div", ["y", "r"], "d"), node("Erf", ["d"], "e"), node("Add", ["e", "one"], "f")]
        nodes += [node("Mul", ["y", "f"], "g"), node("Mul", ["g", "half"], "z")]
    elif after:
        nodes.append(node(after, ["y"], "z"))

    def torch(torch: Any, t: Any) -> Any:
        y = t["x"] @ t["w"] + t["b"]
        return getattr(torch.nn.functional, after.lower())(y) if after else y

    name = f"MatMul {rows}x{units}x{depth}{f', {after}' * bool(after)}"
    return Case(name, model_of(nodes, inputs, weights), inputs, weights, torch)


def narrow_layer(rows: int, depth: int, units: int, kind: str) -> Case:
    """The same numbers, which are those of `kind` exactly, in 16 bits and in float32; data comes and goes as float32."""
    code = {"float16": onnx.TensorProto.FLOAT16, "bfloat16": onnx.TensorProto.BFLOAT16}[kind]

    def rounded(x: np.ndarray) -> np.ndarray:
        return (x.view("uint32") & np.uint32(0xFFFF0000 if kind == "bfloat16" else 0xFFFFE000)).view("float32")

    inputs = {"x": rounded(random(1, rows, depth))}
    weights = {"w": rounded(random(depth, units) / np.float32(np.sqrt(depth)))}
    nodes = [node("Cast", ["x"], "xn", to=code), node("Cast", ["w"], "wn", to=code)]
    nodes += [node("MatMul", ["xn", "wn"], "yn"), node("Cast", ["yn"], "y", to=onnx.TensorProto.FLOAT)]
    wide = model_of([node("MatMul", ["x", "w"], "y")], inputs, weights)
    name = f"MatMul {rows}x{units}x{depth}, {kind}"
    reads = inputs["x"].nbytes + weights["w"].nbytes // 2
    return Case(name, model_of(nodes, inputs, weights), inputs, weights, reads=reads, wide=wide)


def narrow(_nets: list[str]) -> list[Case]:
    shapes = [(1, 768, 3072), (1, 1024, 32768), (16, 1024, 32768), (16, 768, 3072), (128, 768, 768), (128, 3072, 768)]
    return [narrow_layer(*shape, kind) for shape in shapes for kind in ("float16", "bfloat16")]


def dynamic_layer(rows: int, depth: int, units: int) -> Case:
    """As quantize_dynamic writes a layer: data is quantised by its range at run time, the weight is int8."""
    inputs = {"x": random(1, rows, depth)}
    real = random(depth, units) / np.float32(np.sqrt(depth))
    scale = np.abs(real).max() / np.float32(127)
    weights = {"w": np.rint(real / scale).astype("int8"), "q": np.array(0, "int8"), "t": scale, "b": random(units)}
    nodes = [
        onnx.helper.make_node("DynamicQuantizeLinear", ["x"], ["a", "s", "p"]),
        node("MatMulInteger", ["a", "w", "p", "q"], "sums"),
        node("Cast", ["sums"], "wide", to=onnx.TensorProto.FLOAT),
        node("Mul", ["s", "t"], "scale"),
        node("Mul", ["wide", "scale"], "real"),
        node("Add", ["real", "b"], "y"),
    ]
    name = f"MatMul {rows}x{units}x{depth}, dynamic int8"
    return Case(name, model_of(nodes, inputs, weights), inputs, weights)


def dynamic_product(batch: int, rows: int, depth: int, columns: int, signs: str = "uu") -> Case:
    """Of two inputs of 8 bits with zero points: "us" is uint8 by int8."""
    dtype = {"u": "uint8", "s": "int8"}
    rng = np.random.default_rng(batch + rows + depth + columns)

    def integers(sign: str, *shape: int) -> np.ndarray:
        info = np.iinfo(dtype[sign])
        return rng.integers(info.min, info.max + 1, shape).astype(dtype[sign])

    inputs = {"a": integers(signs[0], batch, rows, depth), "b": integers(signs[1], batch, depth, columns)}
    inputs |= {"p": integers(signs[0]), "q": integers(signs[1])}
    nodes = [
        node("MatMulInteger", ["a", "b", "p", "q"], "sums"),
        node("Cast", ["sums"], "y", to=onnx.TensorProto.FLOAT),
    ]
    name = f"MatMul {batch} of {rows}x{columns}x{depth}, {dtype[signs[0]]} by {dtype[signs[1]]}, both inputs"
    return Case(name, model_of(nodes, inputs, {}), inputs, {})


def dynamic(_nets: list[str]) -> list[Case]:
    shapes = [(128, 768, 3072), (128, 3072, 768), (128, 768, 768), (16, 768, 3072), (1, 768, 3072), (37, 300, 130)]
    products = [(12, 128, 64, 128), (12, 128, 128, 64), (1, 512, 512, 512), (1, 1024, 1024, 1024), (12, 100, 77, 100)]
    return [dynamic_layer(*shape) for shape in shapes] + [
        dynamic_product(*shape, signs) for shape in products for signs in ("us", "uu")
    ]


def attention(heads: int, rows: int, width: int, masked: bool = False) -> Case:
    """Scores of all pairs of rows, softmax, and the mean of the values by it; `masked`: rows see those before them only."""
    inputs = {name: random(1, heads, rows, width) * np.float32(i + 0.5) for i, name in enumerate("qkv")}
    weights = {"scale": np.array(width**-0.5, "float32")}
    nodes = [node("Transpose", ["k"], "kt", perm=[0, 1, 3, 2]), node("MatMul", ["q", "kt"], "s0")]
    nodes.append(node("Mul", ["s0", "scale"], "s"))
    if masked:
        weights["mask"] = np.triu(np.full((rows, rows), -1e9, "float32"), 1)
        nodes.append(node("Add", ["s", "mask"], "sm"))
    nodes += [node("Softmax", ["sm" if masked else "s"], "p", axis=-1), node("MatMul", ["p", "v"], "y")]

    def torch(torch: Any, t: Any) -> Any:
        return torch.nn.functional.scaled_dot_product_attention(t["q"], t["k"], t["v"], is_causal=masked)

    name = f"attention {shape_text(inputs['q'][0])}{', masked' * masked}"
    return Case(name, model_of(nodes, inputs, weights), inputs, weights, torch)


def cases(_nets: list[str]) -> list[Case]:
    return [
        layer(128, 768, 768),
        layer(128, 768, 3072, "Gelu"),
        layer(128, 3072, 768),
        layer(197, 768, 2304),
        layer(64, 768, 2304),
        layer(512, 1024, 1024),
        layer(16, 1024, 4096, "Relu"),
        layer(1, 2048, 1000),
        layer(1, 768, 50257),
        layer(1, 4096, 4096, "Relu"),
        layer(1000, 64, 64, "Relu"),
        layer(37, 300, 130),
    ]


def attentions(_nets: list[str]) -> list[Case]:
    return [
        attention(12, 128, 64),
        attention(12, 197, 64),
        attention(12, 64, 64, masked=True),
        attention(16, 512, 64),
        attention(8, 1024, 64, masked=True),
        attention(4, 100, 32),
    ]
