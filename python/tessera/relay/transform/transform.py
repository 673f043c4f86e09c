"""Passes over Relay programs; names and arguments are v0.10's."""

from __future__ import annotations

import functools
import inspect
import warnings
from typing import Any, Callable

from ..._ffi.registry import register_func, register_object
from ...ir.transform import Pass, PassContext, PassInfo, Sequential, module_pass
from ...parser import parse
from . import _ffi_api

__all__ = [
    "AlterOpLayout",
    "AnnotateSpans",
    "AnnotateTarget",
    "BackwardFoldScaleAxis",
    "BatchingOps",
    "CanonicalizeCast",
    "CanonicalizeOps",
    "CombineParallelBatchMatmul",
    "CombineParallelConv2D",
    "CombineParallelDense",
    "CombineProducts",
    "ConvertLayout",
    "DeadCodeElimination",
    "DefuseOps",
    "DynamicToStatic",
    "EliminateCommonSubexpr",
    "FakeQuantizationToInteger",
    "FastMath",
    "FlattenAtrousConv",
    "FoldConstant",
    "FoldConstantExpr",
    "FoldExplicitPadding",
    "FoldScaleAxis",
    "ForwardFoldScaleAxis",
    "FunctionPass",
    "FuseOps",
    "InferType",
    "InferTypeLocal",
    "LabelOps",
    "LayoutConfig",
    "Legalize",
    "MergeCompilerRegions",
    "MergeComposite",
    "PackWeights",
    "PartitionGraph",
    "RemoveUnusedFunctions",
    "SimplifyExpr",
    "SimplifyFCTranspose",
    "SimplifyInference",
    "SplitArgs",
    "ToGraphNormalForm",
    "ToMixedPrecision",
    "build_config",
    "function_pass",
]


@register_object("relay.FunctionPass")
class FunctionPass(Pass):
    """A pass that changes the functions of a module one by one."""


def InferType() -> Pass:
    """Finds the type of every expression, and fills in annotations that were left open."""
    return _ffi_api.InferType()


def InferTypeLocal(expr: Any) -> Any:
    """The type of one expression."""
    return _ffi_api.InferTypeLocal(expr)


def FuseOps(fuse_opt_level: int = -1) -> Pass:
    """Makes one primitive function of each group of operators that one kernel computes.

    Level 0 gives each operator its own; -1 takes the level of the context.
    """
    return _ffi_api.FuseOps(fuse_opt_level)


def DeadCodeElimination(inline_once: bool = False, ignore_impurity: bool = False) -> Pass:
    """Drops lets that nobody uses; with `inline_once`, values used once move to their use."""
    return _ffi_api.DeadCodeElimination(inline_once, ignore_impurity)


def EliminateCommonSubexpr(fskip: Any = None) -> Pass:
    """Makes equal calls one; those that `fskip` is true for stay apart."""
    return _ffi_api.EliminateCommonSubexpr(fskip)


def FoldConstant(fold_qnn: bool = False) -> Pass:
    """Computes what depends on constants only; quantised operators too where `fold_qnn` says so."""
    return _ffi_api.FoldConstant(fold_qnn)


def FoldConstantExpr(expr: Any, mod: Any = None, fold_qnn: bool = False) -> Any:
    """One expression with its constant parts computed."""
    return _ffi_api.FoldConstantExpr(expr, mod, fold_qnn)


def SimplifyInference() -> Pass:
    """Writes operators that only differ in training (batch_norm, dropout, ...) as the arithmetic they are."""
    return _ffi_api.SimplifyInference()


def CanonicalizeOps() -> Pass:
    """Writes nn.bias_add as an addition."""
    return _ffi_api.CanonicalizeOps()


def CanonicalizeCast() -> Pass:
    """Gives each element-wise user of a widening cast its own, so that it is fused there."""
    return _ffi_api.CanonicalizeCast()


def CombineProducts() -> Pass:
    """Dense layers and matmuls of one tensor with constant weights become one where their results are transposed, as
    queries, keys and values of attention are."""
    return _ffi_api.CombineProducts()


def PackWeights() -> Pass:
    """Puts constant weights into the panels that the current target reads fastest; FoldConstant then computes them."""
    return _ffi_api.PackWeights()


def FastMath() -> Pass:
    """Replaces exp, erf, tanh and softmax by quicker, less exact versions."""
    return _ffi_api.FastMath()


def ForwardFoldScaleAxis() -> Pass:
    """Moves a scale of a layer's input into its weight."""
    return _ffi_api.ForwardFoldScaleAxis()


def BackwardFoldScaleAxis() -> Pass:
    """Moves a scale of a layer's result into its weight."""
    return _ffi_api.BackwardFoldScaleAxis()


def FoldScaleAxis() -> Pass:
    """Moves scales into the weights of layers, backward and then forward."""
    return _ffi_api.FoldScaleAxis()


def SplitArgs(max_function_args: int) -> Pass:
    """Makes concatenations of more tensors than a kernel may take in steps; 0 means no limit."""
    return _ffi_api.SplitArgs(max_function_args)


def DefuseOps() -> Pass:
    """Turns calls of primitive functions into operators again."""
    return _ffi_api.DefuseOps()


def LabelOps() -> Pass:
    """Gives every function its structural hash as the attribute "hash"."""
    return _ffi_api.LabelOps()


def FlattenAtrousConv() -> Pass:
    """Joins space_to_batch_nd, a convolution and batch_to_space_nd to a dilated convolution."""
    return _ffi_api.FlattenAtrousConv()


def FoldExplicitPadding() -> Pass:
    """Joins nn.pad with the convolution or pooling that follows."""
    return _ffi_api.FoldExplicitPadding()


def SimplifyFCTranspose(target_weight_name: list[str]) -> Pass:
    """Takes the weights of those names transposed, as `name.T`, where `nn.dense` transposes them."""
    return _ffi_api.SimplifyFCTranspose(target_weight_name)


def SimplifyExpr() -> Pass:
    """Rewrites expressions by algebra: chains of reshapes, transposes and casts, neutral elements, and the like."""
    return _ffi_api.SimplifyExpr()


def CombineParallelConv2D(min_num_branches: int = 3) -> Pass:
    """Makes convolutions of one tensor, and what follows each alike, one convolution."""
    return _ffi_api.CombineParallelConv2D(min_num_branches)


def CombineParallelDense(min_num_branches: int = 3, to_batch: bool = True) -> Pass:
    """Makes dense layers of one tensor one: a batched product, or with `to_batch` off a wider layer."""
    return _ffi_api.CombineParallelDense(min_num_branches, to_batch)


def CombineParallelBatchMatmul(min_num_branches: int = 3) -> Pass:
    """Makes batched products with one left operand one product."""
    return _ffi_api.CombineParallelBatchMatmul(min_num_branches)


def BatchingOps() -> Pass:
    """Joins parallel operators into larger ones."""
    return Sequential([CombineParallelConv2D(), CombineParallelDense(), CombineParallelBatchMatmul()])


def DynamicToStatic() -> Pass:
    """Replaces operators whose shapes are given by tensors by static ones where those tensors are known."""
    return _ffi_api.DynamicToStatic()


def Legalize(legalize_map_attr_name: str = "FTVMLegalize") -> Pass:
    """Replaces operators by what their slot of that name says."""
    return _ffi_api.Legalize(legalize_map_attr_name)


def AlterOpLayout() -> Pass:
    """Gives operators the layouts that suit the current target, as their slot FTVMAlterOpLayout says."""
    return _ffi_api.AlterOpLayout()


def ConvertLayout(desired_layouts: dict[str, list[str]]) -> Pass:
    """Gives the named operators the layouts asked for: {"nn.conv2d": ["NHWC", "default"]}; the rest follows."""
    return _ffi_api.ConvertLayout(desired_layouts)


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

    `pattern_table` lists (name, pattern) or (name, pattern, check), where `check(expr)` may refuse a match.
    """
    names, patterns, checks = [], [], []
    for name, pattern, *check in pattern_table:
        names.append(name)
        patterns.append(pattern)
        checks.append(check[0] if check else lambda expr: True)
    return _ffi_api.MergeComposite(names, patterns, checks)


def AnnotateTarget(targets: Any, include_non_call_ops: bool = True) -> Pass:
    """Marks which external code generator takes each call, as the slots target.<name> of operators say."""
    return _ffi_api.AnnotateTarget([targets] if isinstance(targets, str) else list(targets), include_non_call_ops)


def MergeCompilerRegions() -> Pass:
    """Makes neighbouring regions of one external code generator one."""
    return _ffi_api.MergeCompilerRegions()


def PartitionGraph(mod_name: str = "default", bind_constants: bool = True) -> Pass:
    """Makes a function of the module of each region of an external code generator."""
    return _ffi_api.PartitionGraph(mod_name, bind_constants)


def ToMixedPrecision(mixed_precision_type: str = "float16", missing_op_mode: int = 1) -> Pass:
    """Runs products in a narrower float type; what is sensitive stays in float32, the rest follows its inputs.

    missing_op_mode says what becomes of operators of which nothing is known: 0 an error, 1 float32 and a warning, 2
    float32.
    """
    return _ffi_api.ToMixedPrecision(mixed_precision_type, missing_op_mode)


def FakeQuantizationToInteger(hard_fail: bool = False, use_qat: bool = False) -> Pass:
    """Turns float operators between dequantize and quantize into integer ones.

    Where an operator has no integer form, floats stay; with hard_fail that is an error.
    """
    return _ffi_api.FakeQuantizationToInteger(hard_fail, use_qat)


def ToGraphNormalForm() -> Pass:
    """Turns lets into sharing, where they mean no more than that."""
    return _ffi_api.ToGraphNormalForm()


def RemoveUnusedFunctions(entry_functions: Any = None) -> Pass:
    """Drops functions that the entry functions, by default "main", do not reach."""
    return _ffi_api.RemoveUnusedFunctions(entry_functions if entry_functions is not None else ["main"])


def AnnotateSpans() -> Pass:
    """Prints the module and reads it back, so that every expression has a span and errors point into the text."""

    def annotate(mod: Any, _: PassContext) -> Any:
        return parse(mod.astext(show_meta_data=True), "GeneratedSource")

    return module_pass(annotate, opt_level=0, name="AnnotateSpans")


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
