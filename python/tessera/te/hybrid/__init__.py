"""Hybrid script: a Python function over arrays that also describes a tensor operation.

On NumPy arrays a decorated function runs as plain Python; on tensors it becomes a HybridOp with the loops it writes.
"""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections import Counter
from typing import Any, Callable

import numpy as np

from ..._ffi.registry import get_global_func
from ...ir import Array, PrimExpr, Range
from ...tir import (
    AssertStmt,
    AttrStmt,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    IntImm,
    IterVar,
    ProducerRealize,
    ProducerStore,
    SeqStmt,
    StringImm,
    Var,
    const,
)
from ...tir import op as _op
from .. import _ffi_api
from .. import tensor as _tensor
from ..operation import placeholder
from .runtime import HYBRID_GLOBALS

_LOOPS = {
    "range": ForKind.SERIAL,
    "serial": ForKind.SERIAL,
    "unroll": ForKind.UNROLLED,
    "parallel": ForKind.PARALLEL,
    "vectorize": ForKind.VECTORIZED,
}
_MATH = ("sqrt", "rsqrt", "log", "exp", "tanh", "sigmoid", "power", "popcount", "round", "likely")
_TYPES = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)] + ["float16", "float32", "float64"]
_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.BitAnd: lambda a, b: a & b,
    ast.BitOr: lambda a, b: a | b,
    ast.BitXor: lambda a, b: a ^ b,
    ast.LShift: lambda a, b: a << b,
    ast.RShift: lambda a, b: a >> b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Eq: lambda a, b: a.equal(b) if isinstance(a, PrimExpr) else a == b,
    ast.NotEq: lambda a, b: _op.all(a != b) if isinstance(a, PrimExpr) else a != b,
    ast.And: _op.all,
    ast.Or: _op.any,
    ast.USub: lambda a: -a,
    ast.UAdd: lambda a: a,
    ast.Not: lambda a: _op.all(a).__invert__() if isinstance(a, PrimExpr) else not a,
}


class _Builder:
    """Turns the body of one function into a statement over tensors."""

    def __init__(self, names: dict[str, Any], definition: ast.FunctionDef):
        self.names = names
        self.stores = Counter(
            node.id for node in ast.walk(definition) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        )
        self.outputs: list[_tensor.Tensor] = []
        self.returned: list[_tensor.Tensor] = []
        self.body: Any = None

    def error(self, node: ast.AST, message: str) -> Exception:
        return ValueError(f"hybrid script, line {getattr(node, 'lineno', '?')}: {message}")

    # ---- statements ----

    def block(self, statements: list[ast.stmt]) -> Any:
        """The statements in order; what one allocates exists in those after it."""
        done: list[Any] = []
        for position, statement in enumerate(statements):
            called = self.called_script(statement)
            if called is not None:
                body, results = called
                body = self.sequence([body, self.block(statements[position + 1 :])])
                for tensor in reversed(results):
                    bounds = [Range.from_min_extent(0, extent) for extent in tensor.shape]
                    body = ProducerRealize(tensor, bounds, const(True, "bool"), body, "global")
                return self.sequence([*done, body])
            allocation = self.allocation(statement)
            if allocation is None:
                done.append(self.statement(statement))
                continue
            tensor, scope = allocation
            first = None if self.is_call(statement, "allocate") else self.statement(statement)
            body = self.sequence([first, self.block(statements[position + 1 :])])
            bounds = [Range.from_min_extent(0, extent) for extent in tensor.shape]
            return self.sequence([*done, ProducerRealize(tensor, bounds, const(True, "bool"), body, scope)])
        return self.sequence(done)

    def nested(self, statements: list[ast.stmt]) -> Any:
        outer = dict(self.names)
        body = self.block(statements)
        self.names = outer
        return body

    def sequence(self, statements: list[Any]) -> Any:
        kept = [s for s in statements if s is not None]
        if not kept:
            return Evaluate(0)
        return kept[0] if len(kept) == 1 else SeqStmt(kept)

    def is_call(self, statement: ast.stmt, name: str) -> bool:
        value = getattr(statement, "value", None)
        return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == name

    def called_script(self, statement: ast.stmt) -> Any:
        """`c = other(a, b)` of another hybrid function: its statements, and the tensors that hold its results."""
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            return None
        name = statement.value.func
        function = self.names.get(name.id) if isinstance(name, ast.Name) else None
        if function is None or not hasattr(function, "hybrid_function"):
            return None
        inner = _translate(function.hybrid_function, tuple(self.expression(arg) for arg in statement.value.args))
        target = statement.targets[0]
        targets: list[Any] = list(target.elts) if isinstance(target, ast.Tuple) else [target]
        if len(targets) != len(inner.returned) or not all(isinstance(each, ast.Name) for each in targets):
            raise self.error(statement, f"{function.__name__} returns {len(inner.returned)} tensors, each for a name")
        self.names.update((each.id, tensor) for each, tensor in zip(targets, inner.returned))
        return inner.body, inner.returned

    def allocation(self, statement: ast.stmt) -> Any:
        """The tensor that a statement brings into being: an allocation, or the first value of a scalar."""
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            return None
        name = statement.targets[0].id
        if self.is_call(statement, "output_tensor"):
            shape, dtype = self.allocated(statement)[:2]
            tensor = placeholder(shape, dtype, name)
            self.outputs.append(tensor)
            self.names[name] = tensor
            return None
        if self.is_call(statement, "allocate"):
            shape, dtype, scope = self.allocated(statement)
            tensor = placeholder(shape, dtype, name)
            self.names[name] = tensor
            return tensor, scope
        if isinstance(self.names.get(name), (_tensor.Tensor, _Scalar)):
            return None
        value = self.expression(statement.value)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and self.stores[name] > 1:
            value = const(value)
        elif not isinstance(value, PrimExpr) or isinstance(value, IntImm):
            self.names[name] = value  # a name for something known now, like a size
            return None
        tensor = placeholder((1,), value.dtype, name)
        self.names[name] = _Scalar(tensor)
        return tensor, "local"

    def allocated(self, statement: ast.Assign) -> Any:
        call = statement.value
        assert isinstance(call, ast.Call)
        args = [self.expression(arg) for arg in call.args]
        given = dict(zip(("shape", "dtype", "scope"), args))
        given.update({kw.arg: self.expression(kw.value) for kw in call.keywords if kw.arg})
        return given["shape"], given.get("dtype", "float32"), given.get("scope", "global")

    def statement(self, node: ast.stmt) -> Any:
        if isinstance(node, ast.For):
            return self.loop(node)
        if isinstance(node, ast.If):
            condition = self.expression(node.test)
            if not isinstance(condition, PrimExpr):
                return self.nested(node.body if condition else node.orelse)
            otherwise = self.nested(node.orelse) if node.orelse else None
            return IfThenElse(condition, self.nested(node.body), otherwise)
        if isinstance(node, ast.Assign):
            if self.is_call(node, "output_tensor"):
                return None
            target = node.targets[0]
            if isinstance(target, ast.Name) and not isinstance(self.names.get(target.id), _Scalar):
                return None  # a name for a value, noted already
            return self.store(target, self.expression(node.value))
        if isinstance(node, ast.AugAssign):
            value = _OPERATORS[type(node.op)](self.expression(_as_load(node.target)), self.expression(node.value))
            return self.store(node.target, value)
        if isinstance(node, ast.Return):
            values: list[Any] = list(node.value.elts) if isinstance(node.value, ast.Tuple) else [node.value]
            self.returned = [self.names[v.id] for v in values if isinstance(v, ast.Name)]
            if len(self.returned) != len(values):
                raise self.error(node, "only output tensors can be returned")
            return None
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return None
        if isinstance(node, ast.Expr):
            return Evaluate(self.expression(node.value))
        if isinstance(node, ast.Assert):
            message = self.expression(node.msg) if node.msg else "assertion failed"
            return AssertStmt(self.expression(node.test), StringImm(str(message)), Evaluate(0))
        if isinstance(node, ast.Pass):
            return None
        raise self.error(node, f"{type(node).__name__} is not part of hybrid script")

    def store(self, target: ast.expr, value: Any) -> Any:
        if isinstance(target, ast.Name):
            tensor, indices = self.names[target.id].tensor, [0]
        elif isinstance(target, ast.Subscript):
            tensor, indices = self.expression(target.value), self.indices(target)
        else:
            raise self.error(target, "only elements and names can be assigned to")
        if not isinstance(value, PrimExpr):
            value = const(value, tensor.dtype)
        return ProducerStore(tensor, value, indices)

    def loop(self, node: ast.For) -> Any:
        call = node.iter
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and isinstance(node.target, ast.Name)):
            raise self.error(node, "a loop is written `for i in range(...)`, unroll, parallel, vectorize or bind")
        kind, args = call.func.id, [self.expression(arg) for arg in call.args]
        name = node.target.id
        if kind == "bind":
            thread = IterVar((0, args[1]), args[0], 1, args[0])
            self.names[name] = thread.var
            return AttrStmt(thread, "thread_extent", _expr_of(args[1]), self.nested(node.body))
        begin, end = (0, args[0]) if len(args) == 1 else args[:2]
        if kind == "const_range":
            parts = []
            for i in range(int(begin), int(end)):
                self.names[name] = i
                parts.append(self.nested(node.body))
            return self.sequence(parts)
        if kind not in _LOOPS:
            raise self.error(node, f"unknown loop {kind}")
        var = Var(name, "int32")
        self.names[name] = var
        extent = _op.max(end - begin, 0) if isinstance(end - begin, PrimExpr) and begin != 0 else end - begin
        return For(var, begin, extent, _LOOPS[kind], self.nested(node.body))

    # ---- expressions ----

    def indices(self, node: ast.Subscript) -> list[Any]:
        inner = node.slice
        return [self.expression(e) for e in (inner.elts if isinstance(inner, ast.Tuple) else [inner])]

    def expression(self, node: Any) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            if node.id not in self.names:
                raise self.error(node, f"the name {node.id} is not known")
            value = self.names[node.id]
            return value.tensor(0) if isinstance(value, _Scalar) else value
        if isinstance(node, ast.BinOp):
            return _OPERATORS[type(node.op)](self.expression(node.left), self.expression(node.right))
        if isinstance(node, ast.UnaryOp):
            return _OPERATORS[type(node.op)](self.expression(node.operand))
        if isinstance(node, ast.BoolOp):
            return _OPERATORS[type(node.op)](*[self.expression(v) for v in node.values])
        if isinstance(node, ast.Compare):
            values = [self.expression(v) for v in [node.left, *node.comparators]]
            parts = [_OPERATORS[type(op)](a, b) for op, a, b in zip(node.ops, values, values[1:])]
            return parts[0] if len(parts) == 1 else _op.all(*parts)
        if isinstance(node, ast.IfExp):
            condition = self.expression(node.test)
            a, b = self.expression(node.body), self.expression(node.orelse)
            return _op.if_then_else(condition, a, b) if isinstance(condition, PrimExpr) else a if condition else b
        if isinstance(node, ast.Attribute):
            return getattr(self.expression(node.value), node.attr)
        if isinstance(node, ast.Tuple):
            return tuple(self.expression(e) for e in node.elts)
        if isinstance(node, ast.Subscript):
            base, indices = self.expression(node.value), self.indices(node)
            if isinstance(base, _tensor.Tensor):
                return base(*indices)
            for index in indices:
                base = base[int(index)]
            return base
        if isinstance(node, ast.Call):
            return self.call(node)
        raise self.error(node, f"{type(node).__name__} is not part of hybrid script")

    def call(self, node: ast.Call) -> Any:
        args = [self.expression(arg) for arg in node.args]
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in _TYPES:
            return args[0].astype(name) if isinstance(args[0], PrimExpr) else const(args[0], name)
        if name in _MATH:
            return getattr(_op, name)(*args)
        if name in ("min", "max"):
            return getattr(_op, name)(*args)
        if name == "len":
            return len(args[0]) if not isinstance(args[0], _tensor.Tensor) else args[0].shape[0]
        if name == "ceil_div":
            return (args[0] + args[1] - 1) // args[1]
        function = self.expression(node.func)
        if callable(function):
            return function(*args)
        raise self.error(node, f"{name} cannot be called here")


class _Scalar:
    """A variable of the function: a tensor of one element."""

    def __init__(self, tensor: _tensor.Tensor):
        self.tensor = tensor


def _as_load(target: Any) -> Any:
    return ast.parse(ast.unparse(target), mode="eval").body


def _expr_of(value: Any) -> Any:
    return value if isinstance(value, PrimExpr) else const(value, "int32")


def _tensors_of(args: Any) -> list[_tensor.Tensor]:
    """The tensors among arguments and in the lists among them."""
    found: list[_tensor.Tensor] = []
    for arg in args:
        if isinstance(arg, _tensor.Tensor):
            found.append(arg)
        elif isinstance(arg, (list, tuple, Array)):
            found += _tensors_of(arg)
    return found


def _is_symbolic(arg: Any) -> bool:
    if isinstance(arg, (list, tuple, Array)):
        return any(_is_symbolic(item) for item in arg)
    return isinstance(arg, (_tensor.Tensor, PrimExpr))


def _translate(fn: Callable[..., Any], args: tuple[Any, ...], source: str | None = None) -> _Builder:
    """The function's text as a statement over the tensors among `args`."""
    tree = ast.parse(textwrap.dedent(source or inspect.getsource(fn)))
    definition = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == fn.__name__)
    names = dict(inspect.getclosurevars(fn).globals)
    names.update(inspect.getclosurevars(fn).nonlocals)
    parameters = [a.arg for a in definition.args.args]
    if len(parameters) != len(args):
        raise ValueError(f"{fn.__name__} takes {len(parameters)} arguments, not {len(args)}")
    names.update(zip(parameters, args))
    builder = _Builder(names, definition)
    builder.body = builder.block(definition.body)
    if not builder.returned:
        raise ValueError(f"{fn.__name__} returns no output tensor")
    return builder


def _build(fn: Callable[..., Any], args: tuple[Any, ...], source: str | None = None) -> Any:
    builder = _translate(fn, args, source)
    op = _ffi_api.HybridOp(fn.__name__, "", None, _tensors_of(args), builder.returned, builder.body)
    outputs = [op.output(i) for i in range(op.num_outputs)]
    return outputs[0] if len(outputs) == 1 else outputs


def _run(fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Plain Python, with the words of the script defined over NumPy."""

    words = HYBRID_GLOBALS
    known = fn.__globals__
    saved = {name: known[name] for name in words if name in known}
    known.update({name: word for name, word in words.items() if name not in saved})
    try:
        return fn(*args)
    finally:
        for name in words:
            if name not in saved:
                known.pop(name, None)


def script(pyfunc: Callable[..., Any]) -> Callable[..., Any]:
    """Makes `pyfunc` a hybrid function: Python on arrays, a tensor operation on tensors."""

    @functools.wraps(pyfunc)
    def wrapped(*args: Any) -> Any:
        return _build(pyfunc, args) if _is_symbolic(args) else _run(pyfunc, args)

    wrapped.hybrid_function = pyfunc  # type: ignore[attr-defined]
    return wrapped


def decorate(func: Callable[..., Any], fwrapped: Callable[..., Any]) -> Callable[..., Any]:
    """`fwrapped(func, *args)` under the name and documentation of `func`."""

    @functools.wraps(func)
    def wrapped(*args: Any) -> Any:
        return fwrapped(func, *args)

    return wrapped


class HybridModule:
    """A hybrid function kept as text: Python on arrays, a tensor operation on tensors; saved and loaded."""

    def __init__(self, src: str | None = None, name: str | None = None):
        self.src_, self.name, self.func_ = src, name, None
        if src is not None:
            self._define(src, name)

    def _define(self, src: str, name: str | None) -> None:
        functions = [node.name for node in ast.parse(src).body if isinstance(node, ast.FunctionDef)]
        if not functions or (name is not None and name not in functions):
            raise ValueError(f"the text defines {', '.join(functions) or 'nothing'}, not {name or 'a hybrid function'}")
        self.src_, self.name = src, name or functions[0]
        names: dict[str, Any] = {}
        exec(compile(src, f"<hybrid {self.name}>", "exec"), names)
        self.func_ = names[self.name]

    def __call__(self, *args: Any) -> Any:
        if self.func_ is None:
            raise ValueError("this module has no function yet; load one first")
        return _build(self.func_, args, self.src_) if _is_symbolic(args) else _run(self.func_, args)

    def get_source(self) -> str | None:
        return self.src_

    def save(self, path: str) -> None:
        """Writes the text to `path`, with the ending .py where it has none."""
        with open(path if path.endswith(".py") else path + ".py", "w", encoding="utf-8") as file:
            file.write(self.src_ or "")

    def load(self, path: str) -> None:
        """Takes the function of a file that `save` wrote. The text is run as Python: load only what you trust."""
        with open(path, encoding="utf-8") as file:
            self._define(file.read(), None)


def build(sch: Any, inputs: Any, outputs: Any, name: str = "hybrid_func") -> HybridModule:
    """The schedule as a hybrid function over arrays: takes the inputs and returns the outputs."""
    from ..hybrid_source import source_of

    sch = sch.normalize()
    body = get_global_func("schedule.ScheduleOps")(sch, get_global_func("schedule.InferBound")(sch), False)
    return HybridModule(source_of(body, inputs, outputs, name), name)
