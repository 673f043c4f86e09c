"""Facts about this build."""

from __future__ import annotations

import os
import sys
from typing import Any

from ._ffi.registry import get_global_func
from ._ffi_core import version
from .runtime.module import Module


def libinfo() -> dict[str, Any]:
    """How the core was built, by name."""
    info = get_global_func("support.GetLibInfo", allow_missing=True)
    found = dict(info().items()) if info is not None else {}
    found.setdefault("TESSERA_VERSION", version)
    found.setdefault("USE_LLVM", "ON" if get_global_func("target.build.llvm", allow_missing=True) else "OFF")
    found.setdefault("USE_CUDA", "ON" if get_global_func("device_api.cuda", allow_missing=True) else "OFF")
    found.setdefault("USE_OPENCL", "ON" if get_global_func("device_api.opencl", allow_missing=True) else "OFF")
    return found


def describe() -> None:
    """Prints what a report of a problem should say: versions, build, system, environment."""
    info = "\n".join(f"  {name}: {value}" for name, value in sorted(libinfo().items()))
    print(f"Python {sys.version}\nPlatform: {sys.platform}\nBuild:\n{info}")
    for name in ("CXX", "CC", "PYTHONPATH", "TVM_NUM_THREADS", "TVM_LIBRARY_PATH"):
        if name in os.environ:
            print(f"{name}={os.environ[name]}")


class FrontendTestModule(Module):
    """A module of Python functions, for tests."""

    def __init__(self, entry_name: str | None = None):
        self.__init_handle_by_constructor__(get_global_func("testing.FrontendTestModule"))
        if entry_name is not None:
            self.entry_name = entry_name

    def add_function(self, name: str, func: Any) -> None:
        self.get_function("__add_function")(name, func)

    def __setitem__(self, name: str, func: Any) -> None:
        self.add_function(name, func)
