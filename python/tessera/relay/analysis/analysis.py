"""Questions about Relay programs."""

from __future__ import annotations

from typing import Any, Callable

from ...ir import IRModule
from ..expr import Expr, Var
from ..function import Function
from ..ty import Type
from . import _ffi_api
from .feature import Feature

__all__ = [
    "all_dtypes",
    "all_type_vars",
    "all_vars",
    "bound_type_vars",
    "bound_vars",
    "check_basic_block_normal_form",
    "check_constant",
    "check_kind",
    "count_layers",
    "detect_feature",
    "extract_fused_functions",
    "extract_intermdeiate_expr",
    "free_type_vars",
    "free_vars",
    "get_calibration_data",
    "get_total_mac_number",
    "list_fake_quantized_op_freqs",
    "list_op_freqs",
    "post_order_visit",
    "search_fc_transpose",
    "unmatched_cases",
    "well_formed",
]


def post_order_visit(expr: Any, fvisit: Callable[[Any], Any]) -> None:
    """Calls `fvisit` on every expression once, parts before the whole."""
    _ffi_api.post_order_visit(expr, fvisit)


def well_formed(expr: Any) -> bool:
    """True when every variable is bound once and used only where it is in scope."""
    return bool(_ffi_api.well_formed(expr))


def check_kind(t: Type, mod: IRModule | None = None) -> Any:
    """The kind of a type; an error where its parts do not fit together."""
    from ...ir import TypeKind

    return TypeKind(_ffi_api.check_kind(t, mod))


def check_constant(expr: Any) -> bool:
    """True for constants and tuples of them."""
    return bool(_ffi_api.check_constant(expr))


def check_basic_block_normal_form(expr: Any) -> int:
    """1 when no expression is used in a scope deeper than where it belongs, else 0."""
    return int(_ffi_api.check_basic_block_normal_form(expr))


def free_vars(expr: Any) -> list[Var]:
    """Variables used but not bound, in the order of their first use."""
    return list(_ffi_api.free_vars(expr))


def bound_vars(expr: Any) -> list[Var]:
    """Variables that the expression, or the pattern, binds."""
    return list(_ffi_api.bound_vars(expr))


def all_vars(expr: Any) -> list[Var]:
    """All variables, in the order in which they are met."""
    return list(_ffi_api.all_vars(expr))


def free_type_vars(expr: Any, mod: IRModule | None = None) -> list[Any]:
    """Type variables used but not bound."""
    return list(_ffi_api.free_type_vars(expr, mod))


def bound_type_vars(expr: Any, mod: IRModule | None = None) -> list[Any]:
    """Type variables that functions and function types bind."""
    return list(_ffi_api.bound_type_vars(expr, mod))


def all_type_vars(expr: Any, mod: IRModule | None = None) -> list[Any]:
    """All type variables."""
    return list(_ffi_api.all_type_vars(expr, mod))


def all_dtypes(expr: Any) -> set[str]:
    """Names of the element types of all tensors; needs inferred types."""
    return {str(dtype) for dtype in _ffi_api.all_dtypes(expr)}


def unmatched_cases(match: Any, mod: IRModule | None = None) -> list[Any]:
    """Patterns of values that no clause of the match fits."""
    return list(_ffi_api.unmatched_cases(match, mod if mod is not None else IRModule()))


def detect_feature(a: Any, b: Any = None) -> set[Feature]:
    """The parts of the language that an expression, or a module, uses."""
    if isinstance(a, IRModule):
        a, b = b, a
    return {Feature(int(x)) for x in _ffi_api.detect_feature(a, b)}


def list_op_freqs(mod: IRModule) -> dict[str, int]:
    """How often each operator is called in a module."""
    return {str(name): int(count) for name, count in _ffi_api.list_op_freqs(mod).items()}


def list_fake_quantized_op_freqs(mod: IRModule) -> dict[str, int]:
    """How often each operator stands between qnn.dequantize and qnn.quantize with nothing but operators on the way."""
    return {str(name): int(count) for name, count in _ffi_api.list_fake_quantized_op_freqs(mod).items()}


def count_layers(expr: Any, valid_ops: list[str]) -> int:
    """The largest number of calls of `valid_ops` on one way through the program."""
    if isinstance(expr, IRModule):
        expr = expr["main"]
    if not isinstance(expr, (Expr, Function)):
        raise TypeError("count_layers needs an expression or a module")
    return int(_ffi_api.count_layers(expr, list(valid_ops)))


def extract_intermdeiate_expr(mod: IRModule, expr_id: int) -> IRModule:
    """A module that computes the expression with that number: calls, tuples and fields in order of evaluation."""
    from ..expr import Call, Tuple, TupleGetItem

    numbered: list[Any] = []

    def count(expr: Any) -> None:
        if isinstance(expr, (Call, Tuple, TupleGetItem)):
            numbered.append(expr)

    post_order_visit(mod["main"], count)
    if not 0 <= expr_id < len(numbered):
        raise ValueError(f"the program has {len(numbered)} expressions, none with the number {expr_id}")
    return IRModule.from_expr(numbered[expr_id])


def get_total_mac_number(expr: Any) -> int:
    """Multiply-accumulates of convolutions and matmuls; needs inferred types."""
    return int(_ffi_api.GetTotalMacNumber(expr))


def extract_fused_functions(mod: IRModule) -> dict[Any, Any]:
    """The primitive functions of a module once FuseOps has run, each distinct one once, by names made of their hashes."""
    from .. import transform

    passes: Any = transform
    mod = passes.FuseOps()(passes.InferType()(mod))
    return dict(_ffi_api.ExtractFusedFunctions(mod).functions.items())


def search_fc_transpose(expr: Any) -> list[str]:
    """Names of the weights w in `nn.dense(x, transpose(w, axes=[1, 0]))`."""
    return [str(name) for name in _ffi_api.search_fc_transpose(expr)]


def get_calibration_data(mod: IRModule, data: dict[str, Any]) -> dict[Any, dict[str, list[Any]]]:
    """What goes into and comes out of each function for an external compiler, when "main" is run on `data`."""
    from ..build_module import create_executor
    from ..expr import Call, Tuple
    from ..ty import TupleType

    called: list[Any] = []

    def collect(expr: Any) -> None:
        if isinstance(expr, Call) and expr.op in mod.functions:
            function = mod[expr.op]
            if function.attrs and "Compiler" in function.attrs:
                called.append(expr)

    main = mod["main"]
    post_order_visit(main, collect)
    values = [Tuple([*call.args, call]) for call in called]
    probed = IRModule(dict(mod.functions.items()), dict(mod.type_definitions.items()))
    probed["main"] = Function(main.params, Tuple(values))
    results = create_executor("debug", mod=probed).evaluate()(**data)
    out = {}
    for call, result in zip(called, results):
        result = list(result)
        last = result[-1]
        outputs = list(last) if isinstance(call.checked_type, TupleType) else [last]
        out[call.op] = {"inputs": result[:-1], "outputs": outputs}
    return out
