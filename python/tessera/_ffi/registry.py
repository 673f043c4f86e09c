"""Functions by name and classes by type key."""

from __future__ import annotations

import sys
from typing import Any, Callable, TypeVar

from .. import _ffi_core
from .._ffi_core import PackedFunc
from . import base as base  # loads the libraries, so that their functions and types are known

_Class = TypeVar("_Class", bound=type)

#: Makers of Python objects for values of extension codes; see register_extension.
EXTENSION_MAKERS: dict[int, Callable[[int], Any]] = {}


def register_func(
    func_name: str | Callable[..., Any], f: Callable[..., Any] | None = None, override: bool = False
) -> Any:
    """Makes a Python function callable by name from everywhere.

    Used as ``@register_func``, ``@register_func("name")`` or ``register_func("name", f)``. Returns the PackedFunc, or a
    decorator. A name that is taken is a ValueError unless `override` is set.
    """
    if callable(func_name):
        f, func_name = func_name, func_name.__name__
    if not isinstance(func_name, str):
        raise ValueError("expect string function name")
    name = func_name

    def register(function: Callable[..., Any]) -> PackedFunc:
        packed = function if isinstance(function, PackedFunc) else PackedFunc(function)
        _ffi_core.register_global(name, packed, override)
        return packed

    return register(f) if f is not None else register


def get_global_func(name: str, allow_missing: bool = False) -> Any:
    """The function of that name; None when it is missing and may be, else ValueError."""
    return _ffi_core.get_global(name, allow_missing)


def list_global_func_names() -> list[str]:
    """Names of all functions, sorted."""
    return _ffi_core.global_names()


def remove_global_func(name: str) -> None:
    """Forgets the function of that name; who holds it may still call it."""
    _ffi_core.remove_global(name)


def register_object(type_key: str | type | None = None) -> Any:
    """Makes a class stand for objects of a type of the core; the key is the class's name unless given."""

    def register(cls: _Class) -> _Class:
        key = type_key if isinstance(type_key, str) else cls.__name__
        cls._type_key = key  # type: ignore[attr-defined]
        _ffi_core.set_class(key, cls)
        return cls

    return register(type_key) if isinstance(type_key, type) else register


def get_object_type_index(cls: type) -> int | None:
    """The number of the core type that `cls` was registered for; None when there is none."""
    key = cls.__dict__.get("_type_key")
    index = _ffi_core.type_index(key) if key is not None else -1
    return index if index >= 0 else None


def register_extension(cls: type, fcreate: Callable[[int], Any] | None = None) -> type:
    """Lets objects of `cls` travel through calls. The class has `_tvm_tcode`, and its objects `_tvm_handle`.

    `fcreate` makes an object from the handle of a returned value.
    """
    EXTENSION_MAKERS[cls._tvm_tcode] = fcreate or cls  # type: ignore[attr-defined]
    return cls


def extract_ext_funcs(finit: Callable[[Any], int]) -> dict[str, PackedFunc]:
    """Functions that an extension's `finit(declare)` hands to `declare(name, function)`."""
    found: dict[str, PackedFunc] = {}
    if PackedFunc(finit)(lambda name, function: found.__setitem__(name, function)):
        raise RuntimeError(f"cannot initialize with {finit}")
    return found


def lazy_api(namespace: str, module_name: str) -> Callable[[str], PackedFunc]:
    """A module's ``__getattr__`` that finds ``namespace.name`` among the global functions.

    ``__getattr__ = lazy_api("tir", __name__)`` makes a module the namespace: what is asked for is looked up once.
    """

    def find(name: str) -> PackedFunc:
        if not name.startswith("__"):
            found = _ffi_core.get_global(f"{namespace}.{name}", True)
            if found is not None:
                setattr(sys.modules[module_name], name, found)
                return found
        raise AttributeError(f"there is no global function {namespace}.{name} (module {module_name!r})")

    return find


def _init_api(namespace: str, target_module_name: str | None = None) -> None:
    """Makes the global functions ``namespace.name`` attributes of a module."""
    target = target_module_name or namespace
    namespace = namespace.removeprefix("tvm.").removeprefix("tessera.")
    sys.modules[target].__getattr__ = lazy_api(namespace, target)  # type: ignore[method-assign]
