"""Networks of Darknet as Relay. The importer itself is part of the core; see src/frontend/darknet.

A network that Darknet's own library has loaded becomes the two files that it came from: a cfg and its weights.
"""

from __future__ import annotations

import importlib
import os
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._ffi.registry import get_global_func
from ...ir.module import IRModule
from .. import transform
from ..testing.darknet import ACTIVATION, LAYERTYPE

__all__ = ["ACTIVATION", "LAYERTYPE", "from_darknet"]

_HEADER = struct.pack("<iiiq", 0, 2, 0, 0)


def _names(codes: Any) -> dict[int, str]:
    return {value: name.lower() for name, value in vars(codes).items() if isinstance(value, int)}


_LAYERS, _ACTIVATIONS = _names(LAYERTYPE), _names(ACTIVATION)


def _numbers(pointer: Any, count: int, dtype: str = "float32") -> np.ndarray:
    """Numbers behind a pointer of cffi, or of anything that has elements."""
    if type(pointer).__module__ == "_cffi_backend":
        raw = importlib.import_module("cffi").FFI().buffer(pointer, count * np.dtype(dtype).itemsize)
        return np.frombuffer(raw, dtype).copy()
    return np.array([pointer[i] for i in range(count)], dtype)


def _listed(values: Any) -> str:
    return ",".join(str(value) for value in values)


def _option(layer: Any, name: str, otherwise: Any) -> Any:
    return getattr(layer, name, otherwise)


def _pool_padding(layer: Any) -> int:
    """All of it, in one dimension; versions of Darknet keep this number, its half or nothing."""
    for padding in (layer.pad, 2 * layer.pad, layer.size - 1):
        if (layer.w + padding - layer.size) // layer.stride + 1 == layer.out_w:
            return int(padding)
    raise ValueError(f"the padding of a maxpool from {layer.w} to {layer.out_w} columns is not clear")


def _route(layer: Any) -> dict[str, Any]:
    return {"layers": _listed(_numbers(layer.input_layers, layer.n, "int32"))}


def _boxes(layer: Any) -> dict[str, Any]:
    is_yolo = _LAYERS[layer.type] == "yolo"
    total = layer.total if is_yolo else layer.n
    out = {"num": total, "classes": layer.classes, "anchors": _listed(_numbers(layer.biases, 2 * total))}
    if is_yolo:
        return {**out, "mask": _listed(_numbers(layer.mask, layer.n, "int32"))}
    return {**out, "coords": layer.coords, "background": layer.background, "softmax": layer.softmax}


#: The options of a layer's section, by its kind.
_OPTIONS: dict[str, Any] = {
    "convolutional": lambda layer: {
        "filters": layer.n,
        "size": layer.size,
        "stride": layer.stride,
        "padding": layer.pad,
        "groups": max(_option(layer, "groups", 1), 1),
        "dilation": max(_option(layer, "dilation", 1), 1),
        "binary": int(bool(_option(layer, "binary", 0))),
        "xnor": int(bool(_option(layer, "xnor", 0))),
    },
    "connected": lambda layer: {"output": layer.outputs},
    "maxpool": lambda layer: {"size": layer.size, "stride": layer.stride, "padding": _pool_padding(layer)},
    "softmax": lambda layer: {
        "groups": max(_option(layer, "groups", 1), 1),
        "temperature": _option(layer, "temperature", 0) or 1,
        "spatial": _option(layer, "spatial", 0),
    },
    "route": _route,
    "reorg": lambda layer: {"stride": layer.stride, "reverse": _option(layer, "reverse", 0)},
    "shortcut": lambda layer: {"from": layer.index},
    "upsample": lambda layer: {"stride": layer.stride, "scale": _option(layer, "scale", 0) or 1},
    "region": _boxes,
    "yolo": _boxes,
}


def _weights(layer: Any) -> Iterator[np.ndarray]:
    """In the order of a file of weights."""
    kind = _LAYERS.get(layer.type, "")
    if kind not in ("convolutional", "connected"):
        return
    is_conv = kind == "convolutional"
    count = layer.n if is_conv else layer.outputs
    own = layer.c // max(_option(layer, "groups", 1), 1) * layer.size**2 if is_conv else layer.inputs
    weights = _numbers(layer.weights, count * own)
    norm = [layer.scales, layer.rolling_mean, layer.rolling_variance] if layer.batch_normalize else []
    statistics = [_numbers(one, count) for one in norm]
    yield _numbers(layer.biases, count)
    yield from [*statistics, weights] if is_conv else [weights, *statistics]


def _section(layer: Any) -> str:
    kind = _LAYERS.get(layer.type, f"layer of type {layer.type}")
    options = dict(_OPTIONS[kind](layer)) if kind in _OPTIONS else {}
    if kind in ("convolutional", "connected", "shortcut"):
        options["activation"] = _ACTIVATIONS.get(layer.activation, f"of code {layer.activation}")
        options["batch_normalize"] = int(kind != "shortcut" and bool(layer.batch_normalize))
    return "\n".join([f"[{kind}]", *(f"{name}={value}" for name, value in options.items())])


def _cfg(net: Any, layers: list[Any]) -> str:
    size = {"channels": net.c, "height": net.h, "width": net.w} if net.h and net.w else {"inputs": net.inputs}
    head = "\n".join(["[net]", *(f"{name}={value}" for name, value in size.items())])
    return "\n".join([head, *map(_section, layers)])


def from_darknet(net: Any, shape: Any = None, dtype: str = "float32") -> tuple[IRModule, dict[str, Any]]:
    """A module and its parameters from a network that Darknet's library loaded, or from the path of a cfg or of weights.

    Of a path the other file lies beside it. `shape` is that of the input, or {"data": shape}. Behind the output of the last layer come,
    for each layer of boxes, the last one first: its output, the mask (YOLO), the anchors and the layer's numbers.
    """
    if dtype != "float32":
        raise ValueError(f"weights of Darknet are float32, not {dtype}")
    if shape is not None and not isinstance(shape, dict):
        shape = {"data": shape}
    shapes = {str(name): list(extents) for name, extents in (shape or {}).items()}
    if isinstance(net, (str, os.PathLike)):
        mod, params = get_global_func("frontend.darknet.import_files")(os.fspath(net), shapes, {})
    else:
        layers = [net.layers[i] for i in range(net.n)]
        weights = _HEADER + b"".join(one.astype("<f4").tobytes() for layer in layers for one in _weights(layer))
        mod, params = get_global_func("frontend.darknet.import_bytes")(_cfg(net, layers), weights, shapes, {})
    return transform.InferType()(mod), dict(params.items())
