"""Statements of scripts: Python's syntax trees to loops, blocks, stores and scopes."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from tessera import ir, tir
from tessera.error import DiagnosticError
from tessera.script.parser import intrinsics
from tessera.script.parser.annotations import BufferAnnotation, ScriptType
from tessera.script.parser.buffers import Allocation
from tessera.script.parser.declarations import DECLARATIONS
from tessera.script.parser.diagnostics import Source
from tessera.script.parser.expressions import Expressions
from tessera.script.parser.loops import Loops, loop_of
from tessera.script.parser.regions import BufferSlice
from tessera.script.parser.scope import BlockInfo, Scopes


class Statements:
    """Reads function bodies. A declaration such as `X = T.allocate(...)` holds for the rest of its suite."""

    def __init__(self, source: Source, scopes: Scopes, function: Any):
        self.source, self.scopes, self.function = source, scopes, function
        self.ev = Expressions(source, scopes)

    def body(self, suite: list) -> Any:
        """The statement of a whole suite."""
        done: list = []
        for position, node in enumerate(suite):
            stmt, takes_rest = self.statement(node, suite[position + 1 :])
            if stmt is not None:
                done.append(stmt)
            if takes_rest:
                break
        if not done:
            return tir.Evaluate(tir.const(0, "int32"))
        return done[0] if len(done) == 1 else tir.SeqStmt(done)

    def suite(self, nodes: list) -> Any:
        with self.scopes:
            return self.body(nodes)

    def statement(self, node: ast.stmt, rest: list) -> Any:
        """(statement or None where nothing is left of it, whether it holds the rest of the suite)."""
        method = getattr(self, f"visit_{type(node).__name__}", None)
        if method is None:
            raise self.source.error(node, f"a script cannot contain {type(node).__name__}")
        try:
            return method(node, rest)
        except DiagnosticError:
            raise
        except Exception as error:  # what the core says about a node, said where it stands
            raise self.source.error(node, str(error) or type(error).__name__) from error

    # ---- control

    def visit_Pass(self, node: ast.Pass, rest: list) -> Any:
        return None, False

    def visit_For(self, node: ast.For, rest: list) -> Any:
        if not isinstance(node.iter, ast.Call):
            raise self.source.error(node.iter, "a loop is over T.serial, T.parallel, T.grid, ...")
        loops: Loops = loop_of(self.ev, node.iter)
        targets = node.target.elts if isinstance(node.target, (ast.Tuple, ast.List)) else [node.target]
        if len(targets) != len(loops.ranges):
            raise self.source.error(node.target, f"{len(loops.ranges)} loops need as many names, not {len(targets)}")
        with self.scopes:
            variables = []
            for target, (low, extent) in zip(targets, loops.ranges):
                if not isinstance(target, ast.Name):
                    raise self.source.error(target, "a loop variable is a name")
                variable = tir.Var(target.id, extent.dtype)
                self.scopes.define(target.id, variable)
                self.scopes.loop_ranges[variable] = (low, extent)
                variables.append(variable)
            stmt = self.body(node.body)
        for variable, (low, extent) in reversed(list(zip(variables, loops.ranges))):
            span = self.source.span(node)
            stmt = tir.For(variable, low, extent, loops.kind, stmt, loops.thread_binding, loops.annotations, span)
        return stmt, False

    def visit_While(self, node: ast.While, rest: list) -> Any:
        return tir.While(self.ev.expr(node.test), self.suite(node.body), self.source.span(node)), False

    def visit_If(self, node: ast.If, rest: list) -> Any:
        condition, then = self.ev.expr(node.test), self.suite(node.body)
        otherwise = self.suite(node.orelse) if node.orelse else None
        return tir.IfThenElse(condition, then, otherwise, self.source.span(node)), False

    def visit_Assert(self, node: ast.Assert, rest: list) -> Any:
        message = self.ev.expr(node.msg) if node.msg else tir.StringImm("")
        return tir.AssertStmt(self.ev.expr(node.test), message, self.body(rest), self.source.span(node)), True

    # ---- assignments

    def visit_AnnAssign(self, node: ast.AnnAssign, rest: list) -> Any:
        kind = self.ev(node.annotation)
        if not isinstance(node.target, ast.Name) or node.value is None:
            raise self.source.error(node, "a typed assignment is `name: T.int32 = value`")
        if isinstance(kind, BufferAnnotation):
            raise self.source.error(node.annotation, "T.Buffer[...] is for parameters; use T.match_buffer here")
        dtype = kind.dtype if isinstance(kind, ScriptType) else None
        return self._let(node.target.id, self.ev.expr(node.value, dtype), rest, kind.evaluate())

    def _let(self, name: str, value: Any, rest: list, kind: Any = None) -> Any:
        if kind is None:
            variable = tir.Var(name, value.dtype)
            self.scopes.define(name, variable)
        else:
            variable = self.scopes.bind(name, lambda: tir.Var(name, kind))
        return tir.LetStmt(variable, value, self.body(rest)), True

    def visit_Assign(self, node: ast.Assign, rest: list) -> Any:
        if len(node.targets) != 1:
            raise self.source.error(node, "one assignment at a time")
        target = node.targets[0]
        if isinstance(target, ast.Subscript):
            return self._store(node, target)
        declared = self._declaration(node.value, target, rest)
        if declared is not None:
            return declared
        is_helper = self._is_python_call(node.value)
        if not isinstance(target, ast.Name):
            if not is_helper or not isinstance(target, (ast.Tuple, ast.List)):
                raise self.source.error(target, "only names and buffer elements are assigned to")
            return self._unpack(node, self._target_names(target))
        value = self.ev(node.value)
        if is_helper:
            self.scopes.define(target.id, value)
            return None, False
        if isinstance(value, (tir.CommReducer, tir.Buffer, tir.IterVar)) or not isinstance(
            value, (bool, int, float, tir.PrimExpr, BufferSlice)
        ):
            self.scopes.define(target.id, value)
            return None, False
        return self._let(target.id, self.ev.as_expr(value, node.value), rest)

    def _is_python_call(self, node: ast.AST) -> bool:
        """A call of a function of Python: what it gives is named, not bound by a `let`."""
        if not isinstance(node, ast.Call):
            return False
        if isinstance(node.func, ast.Name) and not self.scopes.is_defined(node.func.id):
            return False
        return inspect.isfunction(self.ev(node.func))

    def _unpack(self, node: ast.Assign, names: list) -> Any:
        """`a, b = helper(i, j)`: the helper's results by their names."""
        values = self.ev(node.value)
        if not isinstance(values, (tuple, list, ir.Array)) or len(values) != len(names):
            count = len(values) if isinstance(values, (tuple, list, ir.Array)) else 1
            raise self.source.error(node, f"{len(names)} names are given {count} values")
        for name, value in zip(names, values):
            self.scopes.define(name, value)
        return None, False

    def visit_AugAssign(self, node: ast.AugAssign, rest: list) -> Any:
        if not isinstance(node.target, ast.Subscript):
            raise self.source.error(node, "only buffer elements are updated in place")
        load = ast.copy_location(ast.Subscript(node.target.value, node.target.slice, ast.Load()), node.target)
        value = ast.copy_location(ast.BinOp(load, node.op, node.value), node)
        return self._store(ast.copy_location(ast.Assign([node.target], value), node), node.target)

    def _store(self, node: ast.Assign, target: ast.Subscript) -> Any:
        buffer = self.ev(target.value)
        if not isinstance(buffer, tir.Buffer):
            raise self.source.error(target, f"{ast.unparse(target.value)} is not a buffer")
        index = self.ev(target.slice)
        indices = BufferSlice(
            self.ev, buffer, list(index) if isinstance(index, tuple) else [index], target
        ).as_indices()
        value = self.ev(node.value)
        if isinstance(value, (bool, int, float)):
            lanes = indices[-1].dtype.split("x")[1:] if indices else []
            if not (isinstance(value, float) and "int" in buffer.dtype):  # one that has no such constant stays a float
                value = tir.const(value, buffer.dtype + ("x" + lanes[0] if lanes else ""))
        value = self.ev.as_expr(value, node.value)
        return tir.BufferStore(buffer, value, indices, self.source.span(node)), False

    # ---- declarations and scopes

    def _script_call(self, node: ast.AST) -> tuple:
        """(name under T, positional, keyword arguments) of a call, or three Nones."""
        if not isinstance(node, ast.Call):
            return None, None, None
        name = self._script_name(node)
        if name is None or name not in DECLARATIONS:
            return None, None, None
        if name == "let":
            self._announce(node)
        args: list = []
        for arg in node.args:
            args.extend(self.ev(arg.value) if isinstance(arg, ast.Starred) else [self.ev(arg)])
        return name, args, {kw.arg: self.ev(kw.value) for kw in node.keywords}

    def _script_name(self, call: ast.Call) -> str | None:
        if isinstance(call.func, ast.Name) and not self.scopes.is_defined(call.func.id):
            return None
        return intrinsics.script_name(self.ev(call.func))

    def _announce(self, call: ast.Call) -> None:
        """`with T.let(x, value):` may name a new variable."""
        if len(call.args) == 2 and isinstance(call.args[0], ast.Name) and not self.scopes.is_defined(call.args[0].id):
            name = call.args[0].id
            self.scopes.define(name, tir.Var(name, self.ev.expr(call.args[1]).dtype))

    def _declaration(self, value: ast.AST, target: ast.AST | None, rest: list) -> Any:
        """A declaration under T, with the rest of the suite inside it where it opens a scope; None if it is none."""
        if isinstance(value, ast.Call) and self._script_name(value) == "func_attr":
            self.function.attr_calls.append(value)  # may name threads that are declared below it
            return None, False
        name, args, kwargs = self._script_call(value)
        if name is None:
            return None
        result = self._declare(value, name, self._target_names(target), args, kwargs)
        if result is None:
            return None, False
        if not rest and name in ("Assert", "realize"):
            raise self.source.error(
                value, f"T.{name} has no body: statements follow it, or stand in `with T.{name}(...):`"
            )
        wrap = result.wrap if isinstance(result, Allocation) else result
        return wrap(self.body(rest)), True

    def _declare(self, call: ast.AST, name: str, names: list, args: list, kwargs: dict) -> Any:
        try:
            return DECLARATIONS[name](self, call, names, *args, **kwargs)
        except TypeError as error:  # arguments that the declaration does not take
            raise self.source.error(call, f"T.{name}: {error}".replace(f"{name}() ", "")) from error

    def _target_names(self, target: ast.AST | None) -> list:
        if target is None:
            return []
        targets: list = list(target.elts) if isinstance(target, (ast.Tuple, ast.List)) else [target]
        names = []
        for item in targets:
            if not isinstance(item, ast.Name):
                raise self.source.error(item, "a declaration gives a name")
            names.append(item.id)
        return names

    def visit_Expr(self, node: ast.Expr, rest: list) -> Any:
        if isinstance(node.value, ast.Constant):  # a docstring
            return None, False
        declared = self._declaration(node.value, None, rest)
        if declared is not None:
            return declared
        if isinstance(node.value, ast.Call):
            name = self._script_name(node.value)
            if name == "evaluate" and len(node.value.args) == 1:
                return tir.Evaluate(self.ev.expr(node.value.args[0]), self.source.span(node)), False
            if name == "prefetch" and len(node.value.args) == 2:
                buffer, bounds = (self.ev(arg) for arg in node.value.args)
                return tir.Prefetch(buffer, list(bounds)), False
        value = self.ev(node.value)
        if isinstance(value, tir.Stmt):
            return value, False
        value = self.ev.as_expr(value, node.value)
        if not isinstance(value, tir.Call):
            raise self.source.error(node, "an expression is no statement; T.evaluate(...) evaluates one")
        return tir.Evaluate(value, self.source.span(node)), False

    def visit_With(self, node: ast.With, rest: list) -> Any:
        wraps = []
        with self.scopes:
            for item in node.items:
                call = item.context_expr
                if not isinstance(call, ast.Call):
                    raise self.source.error(call, "`with` takes T.block, T.init, T.attr, T.allocate, ...")
                name = self._script_name(call)
                if name == "block":
                    if item.optional_vars is not None:
                        raise self.source.error(
                            item.optional_vars, "a block gives no name; its axes are lines of T.axis"
                        )
                    return self._block(call, node), False
                if name == "init":
                    return self._init(call, node)
                declared, args, kwargs = self._script_call(call)
                if declared is None:
                    raise self.source.error(call, "`with` takes T.block, T.init, T.attr, T.allocate, ...")
                result = self._declare(call, declared, self._target_names(item.optional_vars), args, kwargs)
                if result is None:
                    raise self.source.error(call, f"T.{declared} opens no scope")
                wraps.append(result.wrap if isinstance(result, Allocation) else result)
            stmt = self.body(node.body)
        for wrap in reversed(wraps):
            stmt = wrap(stmt)
        return stmt, False

    def _init(self, call: ast.Call, node: ast.With) -> Any:
        if not self.scopes.blocks or self.scopes.blocks[-1].init is not None:
            raise self.source.error(call, "T.init() stands once in a block")
        self.scopes.blocks[-1].init = self.body(node.body)
        return None, False

    def _block(self, call: ast.Call, node: ast.With) -> Any:
        args = [self.ev(arg) for arg in [*call.args, *(keyword.value for keyword in call.keywords)]]
        if len(args) > 1 or not all(isinstance(arg, str) for arg in args):
            raise self.source.error(call, 'a block is `with T.block("name"):`; its axes are lines of T.axis inside')
        name = args[0] if args else ""
        block = BlockInfo(name)
        self.scopes.blocks.append(block)
        stmt = self.body(node.body)
        self.scopes.blocks.pop()
        annotations = dict(block.annotations)
        if block.reads is None or block.writes is None:  # what is not said is found out from the body
            annotations["tir.script_parsing_detect_access"] = (block.reads is None) + 2 * (block.writes is None)
        span = self.source.span(node)
        made = tir.Block(
            block.iter_vars,
            block.reads or [],
            block.writes or [],
            name,
            stmt,
            block.init,
            block.alloc_buffers,
            block.match_buffers,
            annotations,
            span,
        )
        predicate = tir.const(True, "bool") if block.predicate is None else block.predicate
        return tir.BlockRealize(block.iter_values, predicate, made, span)
