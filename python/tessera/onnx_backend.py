"""Tessera behind ONNX's backend interface, so that programs and tests written for that interface can use it.

import tessera.onnx_backend as backend
outputs = backend.prepare(onnx.load("model.onnx")).run([data])
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import transform
from .error import OpNotImplemented
from .relay import build_module
from .relay.frontend.onnx import import_model
from .runtime import ndarray as nd

__all__ = ["Prepared", "is_compatible", "prepare", "run_model", "run_node", "supports_device"]


class Prepared:
    """A model ready to run.

    Some operators need inputs (axes, depths, sizes) while a model is compiled. Where those are inputs of the model, it
    is compiled when they are given, once for each of their values. Sequences and optionals are such inputs always.
    """

    def __init__(self, model: Any, target: str, opt_level: int):
        graph = model.graph
        initialized = {tensor.name for tensor in graph.initializer}
        inputs = [value for value in graph.input if value.name not in initialized]
        self.input_names = [value.name for value in inputs]
        self._output_names = [value.name for value in graph.output]
        self._output_types = [_small_type(value) for value in graph.output]
        self._model = model
        self._target, self._opt_level = target, opt_level
        self._frozen = [value.name for value in inputs if value.type.WhichOneof("value") != "tensor_type"]
        self._compiled: dict[Any, Any] = {}
        self._compile({})

    def _compile(self, values: dict[str, Any]) -> Any:
        """The function of the other inputs; None when values of inputs are needed that are not given."""
        while True:
            frozen = {name: values[name] for name in self._frozen if name in values}
            if len(frozen) < len(self._frozen):
                return None
            key = tuple((name, _key(value)) for name, value in frozen.items())
            if key in self._compiled:
                return self._compiled[key]
            try:
                tensors = {name: _in_memory(value) for name, value in frozen.items()}
                mod, params, texts = import_model(self._model, None, "float32", None, True, tensors)
                # Every operator rounds to its own type, as ONNX's reference does, also in 16 bits.
                with transform.PassContext(opt_level=self._opt_level, disabled_pass=["WidenFloats"]):
                    machine = build_module.create_executor("vm", mod, nd.cpu(), self._target, params or None)
                    self._compiled[key] = machine.evaluate(), {name: _as_strings(text) for name, text in texts.items()}
                return self._compiled[key]
            except OpNotImplemented as error:
                needed = re.search(r"depends on the inputs: (.+)", str(error))
                names = needed.group(1).split(", ") if needed else []
                fresh = [name for name in names if name in self.input_names and name not in self._frozen]
                if not fresh:
                    raise
                self._frozen += fresh

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs for inputs in order, or by name. A sequence is a list, an optional without content None."""
        del kwargs
        if isinstance(inputs, dict):
            values = [inputs[name] for name in self.input_names]
        else:
            values = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        if len(values) != len(self.input_names):
            raise ValueError(f"the model takes {len(self.input_names)} inputs, {len(values)} are given")
        given = {name: _taken(value) for name, value in zip(self.input_names, values)}
        evaluate, texts = self._compile(given)
        out = evaluate(*[value for name, value in given.items() if name not in self._frozen])
        results = iter([out] if len(self._output_names) - len(texts) == 1 else out)
        parts = [texts[name] if name in texts else _plain(next(results)) for name in self._output_names]
        return tuple(_from_bytes(part, kind) for part, kind in zip(parts, self._output_types))


def _taken(value: Any) -> Any:
    if value is None:
        return None
    return [_taken(part) for part in value] if isinstance(value, (list, tuple)) else _in_bytes(np.asarray(value))


def _key(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_key(part) for part in value)
    if value is not None and value.dtype.kind in "OUS":
        return (value.shape, *(_text(item) for item in value.ravel()))
    return None if value is None else (value.dtype.str, value.shape, value.tobytes())


def _in_memory(value: Any) -> Any:
    if isinstance(value, list):
        return [_in_memory(part) for part in value]
    if value is not None and value.dtype.kind in "OUS":
        return {"shape": list(value.shape), "items": [_text(item) for item in value.ravel()]}
    return None if value is None else nd.array(value)


def _text(item: Any) -> str:
    return item.decode() if isinstance(item, bytes) else str(item)


def _as_strings(text: Any) -> np.ndarray:
    items = np.empty(len(text["items"]), dtype=object)
    items[:] = [str(item) for item in text["items"]]
    return items.reshape([int(extent) for extent in text["shape"]])


_MINIFLOATS = frozenset(
    (
        "float4_e2m1fn",
        "float6_e2m3fn",
        "float6_e3m2fn",
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
        "float8_e8m0fnu",
    )
)


def _small_type(value: Any) -> Any:
    """The element type of a value whose elements are bytes that stand for something else; None for others."""
    from onnx import helper

    number = value.type.tensor_type.elem_type
    if not number:
        return None
    kind = helper.tensor_dtype_to_np_dtype(number)
    return kind if kind.name in ("int2", "int4", "uint2", "uint4", *_MINIFLOATS) else None


def _from_bytes(array: Any, kind: Any) -> Any:
    if kind is None:
        return array
    return array.view(kind) if kind.name in _MINIFLOATS else array.astype(kind)


def _in_bytes(array: np.ndarray) -> np.ndarray:
    """Elements smaller than a byte take one each, and so do minifloats."""
    if array.dtype.name in ("int2", "int4"):
        return array.astype("int8")
    if array.dtype.name in _MINIFLOATS:
        return array.view("uint8")
    return array.astype("uint8") if array.dtype.name in ("uint2", "uint4") else array


def _plain(value: Any) -> Any:
    return value.numpy() if isinstance(value, nd.NDArray) else [_plain(part) for part in value]


def supports_device(device: str) -> bool:
    """True for the CPU."""
    return device.split(":")[0] == "CPU"


def is_compatible(model: Any, device: str = "CPU", **kwargs: Any) -> bool:
    """True when every operator of the model is known."""
    from ._ffi.registry import get_global_func

    del kwargs
    return supports_device(device) and not get_global_func("frontend.onnx.unsupported")(model.SerializeToString())


def prepare(model: Any, device: str = "CPU", **kwargs: Any) -> Prepared:
    """Compiles the model. `target` and `opt_level` may be given."""
    if not supports_device(device):
        raise ValueError(f"the device {device} is not supported; CPU is")
    return Prepared(model, kwargs.get("target", "llvm"), kwargs.get("opt_level", 3))


def run_model(model: Any, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
    """Compiles the model and runs it once."""
    return prepare(model, device, **kwargs).run(inputs)


def run_node(node: Any, inputs: Sequence[Any], device: str = "CPU", outputs_info: Any = None, **kwargs: Any) -> Any:
    """Runs one node alone, as the newest operator set has it."""
    import onnx
    from onnx import helper

    names = [name for name in node.input if name]
    values = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.asarray(value).dtype), np.shape(value))
        for name, value in zip(names, inputs)
    ]
    del outputs_info
    graph = helper.make_graph([node], "node", values, [onnx.ValueInfoProto(name=name) for name in node.output if name])
    return run_model(helper.make_model(graph), list(inputs), device, **kwargs)
