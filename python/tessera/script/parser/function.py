"""Functions of scripts: parameters, attributes and the root block around the body."""

from __future__ import annotations

import ast
from typing import Any

from tessera import ir, tir
from tessera.script.parser.annotations import BufferAnnotation, ScriptType
from tessera.script.parser.buffers import declare_buffer
from tessera.script.parser.diagnostics import Source
from tessera.script.parser.scope import InTurn, Scopes
from tessera.script.parser.statements import Statements


class FunctionInfo:
    """What the statements of a function have said about it."""

    def __init__(self) -> None:
        self.params: list = []
        self.buffer_map: dict = {}
        self.preflattened: dict = {}
        self.attr_calls: list[ast.Call] = []
        self.root_allocs: list = []
        self.env_threads: dict = {}  # variable -> tag
        self.threads_of: dict[str, list] = {}  # name -> the threads declared under it
        self._launches: dict[str, int] = {}

    def next_thread(self, thread: Any) -> Any:
        """The thread that the next launch of this name is about."""
        known = self.threads_of[thread.name]
        count = self._launches.get(thread.name, 0)
        self._launches[thread.name] = count + 1
        return known[min(count, len(known) - 1)]


def parse_function(source: Source, scopes: Scopes, node: ast.FunctionDef) -> Any:
    """A PrimFunc from the tree of its definition."""
    info = FunctionInfo()
    reader = Statements(source, scopes, info)
    with scopes:
        _read_parameters(reader, node)
        ret_type = _return_type(reader, node)
        body = reader.body(node.body)
        attrs = _attributes(reader)
    function = tir.PrimFunc(
        info.params,
        body,
        ret_type,
        info.buffer_map,
        info.preflattened,
        ir.make_node("DictAttrs", **attrs) if attrs else None,
        source.span(node),
    )
    is_printed, root_name = source.printed_root(node)
    try:
        return tir._ffi_api.ScriptComplete(function, info.root_allocs, is_printed, root_name)
    except ValueError as error:
        raise source.error(node, str(error)) from error


def _read_parameters(reader: Statements, node: ast.FunctionDef) -> None:
    info, scopes, source = reader.function, reader.scopes, reader.source
    others = [node.args.vararg, node.args.kwarg, *node.args.posonlyargs, *node.args.kwonlyargs, *node.args.defaults]
    for other in others:
        if other is not None:
            raise source.error(other, "the parameters of a script are plain names with types")
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


def _return_type(reader: Statements, node: ast.FunctionDef) -> Any:
    returns = None if node.returns is None else reader.ev(node.returns)
    if returns is None or (isinstance(returns, ScriptType) and returns.dtype == "void"):
        return None
    return returns.evaluate()


def _attributes(reader: Statements) -> dict:
    """Read last, when every thread they may name is known; those that share a name stand in the order of launches."""
    info, attrs = reader.function, {}
    with reader.scopes:
        queues = {name: list(threads) for name, threads in info.threads_of.items() if len(threads) > 1}
        for call in info.attr_calls:
            for name, threads in queues.items():
                reader.scopes.define(name, InTurn(threads))
            if len(call.args) != 1 or call.keywords:
                raise reader.source.error(call, "T.func_attr takes one dictionary")
            value = reader.ev(call.args[0])
            if not isinstance(value, dict):
                raise reader.source.error(call.args[0], 'T.func_attr takes a dictionary, such as {"key": value}')
            attrs.update(value)
    return attrs
