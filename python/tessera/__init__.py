"""Tessera: a compiler for machine-learning models and tensor programs.

The names are those of TVM v0.10; ``python -m tessera.as_tvm script.py`` runs a script that says ``import tvm``.
"""

import importlib
import sys

from . import _package  # first: it says how the others are imported

from . import _ffi, error, runtime  # isort: skip
from ._ffi import get_global_func, register_error, register_extension, register_func, register_object
from ._ffi.base import TVMError
from ._ffi.runtime_ctypes import DataType, DataTypeCode
from .runtime import ndarray as nd
from .runtime.ndarray import (
    cl,
    cpu,
    cuda,
    device,
    ext_dev,
    gpu,
    hexagon,
    metal,
    mtl,
    opencl,
    rocm,
    vpi,
    vulkan,
)
from .runtime.object import Object

from . import ir, support, target, tir  # isort: skip
from .target import datatype as _datatype  # isort: skip
from . import arith  # isort: skip
from . import te  # isort: skip
from .ir import IRModule, container, instrument, transform  # isort: skip
from .ir.memory_pools import (  # isort: skip
    ConstantMemoryPools,
    ConstantPoolInfo,
    PoolInfo,
    PoolInfoProperties,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)
from . import driver  # isort: skip
from .driver import build, lower  # isort: skip
from . import script  # isort: skip
from .model import Model, compile  # isort: skip
from .generate import Generator  # isort: skip

#: The TVM release whose language this package speaks.
__version__ = "0.10.0"


def __getattr__(name: str) -> object:
    """Relay is loaded when it is first used: tensor programs do not wait for it."""
    if name in ("parser", "relay"):
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_package.complete(sys.modules[__name__])
