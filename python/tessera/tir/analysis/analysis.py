"""Questions about loop programs."""

from __future__ import annotations

from typing import Any

from . import _ffi_api

__all__ = ["expr_deep_equal", "verify_memory", "verify_ssa", "verify_well_formed"]


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
