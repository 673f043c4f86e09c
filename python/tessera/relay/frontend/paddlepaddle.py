"""Programs of PaddlePaddle as Relay. The importer itself is part of the core; see src/frontend/paddle."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ..._ffi.registry import get_global_func
from ...ir.module import IRModule
from ...runtime.ndarray import array
from .. import transform

__all__ = ["from_paddle"]


def _is_pir(program: Any) -> bool:
    return hasattr(program, "global_block") and not hasattr(program, "desc")


def _serialized(program: Any) -> bytes:
    """A program as the file that Paddle would write."""
    if not _is_pir(program):
        return bytes(program.desc.serialize_to_string())
    from paddle.base import core

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "program.json")
        core.serialize_pir_program(program, path, True, False, True)
        return Path(path).read_bytes()


def _plain(value: Any) -> np.ndarray:
    """A tensor of Paddle, static or not, or of NumPy."""
    if hasattr(value, "get_tensor"):
        value = value.get_tensor()
    if hasattr(value, "numpy"):
        return np.ascontiguousarray(value.numpy())
    return np.ascontiguousarray(np.array(value))


def _of_scope(names: list[str], scope: Any) -> dict[str, Any]:
    if scope is None:
        import paddle

        scope = paddle.static.global_scope()
    found = {}
    for name in names:
        var = scope.find_var(name)
        if var is None or not var.get_tensor()._is_initialized():
            raise ValueError(
                f"the scope has no value of the parameter {name}; give the scope in which the program was loaded or started"
            )
        found[name] = _plain(var)
    return found


def _of_layer(layer: Any) -> dict[str, Any]:
    """The tensors of a loaded layer by the names of its program."""
    held: dict[str, Any] = {}
    for own, value in layer.state_dict().items():
        held[own] = held[value.name] = value
    for holder in getattr(layer, "_program_holder_dict", {}).values():
        renamed = getattr(holder, "_suffix_varname_dict", None) or {}
        for name, plain in renamed.items():
            if plain in held:
                held.setdefault(name, held[plain])
    return held


def _saved(layer: Any, shapes: dict[str, list[int]]) -> tuple[IRModule, dict[str, Any]]:
    """A layer that was not saved: Paddle writes its program for these inputs."""
    import inspect

    import paddle

    names = [name for name in inspect.signature(layer.forward).parameters if name in shapes]
    if shapes and len(names) != len(shapes):
        unknown = ", ".join(sorted(set(shapes) - set(names)))
        raise ValueError(f"the layer's forward() has no inputs {unknown}")
    specs = [paddle.static.InputSpec(shapes[name], "float32", name) for name in names] or None
    with tempfile.TemporaryDirectory() as folder:
        stem = os.path.join(folder, "layer")
        was_training = layer.training
        layer.eval()
        paddle.jit.save(layer, stem, input_spec=specs)
        if was_training:
            layer.train()
        path = next(stem + end for end in (".json", ".pdmodel") if os.path.exists(stem + end))
        mod, values = get_global_func("frontend.paddle.import_files")(path, {})
    return mod, dict(values.items())


def from_paddle(
    program_or_layer: Any, shape_dict: dict[str, Any] | None = None, scope: Any = None
) -> tuple[IRModule, dict[str, Any]]:
    """A module and its parameters from a program, a layer that `paddle.jit.load` gave, a plain layer, or a file's path.

    A program is a `paddle.static.Program` or one of PIR; its parameters are taken from `scope`, by default the global one. A plain
    layer is exported for the inputs of `shape_dict`, whose names are those of its `forward`, or as `paddle.jit.to_static` says.
    `shape_dict` gives shapes of inputs by name in place of the program's own. Of a path (`.pdmodel` or `.json`) the `.pdiparams`
    beside it are read, for which Paddle is not needed.
    """
    shapes = {str(name): [int(n) for n in shape] for name, shape in (shape_dict or {}).items()}
    given = program_or_layer
    if isinstance(given, (str, os.PathLike)):
        mod, values = get_global_func("frontend.paddle.import_files")(os.fspath(given), shapes)
        return transform.InferType()(mod), dict(values.items())
    if hasattr(given, "program") and hasattr(given, "state_dict"):  # TranslatedLayer
        serialized, held = _serialized(given.program()), _of_layer(given)
    elif hasattr(given, "state_dict") and hasattr(given, "forward"):
        mod, found = _saved(given, shapes)
        return transform.InferType()(mod), found
    elif hasattr(given, "global_block"):
        serialized = _serialized(given)
        held = None
    else:
        raise ValueError(f"a Program, a layer or the path of a model is imported, not {type(given)}")
    names = [str(name) for name in get_global_func("frontend.paddle.parameters_of")(serialized)]
    if held is None:
        held = _of_scope(names, scope)
    params = {name: array(_plain(held[name])) for name in names if name in held}
    mod, values = get_global_func("frontend.paddle.import_program")(serialized, params, shapes)
    return transform.InferType()(mod), dict(values.items())
