"""Operators of Caffe2, each in a network written by hand, against NumPy; see `framework_cases`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import Case, Pairs
from ._caffe2_net import fill, net, operator
from ._caffe_net import values

TITLE = "Caffe2"
ORACLE = "NumPy, by the operators' definitions; networks are written by hand, Caffe2 itself is in no package any more"
OPERATORS = [
    "Add",
    "Sum",
    "Mul",
    "Softmax",
    "AveragePool",
    "MaxPool",
    "Conv",
    "ConvTranspose",
    "Concat",
    "FC",
    "SpatialBN",
    "ResizeNearest",
    "Relu",
    "Sigmoid",
    "Dropout",
    "NormalizePlanarYUV",
]


def run(init: bytes, predict: bytes, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    """What Tessera answers."""
    from tessera import relay

    mod, params = relay.frontend.from_caffe2(init, predict, {name: value.shape for name, value in inputs.items()})
    out = relay.create_executor("graph", mod).evaluate()(*inputs.values(), **params)
    return [out.numpy()] if hasattr(out, "numpy") else [one.numpy() for one in out]


def _case(
    kind: str,
    shapes: Any,
    expected: Callable[..., Any],
    weights: Any = (),
    outputs: int = 1,
    **arguments: Any,
) -> Case:
    shapes = shapes if isinstance(shapes, list) else [shapes]

    def check() -> Pairs:
        given = {f"in{i}": values(*shape, seed=100 + i) for i, shape in enumerate(shapes)}
        fills = {f"w{i}": weight for i, weight in enumerate(weights)}
        names = [f"out{i}" for i in range(outputs)]
        predict = net([operator(kind, [*given, *fills], names, **arguments)], [*given, *fills], names)
        got = run(net([fill(name, value) for name, value in fills.items()]), predict, given)
        want = expected(*given.values(), *fills.values())
        want = want if isinstance(want, list) else [np.asarray(want, "float32")]
        return zip(got, want, strict=True)

    return Case(kind, f"{kind} {shapes} {arguments}", check)


def _windows(x: np.ndarray, kernel: Any, stride: Any, pads: Any, fill_with: float, dilation: int = 1) -> np.ndarray:
    """(n, c, rows, columns, kernel rows, kernel columns); pads: top, left, bottom, right."""
    top, left, bottom, right = pads
    padded = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=fill_with)
    reach = [dilation * (k - 1) + 1 for k in kernel]
    counts = [(padded.shape[2 + i] - reach[i]) // stride[i] + 1 for i in range(2)]
    out = np.zeros((*x.shape[:2], *counts, *kernel), "float32")
    for i, j in itertools.product(*map(range, counts)):
        rows = slice(i * stride[0], i * stride[0] + reach[0], dilation)
        columns = slice(j * stride[1], j * stride[1] + reach[1], dilation)
        out[:, :, i, j] = padded[:, :, rows, columns]
    return out


def conv(
    x: np.ndarray,
    w: np.ndarray,
    b: Any = None,
    stride: Any = (1, 1),
    pads: Any = (0, 0, 0, 0),
    dilation: int = 1,
    group: int = 1,
) -> np.ndarray:
    seen = _windows(x, w.shape[2:], stride, pads, 0, dilation)
    n, c, h, v = seen.shape[:4]
    seen = seen.reshape(n, group, c // group, h, v, *w.shape[2:])
    out = np.einsum("ngchvij,gocij->ngohv", seen, w.reshape(group, -1, *w.shape[1:])).reshape(n, -1, h, v)
    return np.asarray(out if b is None else out + b[:, None, None])


def _conv_transpose(
    x: np.ndarray, w: np.ndarray, b: np.ndarray, stride: int, pad: int, adjust: int, group: int
) -> np.ndarray:
    n, _, h, v = x.shape
    each, size = w.shape[1], w.shape[2]
    whole = np.zeros((n, group * each, (h - 1) * stride + size + adjust, (v - 1) * stride + size + adjust), "float32")
    per_group = x.shape[1] // group
    for g, i, j in itertools.product(range(group), range(h), range(v)):
        part = np.einsum(
            "nc,coij->noij", x[:, g * per_group : (g + 1) * per_group, i, j], w[g * per_group : (g + 1) * per_group]
        )
        whole[:, g * each : (g + 1) * each, i * stride : i * stride + size, j * stride : j * stride + size] += part
    inner = slice(pad, -pad or None)
    return np.asarray(whole[:, :, inner, inner] + b[:, None, None])


def max_pool(x: np.ndarray, kernel: Any, stride: Any, pads: Any) -> np.ndarray:
    return np.asarray(_windows(x, kernel, stride, pads, -np.inf).max((4, 5)))


def average_pool(x: np.ndarray, kernel: Any, stride: Any, pads: Any, counts: bool = False) -> np.ndarray:
    area = kernel[0] * kernel[1] if counts else _windows(np.ones_like(x), kernel, stride, pads, 0).sum((4, 5))
    return np.asarray(_windows(x, kernel, stride, pads, 0).sum((4, 5)) / area)


def softmax(x: np.ndarray) -> np.ndarray:
    scores = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(scores / scores.sum(-1, keepdims=True))


def _last(x: np.ndarray) -> np.ndarray:
    return x.transpose(0, 2, 3, 1)


def _second(x: np.ndarray) -> np.ndarray:
    return x.transpose(0, 3, 1, 2)


def _pools() -> Iterator[Case]:
    x, none = (1, 3, 8, 7), (0, 0, 0, 0)
    ways: list[tuple[str, Callable[..., np.ndarray]]] = [("MaxPool", max_pool), ("AveragePool", average_pool)]
    for kind, by_hand in ways:
        yield _case(kind, x, lambda x, f=by_hand: f(x, (2, 2), (2, 2), none), kernel=2, stride=2)
        yield _case(kind, x, lambda x, f=by_hand: f(x, (3, 3), (2, 2), (1,) * 4), kernel=3, stride=2, pad=1)
        sides = {
            "kernel_h": 3,
            "kernel_w": 2,
            "stride_h": 1,
            "stride_w": 2,
            "pad_t": 1,
            "pad_l": 0,
            "pad_b": 2,
            "pad_r": 1,
        }
        yield _case(kind, x, lambda x, f=by_hand: f(x, (3, 2), (1, 2), (1, 0, 2, 1)), **sides)
        yield _case(kind, x, lambda x, f=by_hand: f(x, (2, 2), (2, 2), (0, 0, 0, 1)), kernel=2, stride=2, legacy_pad=2)
        yield _case(kind, x, lambda x, f=by_hand: f(x, (8, 7), (1, 1), none), global_pooling=1)
        yield _case(kind, x, lambda x, f=by_hand: f(x, (3, 3), (2, 2), (0, 0, 1, 0)), kernel=3, stride=2, legacy_pad=3)
        nhwc: dict[str, Any] = {"kernels": [2, 2], "strides": [2, 2], "order": "NHWC"}
        yield _case(kind, (1, 8, 8, 3), lambda x, f=by_hand: _last(f(_second(x), (2, 2), (2, 2), none)), **nhwc)
    counted = {"kernel": 3, "stride": 2, "pad": 1, "count_include_pad": 1}
    yield _case("AveragePool", x, lambda x: average_pool(x, (3, 3), (2, 2), (1,) * 4, True), **counted)


def _convolutions() -> Iterator[Case]:
    x, w, b = (2, 4, 7, 6), values(6, 4, 3, 3), values(6)
    yield _case("Conv", x, conv, [w, b], kernel=3)
    yield _case("Conv", x, lambda x, w: conv(x, w, None, (2, 2), (1,) * 4), [w], kernel=3, stride=2, pad=1)
    yield _case(
        "Conv", x, lambda x, w, b: conv(x, w, b, dilation=2, group=2), [w[:, :2], b], kernel=3, dilation=2, group=2
    )
    yield _case(
        "Conv",
        x,
        lambda x, w, b: conv(x, w, b, (1, 2), (1, 0, 2, 1)),
        [w, b],
        kernels=[3, 3],
        strides=[1, 2],
        pads=[1, 0, 2, 1],
    )
    yield _case(
        "Conv",
        (2, 7, 6, 4),
        lambda x, w, b: _last(conv(_second(x), _second(w), b)),
        [_last(w), b],
        kernel=3,
        order="NHWC",
    )
    yield _case(
        "ConvTranspose", x, lambda x, w, b: _conv_transpose(x, w, b, 1, 0, 0, 1), [values(4, 6, 3, 3), b], kernel=3
    )
    yield _case(
        "ConvTranspose",
        x,
        lambda x, w, b: _conv_transpose(x, w, b, 2, 1, 1, 2),
        [values(4, 3, 3, 3), b],
        kernel=3,
        stride=2,
        pad=1,
        adj=1,
        group=2,
    )


def _resized(x: np.ndarray, height: float, width: float) -> np.ndarray:
    def positions(extent: int, scale: float) -> np.ndarray:
        return np.minimum(
            (np.arange(int(extent * np.float32(scale)), dtype="float32") / np.float32(scale)).astype(int), extent - 1
        )

    return x[:, :, positions(x.shape[2], height)][:, :, :, positions(x.shape[3], width)]


def cases() -> Iterator[Case]:
    x = (2, 3, 4, 5)
    for kind, op in (("Add", np.add), ("Mul", np.multiply)):
        yield _case(kind, [x, x], op)
        yield _case(kind, [x, (5,)], op, broadcast=1)
        yield _case(kind, [x, (3,)], lambda x, y, op=op: op(x, y[:, None, None]), broadcast=1, axis=1)
        yield _case(kind, [x, (1, 3, 1, 1)], op)
    yield _case("Sum", [x, x], np.add)
    yield _case("Sum", [x, x, x], lambda x, y, z: x + y + z)
    yield _case("Softmax", (3, 7), softmax)
    yield _case("Softmax", x, lambda x: softmax(x.reshape(2, -1)).reshape(x.shape))
    yield _case("Softmax", x, lambda x: softmax(x.reshape(6, -1)).reshape(x.shape), axis=2)
    yield from _pools()
    yield from _convolutions()
    yield _case(
        "Concat", [x, (2, 4, 4, 5)], lambda x, y: [np.concatenate([x, y], 1), np.array([3, 4], "int32")], outputs=2
    )
    yield _case("Concat", [x, (2, 3, 4, 1)], lambda x, y: np.concatenate([x, y], 3), order="NHWC")
    yield _case(
        "Concat", [x, x], lambda x, y: [np.stack([x, y], 1), np.array([1, 1], "int32")], outputs=2, axis=1, add_axis=1
    )
    yield _case("FC", x, lambda x, w, b: x.reshape(2, -1) @ w.T + b, [values(7, 60), values(7)])
    yield _case("FC", (2, 3, 4), lambda x, w, b: x @ w.T + b, [values(7, 4), values(7)], axis=2)
    yield _case(
        "FC", x, lambda x, w, b: x.reshape(2, -1) @ w.reshape(6, -1).T + b, [values(2, 3, 60), values(6)], axis_w=2
    )
    norm = [values(3), values(3, seed=1), values(3, seed=2), np.abs(values(3, seed=3)) + 0.5]

    def normalized(x: np.ndarray, *parameters: np.ndarray) -> np.ndarray:
        gamma, beta, mean, variance = (one[:, None, None] for one in parameters)
        return np.asarray((x - mean) / np.sqrt(variance + 1e-3) * gamma + beta)

    yield _case("SpatialBN", x, normalized, norm, is_test=1, epsilon=1e-3)
    last = lambda x, *rest: _last(normalized(_second(x), *rest))  # noqa: E731
    yield _case("SpatialBN", (2, 4, 5, 3), last, norm, is_test=1, epsilon=1e-3, order="NHWC")
    for height, width in ((2.0, 2.0), (3.0, 1.0), (1.5, 0.5), (0.4, 2.25)):
        by_hand = lambda x, h=height, w=width: _resized(x, h, w)  # noqa: E731
        yield _case("ResizeNearest", x, by_hand, height_scale=height, width_scale=width)
    yield _case("Relu", x, lambda x: np.maximum(x, 0))
    yield _case("Sigmoid", x, lambda x: 1 / (1 + np.exp(-x)))
    yield _case("Dropout", x, lambda x: x, is_test=1, ratio=0.3)
    yield _case("Dropout", x, lambda x: [x, np.ones(x.shape, bool)], outputs=2, is_test=1)
    statistics = [values(2, 3), np.abs(values(2, 3, seed=1)) + 0.5]
    planar = lambda x, m, s: (x - m[:, :, None, None]) / s[:, :, None, None]  # noqa: E731
    yield _case("NormalizePlanarYUV", x, planar, statistics)
    yield _case("NormalizePlanarYUV", x, planar, [one[:1] for one in statistics])
