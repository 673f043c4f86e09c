#!/usr/bin/env python
"""Seconds from a model of each format to Relay, least of three: two models, the formats whose framework is installed here.

    .venv-NAME/bin/python bench/import.py [--only FORMAT ...]

`onnx` is a file and `onnx object` what `onnx.load` gives; `traced` and `exported` are PyTorch's, `pt2` a file of torch.export;
`keras`, `saved_model` and `tflite` are files that Keras and TensorFlow write. Weights are random, nothing is downloaded.
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


def of_keras(folder: Path) -> Iterator[tuple[str, str, Import]]:
    import keras
    import tensorflow as tf
    from tessera import relay

    model = keras.applications.ResNet50(weights=None)
    model.save(folder / "resnet50.keras")
    model.export(folder / "resnet50")
    content = tf.lite.TFLiteConverter.from_keras_model(model).convert()
    yield "resnet50", "keras", lambda: relay.frontend.from_keras(folder / "resnet50.keras", layout="NHWC")
    yield "resnet50", "saved_model", lambda: loaded(folder / "resnet50")
    yield "resnet50", "tflite", lambda: relay.frontend.from_tflite(content)


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
        for module, rows in (("torch", of_pytorch), ("keras", of_keras)):
            if not is_installed(module) or (module == "torch" and not is_installed("torchvision")):
                print(f"{module} is not installed: its formats are left out")
                continue
            for name, form, run in rows(Path(folder)):
                if not args.only or form in args.only:
                    print(f"{name:12} {form:12} {least(run):6.2f} s", flush=True)


if __name__ == "__main__":
    main()
