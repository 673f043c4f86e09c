"""Helpers for tests and examples of Relay."""

from __future__ import annotations

import collections
import importlib
from typing import Any

import numpy as np

from ... import ir as _ir
from ..._ffi.registry import get_global_func
from ...ir import Op
from ...runtime import ndarray as _nd
from ...testing.targets import enabled_targets
from ..expr import Call
from ..expr_functor import ExprVisitor
from ..function import Function
from ..prelude import Prelude
from ..transform import gradient
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
    temp_op_attr,
    vgg,
)
from .check_grad import check_grad
from .init import create_workload
from .nat import count, make_nat_expr, make_nat_value
from .py_converter import run_as_python, to_python
from .temp_op_attr import TempOpAttr

__all__ = [
    "Prelude",
    "TempOpAttr",
    "check_grad",
    "count",
    "count_ops",
    "create_workload",
    "dcgan",
    "densenet",
    "dqn",
    "enabled_targets",
    "gradient",
    "inception_v3",
    "init",
    "layers",
    "lstm",
    "make_nat_expr",
    "make_nat_value",
    "mlp",
    "mobilenet",
    "py_converter",
    "rand",
    "resnet",
    "resnet_3d",
    "run_as_python",
    "run_infer_type",
    "run_opt_pass",
    "squeezenet",
    "synthetic",
    "temp_op_attr",
    "to_python",
    "vgg",
]


def run_opt_pass(expr: Any, opt_pass: Any, import_prelude: bool = False) -> Any:
    """The expression after a pass."""
    mod = _ir.IRModule.from_expr(expr)
    if import_prelude:
        Prelude(mod)
    mod = opt_pass(mod)
    entry = mod["main"]
    return entry if isinstance(expr, Function) else entry.body


def run_infer_type(expr: Any) -> Any:
    """The expression with its types inferred."""
    return run_opt_pass(expr, get_global_func("relay._transform.InferType")())


def rand(dtype: str, *shape: int) -> _nd.NDArray:
    """Numbers between 0 and 1."""
    return _nd.array(np.random.rand(*shape).astype(dtype))


def _np_randn_from_type(t: Any, scale: float = 1, mean: float = 0) -> np.ndarray:
    """Normally distributed numbers for a tensor type."""
    return (mean + scale * np.random.randn(*(int(extent) for extent in t.shape))).astype(t.dtype)


class _OpCounter(ExprVisitor):
    def __init__(self) -> None:
        super().__init__()
        self.node_counter: collections.Counter = collections.Counter()

    def visit_call(self, call: Call) -> None:
        if isinstance(call.op, Op):
            self.node_counter[str(call.op.name)] += 1
        super().visit_call(call)


def count_ops(expr: Any) -> collections.Counter:
    """How often an expression calls each operator."""
    counter = _OpCounter()
    counter.visit(expr)
    return counter.node_counter


def __getattr__(name: str) -> Any:
    """`utils` is that of `tessera.testing`, which imports pytest when it is asked for."""
    if name == "utils":
        return importlib.import_module("...testing.utils", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
