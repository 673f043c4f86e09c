"""Pooling, resizing, and chains of operators that work element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from .case import Case, model_of, node, random


def pool(kind: str, channels: int, extents: tuple[int, ...], size: int, stride: int, pad: int = 0) -> Case:
    """`kind`: MaxPool or AveragePool."""
    spatial = len(extents)
    inputs = {"x": random(1, channels, *extents)}
    more = {"count_include_pad": 1} if kind == "AveragePool" else {}
    made = node(
        kind,
        ["x"],
        "y",
        kernel_shape=[size] * spatial,
        strides=[stride] * spatial,
        pads=[pad] * (2 * spatial),
        **more,
    )
    text = "x".join(map(str, extents))
    function = f"{'max' if kind == 'MaxPool' else 'avg'}_pool{spatial}d"

    def torch(torch: Any, t: Any) -> Any:
        return getattr(torch.nn.functional, function)(t["x"], size, stride, pad)

    return Case(f"{kind} {channels}x{text}, {size} / {stride}", model_of([made], inputs, {}), inputs, {}, torch)


def global_pool(kind: str, channels: int, *extents: int) -> Case:
    inputs = {"x": random(1, channels, *extents)}
    function = {"GlobalAveragePool": "adaptive_avg_pool2d", "GlobalMaxPool": "adaptive_max_pool2d"}[kind]

    def torch(torch: Any, t: Any) -> Any:
        return getattr(torch.nn.functional, function)(t["x"], 1)

    name = f"{kind} {channels}x{'x'.join(map(str, extents))}"
    return Case(name, model_of([node(kind, ["x"], "y")], inputs, {}), inputs, {}, torch)


def cases(_nets: list[str]) -> list[Case]:
    return [
        pool("MaxPool", 64, (112, 112), 3, 2, 1),
        pool("MaxPool", 64, (224, 224), 2, 2),
        pool("MaxPool", 192, (28, 28), 3, 1, 1),
        pool("MaxPool", 512, (13, 13), 5, 1, 2),
        pool("AveragePool", 192, (35, 35), 3, 1, 1),
        pool("AveragePool", 256, (28, 28), 2, 2),
        pool("AveragePool", 64, (112, 112), 3, 2, 1),
        global_pool("GlobalAveragePool", 2048, 7, 7),
        global_pool("GlobalAveragePool", 96, 112, 112),
        global_pool("GlobalMaxPool", 512, 14, 14),
        pool("MaxPool", 512, (3000,), 2, 2),
        pool("MaxPool", 64, (8, 56, 56), 2, 2),
    ]


def resize(mode: str, channels: int, height: int, width: int, scale: float) -> Case:
    inputs = {"x": random(1, channels, height, width)}
    weights = {"scales": np.array([1, 1, scale, scale], "float32")}
    turn = "asymmetric" if mode == "nearest" else "half_pixel"
    more = {"nearest_mode": "floor"} if mode == "nearest" else {}
    made = node("Resize", ["x", "", "scales"], "y", mode=mode, coordinate_transformation_mode=turn, **more)

    def torch(torch: Any, t: Any) -> Any:
        how = {"nearest": "nearest", "linear": "bilinear", "cubic": "bicubic"}[mode]
        more = {} if mode == "nearest" else {"align_corners": False}
        return torch.nn.functional.interpolate(t["x"], scale_factor=scale, mode=how, **more)

    name = f"Resize {mode} {channels}x{height}x{width}, {scale:g}"
    return Case(name, model_of([made], inputs, weights), inputs, weights, None if mode == "cubic" else torch)


def resizes(_nets: list[str]) -> list[Case]:
    return [
        resize("nearest", 256, 26, 26, 2),
        resize("nearest", 64, 56, 56, 2),
        resize("linear", 256, 28, 28, 2),
        resize("linear", 21, 28, 28, 8),
        resize("linear", 64, 112, 112, 0.5),
        resize("cubic", 3, 112, 112, 2),
    ]


def chain(name: str, channels: int, side: int, steps: list[tuple[str, list[str]]], torch: Any) -> Case:
    """Steps read "x", "z" (another tensor like x), the weights "s" and "t" of channels, and "_": the step before."""
    shape = (1, channels, side, side)
    inputs = {"x": random(*shape)}
    if any("z" in names for _, names in steps):
        inputs["z"] = random(1, channels, side, side)
    used = {name for _, names in steps for name in names}
    weights = {name: np.abs(random(1, channels, 1, 1)) for name in ("s", "t") if name in used}
    nodes, before = [], "x"
    for i, (op, names) in enumerate(steps):
        nodes.append(node(op, [before if name == "_" else name for name in names], f"v{i}"))
        before = f"v{i}"
    title = f"{name} {channels}x{side}x{side}"
    return Case(title, model_of(nodes, inputs, weights), inputs, weights, torch)


def batch_norm(channels: int, side: int) -> Case:
    inputs = {"x": random(1, channels, side, side)}
    weights = {name: np.abs(random(channels)) + 0.5 for name in ("scale", "shift", "mean", "variance")}
    nodes = [node("BatchNormalization", ["x", *weights], "v"), node("Relu", ["v"], "y")]

    def torch(torch: Any, t: Any) -> Any:
        normal = torch.nn.functional.batch_norm(t["x"], t["mean"], t["variance"], t["scale"], t["shift"])
        return torch.relu(normal)

    return Case(
        f"BatchNormalization, Relu {channels}x{side}x{side}", model_of(nodes, inputs, weights), inputs, weights, torch
    )


def chains(_nets: list[str]) -> list[Case]:
    swish = [("Sigmoid", ["x"]), ("Mul", ["x", "_"])]
    return [
        batch_norm(64, 112),
        batch_norm(256, 14),
        chain(
            "Mul, Add, Relu",
            256,
            56,
            [("Mul", ["x", "s"]), ("Add", ["_", "t"]), ("Relu", ["_"])],
            lambda torch, t: torch.relu(t["x"] * t["s"] + t["t"]),
        ),
        chain(
            "Add, Relu", 256, 56, [("Add", ["x", "z"]), ("Relu", ["_"])], lambda torch, t: torch.relu(t["x"] + t["z"])
        ),
        chain("Sigmoid, Mul", 96, 112, swish, lambda torch, t: torch.nn.functional.silu(t["x"])),
        chain("HardSwish", 120, 28, [("HardSwish", ["x"])], lambda torch, t: torch.nn.functional.hardswish(t["x"])),
        chain("Relu", 64, 28, [("Relu", ["x"])], lambda torch, t: torch.relu(t["x"])),
    ]
