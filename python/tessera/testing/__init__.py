"""Helpers for tests of programs that use the compiler. pytest is needed for marks, parameters and the plugin only."""

from typing import Any

from . import _ffi_api
from .helpers import fetch_model_from_url, identity_after, main, run_check_signal, terminate_self
from .numeric import (
    assert_allclose,
    assert_prim_expr_equal,
    check_bool_expr_is_true,
    check_int_constraints_trans_consistency,
    check_numerical_grads,
    get_dtype_range,
)
from .popen_pool import (
    after_initializer,
    call_cpp_ffi,
    call_cpp_py_ffi,
    call_py_ffi,
    fast_summation,
    identity_py,
    initializer,
    register_ffi,
    slow_summation,
    timeout_job,
)
from .targets import device_enabled, enabled_targets


def __getattr__(name: str) -> Any:
    """`utils`, which imports pytest, and everything else of it when it is asked for."""
    if not name.startswith("__"):
        from importlib import import_module

        utils = import_module(__name__ + ".utils")
        if name == "utils":
            return utils
        if name == "check_error":
            return import_module(__name__ + ".tir").check_error
        for module in (utils, _ffi_api):
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
