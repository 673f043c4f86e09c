#!/usr/bin/env python
"""Makes models of 16-bit floats of exported ones, called NAME_f16 or NAME_bf16: weights, inputs, results and casts become
float16; with bfloat16, which NumPy's files do not hold, inputs and results stay float32 and are cast.

.venv-torch/bin/python tests/frameworks/halve.py --out build/models resnet50_f16 bert_base_bf16
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

KINDS = {"_f16": TensorProto.FLOAT16, "_bf16": TensorProto.BFLOAT16}


def halved(tensor: TensorProto, kind: int) -> TensorProto:
    most = np.float32(65504 if kind == TensorProto.FLOAT16 else 2.0**128 - 2.0**120)  # what masks have is no infinity
    values = np.clip(numpy_helper.to_array(tensor), -most, most)
    if kind == TensorProto.FLOAT16:
        return numpy_helper.from_array(values.astype("float16"), tensor.name)
    bits = np.ascontiguousarray(values).view("uint32")
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16  # to nearest even; weights are no NaNs
    return onnx.helper.make_tensor(tensor.name, kind, values.shape, rounded.astype("uint16").tobytes(), raw=True)


def cast_ends(graph: onnx.GraphProto, kind: int) -> None:
    """Inputs are cast before, results after everything else."""
    names: dict[str, str] = {}
    before, after = [], []
    for values, made, wanted in ((graph.input, before, kind), (graph.output, after, TensorProto.FLOAT)):
        for value in values:
            if value.type.tensor_type.elem_type == TensorProto.FLOAT:
                inner = names[value.name] = value.name + "_narrow"
                ends = (value.name, inner) if made is before else (inner, value.name)
                made.append(onnx.helper.make_node("Cast", [ends[0]], [ends[1]], to=wanted))
    for node in graph.node:
        for part in (node.input, node.output):
            part[:] = [names.get(name, name) for name in part]
    nodes = [*before, *graph.node, *after]
    del graph.node[:]
    graph.node.extend(nodes)


def halve(model: onnx.ModelProto, kind: int) -> None:
    """In place."""
    graph = model.graph
    for i, tensor in enumerate(graph.initializer):
        if tensor.data_type == TensorProto.FLOAT:
            graph.initializer[i].CopyFrom(halved(tensor, kind))
    del graph.value_info[:]
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = kind
            if attribute.type == onnx.AttributeProto.TENSOR and attribute.t.data_type == TensorProto.FLOAT:
                attribute.t.CopyFrom(halved(attribute.t, kind))
    if kind == TensorProto.BFLOAT16:
        cast_ends(graph, kind)
        return
    for value in [*graph.input, *graph.output]:
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = kind


def main() -> int:
    parser = argparse.ArgumentParser(description="Makes models of 16-bit floats of exported ones.")
    parser.add_argument("names", nargs="+", help="with _f16 or _bf16 at the end; without: _f16")
    parser.add_argument("--out", type=Path, required=True, help="folder of models")
    args = parser.parse_args()
    wanted = [name if name.endswith(tuple(KINDS)) else name + "_f16" for name in args.names]
    names = {name: name.rpartition("_")[0] for name in wanted}
    if missing := sorted({name for name in names.values() if not (args.out / f"{name}.onnx").exists()}):
        script = Path(__file__).with_name("export.py")
        subprocess.run([sys.executable, script, "--out", args.out, *missing], check=True)
    for name, given in names.items():
        kind = KINDS["_" + name.rpartition("_")[2]]
        model = onnx.load(args.out / f"{given}.onnx")
        halve(model, kind)
        onnx.save(model, args.out / f"{name}.onnx")
        inputs = dict(np.load(args.out / f"{given}.npz"))
        if kind == TensorProto.FLOAT16:
            inputs = {key: x.astype("float16") if x.dtype == np.float32 else x for key, x in inputs.items()}
        np.savez(args.out / f"{name}.npz", **inputs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
