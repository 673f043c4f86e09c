"""Cases of PaddlePaddle: layers, windows, norms, recurrence, and what makes tensors of nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from . import Case, Pairs
from ._paddle_program import Program, case, ints, pairs_of, tensor


def _convolutions() -> Iterator[Case]:
    x = tensor(2, 4, 7, 8)
    usual: dict[str, Any] = {"strides": [1, 1], "paddings": [0, 0], "dilations": [1, 1], "groups": 1}
    usual |= {"padding_algorithm": "EXPLICIT", "data_format": "NCHW"}

    def convolution(operator: str, filters: np.ndarray, data: np.ndarray = x, **changed: Any) -> Case:
        return case(operator, {"Input": data}, "Output", {"Filter": filters}, **{**usual, **changed})

    filters = tensor(6, 4, 3, 3, seed=5)
    yield convolution("conv2d", filters)
    yield convolution("conv2d", filters, strides=[2, 1], paddings=[1, 2])
    yield convolution("conv2d", filters, paddings=[1, 0, 2, 1], dilations=[2, 1])
    yield convolution("conv2d", tensor(6, 2, 3, 3), groups=2)
    yield convolution("conv2d", filters, padding_algorithm="SAME", strides=[2, 2])
    yield convolution("conv2d", filters, padding_algorithm="VALID", paddings=[1, 1])
    yield convolution("conv2d", filters, x.transpose(0, 2, 3, 1), data_format="NHWC", paddings=[1, 1])
    yield convolution("depthwise_conv2d", tensor(4, 1, 3, 3), groups=4, paddings=[1, 1])
    yield convolution("depthwise_conv2d", tensor(8, 1, 3, 3), groups=4, strides=[2, 2])
    back: dict[str, Any] = {"output_padding": [], "output_size": []}
    yield convolution("conv2d_transpose", tensor(4, 5, 3, 3), **back)
    yield convolution("conv2d_transpose", tensor(4, 5, 3, 3), strides=[2, 2], paddings=[1, 1], **back)
    yield convolution("conv2d_transpose", tensor(4, 5, 3, 3), strides=[2, 2], output_padding=[1, 1], output_size=[])
    yield convolution("conv2d_transpose", tensor(4, 3, 3, 3), groups=2, dilations=[2, 2], **back)
    yield convolution("conv2d_transpose", tensor(4, 5, 3, 3), strides=[2, 2], output_padding=[], output_size=[16, 18])
    yield convolution("conv2d_transpose", tensor(4, 5, 3, 3), strides=[2, 2], padding_algorithm="SAME", **back)


def _pools() -> Iterator[Case]:
    x = tensor(2, 3, 7, 8)
    usual: dict[str, Any] = {
        "ksize": [2, 3],
        "strides": [2, 2],
        "paddings": [0, 0],
        "padding_algorithm": "EXPLICIT",
        "data_format": "NCHW",
    }
    usual |= {"global_pooling": False, "adaptive": False, "ceil_mode": False, "exclusive": True}
    for kind in ("max", "avg"):
        for changed in (
            {},
            {"paddings": [1, 1], "ksize": [3, 3]},
            {"paddings": [1, 1], "ksize": [3, 3], "exclusive": False},
            {"paddings": [0, 1, 1, 0], "ksize": [3, 3]},
            {"ceil_mode": True},
            {"ceil_mode": True, "paddings": [1, 1], "ksize": [3, 3], "exclusive": False},
            {"global_pooling": True},
            {"padding_algorithm": "SAME"},
            {"padding_algorithm": "VALID"},
        ):
            yield case("pool2d", {"X": x}, pooling_type=kind, **{**usual, **changed})
        for size in ([1, 1], [3, 5]):
            if kind == "avg":  # windows of other sizes are no pool2d where the largest is taken
                yield case("pool2d", {"X": x}, pooling_type=kind, **{**usual, "adaptive": True, "ksize": size})
        last = x.transpose(0, 2, 3, 1)
        yield case("pool2d", {"X": last}, pooling_type=kind, **{**usual, "data_format": "NHWC"})


def _norms() -> Iterator[Case]:
    x = tensor(2, 4, 5, 6)
    held = {"Scale": tensor(4, low=0.5), "Bias": tensor(4, seed=1), "Mean": tensor(4, seed=2)}
    held["Variance"] = tensor(4, low=0.5, high=2)
    made: dict[str, int | str] = {
        "Y": 1,
        "MeanOut": "Mean",
        "VarianceOut": "Variance",
        "SavedMean": -1,
        "SavedVariance": -1,
    }
    for layout, data in (("NCHW", x), ("NHWC", x.transpose(0, 2, 3, 1))):
        yield case("batch_norm", {"X": data}, made, held, is_test=True, epsilon=1e-4, data_layout=layout)
    yield case("batch_norm", {"X": x[:, :, 0, 0]}, made, held, is_test=True, epsilon=1e-5, data_layout="NCHW")
    pair = {"Scale": held["Scale"], "Bias": held["Bias"]}
    group = {"Y": 1, "Mean": -1, "Variance": -1}
    yield case("group_norm", {"X": x}, group, pair, groups=2, epsilon=1e-5, data_layout="NCHW")
    yield case("group_norm", {"X": x}, group, groups=4, epsilon=1e-3, data_layout="NCHW")
    yield case("group_norm", {"X": x.transpose(0, 2, 3, 1)}, group, pair, groups=2, epsilon=1e-5, data_layout="NHWC")
    yield case("instance_norm", {"X": x}, {"Y": 1, "SavedMean": -1, "SavedVariance": -1}, pair, epsilon=1e-5)
    yield case("instance_norm", {"X": x}, {"Y": 1, "SavedMean": -1, "SavedVariance": -1}, epsilon=1e-3)
    layer = {"Scale": tensor(30, low=0.5), "Bias": tensor(30, seed=1)}
    yield case("layer_norm", {"X": x}, group, layer, begin_norm_axis=2, epsilon=1e-5)
    one = {"Scale": tensor(6, low=0.5), "Bias": tensor(6, seed=1)}
    yield case("layer_norm", {"X": x}, group, one, begin_norm_axis=3, epsilon=1e-3)
    yield case("layer_norm", {"X": x}, group, begin_norm_axis=1, epsilon=1e-3)


def _images() -> Iterator[Case]:
    x = tensor(1, 3, 5, 6)
    for mode, name in (("nearest", "nearest"), ("bilinear", "bilinear"), ("bicubic", "bicubic")):
        usual: dict[str, Any] = {"interp_method": mode, "data_layout": "NCHW", "out_d": -1, "scale": []}
        op = f"{name}_interp_v2"
        for corners, align in ((False, 1), (True, 1), (False, 0)):
            if mode == "nearest" and corners:
                continue
            for size in ((8, 9), (3, 4)):
                flags: dict[str, Any] = {
                    "align_corners": corners,
                    "align_mode": align,
                    "out_h": size[0],
                    "out_w": size[1],
                }
                yield case(op, {"X": x}, **{**usual, **flags})
        flags = {"align_corners": False, "align_mode": 0, "out_h": -1, "out_w": -1, "scale": [2.0, 1.5]}
        yield case(op, {"X": x}, **{**usual, **flags})
        flags = {"align_corners": False, "align_mode": 1, "out_h": 0, "out_w": 0}
        yield case(op, {"X": x}, constants={"OutSize": np.array([7, 8], "int32")}, **{**usual, **flags})
        flags = {"align_corners": False, "align_mode": 1, "out_h": 8, "out_w": 9, "data_layout": "NHWC"}
        yield case(op, {"X": x.transpose(0, 2, 3, 1)}, **{**usual, **flags})
    yield case("pixel_shuffle", {"X": tensor(1, 8, 3, 4)}, upscale_factor=2, data_format="NCHW")
    yield case("pixel_shuffle", {"X": tensor(1, 3, 4, 8)}, upscale_factor=2, data_format="NHWC")
    volume = tensor(1, 2, 4, 5, 6)
    for mode in ("constant", "reflect", "replicate", "circular"):
        for layout, data in (("NCDHW", volume), ("NDHWC", volume.transpose(0, 2, 3, 4, 1))):
            yield case("pad3d", {"X": data}, paddings=[1, 2, 0, 1, 2, 1], mode=mode, value=0.5, data_format=layout)


def _recurrent() -> Iterator[Case]:
    steps, batch, size, hidden = 5, 2, 3, 4
    x = tensor(steps, batch, size)
    for mode, gates, states in (("LSTM", 4, 2), ("GRU", 3, 1), ("RNN_TANH", 1, 1), ("RNN_RELU", 1, 1)):
        for layers, both in ((1, False), (2, False), (1, True), (2, True)):
            ways = 2 if both else 1
            first = [tensor(layers * ways, batch, hidden, seed=9 + i) for i in range(states)]
            weights, biases = [], []
            for layer in range(layers):
                for way in range(ways):
                    own = size if layer == 0 else hidden * ways
                    seed = 10 * layer + way
                    weights += [tensor(gates * hidden, own, seed=seed), tensor(gates * hidden, hidden, seed=seed + 1)]
                    biases += [tensor(gates * hidden, seed=seed + 2), tensor(gates * hidden, seed=seed + 3)]
            yield case(
                "rnn",
                {"Input": x, "PreState": first},
                {"Out": 1, "State": states, "Reserve": -1, "DropoutState": -1},
                {"WeightList": weights + biases},
                name=f"{mode} of {layers} layers, {ways} directions",
                mode=mode,
                input_size=size,
                hidden_size=hidden,
                num_layers=layers,
                is_bidirec=both,
                is_test=True,
                dropout_prob=0.0,
                seed=0,
            )


def _new() -> Iterator[Case]:
    constant = {"str_value": "", "force_cpu": False}

    def made(operator: str, **attributes: Any) -> Case:
        """What has no inputs is added to one, so that the program has one."""

        def run() -> Pairs:
            import paddle

            program = Program("assign", {"X": tensor(2, 3)}, {"Out": 1}, {}, {})
            with paddle.static.program_guard(program.program):
                block = program.program.global_block()
                program.made.append(block.create_var(dtype="float32"))
                block.append_op(type=operator, outputs={"Out": [program.made[-1]]}, attrs=attributes)
            return pairs_of(program)

        return Case(operator, f"{operator} {attributes}", run)

    yield made("fill_constant", shape=[2, 3], value=1.5, dtype=5, **constant)
    yield made("fill_constant", shape=[], value=7.0, dtype=3, **constant)
    yield made("fill_constant", shape=[2], value=0.0, dtype=3, str_value="9007199254740993", force_cpu=False)
    yield made("assign_value", shape=[2, 2], dtype=5, values=[1.5, -2.0, 0.0, 4.0])
    yield made("assign_value", shape=[3], dtype=3, values=[1, -2, 1 << 40])
    yield made("assign_value", shape=[3], dtype=0, values=[True, False, True])
    number = lambda value, dtype: np.array([value], dtype)  # noqa: E731
    for start, end, step, dtype in ((0, 7, 2, "int64"), (5, -1, -2, "int32"), (0.5, 3, 0.5, "float32")):
        held = {"Start": number(start, dtype), "End": number(end, dtype), "Step": number(step, dtype)}
        yield case("range", held, name=f"range of inputs {start} {end} {step}")
    yield Case("feed", "an input", _fed)


def _fed() -> Pairs:
    return pairs_of(Program("assign", {"X": ints(2, 3)}, {"Out": 1}, {}, {}))


def layers() -> Iterator[Case]:
    """All of these cases."""
    yield from _convolutions()
    yield from _pools()
    yield from _norms()
    yield from _images()
    yield from _recurrent()
    yield from _new()
