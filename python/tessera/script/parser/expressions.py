"""Expressions of scripts: Python's syntax trees to IR, exactly as written (nothing is folded)."""

from __future__ import annotations

import ast
from typing import Any

from tessera import ir, tir
from tessera.error import DiagnosticError
from tessera.script.parser import intrinsics
from tessera.script.parser.annotations import ScriptType, convert_scalar, is_scalar_type
from tessera.script.parser.diagnostics import Source
from tessera.script.parser.regions import BufferSlice
from tessera.script.parser.scope import InTurn, Scopes
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


def _is_literal(node: ast.AST) -> bool:
    """Written out in the script itself, so that it stays as it is written."""
    if isinstance(node, ast.BinOp):
        return _is_literal(node.left) and _is_literal(node.right)
    return _is_literal(node.operand) if isinstance(node, ast.UnaryOp) else isinstance(node, ast.Constant)


class Expressions:
    """Evaluates expression trees. Numbers stay Python numbers until they meet an expression."""

    def __init__(self, source: Source, scopes: Scopes):
        self.source, self.scopes = source, scopes

    def __call__(self, node: ast.AST) -> Any:
        method = getattr(self, f"visit_{type(node).__name__}", None)
        if method is None:
            raise self.source.error(node, f"a script cannot contain {type(node).__name__}")
        try:
            return method(node)
        except DiagnosticError:
            raise
        except Exception as error:  # whatever the core or a captured function says, said where it happened
            raise self.source.error(node, str(error) or type(error).__name__) from error

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
        if hasattr(value, "asobject"):  # the lazy result of == and !=, and the like
            return self.as_expr(value.asobject(), node, dtype)
        if hasattr(value, "item") and getattr(value, "shape", None) == ():  # a NumPy scalar
            return tir.const(value.item(), str(value.dtype))
        raise self.source.error(node, f"expected an expression, got {type(value).__name__}")

    # ---- leaves

    def visit_Constant(self, node: ast.Constant) -> Any:
        if node.value is None or isinstance(node.value, (bool, int, float, str)):
            return node.value
        raise self.source.error(node, f"a script has no constants of type {type(node.value).__name__}")

    def visit_Name(self, node: ast.Name) -> Any:
        try:
            value = self.scopes.lookup(node.id)
        except KeyError:
            raise self.source.error(node, f"{node.id} is not defined") from None
        return value.next() if isinstance(value, InTurn) else value

    def visit_Tuple(self, node: ast.Tuple) -> tuple:
        return tuple(self(item) for item in node.elts)

    def visit_List(self, node: ast.List) -> list:
        return [self(item) for item in node.elts]

    def visit_Dict(self, node: ast.Dict) -> dict:
        return {self(k): self(v) for k, v in zip(node.keys, node.values) if k is not None}

    def visit_JoinedStr(self, node: ast.JoinedStr) -> str:
        return "".join(self(part) for part in node.values)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> str:
        spec = self(node.format_spec) if node.format_spec is not None else ""
        return format(self(node.value), spec)

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
        if numbers and not _is_literal(node):
            return self._python_operator(node, a, b)  # captured numbers are worked out now
        if isinstance(a, (str, list, tuple)) and isinstance(node.op, (ast.Add, ast.Mult)):
            return a + b if isinstance(node.op, ast.Add) else a * b
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
        return eval(compile(expression, self.source.filename, "eval"))  # two numbers and an operator

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
            is_captured = isinstance(value, bool) and not _is_literal(node.operand)
            return not value if is_captured else tir.Not(self.as_expr(value, node))
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
        combine = tir.And if isinstance(node.op, ast.And) else tir.Or
        out = self.expr(node.values[0])
        for item in node.values[1:]:
            out = combine(out, self.expr(item))
        return out

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        a, b = self._match(self(node.body), self(node.orelse), node)
        return call_intrin(a.dtype, "tir.if_then_else", self.expr(node.test), a, b)

    # ---- access

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        value = self(node.value)
        if isinstance(value, BufferSlice):
            value = value.as_load()
        shadowed = self._shadowed_dialect(node.value)
        if shadowed is not None and (is_scalar_type(node.attr) or not hasattr(value, node.attr)):
            value = shadowed
        return getattr(value, node.attr)

    def _shadowed_dialect(self, node: ast.AST) -> Any:
        """The module behind `T` where a tensor or variable of the program is called T as well."""
        if not isinstance(node, ast.Name) or node.id not in self.scopes.captured:
            return None
        outer = self.scopes.captured[node.id]
        return outer if getattr(outer, "__name__", None) == "tessera.script.tir" else None

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        value = self(node.value)
        index = self(node.slice)
        if isinstance(value, tir.Buffer):
            indices = list(index) if isinstance(index, tuple) else [index]
            slice_ = BufferSlice(self, value, indices, node)
            return slice_ if slice_.has_slices() else slice_.as_load()
        if isinstance(value, BufferSlice):
            raise self.source.error(node, "a region cannot be indexed again")
        return value[index]

    def visit_Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Name) and not self.scopes.is_defined(node.func.id):
            function: Any = self._unknown_function(node)
        else:
            function = self(node.func)
        if intrinsics.script_name(function) in ("let", "Let") and len(node.args) == 3:
            return self._let(node)
        args = []
        for arg in node.args:
            if isinstance(arg, ast.Starred):
                args.extend(self(arg.value))
            else:
                args.append(self(arg))
        kwargs = {kw.arg: self(kw.value) for kw in node.keywords if kw.arg is not None}
        return self.call(node, function, args, kwargs)

    def _unknown_function(self, node: ast.Call) -> Any:
        """name(..., dtype="int32") calls a function of some module, here unknown."""
        assert isinstance(node.func, ast.Name)
        if not any(keyword.arg == "dtype" for keyword in node.keywords):
            raise self.source.error(node.func, f"{node.func.id} is not defined")
        return ir.GlobalVar(node.func.id)

    def _let(self, node: ast.Call) -> Any:
        """T.let(x, value, body); `x` was announced by T.var, or is new."""
        name, value = node.args[0], self.expr(node.args[1])
        with self.scopes:
            if isinstance(name, ast.Name) and not self.scopes.is_defined(name.id):
                self.scopes.define(name.id, tir.Var(name.id, value.dtype))
            variable = self(name)
            self.scopes.finalize(variable)
            return tir.Let(variable, value, self.expr(node.args[2]))

    def call(self, node: ast.AST, function: Any, args: list, kwargs: dict) -> Any:
        """Applies a script function, a type, a function of the module, or a captured Python function."""
        if isinstance(function, ScriptType):
            if not args:
                return tir.Var("", function.dtype)
            value = args[0] if isinstance(args[0], (bool, int, float, str)) else self.as_expr(args[0], node)
            return convert_scalar(function.dtype, value)
        name = intrinsics.script_name(function)
        if name is not None:
            return intrinsics.evaluate(self, node, name, args, kwargs)
        if isinstance(function, ir.GlobalVar):
            operands = [intrinsics.operand(self, node, arg) for arg in args]
            return tir.Call(kwargs.get("dtype", "int32"), function, operands)
        if not callable(function):
            raise self.source.error(node, f"{type(function).__name__} cannot be called")
        return function(*args, **kwargs)
