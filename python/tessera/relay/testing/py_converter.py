"""Relay programs as Python programs: control flow becomes Python's, operators become calls of compiled functions."""

from __future__ import annotations

import ast
import keyword
import re
from typing import Any, Callable

import numpy as np

from ..._ffi.registry import get_global_func
from ...ir import Constructor, GlobalVar, Op
from ...ir.module import IRModule
from ...runtime import NDArray, container, device
from ...runtime import ndarray as _nd
from ...target import Target
from ..adt import Match, PatternConstructor, PatternTuple, PatternVar
from ..analysis import free_vars, post_order_visit
from ..backend.interpreter import ConstructorValue, RefValue, _value
from ..expr import Call, Constant, Expr, If, Let, RefCreate, RefRead, RefWrite, Tuple, TupleGetItem, Var
from ..function import Function

__all__ = ["run_as_python", "to_python"]

OUTPUT_VAR_NAME = "_py_out"
MODULE_NAME = "tessera.relay.testing.py_converter"


# ---- what the programs use --------------------------------------------------------------------------------------------
class Data:
    """A value of a data type while a program runs: the number of its constructor, and its fields."""

    def __init__(self, tag: int, *fields: Any):
        self.tag = tag
        self.fields = fields


class Reference:
    """A reference while a program runs."""

    def __init__(self, value: Any):
        self.value = value


def tensor(values: Any, dtype: str, shape: Any) -> NDArray:
    """A constant: its elements as numbers, or as bytes."""
    if isinstance(values, bytes):
        return _nd.array(np.frombuffer(values, dtype).reshape(shape))
    return _nd.array(np.array(values, dtype).reshape(shape))


def truth(value: NDArray) -> bool:
    """A tensor of one Boolean as Python's."""
    return bool(value.numpy())


def operator(text: str, target: str) -> Callable[..., Any]:
    """A function of tensors, and tuples of them, from its Relay text."""
    from ... import parser
    from ..build_module import create_executor

    mod = IRModule.from_expr(parser.parse_expr(text))
    run = create_executor("debug", mod, device(Target(target).kind.name, 0), target).evaluate()
    return lambda *args: given(run(*args))


def given(value: Any) -> Any:
    """A value of the interpreter, or a number, as programs have them."""
    if isinstance(value, container.ADT):
        return tuple(given(value[i]) for i in range(len(value)))
    if isinstance(value, (tuple, list)):
        return tuple(given(field) for field in value)
    if isinstance(value, ConstructorValue):
        return Data(int(value.tag), *(given(field) for field in value.fields))
    if isinstance(value, RefValue):
        return Reference(given(value.value))
    return value if callable(value) or isinstance(value, (Data, Reference)) else _value(value)


def result(value: Any) -> Any:
    """The other way round. A function stays one of Python, which takes and gives values of the interpreter."""
    if isinstance(value, tuple):
        fields = [result(field) for field in value]
        return tuple(fields) if any(map(_is_function, fields)) else container.tuple_object(fields)
    if isinstance(value, Data):
        return ConstructorValue(value.tag, [result(field) for field in value.fields], None)
    if isinstance(value, Reference):
        return RefValue(result(value.value))
    if _is_function(value):
        return lambda *args: result(value(*map(given, args)))
    return value


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, NDArray)


# ---- making the programs ----------------------------------------------------------------------------------------------
class PythonConverter:
    """Writes one program. Every value of Relay has a name of its own in it, and every scope is a function of Python."""

    def __init__(self, mod: IRModule, target: Any):
        self.mod = mod
        self.target = str(Target(target))
        self.lines: list[str] = []
        self.names: set[str] = set(keyword.kwlist) | {"Data", "Reference", "operator", "result", "tensor", "truth"}
        self.vars: dict[Any, str] = {}
        self.globals: dict[str, str] = {}
        self.operators: dict[str, str] = {}

    def convert(self, prog: Expr) -> ast.Module:
        """The program that computes the expression, as a syntax tree; its value is in `_py_out`."""
        main = self.fresh("main")
        expr = self.typed(prog)
        functions = self.reachable(expr)
        self.globals = {name: self.fresh(name) for name in functions}
        for name, function in functions.items():
            self.define(self.globals[name], function, 0)
        self.scope(main, [], expr, 0)
        head = [f"from {MODULE_NAME} import Data, Reference, operator, result, tensor, truth"]
        head += [f"{name} = operator({text!r}, {self.target!r})" for text, name in self.operators.items()]
        return ast.parse("\n".join([*head, *self.lines, f"{OUTPUT_VAR_NAME} = result({main}())"]))

    def typed(self, expr: Expr) -> Any:
        """The expression in A-normal form, with types."""
        infer = get_global_func("relay.transform.infer_type_expr")
        return infer(get_global_func("relay._transform.ToANormalFormExpr")(infer(expr, self.mod)), self.mod)

    def reachable(self, expr: Expr) -> dict[str, Function]:
        """The functions of the module that the expression needs, by name."""
        found: dict[str, Function] = {}
        todo: list[Any] = [expr]

        def look(part: Any) -> None:
            if isinstance(part, GlobalVar) and part.name_hint not in found:
                function = self.mod[part]
                if not isinstance(function, Function):
                    raise TypeError(f"@{part.name_hint} is not a Relay function and has no counterpart in Python")
                found[part.name_hint] = self.typed(function)
                todo.append(found[part.name_hint])

        while todo:
            post_order_visit(todo.pop(), look)
        return found

    def fresh(self, hint: str) -> str:
        """A name that is not used yet."""
        stem = re.sub(r"\W", "_", hint) or "x"
        stem = stem if not stem[0].isdigit() else "_" + stem
        name, count = stem, 0
        while name in self.names:
            count += 1
            name = f"{stem}_{count}"
        self.names.add(name)
        return name

    def bind(self, var: Var) -> str:
        """A name for a variable that becomes known here."""
        name = self.fresh(var.name_hint)
        self.vars[var] = name
        return name

    def emit(self, depth: int, line: str) -> None:
        """One line of the program."""
        self.lines.append("    " * depth + line)

    def define(self, name: str, function: Function, depth: int) -> None:
        """A function of Python for one of Relay."""
        self.scope(name, [self.bind(param) for param in function.params], function.body, depth)

    def scope(self, name: str, params: list[str], body: Expr, depth: int) -> None:
        self.emit(depth, f"def {name}({', '.join(params)}):")
        self.emit(depth + 1, f"return {self.value(body, depth + 1)}")

    def value(self, expr: Any, depth: int) -> str:
        """What the expression is in Python, after the statements that it needs."""
        while isinstance(expr, Let):
            if isinstance(expr.value, Function) and not _is_primitive(expr.value):
                self.define(self.bind(expr.var), expr.value, depth)
            else:
                value = self.value(expr.value, depth)
                self.emit(depth, f"{self.bind(expr.var)} = {value}")
            expr = expr.body
        if isinstance(expr, Var):
            if expr not in self.vars:
                raise ValueError(f"nobody binds the variable %{expr.name_hint}")
            return self.vars[expr]
        if isinstance(expr, GlobalVar):
            return self.globals[expr.name_hint]
        if isinstance(expr, Constant):
            return _constant(expr.data.numpy())
        if isinstance(expr, Constructor):
            return f"(lambda *fields: Data({expr.tag}, *fields))"
        if isinstance(expr, Call):
            return self.call(expr, depth)
        if isinstance(expr, Function):
            name = self.fresh("function")
            self.define(name, expr, depth)
            return name
        if isinstance(expr, Tuple):
            return "(" + "".join(self.value(field, depth) + ", " for field in expr.fields) + ")"
        if isinstance(expr, TupleGetItem):
            return f"{self.value(expr.tuple_value, depth)}[{expr.index}]"
        if isinstance(expr, RefCreate):
            return f"Reference({self.value(expr.value, depth)})"
        if isinstance(expr, RefRead):
            return f"{self.value(expr.ref, depth)}.value"
        if isinstance(expr, RefWrite):
            self.emit(depth, f"{self.value(expr.ref, depth)}.value = {self.value(expr.value, depth)}")
            return "()"
        if isinstance(expr, If):
            out = self.fresh("chosen")
            self.emit(depth, f"if truth({self.value(expr.cond, depth)}):")
            self.emit(depth + 1, f"{out} = {self.value(expr.true_branch, depth + 1)}")
            self.emit(depth, "else:")
            self.emit(depth + 1, f"{out} = {self.value(expr.false_branch, depth + 1)}")
            return out
        if isinstance(expr, Match):
            return self.match(expr, depth)
        raise TypeError(f"a {type(expr).__name__} has no counterpart in Python")

    def call(self, call: Call, depth: int) -> str:
        args = ", ".join(self.value(arg, depth) for arg in call.args)
        if isinstance(call.op, Constructor):
            return f"Data({call.op.tag}, {args})"
        if isinstance(call.op, Op) or _is_primitive(call.op):
            params = [Var(f"x{i}", arg.checked_type) for i, arg in enumerate(call.args)]
            text = Function(params, Call(call.op, params, call.attrs)).astext()
            if text not in self.operators:
                self.operators[text] = self.fresh(call.op.name if isinstance(call.op, Op) else "kernel")
            return f"{self.operators[text]}({args})"
        return f"{self.value(call.op, depth)}({args})"

    def match(self, match: Match, depth: int) -> str:
        out, data = self.fresh("matched"), self.fresh("data")
        self.emit(depth, f"{data} = {self.value(match.data, depth)}")
        word = "if"
        for clause in match.clauses:
            tests: list[str] = []
            bound: list[tuple[Var, str]] = []
            _take_apart(clause.lhs, data, tests, bound)
            self.emit(depth, f"{word} {' and '.join(tests) or 'True'}:")
            for var, path in bound:
                self.emit(depth + 1, f"{self.bind(var)} = {path}")
            self.emit(depth + 1, f"{out} = {self.value(clause.rhs, depth + 1)}")
            word = "elif"
        self.emit(depth, "else:" if match.clauses else "if True:")
        self.emit(depth + 1, "raise ValueError('no clause of a match fits the value')")
        return out


def _take_apart(pattern: Any, path: str, tests: list[str], bound: list[tuple[Var, str]]) -> None:
    """What must hold for the value at `path` to fit, and the variables it then binds."""
    if isinstance(pattern, PatternVar):
        bound.append((pattern.var, path))
    elif isinstance(pattern, PatternConstructor):
        tests.append(f"{path}.tag == {pattern.constructor.tag}")
        for i, part in enumerate(pattern.patterns):
            _take_apart(part, f"{path}.fields[{i}]", tests, bound)
    elif isinstance(pattern, PatternTuple):
        for i, part in enumerate(pattern.patterns):
            _take_apart(part, f"{path}[{i}]", tests, bound)


def _is_primitive(expr: Any) -> bool:
    return isinstance(expr, Function) and expr.attrs is not None and bool(dict(expr.attrs.items()).get("Primitive"))


def _constant(array: np.ndarray) -> str:
    """The call that makes a constant: with its numbers where they are few and finite."""
    plain = array.size <= 16 and array.dtype.kind in "iufb" and bool(np.isfinite(array).all())
    values = repr(array.tolist()) if plain else repr(array.tobytes())
    return f"tensor({values}, {str(array.dtype)!r}, {tuple(array.shape)!r})"


def to_python(expr: Expr, mod: Any = None, target: Any = "llvm") -> ast.Module:
    """A Python program that computes the expression, as a syntax tree: `ast.unparse` shows it.

    Functions of `mod` become functions of Python. Running it leaves the value of the expression in `_py_out`.
    """
    free = [var.name_hint for var in free_vars(expr)]
    if free:
        raise ValueError(f"the expression uses variables that nobody binds: {', '.join(free)}")
    return PythonConverter(mod if mod is not None else IRModule(), target).convert(expr)


def run_as_python(expr: Expr, mod: Any = None, target: Any = "llvm") -> Any:
    """The value of the expression, computed by the program that `to_python` makes of it.

    Tensors are NDArrays, tuples ADTs, values of data types ConstructorValues, references RefValues; a function can be
    called with such values and with numbers.
    """
    space: dict[str, Any] = {}
    exec(compile(to_python(expr, mod, target), "<relay>", "exec"), space)
    return space[OUTPUT_VAR_NAME]
