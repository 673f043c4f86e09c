"""Functions under T that give a value: arithmetic, casts, vectors, and every operator of the table by its name."""

from __future__ import annotations

import ast
from typing import Any

from tessera import arith, ir, tir
from tessera.script.parser.regions import range_between


def script_name(function: Any) -> str | None:
    """The name under T that `function` stands for, or None when it is something else."""
    from tessera.script.tir import _ScriptName

    return function._name if isinstance(function, _ScriptName) else None


def _binary(node_type: Any) -> Any:
    def make(ev: Any, node: ast.AST, a: Any, b: Any) -> Any:
        return node_type(*ev._match(a, b, node))

    return make


def _cast(ev: Any, node: ast.AST, value: Any, dtype: str) -> Any:
    return tir.Cast(dtype, ev.as_expr(value, node))


def _select(ev: Any, node: ast.AST, condition: Any, true_value: Any, false_value: Any) -> Any:
    a, b = ev._match(true_value, false_value, node)
    return tir.Select(ev.as_expr(condition, node), a, b)


def _ramp(ev: Any, node: ast.AST, base: Any, stride: Any, lanes: Any) -> Any:
    base, stride = ev._match(base, stride, node)
    return tir.Ramp(base, stride, _count(lanes))


def _broadcast(ev: Any, node: ast.AST, value: Any, lanes: Any) -> Any:
    return tir.Broadcast(ev.as_expr(value, node), _count(lanes))


def _count(value: Any) -> int:
    if isinstance(value, tir.PrimExpr):
        value = arith.Analyzer().simplify(value)
    return int(value)


def _shuffle(ev: Any, node: ast.AST, vectors: Any, indices: Any) -> Any:
    return tir.Shuffle([ev.as_expr(v, node) for v in vectors], [ev.as_expr(i, node) for i in indices])


def _comm_reducer(ev: Any, node: ast.AST, combine: Any, identities: Any) -> Any:
    identities = [ev.as_expr(value, node) for value in identities]
    names = getattr(combine, "names", None)
    if names is None or len(names) != 2 * len(identities):
        raise ev.source.error(node, f"comm_reducer: the lambda takes {2 * len(identities)} arguments")
    half = len(identities)
    lhs = [tir.Var(name, e.dtype) for name, e in zip(names[:half], identities)]
    rhs = [tir.Var(name, e.dtype) for name, e in zip(names[half:], identities)]
    result = combine(*lhs, *rhs)
    result = list(result) if isinstance(result, (tuple, list)) else [result]
    return tir.CommReducer(lhs, rhs, [ev.as_expr(e, node) for e in result], identities)


def _reads_as_numbers(*names: str) -> dict:
    def make(function: Any) -> Any:
        return lambda ev, node, *args, **kwargs: function(*args, **kwargs)

    return {name: make(getattr(tir, name)) for name in names}


def _iter_var(ev: Any, node: ast.AST, var: Any, dom: Any, iter_type: str, thread_tag: str) -> Any:
    kinds = {
        "DataPar": 0,
        "ThreadIndex": 1,
        "CommReduce": 2,
        "Ordered": 3,
        "DimInfo": 4,
        "Opaque": 4,
        "Unrolled": 5,
        "Vectorized": 6,
        "Parallelized": 7,
        "Tensorized": 8,
    }
    if iter_type not in kinds:
        raise ev.source.error(node, f"no iteration type {iter_type!r}; there are {', '.join(kinds)}")
    if isinstance(dom, (tuple, list)):
        dom = range_between(*(ev.as_expr(bound, node) for bound in dom))
    return tir.IterVar(dom, var, kinds[iter_type], thread_tag)


def _gone(name: str, instead: str) -> Any:
    def reject(ev: Any, node: ast.AST, *_: Any, **__: Any) -> Any:
        raise ev.source.error(node, f"T.{name} works on bare pointers and is no longer part of the language: {instead}")

    return reject


FUNCTIONS: dict[str, Any] = {
    "min": _binary(tir.Min),
    "max": _binary(tir.Max),
    "floordiv": _binary(tir.FloorDiv),
    "floormod": _binary(tir.FloorMod),
    "truncdiv": _binary(tir.Div),
    "truncmod": _binary(tir.Mod),
    "Add": _binary(tir.Add),
    "Select": _select,
    "cast": _cast,
    "ramp": _ramp,
    "broadcast": _broadcast,
    "Shuffle": _shuffle,
    "shuffle": _shuffle,
    "StringImm": lambda ev, node, text: tir.StringImm(text),
    "Any": lambda ev, node: tir.Any(),
    "Range": lambda ev, node, low, high: range_between(*ev._match(low, high, node)),
    "load": _gone("load", "index a view instead: V = T.buffer_decl(shape, dtype, data=pointer), then V[i]"),
    "store": _gone("store", "assign to a view instead: V = T.buffer_decl(shape, dtype, data=pointer), then V[i] = x"),
    "comm_reducer": _comm_reducer,
    "iter_var": _iter_var,
    "ceildiv": lambda ev, node, a, b: tir.ceildiv(*ev._match(a, b, node)),
    "abs": lambda ev, node, a: tir.abs(ev.as_expr(a, node)),
    "target": lambda ev, node, config: _target(config),
    "llvm_lookup_intrinsic_id": lambda ev, node, name: _llvm_intrinsic(name),
    **_reads_as_numbers("min_value", "max_value"),
}


def _target(config: Any) -> Any:
    from tessera.target import Target

    return Target(config)


def _llvm_intrinsic(name: str) -> int:
    from tessera.target import llvm_lookup_intrinsic_id

    return llvm_lookup_intrinsic_id(name)


def evaluate(ev: Any, node: ast.AST, name: str, args: list, kwargs: dict) -> Any:
    """The value of T.name(*args, **kwargs)."""
    if name in FUNCTIONS and "dtype" not in kwargs:
        return FUNCTIONS[name](ev, node, *args, **kwargs)
    op = _find_op(name)
    if op is None:
        raise ev.source.error(node, f"T.{name} is not known here")
    kwargs = dict(kwargs)
    operands = [operand(ev, node, arg) for arg in args]
    dtype = kwargs.pop("dtype", None)
    if kwargs:
        raise ev.source.error(node, f"T.{name} has no argument {', '.join(kwargs)}")
    if dtype is None:
        if name in _OF_FLOATS and operands and operands[0].dtype.startswith(("int", "uint")):
            raise ev.source.error(node, f"T.{name} of an integer needs a dtype")
        dtype = _default_dtype(name, operands)
    if name in ("call_llvm_intrin", "call_llvm_pure_intrin") and isinstance(args[0], str):
        operands[0] = tir.const(_llvm_intrinsic(args[0]), "uint32")
    return tir.Call(dtype or "void", op, operands)


_OF_FLOATS = frozenset(["ceil", "floor", "nearbyint", "round", "trunc"])


def operand(ev: Any, node: ast.AST, value: Any) -> Any:
    if isinstance(value, tir.Buffer):
        return value.data
    return ev.as_expr(value, node)


def _default_dtype(name: str, operands: list) -> str:
    """The type of a call that does not say: as the Python function of that name would give."""
    if name in ("likely", "isnan", "isnullptr"):
        return "bool"
    if name == "if_then_else":
        return operands[1].dtype
    if name in ("evaluate", "ret", "tvm_storage_sync") or ("call_" in name and "packed" in name) or not operands:
        return "int32"
    return operands[0].dtype


def _find_op(name: str) -> Any:
    aliases = {
        "call_packed": "tvm_call_packed",
        "call_cpacked": "tvm_call_cpacked",
        "power": "pow",
        "call_packed_lowered": "tvm_call_packed_lowered",
        "call_cpacked_lowered": "tvm_call_cpacked_lowered",
    }
    for candidate in (name, aliases.get(name, name)):
        try:
            return ir.Op.get("tir." + candidate)
        except (AttributeError, ValueError, RuntimeError):
            continue
    return None
