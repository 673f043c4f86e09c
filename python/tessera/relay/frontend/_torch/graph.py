"""The pieces of a graph, and what Python values are in it."""

from __future__ import annotations

import math
from typing import Any

# TorchScript's numbers of element types.
SCALAR_TYPES = {
    "uint8": 0,
    "int8": 1,
    "int16": 2,
    "int32": 3,
    "int64": 4,
    "float16": 5,
    "float32": 6,
    "float64": 7,
    "bool": 11,
    "qint8": 12,
    "quint8": 13,
    "qint32": 14,
    "bfloat16": 15,
    "uint16": 27,
    "uint32": 28,
    "uint64": 29,
}


#: Those of complex numbers, which are pairs in the program: tensors inside of it may have them, inputs and outputs not.
COMPLEX_TYPES = {"complex64": 9, "complex128": 10}


def scalar_type(dtype: Any) -> int:
    """The number of a `torch.dtype`."""
    name = str(dtype).removeprefix("torch.")
    number = {**SCALAR_TYPES, **COMPLEX_TYPES}.get(name)
    if number is None:
        raise NotImplementedError(f"the element type {name} of PyTorch is not supported")
    return number


def literal(value: Any) -> Any:
    """A Python value that is no tensor as an argument."""
    import torch

    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return (
            value if math.isfinite(value) else {"real": "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"}
        )
    if isinstance(value, str):
        return {"text": value}
    if isinstance(value, (list, tuple, torch.Size)):
        return [literal(item) for item in value]
    if isinstance(value, torch.dtype):
        return scalar_type(value)
    if isinstance(value, torch.device):
        return {"text": str(value)}
    if isinstance(value, (torch.memory_format, torch.layout)):
        return 0
    raise NotImplementedError(f"the argument {value!r} of PyTorch is not supported")


def ndarray_of(tensor: Any) -> Any:
    """A tensor of PyTorch as ours, with the same memory where it lies as ours do."""
    import torch

    from ....runtime.ndarray import array, empty, from_dlpack

    data = tensor.detach()
    if data.is_quantized:
        data = data.int_repr()
    if data.is_complex():
        data = torch.view_as_real(data.resolve_conj())
    data = data.cpu().contiguous()
    if data.dtype == torch.bool or data.dtype in (torch.uint16, torch.uint32, torch.uint64):
        return array(data.numpy())
    if data.data_ptr() % max(data.element_size(), 1) or data.numel() == 0:
        if data.dtype == torch.bfloat16:
            return empty(tuple(data.shape), "bfloat16")
        return array(data.clone().numpy())
    return from_dlpack(torch.utils.dlpack.to_dlpack(data))


class GraphWriter:
    """A program while it is written: its weights by name, shared ones once."""

    def __init__(self, keep_quantized_weight: bool = False) -> None:
        self.keep_quantized_weight = keep_quantized_weight
        self.weights: dict[str, Any] = {}
        self.params: list[str] = []
        self.inputs: list[dict[str, Any]] = []
        self._names: dict[int, str] = {}
        self._kept: list[Any] = []

    def weight(self, tensor: Any, name: str, is_param: bool = False) -> dict[str, str]:
        """A tensor of the program as an argument."""
        key = id(tensor)
        if key not in self._names:
            while name in self.weights:
                name += "_"
            self._names[key] = name
            self._kept.append(tensor)
            self.weights[name] = ndarray_of(tensor)
            if is_param:
                self.params.append(name)
        return {"complex" if tensor.is_complex() else "weight": self._names[key]}

    def input(self, name: str, title: str, shape: list[Any], dtype: str) -> None:
        """An input of the program; an extent is a number or the name of one that a run decides."""
        self.inputs.append({"name": name, "title": title, "shape": shape, "dtype": dtype})

    def finished(self, graph: dict[str, Any], output_names: list[str] | None = None) -> dict[str, Any]:
        """All of it, as JSON has it."""
        return {
            "inputs": self.inputs,
            "params": self.params,
            "graph": graph,
            "output_names": output_names or [],
        }
