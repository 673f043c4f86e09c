"""Workloads by key: functions that make tensors, with their arguments, or tensors themselves."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

from ..te import Tensor
from .utils import deserialize_args, get_func_name, serialize_args

__all__ = [
    "WORKLOAD_FUNC_REGISTRY",
    "make_workload_key",
    "register_workload",
    "register_workload_tensors",
    "workload_key_to_tensors",
]

logger = logging.getLogger("auto_scheduler")

#: Functions by name, and tensors by workload key.
WORKLOAD_FUNC_REGISTRY: dict[str, Any] = {}


def register_workload(func_name: Any, f: Callable | None = None, override: bool = False) -> Any:
    """Makes a function known that gives the list of input and output tensors; a decorator, with or without a name.

    >>> @auto_scheduler.register_workload
    ... def matmul(n, m, k): ...
    """
    if callable(func_name):
        f, func_name = func_name, get_func_name(func_name)
    if not isinstance(func_name, str):
        raise ValueError("expect string function name")

    def register(function: Callable) -> Callable:
        if func_name in WORKLOAD_FUNC_REGISTRY and not override:
            raise RuntimeError(f"{func_name} has been registered already")
        WORKLOAD_FUNC_REGISTRY[func_name] = function
        return function

    return register(f) if f else register


def register_workload_tensors(workload_key: str, tensors: Any, override: bool = True) -> None:
    """Makes the tensors of a DAG known under its key."""
    if workload_key in WORKLOAD_FUNC_REGISTRY and not override:
        raise RuntimeError(f"{workload_key} has been registered already")
    WORKLOAD_FUNC_REGISTRY[workload_key] = tensors


def make_workload_key(func: Any, args: Any) -> str:
    """The key of a registered function with its arguments: '["matmul", 128, 128, 128]'."""
    if callable(func):
        name = get_func_name(func)
    elif isinstance(func, str):
        name = func
    else:
        raise ValueError(
            "Invalid function: " + str(func) + " . `make_workload_key` expects a callable function or its function name"
        )
    if name not in WORKLOAD_FUNC_REGISTRY:
        raise ValueError(f"{func} is not registered, Please register it with @auto_scheduler.register_workload")
    return json.dumps([name, *serialize_args(args)])


def _is_list_of_tensors(value: Any) -> bool:
    return not callable(value) and all(isinstance(each, Tensor) for each in value)


def workload_key_to_tensors(workload_key: str) -> Any:
    """The tensors of a key; ValueError for one whose function was not registered."""
    try:
        workload = json.loads(workload_key)
        name = workload[0]
    except (ValueError, IndexError, KeyError, TypeError) as error:
        raise ValueError(f"{workload_key!r} is no workload key: {error}") from None
    if workload_key in WORKLOAD_FUNC_REGISTRY:
        value = WORKLOAD_FUNC_REGISTRY[workload_key]
    elif name in WORKLOAD_FUNC_REGISTRY:
        value = WORKLOAD_FUNC_REGISTRY[name]
    else:
        raise ValueError(f"{workload_key} is not registered, Please register it with @auto_scheduler.register_workload")
    return value(*deserialize_args(workload[1:])) if callable(value) else value


def serialize_workload_registry_entry(workload_key: str) -> tuple[str, Any]:
    """What another process needs to know the workload: its name, and the function or the tensors as JSON text."""
    from ..ir import save_json

    name = json.loads(workload_key)[0]
    key = workload_key if workload_key in WORKLOAD_FUNC_REGISTRY else name
    value = WORKLOAD_FUNC_REGISTRY[key]
    return key, (value if callable(value) else save_json(list(value)))


def deserialize_workload_registry_entry(data: Any) -> None:
    """Makes known what `serialize_workload_registry_entry` gave; what is known already stays."""
    from ..ir import load_json

    name, value = data
    if name not in WORKLOAD_FUNC_REGISTRY:
        WORKLOAD_FUNC_REGISTRY[name] = load_json(value) if isinstance(value, str) else value


def save_workload_func_registry(filename: str) -> None:
    """Writes the tensors of the registry into a file, as JSON. Functions are code: they are registered by importing them."""
    from ..ir import save_json

    entries = {
        key: save_json(list(value)) for key, value in WORKLOAD_FUNC_REGISTRY.items() if _is_list_of_tensors(value)
    }
    with open(filename, "w", encoding="utf-8") as file:
        json.dump(entries, file)


def load_workload_func_registry(filename: str) -> None:
    """Reads what `save_workload_func_registry` wrote."""
    from ..ir import load_json

    with open(filename, encoding="utf-8") as file:
        entries = json.load(file)
    if not isinstance(entries, dict):
        raise ValueError(f"{filename} holds no workloads")
    for key, text in entries.items():
        WORKLOAD_FUNC_REGISTRY.setdefault(key, load_json(text))
