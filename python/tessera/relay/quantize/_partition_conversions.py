"""A quantised model in three functions: inputs are quantised, integers are computed, outputs are dequantised."""

from __future__ import annotations

from typing import Any

from ...ir import IRModule, Op
from .. import transform
from ..analysis import all_dtypes, post_order_visit
from ..expr import Call, Constant, Tuple, TupleGetItem, Var
from ..expr_functor import ExprMutator
from ..function import Function
from ..scope_builder import ScopeBuilder

__all__ = ["partition_conversions"]

#: Operators of which conversions between floats and integers are made.
_CONVERSIONS = {"add", "multiply", "right_shift", "clip", "round", "round_to_even", "floor", "cast"}


def _has_dtype(expr: Any, dtypes: set[str]) -> bool:
    return getattr(expr.checked_type, "dtype", None) in dtypes


def _converted_parameter(expr: Any, params: set[Any]) -> Any:
    """The parameter that an expression of conversions and constants is made of; None where it is more than that."""
    found = set()

    def holds(node: Any) -> bool:
        if isinstance(node, Var):
            found.add(node)
            return node in params
        if isinstance(node, Call):
            return isinstance(node.op, Op) and node.op.name in _CONVERSIONS and all(map(holds, node.args))
        return isinstance(node, Constant)

    return next(iter(found)) if holds(expr) and len(found) == 1 else None


class _PrefixCutter(ExprMutator):
    """Integers made of a parameter alone become parameters; so do parameters that are read as they are."""

    def __init__(self, params: Any, dtypes: set[str]):
        super().__init__()
        self.given, self.dtypes = set(params), dtypes
        self.made: dict[Any, Var] = {}  # by the expression that the first function gives
        self.names: dict[str, int] = {}

    def _parameter(self, expr: Any, name: str) -> Var:
        if expr not in self.made:
            count = self.names[name] = self.names.get(name, 0) + 1
            self.made[expr] = Var(name if count == 1 else f"{name}_{count - 1}", expr.checked_type)
        return self.made[expr]

    def visit(self, expr: Any) -> Any:
        if isinstance(expr, (Var, Call)) and (isinstance(expr, Var) or _has_dtype(expr, self.dtypes)):
            param = _converted_parameter(expr, self.given)
            if param is not None:
                return self._parameter(expr, param.name_hint)
        return super().visit(expr)


class _SuffixCutter(ExprMutator):
    """What lies behind the last integers; those, and parameters that are still read, are items of `values`."""

    def __init__(self, params: Any, dtypes: set[str]):
        super().__init__()
        self.given, self.dtypes = set(params), dtypes
        self.values: list[Any] = []
        self.holes: list[Var] = []

    def visit(self, expr: Any) -> Any:
        is_parameter = isinstance(expr, Var) and expr in self.given
        is_integral = isinstance(expr, (Call, TupleGetItem)) and _has_dtype(expr, self.dtypes)
        if not is_parameter and not is_integral:
            return super().visit(expr)
        if expr not in self.memo_map:
            self.values.append(expr)
            self.holes.append(
                Var("input" if len(self.values) == 1 else f"input_{len(self.values) - 1}", expr.checked_type)
            )
            self.memo_map[expr] = self.holes[-1]
        return self.memo_map[expr]


def _typed(function: Function) -> Function:
    return transform.InferType()(IRModule.from_expr(function))["main"]


def _split(function: Function, dtypes: set[str]) -> tuple[Function, Function, Function]:
    prefix = _PrefixCutter(function.params, dtypes)
    rest = prefix.visit(function.body)
    params = list(prefix.made.values())
    first = _typed(Function(function.params, Tuple(list(prefix.made))))
    body = _typed(Function(params, rest))
    suffix = _SuffixCutter(body.params, dtypes)
    last = suffix.visit(body.body)
    middle = Function(body.params, suffix.values[0] if len(suffix.values) == 1 else Tuple(suffix.values))
    return first, _typed(middle), _typed(Function(suffix.holes, last))


def _only_converts(function: Function) -> bool:
    found = []

    def visit(node: Any) -> None:
        if isinstance(node, Call):
            found.append(isinstance(node.op, Op) and node.op.name in _CONVERSIONS)

    post_order_visit(function.body, visit)
    return all(found)


def partition_conversions(mod: IRModule, quantized_dtypes: set[str], ensure_fully_integral: bool) -> IRModule:
    """The module with `quantize_inputs`, `quantized_main` and `dequantize_outputs`, which "main" calls in this order.

    With `ensure_fully_integral` it is an AssertionError when the first and the last do more than convert, or the second has floats.
    """
    mod = transform.InferType()(mod)
    assert len(mod.get_global_vars()) == 1, "only a module of one function is partitioned"
    first, middle, last = _split(mod["main"], set(quantized_dtypes))
    if ensure_fully_integral:
        assert _only_converts(first) and _only_converts(last), (
            "a layer that is not quantised reads an input or gives an output"
        )
        floats = set(map(str, all_dtypes(middle))) - set(quantized_dtypes)
        assert not floats, f"the model is not fully integral: quantized_main has values of {', '.join(sorted(floats))}"
    out = IRModule({"quantize_inputs": first, "quantized_main": middle, "dequantize_outputs": last})
    builder = ScopeBuilder()
    inputs = [Var(param.name_hint, param.checked_type) for param in mod["main"].params]

    def call(name: str, args: list[Any]) -> Any:
        return builder.let(name.rpartition("/")[2], Call(out.get_global_var(name.partition("/")[0]), args))

    quantized = call("quantize_inputs/quantized_inputs", list(inputs))
    results = call("quantized_main/quantized_outputs", [TupleGetItem(quantized, i) for i in range(len(middle.params))])
    count = len(last.params)
    given = [results] if count == 1 else [TupleGetItem(results, i) for i in range(count)]
    builder.ret(call("dequantize_outputs/dequantized_outputs", given))
    out["main"] = Function(inputs, builder.get())
    return transform.InferType()(out)
