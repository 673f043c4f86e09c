"""Which variables a hybrid script reads and writes, and how deep in its loops they are made."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

__all__ = ["PyVariableUsage", "determine_variable_usage"]


class PyVariableUsage(ast.NodeVisitor):
    """Visits the function of a script; `status` has (node, scope, contexts) of each name: "Load", "Store" or both."""

    def __init__(self, args: Any, symbols: Mapping[str, Any], closure_vars: Mapping[str, Any]) -> None:
        self.args = args
        self.symbols, self.closure_vars = symbols, closure_vars
        self.scope_level: list[ast.AST] = []
        self.status: dict[str, tuple[ast.AST, ast.AST, set[type]]] = {}
        self._args: dict[str, Any] = {}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Parameters first, then the body."""
        self.scope_level.append(node)
        if len(node.args.args) != len(self.args):
            raise ValueError(
                f"{node.name} has {len(node.args.args)} parameters, but {len(self.args)} arguments are given"
            )
        self._args = {arg.arg: value for arg, value in zip(node.args.args, self.args)}
        for statement in node.body:
            self.visit(statement)
        self.scope_level.pop()

    def visit_For(self, node: ast.For) -> None:
        """What is made inside of a loop lives there."""
        if not isinstance(node.target, ast.Name):
            raise ValueError("a loop of a script has one variable")
        self.visit(node.iter)
        self.scope_level.append(node)
        for statement in node.body:
            self.visit(statement)
        self.scope_level.pop()

    def visit_Call(self, node: ast.Call) -> None:
        """Functions are called by name."""
        if not isinstance(node.func, ast.Name):
            raise ValueError("a function of a script is called by its name")
        for argument in node.args:
            self.visit(argument)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Reads and writes its target."""
        self.generic_visit(node)
        if isinstance(node.target, ast.Name) and node.target.id in self.status:
            self.status[node.target.id][2].add(ast.Load)

    def visit_Name(self, node: ast.Name) -> None:
        """Notes how a variable is used; the first use says where it is made."""
        if node.id in self._args or node.id in self.symbols or node.id in self.closure_vars:
            return
        if any(isinstance(scope, ast.For) and scope.target.id == node.id for scope in self.scope_level):  # type: ignore[attr-defined]
            if isinstance(node.ctx, ast.Store):
                raise ValueError(f"the variable {node.id} of a loop is not written to")
            return
        if node.id not in self.status:
            if not isinstance(node.ctx, ast.Store):
                raise ValueError(f"the variable {node.id} is read before it is written")
            self.status[node.id] = (node, self.scope_level[-1], set())
        else:
            _, scope, contexts = self.status[node.id]
            if scope not in self.scope_level:
                raise ValueError(f"the variable {node.id} is used outside of the loop that makes it")
            contexts.add(type(node.ctx))


def determine_variable_usage(
    root: ast.AST, args: Any, symbols: Mapping[str, Any], closure_vars: Mapping[str, Any]
) -> dict[str, tuple[ast.AST, ast.AST, set[type]]]:
    """The variables of a script, by name."""
    visitor = PyVariableUsage(args, symbols, closure_vars)
    visitor.visit(root)
    return visitor.status
