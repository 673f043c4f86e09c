"""Which targets tests can run on here, and marks that skip tests where something is missing."""

from __future__ import annotations

import functools
import logging
import os
import platform
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypedDict, TypeVar

from .. import runtime
from .._ffi.base import TVMError
from .._ffi.registry import get_global_func
from ..runtime.ndarray import device

_Function = TypeVar("_Function", bound=Callable[..., Any])

DEFAULT_TEST_TARGETS = [
    "llvm",
    "cuda",
    "nvptx",
    "vulkan -from_device=0",
    "opencl",
    "metal",
    "rocm",
    "hexagon",
]


class TargetState(TypedDict):
    """What is known about a target on this machine."""

    target: str
    target_kind: str
    is_enabled: bool
    is_runnable: bool


def _is_enabled(kind: str) -> bool:
    try:
        return runtime.enabled(kind)
    except TVMError:
        return get_global_func(f"target.build.{kind}", allow_missing=True) is not None


@functools.cache
def _states(targets: tuple[str, ...]) -> list[TargetState]:
    states: list[TargetState] = []
    for target in targets:
        kind = target.split()[0]
        is_enabled = _is_enabled(kind)
        is_runnable = is_enabled and device(kind).exist
        states.append(TargetState(target=target, target_kind=kind, is_enabled=is_enabled, is_runnable=is_runnable))
    return states


def _get_targets(target_names: Sequence[str] | None = None) -> list[TargetState]:
    """The targets of ``TVM_TEST_TARGETS`` (separated by ``;``), or the usual ones."""
    if target_names is None:
        given = os.environ.get("TVM_TEST_TARGETS", "")
        names = [name.strip() for name in given.split(";") if name.strip()] or DEFAULT_TEST_TARGETS
    else:
        names = list(target_names)
    states = _states(tuple(names))
    if target_names is None and not any(state["is_runnable"] for state in states):
        logging.warning("none of the targets %s can run here; tests use llvm", names)
        return _states(("llvm",))
    return states


def device_enabled(target: Any) -> bool:
    """True when tests shall and can run on the target (a string)."""
    if not isinstance(target, str):
        raise AssertionError("device_enabled requires a target as a string")
    kind = target.split()[0]
    return any(state["target_kind"] == kind for state in _get_targets() if state["is_runnable"])


def enabled_targets() -> list[tuple[str, Any]]:
    """The targets tests can run on here, each with its device."""
    return [(state["target"], device(state["target"])) for state in _get_targets() if state["is_runnable"]]


def _skip_unless(condition: bool, reason: str) -> Any:
    import pytest

    return pytest.mark.skipif(not condition, reason=reason)


class Feature:
    """Something a test needs. Used as a decorator; `marks()` are its pytest marks.

    A feature is there when `run_time_check` (or, for tests that only compile, `compile_time_check`) says so, its
    targets can run here, and its parents are there.
    """

    _all_features: dict[str, Feature] = {}  # noqa: RUF012

    def __init__(
        self,
        name: str,
        long_name: str | None = None,
        cmake_flag: str | None = None,
        target_kind_enabled: str | None = None,
        compile_time_check: Callable[[], bool | str] | None = None,
        target_kind_hardware: str | None = None,
        parent_features: str | Sequence[str] | None = None,
        run_time_check: Callable[[], bool | str] | None = None,
    ):
        self.name = name
        self.long_name = long_name or name
        self.cmake_flag = cmake_flag
        self.target_kind_enabled = target_kind_enabled
        self.compile_time_check = compile_time_check
        self.target_kind_hardware = target_kind_hardware
        self.parent_features = [parent_features] if isinstance(parent_features, str) else list(parent_features or [])
        self.run_time_check = run_time_check
        Feature._all_features[name] = self

    def _missing(self, support_required: str) -> str | None:
        """Why the feature is not there, or None when it is."""
        for parent in self.parent_features:
            missing = Feature._all_features[parent]._missing(support_required)
            if missing:
                return missing
        if self.target_kind_enabled and not _is_enabled(self.target_kind_enabled):
            return f"{self.long_name}: this build has no {self.target_kind_enabled} target"
        if self.compile_time_check:
            answer = self.compile_time_check()
            if answer is not True:
                return answer if isinstance(answer, str) else f"{self.long_name} is not available"
        if support_required == "compile-only":
            return None
        if self.target_kind_hardware and not device_enabled(self.target_kind_hardware):
            return f"{self.long_name}: no {self.target_kind_hardware} device, or tests do not ask for it"
        if self.run_time_check:
            answer = self.run_time_check()
            if answer is not True:
                return answer if isinstance(answer, str) else f"{self.long_name} is not available"
        return None

    def marks(self, support_required: str = "compile-and-run") -> list[Any]:
        """The pytest marks of tests that need this: one to select them by, one that skips."""
        import pytest

        names = [self.name, *self.parent_features]
        marks = [getattr(pytest.mark, name) for name in names]
        if support_required == "optional":
            return marks
        missing = self._missing(support_required)
        return [*marks, _skip_unless(missing is None, missing or "")]

    def __call__(self, func: _Function | None = None, *, support_required: str = "compile-and-run") -> Any:
        def apply(function: _Function) -> _Function:
            for mark in self.marks(support_required):
                function = mark(function)
            return function

        return apply if func is None else apply(func)

    @classmethod
    def require(cls, name: str, support_required: str = "compile-and-run") -> Any:
        """A decorator for the feature of that name."""
        return cls._all_features[name](support_required=support_required)


def _any_gpu() -> bool | str:
    kinds = ("cuda", "rocm", "opencl", "metal", "vulkan")
    return any(device(kind).exist for kind in kinds) or "no GPU is available"


def _global_exists(name: str) -> Callable[[], bool]:
    return lambda: get_global_func(name, allow_missing=True) is not None


def _compute_version(major: int, minor: int = 0) -> bool:
    text = device("cuda").compute_version if device("cuda").exist else None
    return text is not None and tuple(map(int, text.split("."))) >= (major, minor)


uses_gpu = Feature("uses_gpu", run_time_check=None)
requires_gpu = Feature("gpu", run_time_check=_any_gpu)
requires_llvm = Feature("llvm", "LLVM", target_kind_enabled="llvm", target_kind_hardware="llvm")
requires_x86 = Feature("x86", run_time_check=lambda: platform.machine() in ("x86_64", "AMD64", "i386"))
requires_cuda = Feature("cuda", "CUDA", target_kind_enabled="cuda", target_kind_hardware="cuda", parent_features="gpu")
requires_nvptx = Feature(
    "nvptx", "NVPTX", target_kind_enabled="nvptx", target_kind_hardware="nvptx", parent_features=["llvm", "cuda"]
)
requires_cudnn = Feature(
    "cudnn", "cuDNN", run_time_check=_global_exists("tvm.contrib.cudnn.exists"), parent_features="cuda"
)
requires_cublas = Feature(
    "cublas", "cuBLAS", run_time_check=_global_exists("tvm.contrib.cublas.matmul"), parent_features="cuda"
)
requires_cudagraph = Feature(
    "cudagraph", "CUDA graphs", run_time_check=lambda: _compute_version(3), parent_features="cuda"
)
requires_cutlass = Feature(
    "cutlass", "CUTLASS", run_time_check=_global_exists("relay.ext.cutlass"), parent_features="cuda"
)
requires_tensorcore = Feature(
    "tensorcore", "tensor cores", run_time_check=lambda: _compute_version(7), parent_features="cuda"
)
requires_opencl = Feature(
    "opencl", "OpenCL", target_kind_enabled="opencl", target_kind_hardware="opencl", parent_features="gpu"
)
requires_rocm = Feature("rocm", "ROCm", target_kind_enabled="rocm", target_kind_hardware="rocm", parent_features="gpu")
requires_metal = Feature(
    "metal", "Metal", target_kind_enabled="metal", target_kind_hardware="metal", parent_features="gpu"
)
requires_vulkan = Feature(
    "vulkan", "Vulkan", target_kind_enabled="vulkan", target_kind_hardware="vulkan", parent_features="gpu"
)
requires_hexagon = Feature("hexagon", target_kind_enabled="hexagon", target_kind_hardware="hexagon")
requires_rpc = Feature("rpc", "RPC", compile_time_check=_global_exists("rpc.Connect"))
requires_micro = Feature("micro", "MicroTVM", compile_time_check=_global_exists("micro._CreateSession"))
requires_openmp = Feature("openmp", "OpenMP", compile_time_check=lambda: "threads are the runtime's own")
requires_libtorch = Feature("libtorch", compile_time_check=_global_exists("runtime.contrib.torch"))
requires_ethosn = Feature("ethosn", compile_time_check=_global_exists("relay.ext.ethos-n"))
requires_ethosu = Feature("ethosu", compile_time_check=_global_exists("relay.ext.ethos-u"))
requires_cmsisnn = Feature("cmsisnn", compile_time_check=_global_exists("relay.ext.cmsis-nn.codegen"))
requires_vitis_ai = Feature("vitis_ai", compile_time_check=_global_exists("relay.ext.vitis_ai"))
requires_clml = Feature("clml", compile_time_check=_global_exists("relay.ext.clml"))
requires_arm_dot = Feature("arm_dot", run_time_check=lambda: platform.machine() in ("aarch64", "arm64"))
requires_corstone300 = Feature(
    "corstone300", compile_time_check=lambda: shutil.which("FVP_Corstone_SSE-300") is not None
)


def requires_cuda_compute_version(major_version: int, minor_version: int = 0) -> Any:
    """Skips a test where the GPU is older than a compute capability."""
    reason = f"needs CUDA compute capability {major_version}.{minor_version} or newer"

    def apply(function: _Function) -> _Function:
        marks = [*requires_cuda.marks(), _skip_unless(_compute_version(major_version, minor_version), reason)]
        for mark in marks:
            function = mark(function)
        return function

    return apply


def requires_nvcc_version(major_version: int, minor_version: int = 0, release_version: int = 0) -> Any:
    """Skips a test where nvcc is missing or older."""
    import re
    import subprocess

    wanted = (major_version, minor_version, release_version)
    found = (0, 0, 0)
    if shutil.which("nvcc"):
        text = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=False).stdout
        match = re.search(r"V(\d+)\.(\d+)\.(\d+)", text)
        found = tuple(map(int, match.groups())) if match else found  # type: ignore[assignment]
    return _skip_unless(found >= wanted, f"needs nvcc {'.'.join(map(str, wanted))} or newer")


def requires_package(*packages: str) -> Any:
    """Skips a test where a Python package is missing."""
    from importlib.util import find_spec

    missing = [name for name in packages if find_spec(name) is None]
    return _skip_unless(not missing, f"Cannot import '{', '.join(missing)}'")


def skip_if_32bit(reason: str = "does not run on 32-bit systems") -> Any:
    """Skips a test on 32-bit systems."""
    return _skip_unless(sys.maxsize > 2**32, reason)


def skip_if_wheel_test(fn: Any) -> Any:
    """Skips a test where ``WHEEL_TEST`` in the environment says that only an installed wheel is there."""
    return _skip_unless(os.environ.get("WHEEL_TEST", "").lower() not in ("1", "true"), "not for wheel tests")(fn)


def slow(fn: Any) -> Any:
    """Skips a test where ``SKIP_SLOW_TESTS`` in the environment asks for it."""
    return _skip_unless(os.environ.get("SKIP_SLOW_TESTS", "").lower() not in ("1", "true"), "slow")(fn)


def is_ampere_or_newer() -> bool:
    """True when there is an NVIDIA GPU of compute capability 8.0 or newer."""
    return _compute_version(8)
