"""Questions about loop programs."""

from __future__ import annotations

from typing import Any

from . import _ffi_api

__all__ = [
    "OOBChecker",
    "apply_prim_func_arg_and_result_memory_constraints",
    "calculate_constant_bytes",
    "calculate_workspace_bytes",
    "detect_buffer_access_lca",
    "estimate_tir_flops",
    "expr_deep_equal",
    "get_block_access_region",
    "get_block_read_write_region",
    "get_prim_func_arg_and_result_memory_constraints",
    "verify_gpu_code",
    "verify_memory",
    "verify_ssa",
    "verify_well_formed",
]


def expr_deep_equal(lhs: Any, rhs: Any) -> bool:
    """True when both are written alike, over the very same variables."""
    return bool(_ffi_api.expr_deep_equal(lhs, rhs))


def verify_ssa(func: Any) -> bool:
    """True when every variable of the function is defined in one place only."""
    return bool(_ffi_api.verify_ssa(func))


def verify_memory(func: Any) -> bool:
    """True when a function for a device touches device memory only from threads."""
    return bool(_ffi_api.verify_memory(func))


def verify_well_formed(func: Any, assert_mode: bool = True) -> bool:
    """True when every variable is defined before its use and types agree; with `assert_mode` else an error."""
    return bool(_ffi_api.VerifyWellFormed(func, assert_mode))


def verify_gpu_code(func: Any, constraints: dict[str, int]) -> bool:
    """True when the kernels of a lowered function stay within `constraints`: max_local_memory_per_block,
    max_shared_memory_per_block, max_threads_per_block, max_thread_x, max_thread_y, max_thread_z, max_vthread,
    max_vector_bytes, max_kernels."""
    return bool(_ffi_api.verify_gpu_code(func, constraints))


def get_block_access_region(block: Any, buffer_var_map: Any) -> Any:
    """The regions that a block reads, writes, and gives away the address of, of the buffers in the map."""
    return _ffi_api.GetBlockAccessRegion(block, buffer_var_map)


def get_block_read_write_region(block: Any, buffer_var_map: Any) -> Any:
    """The regions that a block reads and writes of the buffers in the map."""
    return _ffi_api.GetBlockReadWriteRegion(block, buffer_var_map)


def calculate_workspace_bytes(func: Any, workspace_byte_alignment: int) -> int:
    """The most bytes that the allocations of the function take at one time."""
    return int(_ffi_api.calculate_workspace_bytes(func, workspace_byte_alignment))


def calculate_constant_bytes(func: Any, constant_byte_alignment: int) -> int:
    """The bytes of the constants inside the function."""
    return int(_ffi_api.calculate_constant_bytes(func, constant_byte_alignment))


def detect_buffer_access_lca(func: Any) -> Any:
    """For each buffer the innermost loop or block that holds all its uses, None for the function itself."""
    return _ffi_api.detect_buffer_access_lca(func)


def estimate_tir_flops(stmt_or_mod: Any) -> float:
    """The number of operations on numbers that a statement, function or module does."""
    return float(_ffi_api.EstimateTIRFlops(stmt_or_mod))


def get_prim_func_arg_and_result_memory_constraints(func: Any, relay_func_type: Any) -> list[str]:
    """The storage scopes that the buffers of the parameters ask for, "" where they leave it open."""
    return list(_ffi_api.GetPrimFuncArgAndResultMemoryConstraints(func, relay_func_type))


def apply_prim_func_arg_and_result_memory_constraints(
    func: Any, relay_func_type: Any, arg_and_result_memory_scopes: list[str]
) -> Any:
    """The function with the buffers of its parameters in the given storage scopes, "" for no change."""
    return _ffi_api.ApplyPrimFuncArgAndResultMemoryConstraints(func, relay_func_type, arg_and_result_memory_scopes)


def OOBChecker() -> Any:
    """A pass that rejects programs with an access that is certain to lie outside its buffer."""
    return _ffi_api.OOBChecker()
