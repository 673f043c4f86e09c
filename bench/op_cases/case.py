"""One operator with its shapes, as a model of ONNX and as a function of PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable, NamedTuple

import numpy as np
import onnx

OPSET = 17


class Case(NamedTuple):
    """`torch` takes the module torch and the tensors of `inputs` and `weights` by name; None: not compared."""

    name: str
    model: bytes
    inputs: Mapping[str, np.ndarray]
    weights: Mapping[str, np.ndarray]
    torch: Callable[[Any, Mapping[str, Any]], Any] | None = None
    operations: float | None = None  # of arithmetic; None: as many as the convolutions and products of the model have
    count: int = 1  # how often it occurs where it is from
    reads: int | None = None  # bytes of the operands that are needed; None: all of them
    wide: bytes = b""  # the same in float32, for cases of fewer bits: what they are compared with

    def bytes(self, outputs: list[np.ndarray]) -> int:
        """What has to be read and written once."""
        operands = sum(value.nbytes for value in [*self.inputs.values(), *self.weights.values()])
        return (operands if self.reads is None else self.reads) + sum(value.nbytes for value in outputs)


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape) + sum(shape)).standard_normal(shape, "float32")


def node(op: str, inputs: list[str], output: str, **attributes: Any) -> onnx.NodeProto:
    return onnx.helper.make_node(op, inputs, [output], **attributes)


def shape_text(x: np.ndarray) -> str:
    return "x".join(map(str, x.shape))


def model_of(
    nodes: list[onnx.NodeProto],
    inputs: Mapping[str, np.ndarray],
    weights: Mapping[str, np.ndarray],
    out: int = onnx.TensorProto.FLOAT,
) -> bytes:
    """The last node's first output is the model's, of type `out`."""
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        nodes,
        "case",
        [value(name, onnx.helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for name, x in inputs.items()],
        [value(nodes[-1].output[0], out, None)],
        [onnx.numpy_helper.from_array(x, name) for name, x in weights.items()],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", OPSET)], ir_version=8)
    return model.SerializeToString()
