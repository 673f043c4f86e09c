"""Passes over modules and the context they run in."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Collection, Sequence
from typing import Any

from .._ffi.registry import register_object
from ..runtime.object import Object
from . import _ffi_transform_api

__all__ = [
    "ModulePass",
    "Pass",
    "PassContext",
    "PassInfo",
    "PrintIR",
    "Sequential",
    "module_pass",
]


@register_object("transform.PassInfo")
class PassInfo(Object):
    """What is known of a pass before it runs: its level, its name, and passes that have to run before it."""

    def __init__(self, opt_level: int, name: str, required: Sequence[str] | None = None, traceable: bool = False):
        self.__init_handle_by_constructor__(
            _ffi_transform_api.PassInfo, opt_level, name, list(required or []), traceable
        )


@register_object("transform.PassContext")
class PassContext(Object):
    """Options, required and disabled passes and instruments for the passes that run inside ``with PassContext(...):``.

    `config` may hold the keys of :meth:`list_configs`; an unknown key or a value of the wrong type is an error.
    """

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Collection[str] | None = None,
        disabled_pass: Collection[str] | None = None,
        instruments: Sequence[Any] | None = None,
        config: dict[str, Any] | None = None,
    ):
        for name, value in (("required_pass", required_pass), ("disabled_pass", disabled_pass)):
            if value is not None and not isinstance(value, (list, tuple, set, frozenset)):
                raise TypeError(f"{name} is expected to be a list, tuple, set or None, got {type(value).__name__}")
        if instruments is not None and not isinstance(instruments, (list, tuple)):
            raise TypeError(f"instruments is expected to be a list, tuple or None, got {type(instruments).__name__}")
        self.__init_handle_by_constructor__(
            _ffi_transform_api.PassContext,
            opt_level,
            list(required_pass or []),
            list(disabled_pass or []),
            list(instruments or []),
            dict(config or {}),
        )

    def __enter__(self) -> PassContext:
        _ffi_transform_api.EnterPassContext(self)
        return self

    def __exit__(self, ptype: Any, value: Any, trace: Any) -> None:
        _ffi_transform_api.ExitPassContext(self)

    def override_instruments(self, instruments: Sequence[Any] | None) -> None:
        """Leaves the instruments of this context and enters others instead."""
        _ffi_transform_api.OverrideInstruments(self, list(instruments or []))

    @staticmethod
    def current() -> PassContext:
        """The innermost context of this thread."""
        return _ffi_transform_api.GetCurrentPassContext()

    @staticmethod
    def list_configs() -> dict[str, dict[str, str]]:
        """All config keys, each with the type of its value."""
        return {
            str(key): {str(k): str(v) for k, v in entry.items()}
            for key, entry in _ffi_transform_api.ListConfigs().items()
        }


@register_object("transform.Pass")
class Pass(Object):
    """A function from module to module."""

    @property
    def info(self) -> PassInfo:
        """The pass's level, name and requirements."""
        return self.pass_info

    def __call__(self, mod: Any) -> Any:
        return _ffi_transform_api.RunPass(self, mod)


@register_object("transform.ModulePass")
class ModulePass(Pass):
    """A pass that sees the whole module; made by :func:`module_pass`."""


@register_object("transform.Sequential")
class Sequential(Pass):
    """Runs passes in order: those whose level the context reaches or that it requires, unless it disables them."""

    def __init__(
        self,
        passes: Sequence[Pass] | None = None,
        opt_level: int = 0,
        name: str = "sequential",
        required: Sequence[str] | None = None,
    ):
        if not isinstance(passes or [], (list, tuple)):
            raise TypeError("passes must be a list of Pass objects.")
        if not isinstance(required or [], (list, tuple)):
            raise TypeError("Required is expected to be the type of list/tuple.")
        self.__init_handle_by_constructor__(
            _ffi_transform_api.Sequential, list(passes or []), opt_level, name, list(required or [])
        )


def make_pass_class(pass_cls: type, base: type[Pass], make: Callable[[Any, PassInfo], Any], info: PassInfo) -> type:
    """A pass class from a user's class, whose objects have a method `transform_<kind>`."""
    method = {"ModulePass": "transform_module", "PrimFuncPass": "transform_function"}.get(
        base.__name__, "transform_function"
    )

    class PyPass(base):  # type: ignore[misc, valid-type]
        """The pass around an object of the user's class."""

        def __init__(self, *args: Any, **kwargs: Any):
            inst = pass_cls(*args, **kwargs)

            def run(*call_args: Any) -> Any:
                return getattr(inst, method)(*call_args)

            self.__init_handle_by_constructor__(make, run, info)
            self._inst = inst

        def __getattr__(self, name: str) -> Any:
            if name == "_inst":
                raise AttributeError(name)
            return getattr(self._inst, name)

    PyPass.__name__ = pass_cls.__name__
    PyPass.__doc__ = pass_cls.__doc__
    PyPass.__module__ = pass_cls.__module__
    return PyPass


def decorate_pass(
    base: type[Pass],
    make: Callable[[Any, PassInfo], Any],
    pass_func: Any,
    opt_level: int | None,
    name: str | None,
    required: Sequence[str] | None,
) -> Any:
    """What module_pass and its likes share: a pass from a function, a pass class from a class."""
    if opt_level is None:
        raise ValueError("Please provide opt_level for the pass.")
    if required is not None and not isinstance(required, (list, tuple)):
        raise TypeError("Required is expected to be the type of " + "list/tuple.")

    def create(function: Any) -> Any:
        info = PassInfo(opt_level, name or function.__name__, required)
        if inspect.isclass(function):
            return make_pass_class(function, base, make, info)
        if not isinstance(function, (types.FunctionType, types.LambdaType)) and not callable(function):
            raise TypeError("pass_func must be a callable for Module pass")
        return make(function, info)

    return create(pass_func) if pass_func else create


def module_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
) -> Any:
    """A pass from ``f(mod, ctx) -> mod``, or from a class with ``transform_module(self, mod, ctx)``.

    Works as a decorator; `opt_level` has to be given.
    """
    return decorate_pass(ModulePass, _ffi_transform_api.MakeModulePass, pass_func, opt_level, name, required)


def PrintIR(header: str = "", show_meta_data: bool = False) -> Pass:
    """A pass that prints the module and hands it on."""
    return _ffi_transform_api.PrintIR(header, show_meta_data)
