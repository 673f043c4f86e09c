#!/usr/bin/env python
"""Makes float16 models of exported ones: weights, inputs, results and casts become float16.

.venv-torch/bin/python tests/frameworks/halve.py --models build/models resnet50 bert_base
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper


def halved(tensor: TensorProto) -> TensorProto:
    limits = np.finfo("float16")
    values = np.clip(numpy_helper.to_array(tensor), limits.min, limits.max).astype("float16")
    return numpy_helper.from_array(values, tensor.name)


def halve(model: onnx.ModelProto) -> None:
    """In place."""
    graph = model.graph
    for i, tensor in enumerate(graph.initializer):
        if tensor.data_type == TensorProto.FLOAT:
            graph.initializer[i].CopyFrom(halved(tensor))
    for value in [*graph.input, *graph.output]:
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.FLOAT16
    del graph.value_info[:]
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.FLOAT16
            if attribute.type == onnx.AttributeProto.TENSOR and attribute.t.data_type == TensorProto.FLOAT:
                attribute.t.CopyFrom(halved(attribute.t))


def main() -> int:
    parser = argparse.ArgumentParser(description="Makes float16 models of exported ones.")
    parser.add_argument("names", nargs="+", help="with or without _f16 at the end")
    parser.add_argument("--out", type=Path, required=True, help="folder of models")
    args = parser.parse_args()
    names = [name.removesuffix("_f16") for name in args.names]
    if missing := [name for name in names if not (args.out / f"{name}.onnx").exists()]:
        script = Path(__file__).with_name("export.py")
        subprocess.run([sys.executable, script, "--out", args.out, *missing], check=True)
    for name in names:
        model = onnx.load(args.out / f"{name}.onnx")
        halve(model)
        onnx.save(model, args.out / f"{name}_f16.onnx")
        inputs = dict(np.load(args.out / f"{name}.npz"))
        narrow = {key: value.astype("float16") if value.dtype == np.float32 else value for key, value in inputs.items()}
        np.savez(args.out / f"{name}_f16.npz", **narrow)
    return 0


if __name__ == "__main__":
    sys.exit(main())
