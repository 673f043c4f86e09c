"""ONNX models as Relay. The importer itself is part of the core; see src/frontend/onnx."""

from __future__ import annotations

import os
from typing import Any

from ..._ffi.registry import get_global_func
from ...error import OpNotImplemented
from ...ir.module import IRModule
from ...runtime.ndarray import NDArray, empty
from .. import transform
from ..expr import Call
from ..expr_functor import ExprMutator
from ..op.nn import batch_matmul
from ..op.transform import transpose
from . import _onnx_operators
from ._onnx_operators import *  # noqa: F403

__all__ = [*_onnx_operators.__all__, "from_onnx", "import_model"]


_MIN_BYTES_APART = 4096
_EXTERNAL = 1  # TensorProto.EXTERNAL


class _TransposedMatmuls(ExprMutator):
    """Batched matmuls take their second operand transposed."""

    def visit_call(self, call: Call) -> Any:
        out = super().visit_call(call)
        if getattr(call.op, "name", "") != "nn.batch_matmul" or call.attrs.transpose_b:
            return out
        b = transpose(out.args[1], (0, 2, 1))
        return batch_matmul(out.args[0], b, call.attrs.out_dtype, call.attrs.transpose_a, transpose_b=True)


def from_onnx(
    model: Any,
    shape: dict[str, Any] | None = None,
    dtype: Any = "float32",
    opset: int | None = None,
    freeze_params: bool = True,
    convert_config: dict[str, Any] | None = None,
    allow_links: str | os.PathLike | None = None,
) -> tuple[IRModule, dict[str, Any]]:
    """A module and its parameters from an ONNX model: a `ModelProto`, its bytes, or the path of a file.

    `shape` gives shapes of inputs, whatever the file says of them; with `freeze_params` weights are constants of the
    module, else parameters. `dtype` by name gives inputs another element type than the file says. Data beside the file may lie
    behind symbolic links that lead into the folder `allow_links`, such as a Hugging Face cache; other links are rejected.
    `convert_config={"use_nt_batch_matmul": True}` transposes the second operand of batched matmuls.
    """
    mod, params, texts = import_model(model, shape, dtype, opset, freeze_params, {}, allow_links)
    if texts:
        raise OpNotImplemented(f"outputs that are strings are not supported: {', '.join(texts)}")
    inputs = {str(param.name_hint) for param in mod["main"].params}
    if unknown := sorted(set(map(str, shape or {})) - inputs):
        raise AssertionError(
            f"shapes are given for {', '.join(unknown)}, which the model does not take; its inputs are {', '.join(sorted(inputs))}"
        )
    if (convert_config or {}).get("use_nt_batch_matmul"):
        mod["main"] = _TransposedMatmuls().visit(mod["main"])
        mod = transform.InferType()(mod)
    return mod, params


def _copy_fields(source: Any, to: Any, apart: str) -> None:
    """All fields of a protobuf message but the one named `apart`."""
    for field, value in source.ListFields():
        if field.name == apart:
            continue
        if hasattr(value, "extend"):
            getattr(to, field.name).extend(value)
        elif hasattr(value, "CopyFrom"):
            getattr(to, field.name).CopyFrom(value)
        else:
            setattr(to, field.name, value)


def _bytes_and_initializers(model: Any) -> tuple[bytes, dict[str, NDArray]]:
    """A model's bytes without its large initializers, and those: they are most of a model, and copied once so."""
    if isinstance(model, (bytes, bytearray)):
        return bytes(model), {}
    if not hasattr(model, "graph"):
        return model.SerializeToString(), {}
    small, initializers = type(model)(), {}
    _copy_fields(model, small, "graph")
    _copy_fields(model.graph, small.graph, "initializer")
    for tensor in model.graph.initializer:
        raw = tensor.raw_data
        if len(raw) < _MIN_BYTES_APART or tensor.name in initializers or tensor.data_location == _EXTERNAL:
            small.graph.initializer.append(tensor)
            continue
        small.graph.initializer.add(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
        initializers[tensor.name] = empty((len(raw),), "uint8")
        initializers[tensor.name]._copy_from_buffer(raw)
    return small.SerializeToString(), initializers


def import_model(
    model: Any,
    shape: Any,
    dtype: Any,
    opset: int | None,
    freeze_params: bool,
    frozen: dict[str, Any],
    allow_links: str | os.PathLike | None = None,
) -> tuple[IRModule, dict[str, Any], dict[str, Any]]:
    """`from_onnx`, with inputs in `frozen` taken as constants of those values; also outputs that are strings.

    Strings are known while importing: a dict of "shape" and "items", flat.
    """
    shapes = {str(name): list(extents) for name, extents in (shape or {}).items()}
    dtypes = {str(name): str(value) for name, value in dtype.items()} if isinstance(dtype, dict) else {}
    options = (shapes, dtypes, -1 if opset is None else int(opset), freeze_params, frozen)
    if isinstance(model, (str, os.PathLike)):
        links = os.fspath(allow_links or "")
        mod, params, texts = get_global_func("frontend.onnx.import_file")(os.fspath(model), *options, links)
    else:
        data, initializers = _bytes_and_initializers(model)
        mod, params, texts = get_global_func("frontend.onnx.import_bytes")(data, initializers, *options)
    mod = transform.InferType()(mod)
    if freeze_params:
        mod = transform.FoldConstant()(mod)
    return mod, dict(params.items()), dict(texts.items())
