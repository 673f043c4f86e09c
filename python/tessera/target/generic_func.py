"""Functions with one implementation per target key."""

from __future__ import annotations

import functools
from typing import Any, Callable

from .target import Target

_native_functions: dict[str, GenericFunc] = {}


class GenericFunc:
    """Calls the implementation registered for the first matching key of the current target, else the default."""

    def __init__(self, name: str = ""):
        self.name = name
        self._default: Callable | None = None
        self._by_key: dict[str, Callable] = {}

    def __call__(self, *args: Any) -> Any:
        return self._pick()(*args)

    def _pick(self) -> Callable:
        target = Target.current(allow_none=True)
        for key in [] if target is None else target.keys:
            if str(key) in self._by_key:
                return self._by_key[str(key)]
        if self._default is None:
            raise ValueError(f"{self.name or 'this function'} has no default and none for target {target}")
        return self._default

    def set_default(self, func: Callable, allow_override: bool = False) -> None:
        if self._default is not None and not allow_override:
            raise ValueError(f"{self.name or 'this function'} has a default already; pass allow_override=True")
        self._default = func

    def register(self, func: Callable, key_list: list, allow_override: bool = False) -> None:
        for key in key_list:
            if key in self._by_key and not allow_override:
                raise ValueError(f"{self.name or 'this function'} is registered already for {key!r}")
            self._by_key[key] = func

    def get_packed_func(self) -> Callable:
        """The implementation for the current target."""
        return self._pick()


def get_native_generic_func(name: str) -> GenericFunc:
    """The generic function of that name, made when there is none yet."""
    return _native_functions.setdefault(name, GenericFunc(name))


def override_native_generic_func(func_name: str) -> Callable:
    """Decorator: makes the function the default of the named generic function; its `register` adds others."""
    return _decorate(get_native_generic_func(func_name))


def generic_func(fdefault: Callable) -> Callable:
    """Decorator: a function whose `register("cuda")` adds implementations for target keys."""
    return _decorate(GenericFunc(fdefault.__name__))(fdefault)


def _decorate(generic: GenericFunc) -> Callable:
    def wrap(fdefault: Callable) -> Callable:
        generic.set_default(fdefault, allow_override=True)

        @functools.wraps(fdefault)
        def dispatch(*args: Any, **kwargs: Any) -> Any:
            return generic._pick()(*args, **kwargs)

        def register(key: str | list, func: Callable | None = None, override: bool = True) -> Any:
            keys = [key] if isinstance(key, str) else list(key)

            def add(implementation: Callable) -> Callable:
                generic.register(implementation, keys, override)
                return implementation

            return add if func is None else add(func)

        dispatch.fdefault = fdefault  # type: ignore[attr-defined]
        dispatch.register = register  # type: ignore[attr-defined]
        dispatch.generic_func_node = generic  # type: ignore[attr-defined]
        dispatch.get_packed_func = generic.get_packed_func  # type: ignore[attr-defined]
        return dispatch

    return wrap
