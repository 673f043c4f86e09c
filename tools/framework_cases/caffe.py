"""Layers of Caffe, each in a network of its own, against OpenCV, which reads the same files; see `framework_cases`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import Case, Pairs
from ._caffe_net import Net, values

TITLE = "Caffe"
ORACLE = "OpenCV 4.13.0's dnn; Reduction, Embed, and what OpenCV does otherwise than Caffe, by NumPy"
OPERATORS = [
    "BatchNorm",
    "Concat",
    "Convolution",
    "Crop",
    "Deconvolution",
    "Dropout",
    "Eltwise",
    "Embed",
    "Flatten",
    "InnerProduct",
    "Input",
    "LRN",
    "Permute",
    "Pooling",
    "Power",
    "PReLU",
    "ReLU",
    "Reshape",
    "Scale",
    "Sigmoid",
    "Slice",
    "Softmax",
    "TanH",
    "Reduction",
]


def run(net: Net, *inputs: np.ndarray) -> list[np.ndarray]:
    """What Tessera answers."""
    from tessera import relay

    mod, params = relay.frontend.from_caffe(net.model(), net.text())
    out = relay.create_executor("graph", mod).evaluate()(*inputs, **params)
    return [out.numpy()] if hasattr(out, "numpy") else [one.numpy() for one in out]


def opencv(net: Net, inputs: dict[str, np.ndarray], outputs: list[str]) -> list[np.ndarray]:
    """What OpenCV answers; `outputs` are names of layers."""
    import cv2

    read = cv2.dnn.readNetFromCaffe(
        np.frombuffer(net.text().encode(), np.uint8), np.frombuffer(net.model() or b"\n\3net", np.uint8)
    )
    for name, value in inputs.items():
        read.setInput(value, name)
    return [np.asarray(one) for one in read.forward(outputs)]


def _case(
    kind: str,
    shapes: Any,
    parameters: str = "",
    blobs: Any = (),
    outputs: int = 1,
    expected: Callable[..., Any] | None = None,
    positive: bool = False,
) -> Case:
    shapes = shapes if isinstance(shapes, list) else [shapes]

    def check() -> Pairs:
        net = Net()
        given = {f"in{i}": values(*shape, seed=100 + i) for i, shape in enumerate(shapes)}
        if positive:
            given = {name: np.abs(value) + 0.1 for name, value in given.items()}
        names = [net.input(name, *value.shape) for name, value in given.items()]
        tops = [f"out{i}" for i in range(outputs)]
        net.layer(kind, names, tops, parameters, blobs, name="out0")
        got = run(net, *given.values())
        if expected:
            want = expected(*given.values())
            want = want if isinstance(want, list) else [want]
        else:
            # OpenCV has names of layers: each top of a layer gets one by a layer that changes nothing.
            if outputs > 1:
                for top in tops:
                    net.layer("Power", top, f"{top}_same", "power_param { power: 1 }", name=f"{top}_same")
                tops = [f"{top}_same" for top in tops]
            want = opencv(net, given, tops)
        return zip(got, [np.asarray(one, "float32") for one in want], strict=True)

    return Case(kind, f"{kind} {shapes} {parameters}", check)


def _shared_statistics() -> Iterator[Case]:
    mean, variance = values(3), np.abs(values(3, seed=1)) + 0.5
    for count in (1.0, 4.0):
        yield _case(
            "BatchNorm",
            (2, 3, 4, 5),
            "batch_norm_param { eps: 0.001 use_global_stats: true }",
            [mean, variance, np.array([count], "float32")],
        )

    def of_the_batch(x: np.ndarray) -> np.ndarray:
        centered = x - x.mean((0, 2, 3), keepdims=True)
        return centered / np.sqrt((centered * centered).mean((0, 2, 3), keepdims=True) + 1e-5)

    blobs = [mean, variance, np.ones(1, "float32")]
    yield _case("BatchNorm", (2, 3, 4, 5), "batch_norm_param { use_global_stats: false }", blobs, expected=of_the_batch)


def _convolutions() -> Iterator[Case]:
    x = (2, 4, 9, 8)
    one = "convolution_param { num_output: 6 kernel_size: 3"
    yield _case("Convolution", x, one + " }", [values(6, 4, 3, 3), values(6)])
    yield _case("Convolution", x, one + " pad: 1 stride: 2 bias_term: false }", [values(6, 4, 3, 3)])
    yield _case("Convolution", x, one + " group: 2 dilation: 2 }", [values(6, 2, 3, 3), values(6)])
    two = "convolution_param { num_output: 5 kernel_h: 3 kernel_w: 2 pad_h: 1 pad_w: 0 stride_h: 1 stride_w: 2 }"
    yield _case("Convolution", x, two, [values(5, 4, 3, 2), values(5)])
    yield _case(
        "Convolution", x, "convolution_param { num_output: 4 kernel_size: 3 group: 4 }", [values(4, 1, 3, 3), values(4)]
    )
    yield _case("Deconvolution", x, one + " }", [values(4, 6, 3, 3), values(6)])
    yield _case("Deconvolution", x, one + " stride: 2 pad: 1 bias_term: false }", [values(4, 6, 3, 3)])
    yield _case("Deconvolution", x, one + " group: 2 stride: 2 }", [values(4, 3, 3, 3), values(6)])


def _pools() -> Iterator[Case]:
    for kind in ("MAX", "AVE"):
        for rest in ("kernel_size: 2 stride: 2", "kernel_size: 3 stride: 2", "kernel_size: 3 stride: 1 pad: 1"):
            yield _case("Pooling", (1, 3, 8, 7), f"pooling_param {{ pool: {kind} {rest} }}")
        yield _case("Pooling", (1, 3, 8, 7), f"pooling_param {{ pool: {kind} global_pooling: true }}")
        sides = "kernel_h: 3 kernel_w: 2 stride_h: 2 stride_w: 1"
        yield _case("Pooling", (1, 3, 8, 7), f"pooling_param {{ pool: {kind} {sides} }}")
        yield _case(
            "Pooling", (1, 3, 8, 7), f"pooling_param {{ pool: {kind} kernel_size: 3 stride: 2 ceil_mode: false }}"
        )

    def overhanging(x: np.ndarray) -> np.ndarray:
        """Padding is counted, what lies beyond it is not."""
        size, pad, stride, (n, c, h, w) = 3, 1, 2, x.shape
        rows, columns = -(-(h + 2 * pad - size) // stride) + 1, -(-(w + 2 * pad - size) // stride) + 1
        out = np.zeros((n, c, rows, columns), "float32")
        for i in range(rows):
            for j in range(columns):
                top, left = i * stride - pad, j * stride - pad
                bottom, right = min(top + size, h + pad), min(left + size, w + pad)
                area = (bottom - top) * (right - left)
                out[:, :, i, j] = x[:, :, max(top, 0) : min(bottom, h), max(left, 0) : min(right, w)].sum((2, 3)) / area
        return out

    parameters = "pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 }"
    yield _case("Pooling", (1, 2, 8, 8), parameters, expected=overhanging)
    yield _case("Pooling", (1, 2, 8, 8), parameters.replace("AVE", "MAX"))


def _norm_of_neighbours(x: np.ndarray) -> np.ndarray:
    """Of five channels, which OpenCV does with k = 1 alone."""
    squares = np.pad(x * x, ((0, 0), (2, 2), (0, 0), (0, 0)))
    sums = sum(squares[:, i : i + x.shape[1]] for i in range(5))
    return np.asarray(x / (2 + 0.1 / 5 * sums) ** 0.5)


def _by_opencv() -> Iterator[Case]:
    x = (2, 6, 4, 5)
    yield from _shared_statistics()
    yield from _convolutions()
    yield from _pools()
    yield _case("Concat", [x, (2, 3, 4, 5)])
    yield _case("Concat", [x, (2, 6, 3, 5)], "concat_param { axis: 2 }")
    yield _case("Concat", [x, x, x], "concat_param { concat_dim: 1 }")
    yield _case("Crop", [(1, 3, 8, 9), (1, 3, 5, 4)], "crop_param { axis: 2 offset: 1 offset: 3 }")
    yield _case("Crop", [(1, 3, 8, 9), (1, 3, 5, 4)], "crop_param { axis: 2 offset: 2 }")
    yield _case("Crop", [(1, 5, 8, 9), (1, 3, 5, 4)], "crop_param { axis: 1 offset: [2, 0, 1] }")
    yield _case("Dropout", x, "dropout_param { dropout_ratio: 0.3 }")
    for operation in ("SUM", "PROD", "MAX"):
        yield _case("Eltwise", [x, x, x], f"eltwise_param {{ operation: {operation} }}")
    yield _case("Eltwise", [x, x], "eltwise_param { operation: SUM coeff: 1 coeff: -0.5 }")
    yield _case("Flatten", x)
    yield _case("Flatten", x, "flatten_param { axis: 2 }")
    yield _case("Flatten", x, "flatten_param { axis: 1 end_axis: 2 }")
    yield _case("InnerProduct", x, "inner_product_param { num_output: 7 }", [values(7, 120), values(7)])
    yield _case("InnerProduct", x, "inner_product_param { num_output: 7 bias_term: false }", [values(7, 120)])
    yield _case("InnerProduct", x, "inner_product_param { num_output: 7 axis: 2 }", [values(7, 20), values(7)])
    transposed = "inner_product_param { num_output: 7 transpose: true }"
    yield _case(
        "InnerProduct",
        x,
        transposed,
        [values(120, 7), values(7)],
        expected=lambda x: x.reshape(2, -1) @ values(120, 7) + values(7),
    )
    yield _case("InnerProduct", x, "inner_product_param { num_output: 7 }", [values(1, 1, 7, 120), values(1, 1, 1, 7)])
    yield _case("LRN", x, "lrn_param { local_size: 3 alpha: 0.5 beta: 0.75 }")
    yield _case("LRN", x, "lrn_param { local_size: 5 alpha: 0.1 beta: 0.5 k: 2 }", expected=_norm_of_neighbours)
    yield _case("LRN", x, "lrn_param { local_size: 3 alpha: 0.5 beta: 0.75 norm_region: WITHIN_CHANNEL }")
    yield _case("Permute", x, "permute_param { order: 0 order: 2 order: 3 order: 1 }")
    yield _case("Permute", x, "permute_param { order: [0, 3, 1, 2] }")
    yield _case("Power", x, "power_param { power: 2 scale: 0.5 shift: 1 }")
    yield _case("Power", x, "power_param { power: 0.5 scale: 2 shift: 0.1 }", positive=True)
    yield _case("Power", x)
    yield _case("PReLU", x, "", [values(6)])
    yield _case("PReLU", x, "prelu_param { channel_shared: true }", [values(1)])
    yield _case("ReLU", x)
    yield _case("ReLU", x, "relu_param { negative_slope: 0.1 }")
    yield _case("Reshape", x, "reshape_param { shape { dim: 0 dim: 3 dim: -1 dim: 5 } }")
    yield _case("Reshape", x, "reshape_param { shape { dim: 2 dim: -1 } axis: 1 num_axes: 2 }")
    yield _case("Reshape", x, "reshape_param { shape { dim: [0, -1] } }")
    yield _case("Scale", x, "scale_param { bias_term: true }", [values(6), values(6, seed=1)])
    yield _case("Scale", x, "", [values(6)])
    yield _case("Scale", [x, (2, 6)], "scale_param { axis: 0 }")
    yield _case("Sigmoid", x)
    yield _case("Slice", x, outputs=3)
    yield _case("Slice", x, "slice_param { axis: 1 slice_point: 1 slice_point: 4 }", outputs=3)
    halves = "slice_param { slice_dim: 2 slice_point: 1 }"
    yield _case("Slice", x, halves, outputs=2, expected=lambda x: [x[:, :, :1], x[:, :, 1:]])
    yield _case("Softmax", x)
    yield _case("Softmax", x, "softmax_param { axis: 3 }")
    yield _case("Softmax", (3, 7))
    yield _case("TanH", x)


def _by_numpy() -> Iterator[Case]:
    x = (2, 3, 4, 5)
    reductions: dict[str, Callable[[np.ndarray, tuple[int, ...]], Any]] = {
        "SUM": lambda x, axes: x.sum(axes),
        "ASUM": lambda x, axes: np.abs(x).sum(axes),
        "SUMSQ": lambda x, axes: (x * x).sum(axes),
        "MEAN": lambda x, axes: x.mean(axes),
    }
    for name, reduce in reductions.items():
        for axis in (0, 1, -1):
            parameters = f"reduction_param {{ operation: {name} axis: {axis} coeff: 2 }}"
            axes = tuple(range(axis % 4, 4))
            yield _case("Reduction", x, parameters, expected=lambda x, r=reduce, axes=axes: 2 * r(x, axes))

    def embed() -> Pairs:
        table, bias, indices = values(10, 4), values(4), np.array([[3, 9, 0], [1, 1, 5]], "float32")
        for has_bias in (True, False):
            net = Net()
            parameters = f"embed_param {{ num_output: 4 input_dim: 10 bias_term: {str(has_bias).lower()} }}"
            net.layer("Embed", net.input("in0", 2, 3), "out0", parameters, [table, bias][: 1 + has_bias])
            yield run(net, indices)[0], table[indices.astype(int)] + (bias if has_bias else 0)

    yield Case("Embed", "with and without a bias", embed)

    def old_inputs() -> Pairs:
        """Shapes of inputs beside the layers, as older files have them."""
        x, y = values(1, 2, 3, 4), values(1, 2, 3, 4, seed=1)
        for head in (
            'input: "a" input_dim: 1 input_dim: 2 input_dim: 3 input_dim: 4 '
            'input: "b" input_dim: 1 input_dim: 2 input_dim: 3 input_dim: 4',
            'input: "a" input_shape { dim: 1 dim: 2 dim: 3 dim: 4 } input: "b" input_shape { dim: [1, 2, 3, 4] }',
        ):
            net = Net()
            net.layer("Eltwise", ["a", "b"], "out0")
            net.layers.insert(0, head)
            yield run(net, x, y)[0], opencv(net, {"a": x, "b": y}, ["out0_Eltwise"])[0]

    yield Case("Input", "beside the layers", old_inputs)


def cases() -> Iterator[Case]:
    yield from _by_opencv()
    yield from _by_numpy()
