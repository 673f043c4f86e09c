"""Functions of rows (softmax, normalisations) and reductions."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx

from .case import Case, model_of, node, random, shape_text


def softmax(op: str, *shape: int, axis: int = -1) -> Case:
    inputs = {"x": random(*shape)}

    def torch(torch: Any, t: Any) -> Any:
        return (torch.softmax if op == "Softmax" else torch.log_softmax)(t["x"], axis)

    name = f"{op} {shape_text(inputs['x'])}{f', axis {axis}' * (axis != -1)}"
    return Case(name, model_of([node(op, ["x"], "y", axis=axis)], inputs, {}), inputs, {}, torch)


def layer_norm(*shape: int) -> Case:
    inputs, weights = {"x": random(*shape)}, {"s": random(shape[-1]), "b": random(shape[-1] + 0)}
    made = node("LayerNormalization", ["x", "s", "b"], "y", axis=-1, epsilon=1e-5)

    def torch(torch: Any, t: Any) -> Any:
        return torch.nn.functional.layer_norm(t["x"], shape[-1:], t["s"], t["b"])

    name = f"LayerNormalization {shape_text(inputs['x'])}"
    return Case(name, model_of([made], inputs, weights), inputs, weights, torch)


def instance_norm(channels: int, side: int) -> Case:
    inputs, weights = {"x": random(1, channels, side, side)}, {"s": random(channels), "b": random(channels)}
    made = node("InstanceNormalization", ["x", "s", "b"], "y")

    def torch(torch: Any, t: Any) -> Any:
        return torch.nn.functional.instance_norm(t["x"], weight=t["s"], bias=t["b"])

    name = f"InstanceNormalization {channels}x{side}x{side}"
    return Case(name, model_of([made], inputs, weights), inputs, weights, torch)


def group_norm(channels: int, side: int, groups: int) -> Case:
    """As PyTorch exports it: groups as instances, then scale and shift of channels."""
    inputs = {"x": random(1, channels, side, side)}
    weights = {"s": random(channels, 1, 1), "b": random(channels, 1, 1)}
    facts = {"as_groups": np.array([1, groups, -1]), "as_data": np.array([1, channels, side, side])}
    facts |= {"ones": np.ones(groups, "float32"), "zeros": np.zeros(groups, "float32")}
    nodes = [
        node("Reshape", ["x", "as_groups"], "g"),
        node("InstanceNormalization", ["g", "ones", "zeros"], "n"),
        node("Reshape", ["n", "as_data"], "r"),
        node("Mul", ["r", "s"], "m"),
        node("Add", ["m", "b"], "y"),
    ]

    def torch(torch: Any, t: Any) -> Any:
        return torch.nn.functional.group_norm(t["x"], groups, t["s"].flatten(), t["b"].flatten())

    name = f"group normalisation {channels}x{side}x{side}, {groups}"
    return Case(name, model_of(nodes, inputs, weights | facts), inputs, weights, torch)


def rms_norm(rows: int, width: int) -> Case:
    inputs = {"x": random(1, rows, width)}
    weights = {"s": random(width), "two": np.array(2, "float32"), "small": np.array(1e-6, "float32")}
    nodes = [
        node("Pow", ["x", "two"], "p"),
        node("ReduceMean", ["p"], "v", axes=[-1]),
        node("Add", ["v", "small"], "a"),
        node("Sqrt", ["a"], "q"),
        node("Div", ["x", "q"], "d"),
        node("Mul", ["d", "s"], "y"),
    ]

    def torch(torch: Any, t: Any) -> Any:
        return torch.nn.functional.rms_norm(t["x"], (width,), t["s"], 1e-6)

    return Case(f"RMS normalisation {rows}x{width}", model_of(nodes, inputs, weights), inputs, weights, torch)


def cases(_nets: list[str]) -> list[Case]:
    return [
        softmax("Softmax", 1, 1000),
        softmax("Softmax", 1, 12, 128, 128),
        softmax("Softmax", 1, 12, 197, 197),
        softmax("Softmax", 1, 21, 128, 128, axis=1),
        softmax("LogSoftmax", 64, 50257),
        layer_norm(1, 128, 768),
        layer_norm(1, 197, 768),
        layer_norm(1, 56, 56, 96),
        instance_norm(64, 56),
        instance_norm(3, 256),
        group_norm(256, 28, 32),
        rms_norm(128, 2048),
    ]


def reduction(op: str, shape: tuple[int, ...], axes: tuple[int, ...]) -> Case:
    """`op`: ReduceMean and its like; ArgMax takes one axis."""
    inputs, weights, facts = {"x": random(*shape)}, {}, {}
    is_arg = op.startswith("Arg")
    if is_arg:
        made = node(op, ["x"], "y", axis=axes[0], keepdims=0)
    elif op == "ReduceSum":
        facts = {"axes": np.array(axes)}
        made = node(op, ["x", "axes"], "y", keepdims=0)
    else:
        made = node(op, ["x"], "y", axes=list(axes), keepdims=0)
    functions = {"ReduceSum": "sum", "ReduceMean": "mean", "ReduceMax": "amax", "ArgMax": "argmax", "ReduceL2": ""}

    def torch(torch: Any, t: Any) -> Any:
        if op == "ReduceL2":
            return torch.linalg.vector_norm(t["x"], dim=axes)
        return getattr(torch, functions[op])(t["x"], axes[0] if is_arg else axes)

    out = onnx.TensorProto.INT64 if is_arg else onnx.TensorProto.FLOAT
    name = f"{op} {shape_text(inputs['x'])}, {','.join(map(str, axes))}"
    return Case(name, model_of([made], inputs, facts, out), inputs, weights, torch)


def cumulative(*shape: int, axis: int) -> Case:
    inputs, facts = {"x": random(*shape)}, {"axis": np.array(axis)}
    made = node("CumSum", ["x", "axis"], "y")
    name = f"CumSum {shape_text(inputs['x'])}, {axis}"
    return Case(name, model_of([made], inputs, facts), inputs, {}, lambda torch, t: torch.cumsum(t["x"], axis))


def top(count: int, *shape: int) -> Case:
    inputs, facts = {"x": random(*shape)}, {"count": np.array([count])}
    made = onnx.helper.make_node("TopK", ["x", "count"], ["y", "places"])
    name = f"TopK {shape_text(inputs['x'])}, {count}"
    return Case(name, model_of([made], inputs, facts), inputs, {}, lambda torch, t: torch.topk(t["x"], count)[0])


def reductions(_nets: list[str]) -> list[Case]:
    return [
        reduction("ReduceMean", (1, 128, 768), (2,)),
        reduction("ReduceMean", (1, 197, 768), (1,)),
        reduction("ReduceMean", (1, 256, 56, 56), (2, 3)),
        reduction("ReduceSum", (1, 64, 112, 112), (1,)),
        reduction("ReduceSum", (1000, 1000), (0,)),
        reduction("ReduceSum", (1000, 1000), (0, 1)),
        reduction("ReduceMax", (1, 84, 8400), (1,)),
        reduction("ReduceL2", (64, 2048), (1,)),
        reduction("ArgMax", (1, 21, 224, 224), (1,)),
        reduction("ArgMax", (64, 50257), (1,)),
        cumulative(64, 1024, axis=1),
        cumulative(64, 1024, axis=0),
        top(5, 64, 1000),
        top(300, 1, 8400),
    ]
