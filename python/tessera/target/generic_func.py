"""Functions with one implementation per target key."""

from __future__ import annotations

import functools
from typing import Any, Callable

from .._ffi.registry import register_object
from ..runtime.object import Object
from . import _ffi_api
from .target import Target

__all__ = ["GenericFunc", "generic_func", "get_native_generic_func", "override_native_generic_func"]


@register_object
class GenericFunc(Object):
    """Calls the implementation registered for the first matching key of the current target, else the default."""

    def __init__(self) -> None:
        self.__init_handle_by_constructor__(_ffi_api.GenericFuncCreate)

    def __call__(self, *args: Any) -> Any:
        return _ffi_api.GenericFuncCallFunc(self, *args)

    @property
    def name(self) -> str:
        """The name under which all parts of the compiler find it; "" where it has none."""
        return str(_ffi_api.GenericFuncGetName(self))

    def set_default(self, func: Callable, allow_override: bool = False) -> None:
        """Says what to call for targets none of whose keys is registered."""
        _ffi_api.GenericFuncSetDefault(self, func, allow_override)

    def register(self, func: Callable, key_list: list[str], allow_override: bool = False) -> None:
        """Says what to call for targets that have one of the keys."""
        _ffi_api.GenericFuncRegisterFunc(self, func, key_list, allow_override)

    def get_packed_func(self) -> Callable:
        """The implementation for the current target."""
        return _ffi_api.GenericFuncGetPackedFunc(self)


def get_native_generic_func(name: str) -> GenericFunc:
    """The generic function of that name, made when there is none yet."""
    return _ffi_api.GenericFuncGetGlobal(name)


def override_native_generic_func(func_name: str) -> Callable:
    """Decorator: makes the function the default of the named generic function; its `register` adds others."""

    def wrap(fdefault: Callable) -> Callable:
        generic = get_native_generic_func(func_name)
        generic.set_default(fdefault, allow_override=True)
        return native_function(generic, fdefault)

    return wrap


def native_function(generic: GenericFunc, fdefault: Callable) -> Callable:
    """A Python function that calls `generic`, with its methods; named and described as `fdefault`."""

    @functools.wraps(fdefault)
    def dispatch(*args: Any) -> Any:
        return generic(*args)

    def register(key: str | list, func: Callable | None = None, override: bool = True) -> Any:
        return _adder(func, lambda implementation: generic.register(implementation, _keys(key), override))

    dispatch.fdefault = fdefault  # type: ignore[attr-defined]
    dispatch.register = register  # type: ignore[attr-defined]
    dispatch.generic_func_node = generic  # type: ignore[attr-defined]
    dispatch.get_packed_func = generic.get_packed_func  # type: ignore[attr-defined]
    return dispatch


def generic_func(fdefault: Callable) -> Callable:
    """Decorator: a function whose `register("cuda")` adds implementations for target keys.

    Only Python calls it, so arguments are handed on as they are.
    """
    by_key: dict[str, Callable] = {}

    @functools.wraps(fdefault)
    def dispatch(*args: Any, **kwargs: Any) -> Any:
        target = Target.current(allow_none=True)
        for key in [] if target is None else target.keys:
            if str(key) in by_key:
                return by_key[str(key)](*args, **kwargs)
        return fdefault(*args, **kwargs)

    def register(key: str | list, func: Callable | None = None, override: bool = True) -> Any:
        def put(implementation: Callable) -> None:
            for one in _keys(key):
                if one in by_key and not override:
                    raise ValueError(f"{fdefault.__name__} is registered already for {one!r}")
                by_key[one] = implementation

        return _adder(func, put)

    dispatch.fdefault = fdefault  # type: ignore[attr-defined]
    dispatch.register = register  # type: ignore[attr-defined]
    dispatch.dispatch_dict = by_key  # type: ignore[attr-defined]
    return dispatch


def _keys(key: str | list) -> list[str]:
    return [key] if isinstance(key, str) else [str(one) for one in key]


def _adder(func: Callable | None, put: Callable[[Callable], None]) -> Any:
    """`put(func)`, or a decorator that does so."""

    def add(implementation: Callable) -> Callable:
        put(implementation)
        return implementation

    return add if func is None else add(func)
