"""What code is generated for: targets, their options and tags, and functions that differ by target."""

from . import codegen, tag
from .codegen import llvm_get_intrinsic_name, llvm_lookup_intrinsic_id, llvm_version_major
from .generic_func import GenericFunc, get_native_generic_func, override_native_generic_func
from .generic_func import generic_func as generic_func
from .tag import list_tags, register_tag
from .target import (
    Target,
    TargetKind,
    arm_cpu,
    bifrost,
    create,
    cuda,
    hexagon,
    intel_graphics,
    mali,
    micro,
    rasp,
    riscv_cpu,
    rocm,
    stm32,
    vta,
)
from .virtual_device import CompilationConfig, VirtualDevice, make_compilation_config

__all__ = [
    "CompilationConfig",
    "GenericFunc",
    "Target",
    "TargetKind",
    "VirtualDevice",
    "arm_cpu",
    "bifrost",
    "codegen",
    "create",
    "cuda",
    "generic_func",
    "get_native_generic_func",
    "hexagon",
    "intel_graphics",
    "list_tags",
    "llvm_get_intrinsic_name",
    "llvm_lookup_intrinsic_id",
    "llvm_version_major",
    "make_compilation_config",
    "mali",
    "micro",
    "override_native_generic_func",
    "rasp",
    "register_tag",
    "riscv_cpu",
    "rocm",
    "stm32",
    "tag",
    "vta",
]
