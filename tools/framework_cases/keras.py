"""Layers of Keras, each in a model of its own; see `framework_cases`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from . import Case, Pairs

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
TITLE = "Keras"
ORACLE = "Keras 3.15.1 on tensorflow-cpu 2.21.0; layers that Keras 3 no longer has by NumPy"
OPERATORS = [
    "Dense",
    "Activation",
    "Softmax",
    "ReLU",
    "LeakyReLU",
    "PReLU",
    "ELU",
    "ThresholdedReLU",
    "AveragePooling2D",
    "MaxPooling2D",
    "GlobalAveragePooling2D",
    "GlobalMaxPooling2D",
    "Conv2D",
    "Conv2DTranspose",
    "DepthwiseConv2D",
    "SeparableConv2D",
    "Flatten",
    "Reshape",
    "Concatenate",
    "BatchNormalization",
    "BatchNormalizationV1",
    "Add",
    "Subtract",
    "Multiply",
    "ZeroPadding2D",
    "UpSampling2D",
    "Cropping2D",
    "Conv1D",
    "Conv3D",
    "Conv3DTranspose",
    "MaxPooling3D",
    "AveragePooling3D",
    "GlobalMaxPooling3D",
    "GlobalAveragePooling3D",
    "UpSampling3D",
    "ZeroPadding3D",
    "SimpleRNN",
    "LSTM",
    "GRU",
    "TimeDistributed",
    "Average",
    "Minimum",
    "Maximum",
    "Dot",
    "Permute",
    "Embedding",
    "RepeatVector",
    "Lambda",
    "InputLayer",
    "Dropout",
    "AlphaDropout",
    "SpatialDropout2D",
    "SpatialDropout1D",
    "GaussianDropout",
    "GaussianNoise",
]


def _values(shape: Any, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype("float32")


def _compare(model: Any, inputs: list[np.ndarray], layout: str) -> Pairs:
    from tessera import relay

    for i, weight in enumerate(model.weights):
        value = _values(weight.shape, 100 + i)
        weight.assign(np.abs(value) + 0.1 if "variance" in weight.path else value)
    want = model(inputs if len(inputs) > 1 else inputs[0], training=False)
    mod, params = relay.frontend.from_keras(model, layout=layout)
    out = relay.create_executor("graph", mod).evaluate()(*inputs, **params)
    got = [one.numpy() for one in out] if len(model.outputs) > 1 else [out.numpy()]
    return zip(got, [np.asarray(one) for one in (want if isinstance(want, (list, tuple)) else [want])], strict=True)


def _case(operator: str, shapes: Any, make: Callable[[Any, list[Any]], Any], dtype: str = "float32") -> Case:
    shapes = shapes if isinstance(shapes, list) else [shapes]

    def run() -> Pairs:
        import keras

        inputs = [keras.Input(batch_shape=shape, dtype=dtype) for shape in shapes]
        model = keras.Model(inputs, make(keras.layers, inputs))
        given = [
            _values(shape, i) if dtype == "float32" else np.random.default_rng(i).integers(0, 7, shape).astype(dtype)
            for i, shape in enumerate(shapes)
        ]
        return _compare(model, given, "NDHWC" if len(shapes[0]) == 5 else "NHWC")

    return Case(operator, f"{operator} {shapes}", run)


def _layer(operator: str, shapes: Any, *args: Any, dtype: str = "float32", **config: Any) -> Case:
    def make(layers: Any, inputs: list[Any]) -> Any:
        layer = getattr(layers, operator)(*args, **config)
        return layer(inputs if len(inputs) > 1 else inputs[0])

    return _case(operator, shapes, make, dtype)


def _by_numpy(operator: str, config: dict[str, Any], expected: Callable[[np.ndarray], np.ndarray]) -> Case:
    """A layer that this Keras does not have any more, as an older one writes it."""

    def run() -> Pairs:
        import json

        import tessera
        from tessera import relay

        layers = [
            {"class_name": "InputLayer", "config": {"name": "x", "batch_input_shape": [2, 6]}},
            {"class_name": operator, "config": {"name": "layer", **config}},
        ]
        model = {"class_name": "Sequential", "config": {"name": "model", "layers": layers}, "keras_version": "2.2.4"}
        weights = (
            {"layer": [tessera.nd.array(np.abs(_values((6,), i)) + 0.5) for i in range(4)]}
            if "Batch" in operator
            else {}
        )
        mod, params = tessera.get_global_func("frontend.keras.import_config")(json.dumps(model), weights, "NHWC", {})
        x = _values((2, 6), 0)
        return [(relay.create_executor("graph", mod).evaluate()(x, **params).numpy(), expected(x))]

    return Case(operator, operator, run)


def _norm_by_hand(x: np.ndarray) -> np.ndarray:
    gamma, beta, mean, variance = (np.abs(_values((6,), i)) + 0.5 for i in range(4))
    return ((x - mean) / np.sqrt(variance + 1e-3) * gamma + beta).astype("float32")


def _nchw() -> Pairs:
    """The whole with channels second: inputs, outputs and what lies between."""
    import keras
    from tessera import relay

    layers = keras.layers
    data = keras.Input(batch_shape=(1, 8, 9, 3))
    x = layers.Conv2D(4, 3, padding="same", activation="relu")(data)
    y = layers.Concatenate()([x, layers.BatchNormalization()(x)])
    model = keras.Model(data, [y, layers.Flatten()(layers.MaxPooling2D()(y))])
    value = _values((1, 8, 9, 3), 0)
    want = [np.asarray(one) for one in model(value)]
    mod, params = relay.frontend.from_keras(model, {model.layers[0].name: (1, 3, 8, 9)})
    got = relay.create_executor("graph", mod).evaluate()(value.transpose(0, 3, 1, 2), **params)
    return [(got[0].numpy(), want[0].transpose(0, 3, 1, 2)), (got[1].numpy(), want[1])]


def _both_ways(mode: str | None, layers: Any, inputs: list[Any]) -> Any:
    return layers.Bidirectional(layers.LSTM(3, return_sequences=True), merge_mode=mode)(inputs[0])


def _recurrent() -> Iterator[Case]:
    for name in ("SimpleRNN", "LSTM", "GRU"):
        yield _layer(name, (2, 5, 4), 3)
        yield _layer(name, (2, 5, 4), 3, return_sequences=True, use_bias=False)
        yield _layer(name, (2, 5, 4), 3, go_backwards=True, return_sequences=True)
        yield _layer(name, (2, 5, 4), 3, return_sequences=True, return_state=True)
        yield _layer(name, (2, 5, 4), 3, activation="relu" if name != "LSTM" else "softsign")
    yield _layer("LSTM", (2, 5, 4), 3, recurrent_activation="hard_sigmoid")
    yield _layer("GRU", (2, 5, 4), 3, reset_after=False)
    for mode in ("concat", "sum", "mul", "ave", None):
        yield _case("LSTM", (2, 5, 4), partial(_both_ways, mode))
    yield _case("GRU", (2, 5, 4), lambda L, i: L.Bidirectional(L.GRU(3))(i[0]))
    yield _case("LSTM", [(2, 5, 4), (2, 3), (2, 3)], lambda L, i: L.LSTM(3)(i[0], initial_state=[i[1], i[2]]))


def cases() -> Iterator[Case]:
    """All of them."""
    yield _layer("Dense", (2, 5), 3, activation="tanh")
    yield _layer("Dense", (2, 4, 5), 3, use_bias=False)
    for name in [
        "softmax",
        "linear",
        "sigmoid",
        "tanh",
        "relu",
        "softplus",
        "elu",
        "selu",
        "relu6",
        "softsign",
        "hard_sigmoid",
        "gelu",
        "silu",
        "mish",
        "exponential",
        "hard_silu",
        "leaky_relu",
        "log_softmax",
    ]:
        yield _layer("Activation", (2, 3, 5), name)
    yield _layer("Softmax", (2, 3, 5), axis=1)
    yield _layer("ReLU", (2, 3, 5), max_value=0.5, negative_slope=0.1, threshold=0.2)
    yield _layer("LeakyReLU", (2, 3, 5), negative_slope=0.2)
    yield _layer("PReLU", (2, 3, 4, 5), shared_axes=[1, 2])
    yield _layer("PReLU", (2, 5))
    yield _layer("ELU", (2, 3, 5), alpha=0.7)
    yield _by_numpy("ThresholdedReLU", {"theta": 0.3}, lambda x: np.where(x > 0.3, x, 0).astype("float32"))
    yield _by_numpy("BatchNormalizationV1", {"axis": [1]}, _norm_by_hand)
    for name in ("AveragePooling2D", "MaxPooling2D"):
        for padding in ("valid", "same"):
            yield _layer(name, (1, 9, 8, 3), (3, 2), strides=2, padding=padding)
    yield _layer("MaxPooling2D", (1, 9, 8, 3))
    for name in ("GlobalAveragePooling2D", "GlobalMaxPooling2D"):
        yield _layer(name, (2, 4, 5, 3))
        yield _layer(name, (2, 4, 5, 3), keepdims=True)
    for padding in ("valid", "same"):
        yield _layer("Conv2D", (1, 9, 8, 4), 6, (3, 2), strides=2, padding=padding, activation="relu")
        yield _layer("Conv2D", (1, 9, 8, 4), 6, 3, dilation_rate=2, padding=padding, groups=2)
        yield _layer("Conv2DTranspose", (1, 5, 4, 3), 2, (3, 2), strides=(2, 3), padding=padding)
        yield _layer("Conv2DTranspose", (1, 5, 4, 3), 2, 4, strides=1, padding=padding)
        yield _layer("Conv2DTranspose", (1, 5, 4, 3), 2, 3, strides=2, padding=padding, output_padding=1)
        yield _layer("DepthwiseConv2D", (1, 9, 8, 3), 3, strides=2, depth_multiplier=2, padding=padding)
        yield _layer("SeparableConv2D", (1, 9, 8, 3), 5, 3, depth_multiplier=2, padding=padding)
        yield _layer("Conv1D", (1, 9, 3), 4, 3, strides=2, padding=padding)
        yield _layer("Conv3D", (1, 5, 6, 7, 2), 3, (2, 3, 3), strides=2, padding=padding)
        yield _layer("Conv3DTranspose", (1, 3, 4, 3, 2), 3, (2, 3, 3), strides=2, padding=padding)
        yield _layer("MaxPooling3D", (1, 5, 6, 7, 2), 2, padding=padding)
        yield _layer("AveragePooling3D", (1, 5, 6, 7, 2), (2, 3, 2), strides=2, padding=padding)
    yield _layer("Conv1D", (1, 9, 3), 4, 3, dilation_rate=2, padding="causal")
    yield Case("Conv2D", "channels second", _nchw)
    yield _layer("Flatten", (2, 3, 4, 5))
    yield _layer("Reshape", (2, 3, 4), (2, -1))
    yield _layer("Concatenate", [(2, 3, 4), (2, 3, 5)])
    yield _layer("Concatenate", [(2, 3, 4), (2, 1, 4)], axis=1)
    yield _layer("BatchNormalization", (2, 3, 4, 5))
    yield _layer("BatchNormalization", (2, 3, 4), axis=1, scale=False, center=False)
    for name in ("Add", "Multiply", "Average", "Minimum", "Maximum"):
        yield _layer(name, [(2, 3, 4)] * 3)
    yield _layer("Subtract", [(2, 3, 4)] * 2)
    yield _layer("Add", [(2, 3, 4), (2, 1, 4)])
    yield _layer("ZeroPadding2D", (1, 3, 4, 2), ((1, 2), (0, 3)))
    yield _layer("ZeroPadding2D", (1, 3, 4, 2), 2)
    yield _layer("ZeroPadding3D", (1, 3, 4, 2, 2), ((1, 2), (0, 3), (1, 1)))
    yield _layer("Cropping2D", (1, 7, 8, 2), ((1, 2), (0, 3)))
    for method in ("nearest", "bilinear", "bicubic"):
        case = _layer("UpSampling2D", (1, 3, 4, 2), (2, 3), interpolation=method)
        yield case if method != "bicubic" else replace(case, tolerance=2e-3)  # TensorFlow's cubic is a table of 1024
    yield _layer("UpSampling3D", (1, 2, 3, 4, 2), (2, 1, 3))
    for name in ("GlobalMaxPooling3D", "GlobalAveragePooling3D"):
        yield _layer(name, (2, 3, 4, 5, 3))
    yield from _recurrent()
    yield _case("TimeDistributed", (2, 3, 6, 6, 2), lambda L, i: L.TimeDistributed(L.Conv2D(3, 3))(i[0]))
    yield _case("TimeDistributed", (2, 3, 6), lambda L, i: L.TimeDistributed(L.Dense(3))(i[0]))
    yield _layer("Dot", [(2, 3, 4), (2, 5, 4)], axes=2)
    yield _layer("Dot", [(2, 3, 4), (2, 3, 5)], axes=1, normalize=True)
    yield _layer("Dot", [(2, 4), (2, 4)], axes=1)
    yield _layer("Dot", [(2, 3, 4), (2, 4)], axes=(2, 1))
    yield _layer("Permute", (2, 3, 4, 5), (3, 1, 2))
    yield _layer("Embedding", (2, 5), 7, 3, dtype="int32")
    yield _layer("RepeatVector", (2, 5), 3)
    yield _case("InputLayer", (2, 5), lambda L, i: L.Dense(3)(i[0]))
    for name in ("Dropout", "AlphaDropout", "GaussianDropout", "GaussianNoise"):
        yield _layer(name, (2, 5), 0.5)
    yield _layer("SpatialDropout1D", (2, 3, 5), 0.5)
    yield _layer("SpatialDropout2D", (2, 3, 4, 5), 0.5)
