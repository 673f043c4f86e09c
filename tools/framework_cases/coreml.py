"""Layers of CoreML, each in a network that coremltools writes, against NumPy; see `framework_cases`. Only macOS runs such networks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import Case, Pairs
from ._caffe_net import values
from .caffe2 import _conv_transpose, average_pool, conv, max_pool

TITLE = "CoreML"
ORACLE = "NumPy, by the layers' definitions in NeuralNetwork.proto; coremltools 9.0 writes the networks, only macOS runs them"
OPERATORS = [
    "NeuralNetworkMeanImage",
    "NeuralNetworkImageScaler",
    "Convolution",
    "Batchnorm",
    "ActivationParams",
    "Scale",
    "Pooling",
    "Softmax",
    "InnerProduct",
    "Add",
    "Multiply",
    "Flatten",
    "Concat",
    "Padding",
    "Permute",
    "Upsample",
    "L2Normalize",
    "LRN",
    "Average",
    "Max",
    "Min",
    "UnaryFunction",
    "Reduce",
    "Reshape",
    "Split",
]


def softmax(x: np.ndarray, axis: int) -> np.ndarray:
    scores = np.exp(x - x.max(axis, keepdims=True))
    return np.asarray(scores / scores.sum(axis, keepdims=True))


def builder(shapes: dict[str, tuple[int, ...]], outputs: list[str], is_exact: bool = False) -> Any:
    """A network without layers; see coremltools."""
    from coremltools.models import datatypes
    from coremltools.models.neural_network import NeuralNetworkBuilder

    inputs = [(name, datatypes.Array(*shape)) for name, shape in shapes.items()]
    return NeuralNetworkBuilder(
        inputs, [(name, datatypes.Array(1)) for name in outputs], disable_rank5_shape_mapping=is_exact
    )


def run(spec: Any, *inputs: np.ndarray, shapes: Any = None) -> list[np.ndarray]:
    """What Tessera answers."""
    from tessera import relay

    mod, params = relay.frontend.from_coreml(spec, shapes)
    out = relay.create_executor("graph", mod).evaluate()(*inputs, **params)
    return [out.numpy()] if hasattr(out, "numpy") else [one.numpy() for one in out]


def wide(numbers: np.ndarray) -> np.ndarray:
    """One number for each channel, beside images."""
    return numbers[:, None, None]


def _case(
    kind: str,
    shapes: Any,
    add: Callable[..., Any],
    expected: Callable[..., Any],
    outputs: int = 1,
    is_exact: bool = False,
    positive: bool = False,
    name: str = "",
) -> Case:
    """`add(builder, input names, output names)` adds the layer; `expected` has the inputs as arrays."""
    shapes = shapes if isinstance(shapes, list) else [shapes]

    def check() -> Pairs:
        given = {f"in{i}": values(*shape, seed=100 + i) for i, shape in enumerate(shapes)}
        if positive:
            given = {key: np.abs(value) + 0.1 for key, value in given.items()}
        tops = [f"out{i}" for i in range(outputs)]
        net = builder({key: value.shape for key, value in given.items()}, tops, is_exact)
        add(net, list(given), tops)
        got = run(net.spec, *given.values())
        want = expected(*given.values())
        want = want if isinstance(want, list) else [want]
        return zip(got, [np.asarray(one, "float32") for one in want], strict=True)

    return Case(kind, f"{kind} {name} {shapes}", check)


def _images() -> Iterator[Case]:
    x = (1, 3, 4, 5)
    mean = values(3, 4, 5)

    def with_mean(net: Any, inputs: list[str], tops: list[str]) -> None:
        step = net.nn_spec.preprocessing.add(featureName=inputs[0])
        step.meanImage.meanImage.extend(mean.ravel().tolist())
        net.add_activation("same", "LINEAR", inputs[0], tops[0], [1.0, 0.0])

    yield _case("NeuralNetworkMeanImage", x, with_mean, lambda x: x - mean)
    for space, order in (("RGB", [0, 1, 2]), ("BGR", [2, 1, 0])):

        def with_scaler(net: Any, inputs: list[str], tops: list[str], space: str = space) -> None:
            net.set_pre_processing_parameters([inputs[0]], {inputs[0]: space == "BGR"}, 0.1, 0.2, 0.3, 0.4, 2.0)
            net.add_activation("same", "LINEAR", inputs[0], tops[0], [1.0, 0.0])

        biases = np.array([0.1, 0.2, 0.3], "float32")[order]
        yield _case(
            "NeuralNetworkImageScaler",
            x,
            with_scaler,
            lambda x, biases=biases: 2 * x + biases[:, None, None],
            name=space,
        )


def _same(x: np.ndarray, kernel: int, stride: int) -> tuple[int, int, int, int]:
    pads = []
    for extent in x.shape[2:]:
        total = max((-(-extent // stride) - 1) * stride + kernel - extent, 0)
        pads.append((total // 2, total - total // 2))
    return pads[0][0], pads[1][0], pads[0][1], pads[1][1]


def _convolutions() -> Iterator[Case]:
    x = (2, 4, 9, 8)

    def layer(w: np.ndarray, b: Any, **given: Any) -> Callable[..., Any]:
        # coremltools has weights as (rows, columns, channels, filters), those of transposed convolutions with filters before channels
        is_transposed = given.get("is_deconv", False)

        def add(net: Any, inputs: list[str], tops: list[str]) -> None:
            options = {"stride_height": 1, "stride_width": 1, "border_mode": "valid", "groups": 1} | given
            net.add_convolution(
                name="conv",
                kernel_channels=w.shape[0] if is_transposed else w.shape[1],
                output_channels=w.shape[1] * options["groups"] if is_transposed else w.shape[0],
                height=w.shape[2],
                width=w.shape[3],
                W=w.transpose(2, 3, 0, 1) if is_transposed else w.transpose(2, 3, 1, 0),
                b=b,
                has_bias=b is not None,
                input_name=inputs[0],
                output_name=tops[0],
                **options,
            )

        return add

    w, b = values(6, 4, 3, 3), values(6, seed=1)
    yield _case("Convolution", x, layer(w, b), lambda x: conv(x, w, b))
    yield _case("Convolution", x, layer(w, None), lambda x: conv(x, w), name="no bias")
    yield _case(
        "Convolution",
        x,
        layer(w, b, border_mode="same", stride_height=2, stride_width=2),
        lambda x: conv(x, w, b, (2, 2), _same(x, 3, 2)),
        name="same",
    )
    yield _case(
        "Convolution",
        x,
        layer(w, b, border_mode="same", same_padding_asymmetry_mode="TOP_LEFT_HEAVY", stride_height=2, stride_width=2),
        lambda x: conv(x, w, b, (2, 2), (*_same(x, 3, 2)[2:], *_same(x, 3, 2)[:2])),
        name="same, heavy before",
    )
    yield _case(
        "Convolution",
        x,
        layer(w, b, padding_top=1, padding_bottom=2, padding_left=0, padding_right=1, dilation_factors=[2, 2]),
        lambda x: conv(x, w, b, (1, 1), (1, 0, 2, 1), 2),
        name="padding, dilation",
    )
    grouped = values(8, 2, 3, 3)
    yield _case("Convolution", x, layer(grouped, None, groups=2), lambda x: conv(x, grouped, group=2), name="groups")
    yield _case("Convolution", (4, 9, 8), layer(w, b), lambda x: conv(x[None], w, b)[0], name="no batch")
    yield _case(
        "Convolution",
        (2, 3, 4, 9, 8),
        layer(w, b),
        lambda x: conv(x.reshape(6, 4, 9, 8), w, b).reshape(2, 3, 6, 7, 6),
        is_exact=True,
        name="batches",
    )
    turned, bias = values(4, 3, 3, 3), values(3, seed=2)
    yield _case(
        "Convolution",
        x,
        layer(turned, bias, is_deconv=True, stride_height=2, stride_width=2),
        lambda x: _conv_transpose(x, turned, bias, 2, 0, 0, 1),
        name="transposed",
    )
    yield _case(
        "Convolution",
        x,
        layer(turned, bias, is_deconv=True, border_mode="same", stride_height=2, stride_width=2),
        lambda x: _conv_transpose(x, turned, bias, 2, 0, 0, 1)[:, :, :18, :16],
        name="transposed, same",
    )


def _in_halves(w: np.ndarray, spec: Any) -> np.ndarray:
    """Has the weights of the only layer kept in 16 bits; gives the numbers that they are then."""
    kept = spec.neuralNetwork.layers[0].convolution.weights
    short = np.array(kept.floatValue, "float16")
    del kept.floatValue[:]
    kept.float16Value = short.tobytes()
    return np.asarray(w.astype("float16").astype("float32"))


def _in_integers(w: np.ndarray, spec: Any, bits: int, mode: str, axis: int) -> np.ndarray:
    """Has coremltools make integers of the weights of the only layer; gives the numbers that they stand for."""
    from coremltools.models.neural_network import quantization_utils

    quantization_utils._quantize_spec_weights(spec, bits, mode)
    kept = spec.neuralNetwork.layers[0].convolution.weights
    stream = np.unpackbits(np.frombuffer(kept.rawValue, "uint8"))[: w.size * bits].reshape(-1, bits)
    integers = (stream @ (1 << np.arange(bits)[::-1])).reshape(w.shape)
    if mode == "_lookup_table_quantization_linear":
        return np.array(kept.quantization.lookupTableQuantization.floatValue, "float32")[integers]
    linear, shape = kept.quantization.linearQuantization, [1, 1, 1, 1]
    shape[axis] = -1
    scale, bias = (np.array(part, "float32").reshape(shape) for part in (linear.scale, linear.bias))
    return np.asarray((integers * scale + bias).astype("float32"))


def _quantized() -> Iterator[Case]:
    forms = [
        (16, ""),
        (8, "_linear_quantization"),
        (4, "_linear_quantization"),
        (1, "_lookup_table_quantization_linear"),
        (3, "_lookup_table_quantization_linear"),
    ]
    for (bits, mode), is_transposed in [*((form, False) for form in forms), (forms[1], True)]:

        def check(bits: int = bits, mode: str = mode, is_transposed: bool = is_transposed) -> Pairs:
            x, w = values(2, 4, 9, 8, seed=100), values(4, 3, 3, 3) if is_transposed else values(6, 4, 3, 3)
            net = builder({"in0": x.shape}, ["out0"])
            given = w.transpose(2, 3, 0, 1) if is_transposed else w.transpose(2, 3, 1, 0)
            ends = {"input_name": "in0", "output_name": "out0", "is_deconv": is_transposed}
            filters = w.shape[1 if is_transposed else 0]
            net.add_convolution("conv", 4, filters, 3, 3, 1, 1, "valid", 1, given, None, False, **ends)
            meant = _in_integers(w, net.spec, bits, mode, int(is_transposed)) if mode else _in_halves(w, net.spec)
            zeros = np.zeros(filters, "float32")
            want = _conv_transpose(x, meant, zeros, 1, 0, 0, 1) if is_transposed else conv(x, meant)
            return zip(run(net.spec, x), [want], strict=True)

        yield Case("Convolution", f"weights of {bits} bits {mode} {is_transposed}", check)


def _channels() -> Iterator[Case]:
    x = (2, 3, 4, 5)
    gamma, beta, mean, variance = (values(3, seed=i) for i in range(4))
    variance = np.abs(variance) + 0.5

    def norm(**given: Any) -> Callable[..., Any]:
        return lambda net, inputs, tops: net.add_batchnorm(
            "bn", 3, gamma, beta, input_name=inputs[0], output_name=tops[0], **given
        )

    def by_hand(x: np.ndarray) -> np.ndarray:
        return (x - wide(mean)) / np.sqrt(wide(variance) + 1e-3) * wide(gamma) + wide(beta)

    stored = {"mean": mean, "variance": variance, "epsilon": 1e-3}
    yield _case("Batchnorm", x, norm(**stored), by_hand)
    yield _case("Batchnorm", (3, 4, 5), norm(**stored), by_hand, name="no batch")

    def of_instance(x: np.ndarray) -> np.ndarray:
        centered = x - x.mean((2, 3), keepdims=True)
        return centered / np.sqrt((centered**2).mean((2, 3), keepdims=True) + 1e-3) * wide(gamma) + wide(beta)

    yield _case(
        "Batchnorm",
        x,
        norm(compute_mean_var=True, instance_normalization=True, epsilon=1e-3),
        of_instance,
        name="instance",
    )

    def scale(shape: Any, bias_shape: Any, w: Any, b: Any) -> Callable[..., Any]:
        return lambda net, inputs, tops: net.add_scale(
            "s", w, b, b is not None, inputs[0], tops[0], shape, bias_shape or [1]
        )

    image = values(3, 4, 5, seed=5)
    yield _case("Scale", x, scale([3], [3], gamma, beta), lambda x: x * wide(gamma) + wide(beta))
    yield _case(
        "Scale", x, scale([1], None, np.array([2.5], "float32"), None), lambda x: x * np.float32(2.5), name="number"
    )
    yield _case(
        "Scale", x, scale([3, 4, 5], [1, 4, 5], image, image[:1]), lambda x: x * image + image[:1], name="image"
    )

    yield _case("Softmax", x, lambda net, i, o: net.add_softmax("s", i[0], o[0]), lambda x: softmax(x, 1))
    yield _case(
        "Softmax", (2, 7), lambda net, i, o: net.add_softmax("s", i[0], o[0]), lambda x: softmax(x, 1), name="vector"
    )
    yield _case(
        "Softmax",
        (2, 7, 1, 1),
        lambda net, i, o: net.add_softmax("s", i[0], o[0]),
        lambda x: softmax(x, 1)[:, :, 0, 0],
        name="image of one pixel",
    )

    w, b = values(6, 60, seed=7), values(6, seed=8)

    def inner(net: Any, i: list[str], o: list[str]) -> Any:
        return net.add_inner_product("ip", w, b, 60, 6, True, i[0], o[0])

    yield _case("InnerProduct", x, inner, lambda x: x.reshape(2, 60) @ w.T + b)
    yield _case("InnerProduct", (2, 60), inner, lambda x: x @ w.T + b, name="vector")
    yield _case("InnerProduct", (60,), inner, lambda x: x @ w.T + b, name="no batch")
    yield _case(
        "InnerProduct", x, inner, lambda x: (x.reshape(2, 60) @ w.T + b)[:, :, None, None], is_exact=True, name="exact"
    )
    yield _case("InnerProduct", (2, 3, 60), inner, lambda x: x @ w.T + b, is_exact=True, name="sequence")

    def l2(x: np.ndarray) -> np.ndarray:
        return x / np.sqrt((x * x).sum((1, 2, 3), keepdims=True) + 1e-4)

    yield _case("L2Normalize", x, lambda net, i, o: net.add_l2_normalize("l2", i[0], o[0], epsilon=1e-4), l2)

    def lrn(x: np.ndarray) -> np.ndarray:
        squares = np.pad(x * x, ((0, 0), (1, 1), (0, 0), (0, 0)))
        sums = sum(squares[:, i : i + x.shape[1]] for i in range(3))
        return x / (2 + 0.5 / 3 * sums) ** 0.75

    yield _case("LRN", (2, 6, 4, 5), lambda net, i, o: net.add_lrn("lrn", i[0], o[0], 0.5, 0.75, 3, 2.0), lrn)


def _pools() -> Iterator[Case]:
    x = (2, 3, 9, 8)

    def layer(kind: str, **given: Any) -> Callable[..., Any]:
        options = {
            "height": 3,
            "width": 3,
            "stride_height": 2,
            "stride_width": 2,
            "layer_type": kind,
            "padding_type": "VALID",
        }
        options |= given
        return lambda net, i, o: net.add_pooling("pool", input_name=i[0], output_name=o[0], **options)

    none, one = (0, 0, 0, 0), (1, 1, 1, 1)
    pads = {"padding_top": 1, "padding_bottom": 1, "padding_left": 1, "padding_right": 1}
    for kind, function in (("MAX", max_pool), ("AVERAGE", average_pool)):
        yield _case("Pooling", x, layer(kind), lambda x, f=function: f(x, (3, 3), (2, 2), none), name=kind)
        yield _case(
            "Pooling",
            x,
            layer(kind, exclude_pad_area=False, **pads),
            lambda x, f=function: f(x, (3, 3), (2, 2), one, *([True] if f is average_pool else [])),
            name=f"{kind} padding",
        )
        yield _case(
            "Pooling",
            x,
            layer(kind, padding_type="SAME", exclude_pad_area=True),
            lambda x, f=function: f(x, (3, 3), (2, 2), _same(x, 3, 2)),
            name=f"{kind} same",
        )
        reduction = np.max if kind == "MAX" else np.mean
        yield _case(
            "Pooling",
            x,
            layer(kind, is_global=True),
            lambda x, r=reduction: r(x, axis=(2, 3), keepdims=True),
            name=f"{kind} global",
        )
    last = {
        "padding_type": "INCLUDE_LAST_PIXEL",
        "padding_top": 0,
        "padding_bottom": 0,
        "padding_left": 0,
        "padding_right": 0,
    }
    yield _case(
        "Pooling", x, layer("MAX", **last), lambda x: max_pool(x, (3, 3), (2, 2), (0, 0, 0, 1)), name="last pixel"
    )

    def norm(x: np.ndarray) -> Any:
        return np.sqrt(average_pool(x * x, (3, 3), (2, 2), none) * 9)

    yield _case("Pooling", x, layer("L2"), norm, name="L2")


def _elementwise() -> Iterator[Case]:
    x = (2, 3, 4, 5)
    function: Callable[..., Any]
    for kind, method, function in (
        ("Add", "ADD", np.add),
        ("Multiply", "MULTIPLY", np.multiply),
        ("Max", "MAX", np.maximum),
        ("Min", "MIN", np.minimum),
        ("Average", "AVE", np.add),
    ):
        by = 2.0 if kind == "Average" else 1.0

        def add(net: Any, i: list[str], o: list[str], method: str = method) -> Any:
            return net.add_elementwise("e", i, o[0], method)

        yield _case(kind, [x, x], add, lambda a, b, f=function, by=by: f(a, b) / np.float32(by))
        if kind != "Average":
            yield _case(kind, [x, x, x], add, lambda a, b, c, f=function: f(f(a, b), c), name="three")
    for kind, method, function in (("Add", "ADD", np.add), ("Multiply", "MULTIPLY", np.multiply)):
        yield _case(
            kind,
            x,
            lambda net, i, o, method=method: net.add_elementwise("e", i[0], o[0], method, 1.5),
            lambda a, f=function: f(a, np.float32(1.5)),
            name="number",
        )
        yield _case(
            kind,
            [(2, 3), x],
            lambda net, i, o, method=method: net.add_elementwise("e", i, o[0], method),
            lambda a, b, f=function: f(a[:, :, None, None], b),
            name="channels",
        )
    unary: dict[str, Callable[..., Any]] = {
        "sqrt": np.sqrt,
        "rsqrt": lambda v: 1 / np.sqrt(v + 1e-3),
        "inverse": lambda v: 1 / (v + 1e-3),
        "power": lambda v: v**1.5,
        "exp": np.exp,
        "log": np.log,
        "abs": np.abs,
        "threshold": lambda v: np.maximum(v, 1.5),
    }
    for mode, function in unary.items():
        yield _case(
            "UnaryFunction",
            x,
            lambda net, i, o, mode=mode: net.add_unary(
                "u", i[0], o[0], mode, alpha=1.5, shift=0.25, scale=2.0, epsilon=1e-3
            ),
            lambda v, f=function: f(2 * v + np.float32(0.25)),
            positive=True,
            name=mode,
        )
    slopes, powers = np.abs(values(3)) + 0.1, np.abs(values(3, seed=1)) + 0.5

    activations: dict[str, tuple[Any, Callable[..., Any]]] = {
        "RELU": (None, lambda v: np.maximum(v, 0)),
        "LEAKYRELU": ([0.1], lambda v: np.where(v > 0, v, np.float32(0.1) * v)),
        "THRESHOLDEDRELU": (0.3, lambda v: np.where(v >= np.float32(0.3), v, 0)),
        "PRELU": (slopes, lambda v: np.where(v > 0, v, wide(slopes) * v)),
        "TANH": (None, np.tanh),
        "SCALED_TANH": ([1.5, 0.5], lambda v: 1.5 * np.tanh(0.5 * v)),
        "SIGMOID": (None, lambda v: 1 / (1 + np.exp(-v))),
        "SIGMOID_HARD": ([0.3, 0.4], lambda v: np.clip(0.3 * v + 0.4, 0, 1)),
        "ELU": (0.7, lambda v: np.where(v > 0, v, 0.7 * (np.exp(v) - 1))),
        "SOFTSIGN": (None, lambda v: v / (1 + np.abs(v))),
        "SOFTPLUS": (None, lambda v: np.log1p(np.exp(v))),
        "PARAMETRICSOFTPLUS": ([slopes, powers], lambda v: wide(slopes) * np.log1p(np.exp(wide(powers) * v))),
        "LINEAR": ([2.0, 0.5], lambda v: 2 * v + np.float32(0.5)),
    }
    for mode, (numbers, function) in activations.items():
        yield _case(
            "ActivationParams",
            x,
            lambda net, i, o, mode=mode, numbers=numbers: net.add_activation("a", mode, i[0], o[0], numbers),
            function,
            name=mode,
        )


def _shapes() -> Iterator[Case]:
    x = (2, 3, 4, 5)
    yield _case("Flatten", x, lambda net, i, o: net.add_flatten("f", 0, i[0], o[0]), lambda v: v.reshape(2, 60))
    yield _case(
        "Flatten",
        x,
        lambda net, i, o: net.add_flatten("f", 1, i[0], o[0]),
        lambda v: v.transpose(0, 2, 3, 1).reshape(2, 60),
        name="channels last",
    )
    yield _case(
        "Flatten",
        x,
        lambda net, i, o: net.add_flatten("f", 0, i[0], o[0]),
        lambda v: v.reshape(2, 60, 1, 1),
        is_exact=True,
        name="exact",
    )
    yield _case(
        "Concat",
        [x, x],
        lambda net, i, o: net.add_elementwise("c", i, o[0], "CONCAT"),
        lambda a, b: np.concatenate([a, b], 1),
    )
    yield _case(
        "Concat",
        [x, x],
        lambda net, i, o: net.add_elementwise("c", i, o[0], "SEQUENCE_CONCAT"),
        lambda a, b: np.concatenate([a, b], 0),
        name="sequence",
    )
    for kind, mode in (("constant", "constant"), ("reflection", "reflect"), ("replication", "edge")):
        pads = {"left": 1, "right": 2, "top": 0, "bottom": 3, "value": 0.5 if kind == "constant" else 0}
        more = {"constant_values": 0.5} if kind == "constant" else {}
        yield _case(
            "Padding",
            x,
            lambda net, i, o, kind=kind, pads=pads: net.add_padding(
                "p", input_name=i[0], output_name=o[0], padding_type=kind, **pads
            ),
            lambda v, mode=mode, more=more: np.pad(v, ((0, 0), (0, 0), (0, 3), (1, 2)), mode=mode, **more),
            name=kind,
        )
    yield _case(
        "Permute",
        x,
        lambda net, i, o: net.add_permute("p", [0, 3, 1, 2], i[0], o[0]),
        lambda v: v.transpose(0, 3, 1, 2),
    )
    yield _case(
        "Permute",
        (3, 4, 5),
        lambda net, i, o: net.add_permute("p", [0, 2, 3, 1], i[0], o[0]),
        lambda v: v.transpose(1, 2, 0),
        name="no batch",
    )
    yield _case(
        "Reshape", x, lambda net, i, o: net.add_reshape("r", i[0], o[0], (5, 6, 2), 0), lambda v: v.reshape(2, 5, 6, 2)
    )
    yield _case(
        "Reshape",
        x,
        lambda net, i, o: net.add_reshape("r", i[0], o[0], (5, 6, 2), 1),
        lambda v: v.transpose(0, 2, 3, 1).reshape(2, 6, 2, 5).transpose(0, 3, 1, 2),
        name="channels last",
    )
    yield _case(
        "Split", (2, 6, 4, 5), lambda net, i, o: net.add_split("s", i[0], o), lambda v: np.split(v, 3, 1), outputs=3
    )
    yield _case(
        "Upsample",
        x,
        lambda net, i, o: net.add_upsample("u", 2, 3, i[0], o[0], "NN"),
        lambda v: v.repeat(2, 2).repeat(3, 3),
    )

    def linear(v: np.ndarray, positions: Callable[[int, int], np.ndarray]) -> np.ndarray:
        for axis, times in ((2, 2), (3, 3)):
            extent = v.shape[axis]
            at = np.clip(positions(extent, extent * times), 0, extent - 1)
            low = np.floor(at).astype(int)
            high, share = np.minimum(low + 1, extent - 1), (at - low).astype("float32")
            share = share[:, None] if axis == 2 else share
            v = v.take(low, axis) * (1 - share) + v.take(high, axis) * share
        return v

    grids = {
        "DEFAULT": lambda x, n: np.minimum(np.linspace(0, x - x / n, n), x - 1),
        "ALIGN_CORNERS_TRUE": lambda x, n: np.linspace(0, x - 1, n),
        "ALIGN_CORNERS_FALSE": lambda x, n: (np.arange(n) + 0.5) * x / n - 0.5,
    }
    for mode, grid in grids.items():
        yield _case(
            "Upsample",
            x,
            lambda net, i, o, mode=mode: net.add_upsample("u", 2, 3, i[0], o[0], "BILINEAR", linear_upsample_mode=mode),
            lambda v, grid=grid: linear(v, grid),
            name=mode,
        )
    axes = {"CHW": (1, 2, 3), "HW": (2, 3), "C": (1,), "H": (2,), "W": (3,)}
    modes: dict[str, Callable[..., Any]] = {
        "sum": lambda v, a: v.sum(a, keepdims=True),
        "avg": lambda v, a: v.mean(a, keepdims=True),
        "prod": lambda v, a: v.prod(a, keepdims=True),
        "logsum": lambda v, a: np.log(v + 1e-3).sum(a, keepdims=True),
        "sumsquare": lambda v, a: (v * v).sum(a, keepdims=True),
        "L1": lambda v, a: np.abs(v).sum(a, keepdims=True),
        "L2": lambda v, a: np.sqrt((v * v).sum(a, keepdims=True)),
        "max": lambda v, a: v.max(a, keepdims=True),
        "min": lambda v, a: v.min(a, keepdims=True),
        "argmax": lambda v, a: v.argmax(a[0], keepdims=True),
    }
    for mode, function in modes.items():
        for axis, numbers in axes.items():
            if mode == "argmax" and len(numbers) > 1:
                continue
            yield _case(
                "Reduce",
                x,
                lambda net, i, o, axis=axis, mode=mode: net.add_reduce("r", i[0], o[0], axis, mode, 1e-3),
                lambda v, numbers=numbers, f=function: f(v, numbers),
                positive=True,
                name=f"{mode} {axis}",
            )


def cases() -> Iterator[Case]:
    """All of them."""
    yield from _images()
    yield from _convolutions()
    yield from _quantized()
    yield from _channels()
    yield from _pools()
    yield from _elementwise()
    yield from _shapes()
