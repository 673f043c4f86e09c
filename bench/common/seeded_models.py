#!/usr/bin/env python
"""Models written here with seeded weights, for machines without PyTorch: bert_base and resnet50 as exporters write them.

python bench/common/seeded_models.py --out build/seeded resnet50 bert_base
python bench/models.py resnet50 bert_base --models build/seeded --peers ort --threads 1,4,16
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

WIDTH, HEADS, LENGTH, WORDS = 768, 12, 128, 30522


class SeededModel:
    """Nodes and seeded weights; `inputs` by name, `result` is the one output."""

    def __init__(self) -> None:
        from onnx import helper

        self.helper, self.rng = helper, np.random.default_rng(0)
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.inputs: dict[str, np.ndarray] = {}
        self.result = ""

    def add(self, op: str, *inputs: str, **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(op, inputs, [name], name=f"{op}_{name}", **attributes))
        return name

    def weight(self, array: np.ndarray, dtype: str = "float32") -> str:
        from onnx import numpy_helper

        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array.astype(dtype), name))
        return name

    def random(self, *shape: int, scale: float = 0.02) -> str:
        return self.weight(self.rng.standard_normal(shape, dtype="float32") * np.float32(scale))

    def save(self, path: Path) -> None:
        """The model, and its inputs beside it."""
        import onnx

        helper, info = self.helper, self.helper.make_tensor_value_info
        dtype = helper.np_dtype_to_tensor_dtype
        graph = helper.make_graph(
            self.nodes,
            path.stem,
            [info(name, dtype(x.dtype), x.shape) for name, x in self.inputs.items()],
            [info(self.result, onnx.TensorProto.FLOAT, None)],
            self.weights,
        )
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
        np.savez(path.with_suffix(".npz"), **self.inputs)  # type: ignore[arg-type]


class Bert(SeededModel):
    def __init__(self, layers: int = 12):
        super().__init__()
        self.inputs["ids"] = self.rng.integers(0, WORDS, (1, LENGTH))
        position = self.weight(self.rng.standard_normal((1, LENGTH, WIDTH)) * 0.02)
        x = self.add("Gather", self.random(WORDS, WIDTH), "ids", axis=0)
        x = self.norm(self.add("Add", x, position))
        for _ in range(layers):
            x = self.layer(x)
        self.result = x

    def norm(self, x: str) -> str:
        return self.add("LayerNormalization", x, self.weight(np.ones(WIDTH)), self.weight(np.zeros(WIDTH)), axis=-1)

    def linear(self, x: str, width: int, units: int) -> str:
        return self.add("Add", self.weight(np.zeros(units)), self.add("MatMul", x, self.random(width, units)))

    def heads(self, x: str, order: list[int]) -> str:
        shape = self.weight(np.array([0, -1, HEADS, WIDTH // HEADS]), "int64")
        return self.add("Transpose", self.add("Reshape", self.linear(x, WIDTH, WIDTH), shape), perm=order)

    def layer(self, x: str) -> str:
        query, key, value = (self.heads(x, order) for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        scores = self.add("Div", self.add("MatMul", query, key), self.weight(np.array((WIDTH // HEADS) ** 0.5)))
        y = self.add("MatMul", self.add("Softmax", scores, axis=-1), value)
        y = self.add(
            "Reshape", self.add("Transpose", y, perm=[0, 2, 1, 3]), self.weight(np.array([0, -1, WIDTH]), "int64")
        )
        x = self.norm(self.add("Add", x, self.linear(y, WIDTH, WIDTH)))
        y = self.linear(x, WIDTH, 4 * WIDTH)
        half = self.add("Mul", y, self.weight(np.array(0.5)))
        erf = self.add("Erf", self.add("Div", y, self.weight(np.array(2**0.5))))
        y = self.add("Mul", half, self.add("Add", erf, self.weight(np.array(1.0))))
        return self.norm(self.add("Add", x, self.linear(y, 4 * WIDTH, WIDTH)))


class ResNet50(SeededModel):
    """Batch norms are folded into the convolutions, as in a model that was exported for inference."""

    def __init__(self) -> None:
        super().__init__()
        self.inputs["x"] = self.rng.standard_normal((1, 3, 224, 224), dtype="float32")
        x = self.add("Relu", self.conv("x", 3, 64, 7, 2))
        x = self.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
        channels = 64
        for width, blocks, stride in [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)]:
            for block in range(blocks):
                step = stride if block == 0 else 1
                rest = self.conv(x, channels, 4 * width, 1, step) if block == 0 else x
                y = self.add("Relu", self.conv(x, channels, width, 1, 1))
                y = self.add("Relu", self.conv(y, width, width, 3, step))
                x = self.add("Relu", self.add("Add", self.conv(y, width, 4 * width, 1, 1), rest))
                channels = 4 * width
        x = self.add("Flatten", self.add("GlobalAveragePool", x), axis=1)
        self.result = self.add("Gemm", x, self.random(1000, channels), self.random(1000), transB=1)

    def conv(self, x: str, channels: int, filters: int, size: int, step: int) -> str:
        weight = self.random(filters, channels, size, size, scale=float((channels * size * size) ** -0.5))
        return self.add(
            "Conv", x, weight, self.random(filters), kernel_shape=[size] * 2, strides=[step] * 2, pads=[size // 2] * 4
        )


MODELS = {"bert_base": Bert, "resnet50": ResNet50}


def main() -> None:
    parser = argparse.ArgumentParser(description="Models with seeded weights.")
    parser.add_argument("names", nargs="+", choices=list(MODELS))
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name in args.names:
        MODELS[name]().save(args.out / f"{name}.onnx")


if __name__ == "__main__":
    main()
