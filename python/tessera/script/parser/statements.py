"""Statements of scripts: Python's syntax trees to loops, blocks, stores and scopes."""

from __future__ import annotations

import ast
from typing import Any

from tessera import ir, tir
from tessera.script.parser import intrinsics
from tessera.script.parser.annotations import BufferAnnotation, ScriptType
from tessera.script.parser.declarations import DECLARATIONS, Allocation, declare_buffer
from tessera.script.parser.diagnostics import Source
from tessera.script.parser.expressions import BufferSlice, Expressions
from tessera.script.parser.loops import Loops, loop_of
from tessera.script.parser.scope import BlockInfo, Scopes


class Statements:
    """Reads function bodies. A declaration such as `X = T.allocate(...)` holds for the rest of its suite."""

    def __init__(self, source: Source, scopes: Scopes):
        self.source, self.scopes = source, scopes
        self.ev = Expressions(source, scopes)
        self.function = FunctionInfo()

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
        return method(node, rest)

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
            stmt = tir.For(variable, low, extent, loops.kind, stmt, loops.thread_binding, loops.annotations)
        return stmt, False

    def visit_While(self, node: ast.While, rest: list) -> Any:
        return tir.While(self.ev.expr(node.test), self.suite(node.body)), False

    def visit_If(self, node: ast.If, rest: list) -> Any:
        otherwise = self.suite(node.orelse) if node.orelse else None
        return tir.IfThenElse(self.ev.expr(node.test), self.suite(node.body), otherwise), False

    def visit_Assert(self, node: ast.Assert, rest: list) -> Any:
        message = self.ev.expr(node.msg) if node.msg else tir.StringImm("")
        return tir.AssertStmt(self.ev.expr(node.test), message, self.body(rest)), True

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
        variable = tir.Var(name, value.dtype if kind is None else kind)
        self.scopes.define(name, variable)
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
        if not isinstance(target, ast.Name):
            raise self.source.error(target, "only names and buffer elements are assigned to")
        value = self.ev(node.value)
        if isinstance(value, (tir.CommReducer, tir.Buffer, tir.IterVar)) or not isinstance(
            value, (bool, int, float, tir.PrimExpr, BufferSlice)
        ):
            self.scopes.define(target.id, value)
            return None, False
        return self._let(target.id, self.ev.as_expr(value, node.value), rest)

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
            value = tir.const(value, buffer.dtype + ("x" + lanes[0] if lanes else ""))
        value = self.ev.as_expr(value, node.value)
        try:
            return tir.BufferStore(buffer, value, indices), False
        except (TypeError, ValueError, RuntimeError) as error:
            raise self.source.error(node, str(error)) from None

    # ---- declarations and scopes

    def _script_call(self, node: ast.AST) -> tuple:
        """(name under T, positional, keyword arguments) of a call, or three Nones."""
        if not isinstance(node, ast.Call):
            return None, None, None
        function = self.ev(node.func)
        name = intrinsics.script_name(function)
        if name is None or name not in DECLARATIONS:
            return None, None, None
        args = [self.ev(arg.value) if isinstance(arg, ast.Starred) else self.ev(arg) for arg in node.args]
        return name, args, {kw.arg: self.ev(kw.value) for kw in node.keywords}

    def _declaration(self, value: ast.AST, target: ast.AST | None, rest: list) -> Any:
        """A declaration under T, with the rest of the suite inside it where it opens a scope; None if it is none."""
        name, args, kwargs = self._script_call(value)
        if name is None:
            return None
        names = self._target_names(target)
        try:
            result = DECLARATIONS[name](self, value, names, *args, **kwargs)
        except TypeError as error:
            if "\n  --> " in str(error):
                raise
            raise self.source.error(value, f"T.{name}: {error}") from error
        if result is None:
            return None, False
        wrap = result.wrap if isinstance(result, Allocation) else result
        return wrap(self.body(rest)), True

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
            function = self.ev(node.value.func)
            if intrinsics.script_name(function) == "evaluate":
                return tir.Evaluate(self.ev.expr(node.value.args[0])), False
        value = self.ev(node.value)
        if isinstance(value, tir.Stmt):
            return value, False
        return tir.Evaluate(self.ev.as_expr(value, node.value)), False

    def visit_With(self, node: ast.With, rest: list) -> Any:
        wraps = []
        with self.scopes:
            for item in node.items:
                call = item.context_expr
                if not isinstance(call, ast.Call):
                    raise self.source.error(call, "`with` takes T.block, T.init, T.attr, T.allocate, ...")
                name = intrinsics.script_name(self.ev(call.func))
                if name == "block":
                    return self._block(call, node), False
                if name == "init":
                    return self._init(call, node)
                declared, args, kwargs = self._script_call(call)
                if declared is None:
                    raise self.source.error(call, "`with` takes T.block, T.init, T.attr, T.allocate, ...")
                result = DECLARATIONS[declared](self, call, self._target_names(item.optional_vars), *args, **kwargs)
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
        args = [self.ev(arg) for arg in call.args]
        name = next((arg for arg in args if isinstance(arg, str)), "")
        block = BlockInfo(name)
        self.scopes.blocks.append(block)
        stmt = self.body(node.body)
        self.scopes.blocks.pop()
        annotations = dict(block.annotations)
        if block.reads is None or block.writes is None:  # what is not said is found out from the body
            annotations["tir.script_parsing_detect_access"] = (block.reads is None) + 2 * (block.writes is None)
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
        )
        predicate = tir.const(True, "bool") if block.predicate is None else block.predicate
        return tir.BlockRealize(block.iter_values, predicate, made)


class FunctionInfo:
    """What the head of a function has said."""

    def __init__(self) -> None:
        self.params: list = []
        self.buffer_map: dict = {}
        self.preflattened: dict = {}
        self.attrs: dict = {}
        self.root_allocs: list = []
        self.env_threads: dict = {}
        self.ret_type: Any = None


def parse_function(source: Source, scopes: Scopes, node: ast.FunctionDef) -> Any:
    """A PrimFunc from the tree of its definition."""
    reader = Statements(source, scopes)
    info = reader.function
    with scopes:
        for arg in node.args.args:
            if arg.annotation is None:
                raise source.error(arg, f"parameter {arg.arg} needs a type, such as T.handle or T.Buffer[...]")
            kind = reader.ev(arg.annotation)
            if isinstance(kind, BufferAnnotation):
                param = tir.Var(arg.arg, "handle")
                buffer = declare_buffer(reader, arg, arg.arg, *kind.args, **kind.kwargs)
                info.buffer_map[param] = buffer
                scopes.define(arg.arg, buffer)
            elif hasattr(kind, "evaluate"):
                param = tir.Var(arg.arg, kind.dtype if isinstance(kind, ScriptType) else kind.evaluate())
                scopes.define(arg.arg, param)
            else:
                raise source.error(arg.annotation, f"{ast.unparse(arg.annotation)} is not a type")
            info.params.append(param)
        if node.returns is not None:
            returns = reader.ev(node.returns)
            info.ret_type = None if returns is None else returns.evaluate()
        body = reader.body(node.body)
    attrs = ir.make_node("DictAttrs", **info.attrs) if info.attrs else None
    function = tir.PrimFunc(
        info.params, body, info.ret_type, info.buffer_map, info.preflattened, attrs, source.span(node)
    )
    return tir._ffi_api.ScriptComplete(function, info.root_allocs)
