"""Errors of the core as Python exceptions, and the load of the core's libraries."""

from __future__ import annotations

import os
from typing import Any, Callable, TypeVar

from .. import _ffi_core
from .libinfo import library_path

_Class = TypeVar("_Class", bound=type)

string_types = (str,)
integer_types = (int,)
numeric_types = (int, float)


class TVMError(RuntimeError):
    """An error of the core; one of a kind that Python knows is of Python's class, too."""


def _core_error(kind: type[BaseException]) -> type[BaseException]:
    """A core error that is caught as `kind` and as TVMError, and shown as the first."""
    doc = f"A {kind.__name__} of the core."
    return type(kind.__name__, (TVMError, kind), {"__doc__": doc, "__module__": kind.__module__})


#: Exception class by the kind of a core error.
ERROR_TYPE: dict[str, type[BaseException]] = {
    "TVMError": TVMError,
    **{
        kind.__name__: _core_error(kind)
        for kind in (
            ValueError,
            TypeError,
            IndexError,
            KeyError,
            AttributeError,
            NotImplementedError,
            OSError,
            FileNotFoundError,
            PermissionError,
            IsADirectoryError,
            ImportError,
            MemoryError,
            AssertionError,
        )
    },
}


def register_error(func_name: str | type | None = None, cls: type | None = None) -> Any:
    """Makes core errors of a kind come out as a class; the kind is the class's name unless given.

    Used as ``@register_error``, ``@register_error("Kind")`` or ``register_error("Kind", cls)``.
    """
    if isinstance(func_name, type):
        cls, func_name = func_name, func_name.__name__

    def register(error_class: _Class) -> _Class:
        kind = func_name if isinstance(func_name, str) else error_class.__name__
        ERROR_TYPE[kind] = error_class
        return error_class

    return register(cls) if cls is not None else register


def backtrace_wanted() -> bool:
    """True when errors shall show the C++ frames they came from."""
    return os.environ.get("TVM_BACKTRACE", "") not in ("", "0")


def make_error(kind: str, message: str, backtrace: Callable[[], str]) -> BaseException:
    """The exception for a core error. A kind that is no class of its own is said by the text; C functions say theirs
    before a colon."""
    said, _, rest = message.partition(": ")
    if kind == "TVMError" and said in ERROR_TYPE:
        kind, message = said, rest
    error = ERROR_TYPE[kind](message) if kind in ERROR_TYPE else TVMError(f"{kind}: {message}")
    if backtrace_wanted():
        note = "C++ frames, innermost first:\n" + backtrace()
        if hasattr(error, "add_note"):
            error.add_note(note)
        else:
            error.args = (f"{error.args[0]}\n{note}",)
    return error


def py_str(text: bytes) -> str:
    """Bytes of the core as text."""
    return text.decode("utf-8")


def _load_compiler() -> bool:
    """Loads the compiler's library; False where only the runtime is installed or asked for."""
    if os.environ.get("TVM_USE_RUNTIME_LIB"):
        return False
    path = library_path("tessera")
    if path is not None:
        _ffi_core.load_library(str(path))
    return path is not None


#: True when only the runtime is there, without the compiler.
_RUNTIME_ONLY = not _load_compiler()


def __getattr__(name: str) -> Any:
    if name == "_LIB":  # the C functions of the runtime, for those who call them through ctypes
        import ctypes

        path = library_path("tvm_runtime") or library_path("tessera_runtime")
        globals()["_LIB"] = ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)
        return globals()["_LIB"]
    if name == "__version__":
        import tessera

        return tessera.__version__
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
