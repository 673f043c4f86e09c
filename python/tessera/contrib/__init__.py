"""Tools around the compiler: linkers, archives, temporary folders."""

import importlib as _importlib
import typing as _typing


def __getattr__(name: str) -> _typing.Any:
    """`tessera.contrib.cudnn` without an import of its own."""
    if not name.startswith("_"):
        try:
            return _importlib.import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise AttributeError(str(error)) from error
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
