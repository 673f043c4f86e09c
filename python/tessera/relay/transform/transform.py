"""Passes over Relay programs; names and arguments are v0.10's.

Most constructors come from the core's table of passes, src/relay/transform/passes.cc.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from typing import Any, Callable

from ..._ffi.registry import register_func, register_object
from ...ir.pass_table import pass_constructors
from ...ir.transform import Pass, PassContext, PassInfo, Sequential, module_pass
from ...parser import parse
from ..expr import Var, bind
from ..function import Function
from ..ty import TensorType
from . import _ffi_api

_constructors = pass_constructors("relay._transform.", __name__)
globals().update(_constructors)

__all__ = [
    "AnnotateSpans",
    "AnnotateTarget",
    "BatchingOps",
    "ChangeBatch",
    "FoldConstantExpr",
    "FunctionPass",
    "InferTypeLocal",
    "LayoutConfig",
    "MergeComposite",
    "RemoveUnusedFunctions",
    "build_config",
    "function_pass",
    *_constructors,
]


@register_object("relay.FunctionPass")
class FunctionPass(Pass):
    """A pass that changes the functions of a module one by one."""


def InferTypeLocal(expr: Any) -> Any:
    """The type of one expression, which it and its parts have from then on (`checked_type`)."""
    return _ffi_api.InferTypeLocal(expr)


def FoldConstantExpr(expr: Any, mod: Any = None, fold_qnn: bool = False) -> Any:
    """One expression with its constant parts computed."""
    return _ffi_api.FoldConstantExpr(expr, mod, fold_qnn)


def BatchingOps() -> Pass:
    """Combines parallel operators into larger ones."""
    names = ("CombineParallelConv2D", "CombineParallelDense", "CombineParallelBatchMatmul")
    return Sequential([_constructors[name]() for name in names])


class LayoutConfig:
    """While it is entered, ConvertLayout leaves the convolutions of these numbers, counted as they are met, alone."""

    current: LayoutConfig | None = None

    def __init__(self, skip_layers: list[int] | None = None) -> None:
        self.skip_counter = 0
        self.skip_layers = skip_layers if skip_layers is not None else []

    def check_skip(self) -> bool:
        """Should the next convolution be left alone?"""
        skip = self.skip_counter in self.skip_layers
        self.skip_counter += 1
        return skip

    def reset(self) -> None:
        """Starts counting again, with nothing left alone."""
        self.skip_counter = 0
        self.skip_layers = []

    def __enter__(self) -> LayoutConfig:
        self._outer = LayoutConfig.current
        LayoutConfig.current = self
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        LayoutConfig.current = self._outer


@register_func("relay.transform.layout_config_skips", override=True)
def _layout_config_skips() -> bool:
    return LayoutConfig.current is not None and LayoutConfig.current.check_skip()


def MergeComposite(pattern_table: Any) -> Pass:
    """Moves pieces of a graph that fit patterns into functions marked Composite.

    `pattern_table` lists (name, pattern) or (name, pattern, check), where `check(expr)` may reject a match.
    """
    names, patterns, checks = [], [], []
    for name, pattern, *check in pattern_table:
        names.append(name)
        patterns.append(pattern)
        checks.append(check[0] if check else lambda expr: True)
    return _ffi_api.MergeComposite(names, patterns, checks)


def AnnotateTarget(targets: Any, include_non_call_ops: bool = True) -> Pass:
    """Marks which external code generator takes each call, as the slots target.<name> of operators say."""
    from ..op.contrib import get_pattern_table

    names = [targets] if isinstance(targets, str) else [str(target) for target in targets]
    for name in names:  # what a code generator of ours takes is known once its table is
        get_pattern_table(name)
    return _ffi_api.AnnotateTarget(names, include_non_call_ops)


def RemoveUnusedFunctions(entry_functions: Any = None) -> Pass:
    """Drops functions that the entry functions, by default "main", do not reach."""
    return _ffi_api.RemoveUnusedFunctions(entry_functions if entry_functions is not None else ["main"])


def AnnotateSpans() -> Pass:
    """Prints the module and reads it back, so that every expression has a span and errors point into the text."""

    def annotate(mod: Any, _: PassContext) -> Any:
        return parse(mod.astext(show_meta_data=True), "GeneratedSource")

    return module_pass(annotate, opt_level=0, name="AnnotateSpans")


def ChangeBatch(data: Any, batch_size: int = 16) -> Pass:
    """Gives parameters another batch size: `data` says which axis of each variable is its batch."""
    axes = {var.vid: axis for var, axis in data.items()}  # passes copy variables and leave them their identity

    def change(func: Any, _: Any, __: PassContext) -> Any:
        replaced = {}
        for var in func.params:
            if var.vid in axes:
                kind = var.type_annotation
                shape = [batch_size if i == axes[var.vid] else extent for i, extent in enumerate(kind.shape)]
                replaced[var] = Var(var.name_hint, TensorType(shape, kind.dtype))
        params = [replaced.get(var, var) for var in func.params]
        return Function(params, bind(func.body, replaced), None, func.type_params, func.attrs)

    return function_pass(change, opt_level=1, name="ChangeBatch")


def build_config(
    opt_level: int = 2, required_pass: Any = None, disabled_pass: Any = None, trace: Any = None
) -> PassContext:
    """The old name of PassContext, which has no `trace` any more."""
    if trace is not None:
        raise ValueError("PassContext has no trace; give it an instrument (tvm.ir.instrument) that sees each pass")
    warnings.warn("relay.build_config is deprecated; use tvm.transform.PassContext", DeprecationWarning, stacklevel=2)
    return PassContext(opt_level, required_pass, disabled_pass)


def function_pass(
    pass_func: Any = None, opt_level: int | None = None, name: str | None = None, required: Any = None
) -> Any:
    """A pass from `f(function, module, context) -> function`, or from a class with `transform_function`; a decorator."""
    if opt_level is None:
        raise ValueError("Please provide opt_level for the function pass.")

    def create(target: Any) -> Any:
        info = PassInfo(opt_level, name or target.__name__, required or [])
        if inspect.isclass(target):
            return _class_pass(target, info)
        return _ffi_api.MakeFunctionPass(target, info)

    return create if pass_func is None else create(pass_func)


def _class_pass(cls: type, info: PassInfo) -> Callable[..., Any]:
    """A maker of passes that takes the arguments of the class."""

    @functools.wraps(cls, updated=())
    def make(*args: Any, **kwargs: Any) -> Any:
        instance = cls(*args, **kwargs)
        return _ffi_api.MakeFunctionPass(instance.transform_function, info)

    return make
