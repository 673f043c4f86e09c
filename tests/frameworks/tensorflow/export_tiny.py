#!/usr/bin/env python
"""Writes the small files of tests/frameworks/tiny_tensorflow, with inputs and TensorFlow's answers beside them.

    .venv-tensorflow/bin/python tests/frameworks/tensorflow/export_tiny.py

Each model NAME is a file NAME.tflite or NAME.pb or a folder NAME.saved_model, and NAME.npz with `in.NAME` and `out.I`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf
from tensorflow.lite.python import schema_py_generated as schema
from tensorflow.lite.tools import flatbuffer_utils
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

FOLDER = Path(__file__).resolve().parents[1] / "tiny_tensorflow"


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype("float32")


def network() -> tf.keras.Model:
    tf.keras.utils.set_random_seed(0)
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [
            layers.Input((8, 8, 3)),
            layers.Conv2D(8, 3, padding="same", activation="relu"),
            layers.DepthwiseConv2D(3, strides=2, padding="same"),
            layers.AveragePooling2D(2),
            layers.Flatten(),
            layers.Dense(5, activation="softmax"),
        ]
    )


def save_tflite(name: str, content: bytes) -> None:
    (FOLDER / f"{name}.tflite").write_bytes(content)
    interpreter = tf.lite.Interpreter(model_content=content)
    interpreter.allocate_tensors()
    arrays = {}
    for i, info in enumerate(interpreter.get_input_details()):
        value = numbers(*info["shape"], seed=i)
        if info["dtype"] != np.float32:
            value = np.round(value * 100).astype(info["dtype"]) if info["shape"].size else info["dtype"](4)
        interpreter.set_tensor(info["index"], value)
        arrays[f"in.{info['name']}"] = value
    interpreter.invoke()
    for i, info in enumerate(interpreter.get_output_details()):
        arrays[f"out.{i}"] = interpreter.get_tensor(info["index"])
    np.savez(FOLDER / f"{name}.npz", **arrays)


def lite_models() -> None:
    def representative() -> object:
        for i in range(8):
            yield [numbers(1, 8, 8, 3, seed=i)]

    def convert(change: Callable[[tf.lite.TFLiteConverter], None] = lambda converter: None) -> bytes:
        converter = tf.lite.TFLiteConverter.from_keras_model(network())
        change(converter)
        return converter.convert()

    def integers(converter: tf.lite.TFLiteConverter) -> None:
        converter.optimizations, converter.representative_dataset = [tf.lite.Optimize.DEFAULT], representative
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = tf.int8

    def halves(converter: tf.lite.TFLiteConverter) -> None:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.target_spec.supported_types = [tf.float16]

    save_tflite("network_float", convert())
    save_tflite("network_int8", convert(integers))
    save_tflite("network_float16", convert(halves))

    @tf.function(input_signature=[tf.TensorSpec((3, 4), tf.float32), tf.TensorSpec((), tf.int32)])
    def loop(x: tf.Tensor, n: tf.Tensor) -> tf.Tensor:
        for i in tf.range(n):
            x = x * 1.5 + tf.cast(i, tf.float32)
        return x * 2.0 if tf.reduce_sum(x) > 3.0 else x - 1.0

    save_tflite("loop", tf.lite.TFLiteConverter.from_concrete_functions([loop.get_concrete_function()]).convert())
    tf.keras.utils.set_random_seed(0)
    layers = tf.keras.layers
    recurrent = tf.keras.Sequential([layers.Input((5, 3), batch_size=1), layers.LSTM(4), layers.Dense(2)])
    save_tflite("lstm", tf.lite.TFLiteConverter.from_keras_model(recurrent).convert())


def sums() -> None:
    """Sums and means of integers of 8 bits, each tensor with a scale and zero point of its own, as no converter has to write them."""
    codes = {name: getattr(schema.BuiltinOperator, name) for name in ("ADD", "SUB", "MEAN", "SUM")}
    model, graph = schema.ModelT(), schema.SubGraphT()
    model.version, model.subgraphs, model.buffers, model.operatorCodes = 3, [graph], [schema.BufferT()], []
    graph.tensors, graph.operators = [], []
    for code in codes.values():
        one = schema.OperatorCodeT()
        one.deprecatedBuiltinCode = one.builtinCode = code
        one.version = 2
        model.operatorCodes.append(one)

    def tensor(name: str, shape: tuple[int, ...], scale: float, zero: int) -> int:
        one = schema.TensorT()
        one.name, one.shape, one.type = name, list(shape), schema.TensorType.INT8
        one.quantization = schema.QuantizationParametersT()
        one.quantization.scale, one.quantization.zeroPoint = [scale], [zero]
        graph.tensors.append(one)
        return len(graph.tensors) - 1

    def call(name: str, inputs: list[int], output: int, options: object) -> int:
        one = schema.OperatorT()
        one.opcodeIndex, one.inputs, one.outputs = list(codes).index(name), inputs, [output]
        one.builtinOptions = options
        one.builtinOptionsType = getattr(schema.BuiltinOptions, type(options).__name__[:-1])
        graph.operators.append(one)
        return output

    shape, mean, total = (1, 4, 24, 32), schema.ReducerOptionsT(), schema.ReducerOptionsT()
    mean.keepDims = True
    a, b = tensor("a", shape, 0.037, 5), tensor("b", shape, 0.021, -9)
    axis = tensor("axis", (1,), 1, 0)
    graph.tensors[axis].type, graph.tensors[axis].quantization = schema.TensorType.INT32, None
    graph.tensors[axis].buffer = 1
    model.buffers.append(schema.BufferT())
    model.buffers[1].data = np.int32([1]).view("uint8")
    graph.inputs = [a, b]
    graph.outputs = [
        call("ADD", [a, b], tensor("sum", shape, 0.049, 3), schema.AddOptionsT()),
        call("SUB", [a, b], tensor("difference", shape, 0.045, -4), schema.SubOptionsT()),
        call("MEAN", [a, axis], tensor("halves", (1, 1, 24, 32), 0.037, 5), mean),
        call("MEAN", [b, axis], tensor("mean", (1, 1, 24, 32), 0.013, 11), mean),
        call("SUM", [b, axis], tensor("total", (1, 24, 32), 0.05, -20), total),
    ]
    save_tflite("sums_int8", bytes(flatbuffer_utils.convert_object_to_bytearray(model)))


class Recurrent(tf.Module):
    """A loop with a tensor list, over as many steps as the data has."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(numbers(4, 4, seed=1), name="w")

    @tf.function(input_signature=[tf.TensorSpec((None, 3, 4), tf.float32)])
    def call(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        count = tf.shape(x)[0]
        steps, state = tf.TensorArray(tf.float32, size=count), tf.zeros((3, 4))
        for i in tf.range(count):
            state = tf.tanh(tf.matmul(state, self.w) + x[i])
            steps = steps.write(i, state)
        return {"all": steps.stack(), "last": state}


def graphs() -> None:
    model, x = Recurrent(), numbers(6, 3, 4)
    folder = FOLDER / "recurrent.saved_model"
    shutil.rmtree(folder, ignore_errors=True)
    tf.saved_model.save(model, folder, signatures={"serving_default": model.call})
    (folder / "fingerprint.pb").unlink(missing_ok=True)
    out = model.call(x)
    np.savez(FOLDER / "recurrent.npz", **{"in.x": x, "out.0": out["all"], "out.1": out["last"]})

    net, image = network(), numbers(1, 8, 8, 3)
    function = tf.function(lambda x: net(x)).get_concrete_function(tf.TensorSpec((None, 8, 8, 3), tf.float32, name="x"))
    frozen = convert_variables_to_constants_v2(function).graph.as_graph_def()
    (FOLDER / "network.pb").write_bytes(frozen.SerializeToString())
    np.savez(FOLDER / "network.npz", **{"in.x": image, "out.0": net(image)})

    v1 = tf.compat.v1
    v1.disable_control_flow_v2()
    with v1.Graph().as_default() as graph:
        a, n = v1.placeholder(tf.float32, (3, 4), name="a"), v1.placeholder(tf.int32, (), name="n")
        _, y = v1.while_loop(
            lambda i, y: i < n, lambda i, y: (i + 1, y * 1.5 + tf.cast(i, tf.float32)), [tf.constant(0), a]
        )
        chosen = v1.cond(tf.reduce_sum(y) > 10.0, lambda: y * 2.0, lambda: y - 1.0)
        out = tf.identity(chosen, name="out")
        feeds = {"a": numbers(3, 4), "n": np.int32(5)}
        with v1.Session() as session:
            want = session.run(out, {a: feeds["a"], n: feeds["n"]})
        (FOLDER / "frames.pb").write_bytes(graph.as_graph_def().SerializeToString())
        np.savez(FOLDER / "frames.npz", **{f"in.{name}": value for name, value in feeds.items()}, **{"out.0": want})


def operators() -> None:
    """Operators whose conversion has more than a line, in one graph."""
    v1, raw = tf.compat.v1, tf.raw_ops
    feeds = {
        "volume": numbers(1, 3, 3, 4, 3),
        "whole": np.int32([[-3, 2, 5], [7, 0, -1]]),
        "boxes": np.sort(numbers(1, 9, 3, 2, 2, seed=1), axis=3).reshape(1, 9, 3, 4),
        "scores": np.abs(numbers(1, 9, 3, seed=2)),
    }
    with v1.Graph().as_default() as graph:
        volume, whole, boxes, scores = (v1.placeholder(x.dtype, x.shape, name=name) for name, x in feeds.items())
        up = raw.Conv3DBackpropInputV2(
            input_sizes=[1, 5, 6, 7, 2], filter=numbers(3, 3, 3, 2, 3), out_backprop=volume, strides=[1, 2, 2, 2, 1],
            padding="SAME",
        )  # fmt: skip
        kept = raw.CombinedNonMaxSuppression(
            boxes=boxes, scores=scores, max_output_size_per_class=3, max_total_size=6, iou_threshold=0.3, score_threshold=0.1
        )  # fmt: skip
        entries = np.int64([[0, 1], [2, 0], [2, 3]])
        filled = raw.SparseFillEmptyRows(
            indices=entries, values=[1.0, 2.0, 3.0], dense_shape=[4, 5], default_value=-1.0
        )
        powers = raw.Pow(x=whole, y=[[3], [2]])
        results = [up, kept.nmsed_boxes, kept.nmsed_classes, powers, filled.reverse_index_map]
        results = [tf.identity(one, name=f"out{i}") for i, one in enumerate(results)]
        with v1.Session() as session:
            want = session.run(results, {f"{name}:0": value for name, value in feeds.items()})
        (FOLDER / "operators.pb").write_bytes(graph.as_graph_def().SerializeToString())
        inputs = {f"in.{name}": value for name, value in feeds.items()}
        np.savez(FOLDER / "operators.npz", **inputs, **{f"out.{i}": value for i, value in enumerate(want)})


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    lite_models()
    sums()
    graphs()
    operators()
    print("\n".join(f"{path.stat().st_size:8} {path.name}" for path in sorted(FOLDER.iterdir())))
