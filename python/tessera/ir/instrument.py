"""Instruments: who is told when passes run."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from typing import Any

from .._ffi.registry import register_object
from ..runtime.object import Object
from . import _ffi_instrument_api

__all__ = [
    "PassInstrument",
    "PassPrintingInstrument",
    "PassTimingInstrument",
    "PrintAfterAll",
    "PrintBeforeAll",
    "pass_instrument",
]

_METHODS = ("enter_pass_ctx", "exit_pass_ctx", "should_run", "run_before_pass", "run_after_pass")


@register_object("instrument.PassInstrument")
class PassInstrument(Object):
    """Methods a subclass may have: enter_pass_ctx(), exit_pass_ctx(), should_run(mod, info),
    run_before_pass(mod, info), run_after_pass(mod, info)."""

    def __init__(self) -> None:
        cls = type(self)

        def method(name: str) -> Any:
            own = getattr(cls, name, None)
            # the default methods below are no reason to call back into Python
            return None if own is None or own is getattr(PassInstrument, name) else getattr(self, name)

        self.__init_handle_by_constructor__(
            _ffi_instrument_api.PassInstrument, cls.__name__, *[method(name) for name in _METHODS]
        )

    def enter_pass_ctx(self) -> None:
        """Called when a context with this instrument is entered."""

    def exit_pass_ctx(self) -> None:
        """Called when it is left."""

    def should_run(self, mod: Any, info: Any) -> bool:
        """False keeps the pass from running."""
        return True

    def run_before_pass(self, mod: Any, info: Any) -> None:
        """Called before each pass that runs."""

    def run_after_pass(self, mod: Any, info: Any) -> None:
        """Called after each pass that ran."""


def _instrument_class(user_class: type) -> type:
    """A PassInstrument class whose callbacks are the methods of a user's class.

    A base that is such a class already stands for the class that it was made of.
    """
    bases = tuple(getattr(base, "_plain_class", base) for base in user_class.__bases__)
    plain_class: Any = user_class
    if bases != user_class.__bases__:
        members = {name: value for name, value in vars(user_class).items() if name not in ("__dict__", "__weakref__")}
        plain_class = type(user_class.__name__, bases, members)

    class PyPassInstrument(PassInstrument):
        """The instrument around an object of the user's class."""

        _plain_class = plain_class

        def __init__(self, *args: Any, **kwargs: Any):
            inst = plain_class(*args, **kwargs)
            callbacks = [getattr(inst, name, None) for name in _METHODS]
            self.__init_handle_by_constructor__(_ffi_instrument_api.PassInstrument, user_class.__name__, *callbacks)
            self._inst = inst

        def __getattribute__(self, name: str) -> Any:
            if name in _METHODS:
                inst = super().__getattribute__("_inst")
                if hasattr(inst, name):
                    return getattr(inst, name)
            return super().__getattribute__(name)

        def __getattr__(self, name: str) -> Any:
            if name == "_inst":
                raise AttributeError(name)
            return getattr(self._inst, name)

    PyPassInstrument.__name__ = user_class.__name__
    PyPassInstrument.__doc__ = user_class.__doc__
    PyPassInstrument.__module__ = user_class.__module__
    return PyPassInstrument


def pass_instrument(pi_cls: type | None = None) -> Any:
    """Makes an instrument class of a class that has some of the methods of :class:`PassInstrument`."""

    def create(user_class: type) -> type:
        if not inspect.isclass(user_class):
            raise TypeError("pi_cls must be a class")
        return _instrument_class(user_class)

    return create(pi_cls) if pi_cls is not None else create


class PassTimingInstrument(PassInstrument):
    """Measures passes; ask :meth:`render` for the result before the context is left."""

    def __init__(self) -> None:
        self.__init_handle_by_constructor__(_ffi_instrument_api.MakePassTimingInstrument)

    @staticmethod
    def render() -> str:
        """One line for each pass: time, time without the passes it ran, shares of all and of the pass around it."""
        return _ffi_instrument_api.RenderTimePassProfiles()


@pass_instrument
class PassPrintingInstrument:
    """Prints the module before and after the passes of the given names (all passes when a list is "all")."""

    def __init__(
        self, print_before_pass_names: Sequence[str] | str = (), print_after_pass_names: Sequence[str] | str = ()
    ):
        self.print_before = print_before_pass_names
        self.print_after = print_after_pass_names

    @staticmethod
    def _wanted(names: Sequence[str] | str, info: Any) -> bool:
        return names == "all" or str(info.name) in list(names)

    def run_before_pass(self, mod: Any, info: Any) -> None:
        """Prints when the pass is one of those asked for."""
        if self._wanted(self.print_before, info):
            print(f"Print IR before: {info.name}\n{mod}\n", file=sys.stdout)

    def run_after_pass(self, mod: Any, info: Any) -> None:
        """Prints when the pass is one of those asked for."""
        if self._wanted(self.print_after, info):
            print(f"Print IR after: {info.name}\n{mod}\n", file=sys.stdout)


def PrintBeforeAll() -> Any:
    """Prints the module before every pass."""
    return PassPrintingInstrument("all", ())


def PrintAfterAll() -> Any:
    """Prints the module after every pass."""
    return PassPrintingInstrument((), "all")
