"""Keras models as Relay. The importer itself is part of the core; see src/frontend/keras."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._ffi.registry import get_global_func
from ...ir.module import IRModule
from ...runtime.ndarray import array
from .. import transform

__all__ = ["from_keras"]


def _weights(model: Any, path: str = "") -> Iterator[tuple[str, list[Any]]]:
    """The weights of every layer by its path, those of models inside included."""
    for layer in model.layers:
        if hasattr(layer, "layers"):
            yield from _weights(layer, f"{path}{layer.name}/")
        elif layer.weights:
            yield path + layer.name, [np.asarray(value) for value in layer.get_weights()]


def from_keras(
    model: Any, shape: dict[str, Any] | None = None, layout: str = "NCHW"
) -> tuple[IRModule, dict[str, Any]]:
    """A module and its parameters from a Keras model, of Keras 2 (`tf.keras`) or 3, or from its file (`.keras`, `.h5`).

    `shape` gives shapes of inputs by the names of input layers; what a model leaves open is a batch of one. With the layout
    "NCHW" images come in and go out with their channels second, with "NHWC" and "NDHWC" as Keras has them.
    """
    shapes = {str(name): list(extents) for name, extents in (shape or {}).items()}
    if isinstance(model, (str, os.PathLike)):
        mod, params = get_global_func("frontend.keras.import_file")(os.fspath(model), layout, shapes)
        return transform.InferType()(mod), dict(params.items())
    config = json.loads(model.to_json())
    config.setdefault("keras_version", _version(model))
    weights = {path: [array(np.ascontiguousarray(one)) for one in values] for path, values in _weights(model)}
    mod, params = get_global_func("frontend.keras.import_config")(json.dumps(config), weights, layout, shapes)
    return transform.InferType()(mod), dict(params.items())


def _version(model: Any) -> str:
    """That of the Keras that the model's class belongs to."""
    import importlib

    for module in ("keras", "tf_keras"):
        if type(model).__module__.split(".")[0] == module:
            return str(importlib.import_module(module).__version__)
    return "2"
