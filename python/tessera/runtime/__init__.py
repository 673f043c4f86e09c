"""Run-time values: functions, tensors, devices, modules, and containers of them."""

from .. import _ffi_core
from .._ffi import base as _base
from .._ffi import registry as _registry
from .._ffi.runtime_ctypes import DataType, DataTypeCode, Device
from .container import ADT, ShapeTuple, String, tuple_object
from .module import (
    BenchmarkResult,
    Module,
    ModulePropertyMask,
    enabled,
    load_module,
    load_static_library,
    num_threads,
    system_lib,
)
from .ndarray import (
    NDArray,
    array,
    cl,
    cpu,
    cuda,
    device,
    empty,
    ext_dev,
    from_dlpack,
    gpu,
    hexagon,
    metal,
    mtl,
    opencl,
    rocm,
    vpi,
    vulkan,
)
from .object import Object
from .object_generic import ObjectGeneric, const, convert, convert_to_object, known_item, known_value

from . import profiling  # isort: skip
from .object_path import ObjectPath, ObjectPathPair
from .packed_func import PackedFunc
from .params import load_param_dict, load_param_dict_from_file, save_param_dict, save_param_dict_to_file


def _install_hooks() -> None:
    import ctypes

    _ffi_core.set_hooks(
        make_error=_base.make_error,
        fallback=known_value,
        object_fallback=known_item,
        text=String,
        device=Device,
        void_pointer=ctypes.c_void_p,
        extensions=_registry.EXTENSION_MAKERS,
    )


_install_hooks()
