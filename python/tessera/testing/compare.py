"""A class of tests that compare a program before and after a pass."""

from __future__ import annotations

import functools
import importlib
import inspect
import textwrap
from typing import Any

import pytest

from .numeric import _package

__all__ = ["CompareBeforeAfter"]


def _is_fixture(value: Any) -> bool:
    return hasattr(value, "_fixture_function") or hasattr(value, "_pytestfixturefunction")


def _is_method(value: Any) -> bool:
    return inspect.isfunction(value) and "self" in inspect.signature(value).parameters


def _as_fixture(value: Any) -> Any:
    """A program given as a PrimFunc, an IRModule, a class of functions, a function in TVMScript, or a method that gives
    one of them, as a fixture."""
    if _is_fixture(value):
        return value
    if _is_method(value):
        return pytest.fixture(value)

    def program(self: Any) -> Any:
        tessera = _package()
        if isinstance(value, (tessera.tir.PrimFunc, tessera.IRModule)):
            return value
        if inspect.isclass(value):
            return importlib.import_module(tessera.__name__ + ".script").ir_module(value)
        return importlib.import_module(tessera.__name__ + ".script").tir.prim_func(value)

    return pytest.fixture(program)


def _as_transform(value: Any) -> Any:
    """A pass, or a method that gives one, as a fixture. A method of a module (`transform(self, mod)`) is the pass."""
    if _is_fixture(value):
        return value
    if _is_method(value) and "mod" not in inspect.signature(value).parameters:
        return pytest.fixture(value)

    def transform(self: Any) -> Any:
        return functools.partial(value, self) if _is_method(value) else value

    return pytest.fixture(transform)


class CompareBeforeAfter:
    """Derive, and give `before`, `expected` (a program, or an exception class) and `transform` (a pass). Each may also
    be a method or a fixture that gives it.

    One test applies the pass to `before` and compares the structure with `expected`.
    """

    def __init_subclass__(cls) -> None:
        for name in ("before", "expected"):
            given = cls.__dict__.get(name)
            if given is not None and not (inspect.isclass(given) and issubclass(given, Exception)):
                setattr(cls, name, _as_fixture(given))
            elif given is not None:
                setattr(cls, name, pytest.fixture(lambda self, given=given: given))
        if "transform" in cls.__dict__:
            cls.transform = _as_transform(cls.__dict__["transform"])  # type: ignore[attr-defined]

    def test_compare(self, before: Any, expected: Any, transform: Any) -> None:
        """Compares the outcome with what is expected."""
        tessera = _package()

        def as_module(program: Any) -> Any:
            return program if isinstance(program, tessera.IRModule) else tessera.IRModule.from_expr(program)

        before_module = as_module(before)
        if inspect.isclass(expected) and issubclass(expected, Exception):
            with pytest.raises(expected):
                transform(before_module)
            return
        after = transform(before_module)
        try:
            tessera.ir.assert_structural_equal(after, as_module(expected))
        except ValueError as error:
            text = "\n\n".join(
                f"{title}:\n{textwrap.indent(str(program), '    ')}"
                for title, program in (("before", before_module), ("expected", expected), ("after", after))
            )
            raise ValueError(f"the program after the pass is not what was expected: {error}\n{text}") from error
