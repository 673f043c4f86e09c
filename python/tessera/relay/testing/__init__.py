"""Helpers for tests and examples of Relay."""

from __future__ import annotations

from typing import Any

from ... import ir as _ir
from ..._ffi.registry import get_global_func
from ..function import Function
from . import (
    dcgan,
    densenet,
    dqn,
    inception_v3,
    init,
    layers,
    lstm,
    mlp,
    mobilenet,
    py_converter,
    resnet,
    resnet_3d,
    squeezenet,
    synthetic,
    vgg,
)
from .check_grad import check_grad
from .init import create_workload
from .nat import count, make_nat_expr, make_nat_value
from .py_converter import run_as_python, to_python

__all__ = [
    "check_grad",
    "count",
    "create_workload",
    "dcgan",
    "densenet",
    "dqn",
    "inception_v3",
    "init",
    "layers",
    "lstm",
    "make_nat_expr",
    "make_nat_value",
    "mlp",
    "mobilenet",
    "py_converter",
    "resnet",
    "resnet_3d",
    "run_as_python",
    "run_infer_type",
    "run_opt_pass",
    "squeezenet",
    "synthetic",
    "to_python",
    "vgg",
]


def run_opt_pass(expr: Any, opt_pass: Any, import_prelude: bool = False) -> Any:
    """The expression after a pass."""
    mod = _ir.IRModule.from_expr(expr)
    if import_prelude:
        from ..prelude import Prelude

        Prelude(mod)
    mod = opt_pass(mod)
    entry = mod["main"]
    return entry if isinstance(expr, Function) else entry.body


def run_infer_type(expr: Any) -> Any:
    """The expression with its types inferred."""
    return run_opt_pass(expr, get_global_func("relay._transform.InferType")())
