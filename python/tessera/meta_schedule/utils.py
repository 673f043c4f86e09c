"""What the pieces of a search share: classes of Python as pieces of the core, logging, file names."""

from __future__ import annotations

import functools
import importlib
import logging
import os
import shutil
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from .._ffi.registry import get_global_func, register_func
from ..ir import IRModule

__all__ = [
    "autotvm_silencer",
    "batch_parameterize_config",
    "cpu_count",
    "derived_object",
    "get_global_func_on_rpc_session",
    "get_global_func_with_default_on_worker",
    "make_logging_func",
    "parameterize_config",
    "remove_build_dir",
    "shash2hex",
]


#: How the names of folders begin that hold one library to be measured.
CANDIDATE_FOLDER = "tessera_candidate_"


def derived_object(cls: type) -> Any:
    """Makes a class that overrides methods of a `Py...` class (PyRunner, PyScheduleRule, ...) a piece of a search.

    Its objects are what the search takes; attributes are those of an object of `cls`. A method that the class does not
    override keeps the default, or is an error when it is called.
    """
    base = cls.__base__
    if not hasattr(cls, "_tvm_metadata") or base is None:
        raise TypeError(f"{cls.__name__} is derived from one of the classes that begin with Py, such as PyRunner")
    for each in cls.__mro__:
        if "_tvm_metadata" in each.__dict__:
            base = each
            break
    metadata = cls._tvm_metadata
    fields, methods = metadata.get("fields", []), metadata.get("methods", [])

    def extract(inst: Any, name: str) -> Callable[..., Any] | None:
        if getattr(base, name, None) is getattr(cls, name, None):
            return None

        def method(*args: Any, **kwargs: Any) -> Any:
            return getattr(inst, name)(*args, **kwargs)

        return method

    core_class: Any = metadata["cls"]

    class Derived(core_class):
        def __init__(self, *args: Any, **kwargs: Any):
            self._inst = cls(*args, **kwargs)
            super().__init__(
                *(getattr(self._inst, name) for name in fields), *(extract(self._inst, name) for name in methods)
            )
            self._inst._outer = weakref.ref(self)

        def __getattr__(self, name: str) -> Any:
            if name == "_inst":
                raise AttributeError(name)
            try:
                return getattr(self._inst, name)
            except AttributeError:
                return getattr(super(), "__getattr__", self._missing)(name)

        def _missing(self, name: str) -> Any:
            raise AttributeError(f"{cls.__name__} has no attribute {name!r}")

        def __setattr__(self, name: str, value: Any) -> None:
            if name in ("_inst", "key", "handle") or name in self.__dict__:
                super().__setattr__(name, value)
            else:
                setattr(self._inst, name, value)

    functools.update_wrapper(Derived.__init__, cls.__init__)  # type: ignore[misc]
    Derived.__name__ = cls.__name__
    Derived.__qualname__ = cls.__qualname__
    Derived.__doc__ = cls.__doc__
    Derived.__module__ = cls.__module__
    for key, value in cls.__dict__.items():
        if isinstance(value, (classmethod, staticmethod)):
            setattr(Derived, key, value)
    return Derived


@register_func("meta_schedule.cpu_count", override=True)
def cpu_count(logical: bool = True) -> int:
    """How many cores this machine has; `logical` counts the threads of each."""
    count = os.cpu_count() or 1
    if logical:
        return count
    try:
        return importlib.import_module("psutil").cpu_count(logical=False) or count
    except ImportError:
        return count


def get_global_func_with_default_on_worker(name: None | str | Callable, default: Callable) -> Callable:
    """`name` where it is a function, the function of that name, or `default` for None."""
    if name is None:
        return default
    if callable(name):
        return name
    try:
        return get_global_func(name)
    except ValueError as error:
        raise ValueError(f'the function "{name}" is not registered; a worker needs it to build or to run') from error


def get_global_func_on_rpc_session(session: Any, name: str, extra_error_msg: str | None = None) -> Any:
    """The function of that name on the other side of an RPC session."""
    try:
        return session.get_function(name)
    except AttributeError as error:
        extra = "\n" + extra_error_msg if extra_error_msg else ""
        raise AttributeError(f'the server has no function "{name}"{extra}') from error


@register_func("meta_schedule.remove_build_dir", override=True)
def remove_build_dir(artifact_path: str) -> None:
    """Removes a library that was built to be measured, and its folder where that was made for it alone."""
    folder = os.path.dirname(os.path.abspath(artifact_path))
    if os.path.basename(folder).startswith(CANDIDATE_FOLDER):
        shutil.rmtree(folder, ignore_errors=True)
    elif os.path.isfile(artifact_path):
        os.unlink(artifact_path)


def shash2hex(mod: IRModule) -> str:
    """The structural hash of a module, in hexadecimal."""
    from ..ir import structural_hash

    return f"{structural_hash(mod) & (2**64 - 1):x}"


def make_logging_func(logger: logging.Logger | None) -> Callable[[int, str], None] | None:
    """A function (level, message) that the core logs by; None for no logger."""
    if logger is None:
        return None

    def log(level: int, message: str) -> None:
        logger.log(int(level), "%s", message)

    return log


def parameterize_config(config: dict[str, Any], params: dict[str, str]) -> dict[str, Any]:
    """`config` with `%(name)` in its texts replaced by `params`."""
    result: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(key, str):
            key = key % params
        if isinstance(value, str):
            value = value % params
        elif isinstance(value, dict):
            value = parameterize_config(value, params)
        elif isinstance(value, list):
            value = [each % params if isinstance(each, str) else each for each in value]
        result[key] = value
    return result


def batch_parameterize_config(config: dict[str, Any], params: list[dict[str, str]]) -> dict[str, Any]:
    """`config` once for each of `params`, merged."""
    results: dict[str, Any] = {}
    for name, each in config.items():
        for values in params:
            filled = parameterize_config({name: each}, values)
            for key, value in filled.items():
                results[key] = value
    return results


@contextmanager
def autotvm_silencer() -> Generator[None, None, None]:
    """AutoTVM warns of nothing inside."""
    from ..autotvm.env import GLOBAL_SCOPE

    before, GLOBAL_SCOPE.silent = GLOBAL_SCOPE.silent, True
    try:
        yield
    finally:
        GLOBAL_SCOPE.silent = before
