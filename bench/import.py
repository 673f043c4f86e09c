#!/usr/bin/env python
"""Seconds from a model of each format to Relay, least of three: two models, the formats whose framework is installed here.

    .venv-NAME/bin/python bench/import.py [--only FORMAT ...]

`onnx` is a file and `onnx object` what `onnx.load` gives; `traced` and `exported` are PyTorch's, `pt2` a file of torch.export;
`keras`, `h5`, `saved_model`, `graph` (a frozen GraphDef) and `tflite` are files that Keras and TensorFlow write, `mxnet` and `paddle` those of
theirs. Where a framework has no BERT, an encoder of its sizes is built of its layers. Weights are random, nothing is downloaded.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / "tests" / "frameworks")]

Import = Callable[[], Any]


def is_installed(module: str) -> bool:
    spec = importlib.util.find_spec(module)
    return spec is not None and spec.origin is not None  # a folder of this name alone has no origin


def of_pytorch(folder: Path) -> Iterator[tuple[str, str, Import]]:
    import export
    import torch
    from tessera import relay

    for name in ("resnet50", "bert_base"):
        torch.manual_seed(export.SEED)
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            example = export.MODELS[name]()
            inputs = tuple(example.inputs.values())
            infos = [(key, (tuple(x.shape), str(x.dtype).removeprefix("torch."))) for key, x in example.inputs.items()]
            traced = torch.jit.trace(example.module, inputs, strict=False, check_trace=False)
            exported = torch.export.export(example.module, inputs, strict=False)
            torch.export.save(exported, folder / f"{name}.pt2")
            if is_installed("onnx"):
                export.write(name, example, folder / f"{name}.onnx", dynamo=False)
        yield name, "traced", lambda traced=traced, infos=infos: relay.frontend.from_pytorch(traced, infos)
        yield name, "exported", lambda exported=exported, infos=infos: relay.frontend.from_pytorch(exported, infos)
        yield name, "pt2", lambda name=name: loaded(folder / f"{name}.pt2")
        if is_installed("onnx"):
            import onnx

            model = onnx.load(folder / f"{name}.onnx")
            yield name, "onnx", lambda name=name: relay.frontend.from_onnx(os.fspath(folder / f"{name}.onnx"))
            yield name, "onnx object", lambda model=model: relay.frontend.from_onnx(model)


def encoder_in_keras() -> Any:
    """Twelve layers of BERT's base size over 128 words."""
    import keras
    from keras import layers

    words = keras.Input((128,), batch_size=1, dtype="int32")
    x = layers.LayerNormalization()(layers.Embedding(30522, 768)(words))
    for _ in range(12):
        x = layers.LayerNormalization()(layers.Add()([x, layers.MultiHeadAttention(12, 64)(x, x)]))
        wide = layers.Dense(768)(layers.Dense(3072, activation="gelu")(x))
        x = layers.LayerNormalization()(layers.Add()([x, wide]))
    return keras.Model(words, x)


def of_keras(folder: Path) -> Iterator[tuple[str, str, Import]]:
    import keras
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
    from tessera import relay

    for name, model in (("resnet50", keras.applications.ResNet50(weights=None)), ("bert_base", encoder_in_keras())):
        for end in ("keras", "h5"):
            model.save(folder / f"{name}.{end}")
            path = folder / f"{name}.{end}"
            yield name, end, lambda path=path: relay.frontend.from_keras(path, layout="NHWC")
        model.export(folder / name, verbose=False)
        yield name, "saved_model", lambda name=name: loaded(folder / name)
        dtype = tf.int32 if name == "bert_base" else tf.float32
        spec = tf.TensorSpec((1, *model.inputs[0].shape[1:]), dtype, name="x")
        concrete = tf.function(model, input_signature=[spec]).get_concrete_function()
        frozen = convert_variables_to_constants_v2(concrete)
        (folder / f"{name}.pb").write_bytes(frozen.graph.as_graph_def().SerializeToString())
        yield name, "graph", lambda name=name: loaded(folder / f"{name}.pb")
        content = tf.lite.TFLiteConverter.from_concrete_functions([concrete]).convert()
        yield name, "tflite", lambda content=content: relay.frontend.from_tflite(content)


def of_mxnet(folder: Path) -> Iterator[tuple[str, str, Import]]:
    import mxnet as mx

    net = mx.gluon.model_zoo.vision.resnet50_v1(pretrained=False)
    net.initialize()
    net.hybridize()
    net(mx.nd.zeros((1, 3, 224, 224)))
    net.export(os.fspath(folder / "resnet50"))
    file = folder / "resnet50-symbol.json"
    from tessera import relay

    yield "resnet50", "mxnet", lambda: relay.frontend.from_mxnet(os.fspath(file), {"data": (1, 3, 224, 224)})


def of_paddle(folder: Path) -> Iterator[tuple[str, str, Import]]:
    import paddle
    from tessera import relay

    layer = paddle.nn.TransformerEncoderLayer(768, 12, 3072, activation="gelu")
    models = {
        "resnet50": (paddle.vision.models.resnet50(pretrained=False), [1, 3, 224, 224], "float32"),
        "bert_base": (
            paddle.nn.Sequential(paddle.nn.Embedding(30522, 768), paddle.nn.TransformerEncoder(layer, 12)),
            [1, 128],
            "int64",
        ),
    }
    for name, (model, shape, dtype) in models.items():
        model.eval()
        paddle.jit.save(model, os.fspath(folder / name), input_spec=[paddle.static.InputSpec(shape, dtype, "x")])
        yield name, "paddle", lambda name=name: relay.frontend.from_paddle(os.fspath(folder / f"{name}.json"))


def loaded(path: Path) -> Any:
    from tessera.driver import tvmc

    return tvmc.load(os.fspath(path))


def least(run: Import, repeats: int = 3) -> float:
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description="How long importers take.")
    parser.add_argument("--only", nargs="*", help="these formats")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for module, rows in (
            ("torch", of_pytorch),
            ("keras", of_keras),
            ("mxnet", of_mxnet),
            ("paddle", of_paddle),
        ):
            if not is_installed(module) or (module == "torch" and not is_installed("torchvision")):
                print(f"{module} is not installed: its formats are left out")
                continue
            for name, form, run in rows(Path(folder)):
                if not args.only or form in args.only:
                    print(f"{name:12} {form:12} {least(run):6.2f} s", flush=True)


if __name__ == "__main__":
    main()
