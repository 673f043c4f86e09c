"""Expressions of scripts: Python's syntax trees to IR, exactly as written (nothing is folded)."""

from __future__ import annotations

import ast
from typing import Any

from tessera import ir, tir
from tessera.script.parser import intrinsics
from tessera.script.parser.annotations import ScriptType, convert_scalar
from tessera.script.parser.diagnostics import Source
from tessera.script.parser.scope import Scopes
from tessera.tir.op_calls import call_intrin

_BINARY = {
    ast.Add: tir.Add,
    ast.Sub: tir.Sub,
    ast.Mult: tir.Mul,
    ast.Div: tir.Div,
    ast.FloorDiv: tir.FloorDiv,
    ast.Mod: tir.FloorMod,
}
_BITWISE = {
    ast.BitAnd: "tir.bitwise_and",
    ast.BitOr: "tir.bitwise_or",
    ast.BitXor: "tir.bitwise_xor",
    ast.LShift: "tir.shift_left",
    ast.RShift: "tir.shift_right",
}
_COMPARE = {ast.Lt: tir.LT, ast.LtE: tir.LE, ast.Gt: tir.GT, ast.GtE: tir.GE, ast.Eq: tir.EQ, ast.NotEq: tir.NE}


class Expressions:
    """Evaluates expression trees. Numbers stay Python numbers until they meet an expression."""

    def __init__(self, source: Source, scopes: Scopes):
        self.source, self.scopes = source, scopes

    def __call__(self, node: ast.AST) -> Any:
        method = getattr(self, f"visit_{type(node).__name__}", None)
        if method is None:
            raise self.source.error(node, f"a script cannot contain {type(node).__name__}")
        return method(node)

    def expr(self, node: ast.AST, dtype: str | None = None) -> Any:
        """The tree as a PrimExpr; a bare number takes `dtype`, or int32/float32."""
        return self.as_expr(self(node), node, dtype)

    def as_expr(self, value: Any, node: ast.AST, dtype: str | None = None) -> Any:
        if isinstance(value, tir.PrimExpr):
            return value
        if isinstance(value, tir.IterVar):
            return value.var
        if isinstance(value, (bool, int, float)):
            return tir.const(value, dtype) if dtype and dtype != "handle" else tir.const(value)
        if isinstance(value, str):
            return tir.StringImm(value)
        if isinstance(value, BufferSlice):
            return value.as_load()
        raise self.source.error(node, f"expected an expression, got {type(value).__name__}")

    # ---- leaves

    def visit_Constant(self, node: ast.Constant) -> Any:
        if node.value is None or isinstance(node.value, (bool, int, float, str)):
            return node.value
        raise self.source.error(node, f"a script has no constants of type {type(node.value).__name__}")

    def visit_Name(self, node: ast.Name) -> Any:
        try:
            return self.scopes.lookup(node.id)
        except KeyError:
            raise self.source.error(node, f"{node.id} is not defined") from None

    def visit_Tuple(self, node: ast.Tuple) -> tuple:
        return tuple(self(item) for item in node.elts)

    def visit_List(self, node: ast.List) -> list:
        return [self(item) for item in node.elts]

    def visit_Dict(self, node: ast.Dict) -> dict:
        return {self(k): self(v) for k, v in zip(node.keys, node.values) if k is not None}

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        names = [arg.arg for arg in node.args.args]

        def call(*args: Any) -> Any:
            with self.scopes:
                for name, value in zip(names, args):
                    self.scopes.define(name, value)
                return self(node.body)

        call.names = names  # type: ignore[attr-defined]
        return call

    def visit_Slice(self, node: ast.Slice) -> slice:
        return slice(*(None if part is None else self(part) for part in (node.lower, node.upper, node.step)))

    # ---- operators

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        a, b = self(node.left), self(node.right)
        numbers = isinstance(a, (int, float)) and isinstance(b, (int, float))
        if numbers and not (isinstance(node.left, ast.Constant) and isinstance(node.right, ast.Constant)):
            return self._python_operator(node, a, b)  # captured numbers are worked out now
        a, b = self._match(a, b, node)
        kind = type(node.op)
        if kind in _BINARY:
            return _BINARY[kind](a, b)
        if kind in _BITWISE:
            return call_intrin(a.dtype, _BITWISE[kind], a, b)
        raise self.source.error(node, f"the operator {kind.__name__} is not part of scripts")

    def _python_operator(self, node: ast.BinOp, a: Any, b: Any) -> Any:
        expression = ast.Expression(ast.BinOp(ast.Constant(a), node.op, ast.Constant(b)))
        ast.fix_missing_locations(expression)
        try:
            return eval(compile(expression, self.source.filename, "eval"))  # two numbers and an operator
        except ArithmeticError as error:
            raise self.source.error(node, str(error)) from None

    def _match(self, a: Any, b: Any, node: ast.AST) -> tuple:
        """Two operands as expressions; a bare number takes the type of the other side."""
        if isinstance(a, tir.PrimExpr) and isinstance(b, (bool, int, float)):
            return a, self._number_like(b, a)
        if isinstance(b, tir.PrimExpr) and isinstance(a, (bool, int, float)):
            return self._number_like(a, b), b
        return self.as_expr(a, node), self.as_expr(b, node)

    @staticmethod
    def _number_like(number: Any, other: Any) -> Any:
        if isinstance(number, bool) or other.dtype == "handle":
            return tir.const(number)
        return tir.const(number, other.dtype)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        value = self(node.operand)
        if isinstance(node.op, ast.USub):
            return -value
        if isinstance(node.op, ast.UAdd):
            return value
        if isinstance(node.op, ast.Not):
            return not value if isinstance(value, bool) else tir.Not(self.as_expr(value, node))
        value = self.as_expr(value, node)
        return call_intrin(value.dtype, "tir.bitwise_not", value)

    def visit_Compare(self, node: ast.Compare) -> Any:
        values = [self(node.left), *(self(item) for item in node.comparators)]
        out: Any = None
        for i, op in enumerate(node.ops):
            if type(op) not in _COMPARE:
                raise self.source.error(node, f"the comparison {type(op).__name__} is not part of scripts")
            part = _COMPARE[type(op)](*self._match(values[i], values[i + 1], node))
            out = part if out is None else tir.And(out, part)
        return out

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        join = tir.And if isinstance(node.op, ast.And) else tir.Or
        out = self.expr(node.values[0])
        for item in node.values[1:]:
            out = join(out, self.expr(item))
        return out

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        a, b = self._match(self(node.body), self(node.orelse), node)
        return call_intrin(a.dtype, "tir.if_then_else", self.expr(node.test), a, b)

    # ---- access

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        value = self(node.value)
        if isinstance(value, BufferSlice):
            value = value.as_load()
        try:
            return getattr(value, node.attr)
        except AttributeError as error:
            raise self.source.error(node, str(error)) from None

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        value = self(node.value)
        index = self(node.slice)
        if isinstance(value, tir.Buffer):
            indices = list(index) if isinstance(index, tuple) else [index]
            slice_ = BufferSlice(self, value, indices, node)
            return slice_ if slice_.has_slices() else slice_.as_load()
        if isinstance(value, BufferSlice):
            raise self.source.error(node, "a region cannot be indexed again")
        try:
            return value[index]
        except (TypeError, KeyError, IndexError) as error:
            raise self.source.error(node, str(error)) from None

    def visit_Call(self, node: ast.Call) -> Any:
        function = self(node.func)
        args = []
        for arg in node.args:
            if isinstance(arg, ast.Starred):
                args.extend(self(arg.value))
            else:
                args.append(self(arg))
        kwargs = {kw.arg: self(kw.value) for kw in node.keywords if kw.arg is not None}
        return self.call(node, function, args, kwargs)

    def call(self, node: ast.AST, function: Any, args: list, kwargs: dict) -> Any:
        """Applies a script function, a type, or a captured Python function."""
        try:
            if isinstance(function, ScriptType):
                if not args:
                    return tir.Var("", function.dtype)
                value = args[0] if isinstance(args[0], (bool, int, float, str)) else self.as_expr(args[0], node)
                return convert_scalar(function.dtype, value)
            name = intrinsics.script_name(function)
            if name is not None:
                return intrinsics.evaluate(self, node, name, args, kwargs)
            if not callable(function):
                raise self.source.error(node, f"{type(function).__name__} cannot be called")
            return function(*args, **kwargs)
        except (TypeError, ValueError, RuntimeError) as error:
            if "\n  --> " in str(error):
                raise
            raise self.source.error(node, str(error)) from error


class BufferSlice:
    """buffer[...] with slices among the indices: a region, or a vector access."""

    def __init__(self, expressions: Expressions, buffer: Any, indices: list, node: ast.AST):
        self.expressions, self.buffer, self.indices, self.node = expressions, buffer, indices, node
        if len(indices) != len(buffer.shape) and not (len(buffer.shape) == 0 and indices == [()]):
            raise expressions.source.error(
                node, f"buffer {buffer.name} has {len(buffer.shape)} dimensions, {len(indices)} indices are given"
            )

    def has_slices(self) -> bool:
        return any(isinstance(index, slice) for index in self.indices)

    def _index(self, value: Any, dim: int) -> Any:
        dtype = self.buffer.shape[dim].dtype if isinstance(value, int) else None
        return self.expressions.as_expr(value, self.node, dtype)

    def as_indices(self) -> list:
        """Indices of a load or store; a slice becomes a vector of indices."""
        if len(self.buffer.shape) == 0:
            return []
        return [
            self._ramp(index, dim) if isinstance(index, slice) else self._index(index, dim)
            for dim, index in enumerate(self.indices)
        ]

    def _ramp(self, index: slice, dim: int) -> Any:
        from tessera import arith

        start = self._index(0 if index.start is None else index.start, dim)
        stop = self._index(self.buffer.shape[dim] if index.stop is None else index.stop, dim)
        step = 1 if index.step is None else index.step
        length = arith.Analyzer().simplify(stop - start)
        if not isinstance(length, tir.IntImm) or not isinstance(step, int):
            raise self.expressions.source.error(self.node, "a vector access needs a constant length and step")
        lanes = int(length.value) // step
        if lanes == 1:
            return start
        return tir.Ramp(start, tir.const(step, start.dtype), lanes)

    def as_load(self) -> Any:
        return tir.BufferLoad(self.buffer, self.as_indices())

    def as_region(self) -> Any:
        """The rectangle that the indices and slices cover."""
        from tessera import arith

        analyzer = arith.Analyzer()
        ranges = []
        for dim, index in enumerate(self.indices if len(self.buffer.shape) else []):
            if isinstance(index, slice):
                start = self._index(0 if index.start is None else index.start, dim)
                stop = self._index(self.buffer.shape[dim] if index.stop is None else index.stop, dim)
                ranges.append(ir.Range.from_min_extent(start, analyzer.simplify(stop - start)))
            else:
                index = self._index(index, dim)
                ranges.append(ir.Range.from_min_extent(index, tir.const(1, index.dtype)))
        return tir.BufferRegion(self.buffer, ranges)
