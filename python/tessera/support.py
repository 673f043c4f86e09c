"""Facts about this build."""

from __future__ import annotations

import os
import sys
from typing import Any

from ._ffi.registry import get_global_func
from ._ffi_core import version
from .runtime.module import Module

#: Options of v0.10's build. What is not part of ours is "OFF".
_OPTIONS = [
    "USE_ALTERNATIVE_LINKER",
    "USE_AOT_EXECUTOR",
    "USE_ARM_COMPUTE_LIB",
    "USE_ARM_COMPUTE_LIB_GRAPH_EXECUTOR",
    "USE_BLAS",
    "USE_BNNS",
    "USE_BYODT_POSIT",
    "USE_CCACHE",
    "USE_CLML",
    "USE_CLML_GRAPH_EXECUTOR",
    "USE_CMSISNN",
    "USE_COREML",
    "USE_CPP_RPC",
    "USE_CUBLAS",
    "USE_CUDA",
    "USE_CUDNN",
    "USE_CUTLASS",
    "USE_DNNL",
    "USE_ETHOSN",
    "USE_ETHOSU",
    "USE_FALLBACK_STL_MAP",
    "USE_GRAPH_EXECUTOR",
    "USE_GRAPH_EXECUTOR_CUDA_GRAPH",
    "USE_GTEST",
    "USE_HEXAGON",
    "USE_HEXAGON_GTEST",
    "USE_HEXAGON_RPC",
    "USE_HEXAGON_SDK",
    "USE_IOS_RPC",
    "USE_KHRONOS_SPIRV",
    "USE_LIBBACKTRACE",
    "USE_LIBTORCH",
    "USE_LLVM",
    "USE_METAL",
    "USE_MICRO",
    "USE_MICRO_STANDALONE_RUNTIME",
    "USE_MIOPEN",
    "USE_MKL",
    "USE_MLIR",
    "USE_MSVC_MT",
    "USE_NNPACK",
    "USE_OPENCL",
    "USE_OPENCL_ENABLE_HOST_PTR",
    "USE_OPENCL_GTEST",
    "USE_OPENMP",
    "USE_PAPI",
    "USE_PROFILER",
    "USE_PT_TVMDSOOP",
    "USE_RANDOM",
    "USE_RELAY_DEBUG",
    "USE_ROCBLAS",
    "USE_ROCM",
    "USE_RPC",
    "USE_RTTI",
    "USE_RUST_EXT",
    "USE_SORT",
    "USE_SPIRV_KHR_INTEGER_DOT_PRODUCT",
    "USE_STACKVM_RUNTIME",
    "USE_TARGET_ONNX",
    "USE_TENSORFLOW_PATH",
    "USE_TENSORRT_CODEGEN",
    "USE_TENSORRT_RUNTIME",
    "USE_TFLITE",
    "USE_TF_TVMDSOOP",
    "USE_THREADS",
    "USE_THRUST",
    "USE_UMA",
    "USE_VERILATOR",
    "USE_VITIS_AI",
    "USE_VULKAN",
]


def libinfo() -> dict[str, Any]:
    """How the core was built, by name: "ON", "OFF", a version; "NOT-FOUND" where nothing is known."""
    info = get_global_func("support.GetLibInfo", allow_missing=True)
    found = dict(info().items()) if info is not None else {}
    found.setdefault("TESSERA_VERSION", version)
    found.setdefault("USE_LLVM", "ON" if get_global_func("target.build.llvm", allow_missing=True) else "OFF")
    found.setdefault("USE_CUDA", "ON" if get_global_func("device_api.cuda", allow_missing=True) else "OFF")
    found.setdefault("USE_OPENCL", "ON" if get_global_func("device_api.opencl", allow_missing=True) else "OFF")
    for name in ("USE_GRAPH_EXECUTOR", "USE_PROFILER", "USE_SORT", "USE_THREADS"):
        found.setdefault(name, "ON")
    for name in _OPTIONS:
        found.setdefault(name, "OFF")
    for name in ("CUDA_VERSION", "GIT_COMMIT_HASH", "GIT_COMMIT_TIME", "LLVM_VERSION", "ROCM_PATH"):
        found.setdefault(name, "NOT-FOUND")
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
