"""The ways into the parser: @T.prim_func, @tvm.script.ir_module and from_source."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import sys
import textwrap
from types import FrameType
from typing import Any, Callable

from tessera.error import DiagnosticError
from tessera.script.parser.diagnostics import Source
from tessera.script.parser.scope import Scopes

_BUILTINS = {
    **{name: getattr(builtins, name) for name in ("range", "len", "int", "float", "min", "max", "abs", "str", "sum")},
    "inf": float("inf"),
    "nan": float("nan"),
}


def prim_func(input_func: Callable) -> Any:
    """Decorator: reads the function's text as a script and gives the PrimFunc."""
    if not inspect.isfunction(input_func):
        raise TypeError(f"@T.prim_func is for functions, not {type(input_func).__name__}")
    frame = sys._getframe(1)
    if "__qualname__" in frame.f_locals and "__module__" in frame.f_locals:
        return input_func  # inside a class: @ir_module reads the whole class
    source, tree = _source_of(input_func)
    return _read(source, tree, _captured(input_func, frame))


def ir_module(input_module: type) -> Any:
    """Decorator: reads the class's text as a module of scripts and gives the IRModule."""
    if not inspect.isclass(input_module):
        raise TypeError(f"@ir_module is for classes, not {type(input_module).__name__}")
    source, tree = _source_of(input_module)
    captured: dict = {}
    for member in vars(input_module).values():
        if inspect.isfunction(member):
            captured.update(_captured(member, sys._getframe(1)))
    captured = captured or _frame_names(sys._getframe(1))
    return _read(source, tree, captured)


def from_source(input_func: Any, tir_prefix: Any = None) -> Any:
    """A PrimFunc or IRModule from its text (or from a function or class that holds it)."""
    if inspect.isfunction(input_func):
        source, tree = _source_of(input_func)
        return _read(source, tree, _captured(input_func, sys._getframe(1)))
    if inspect.isclass(input_func):
        return ir_module(input_func)
    if not isinstance(input_func, str):
        raise TypeError(f"from_source takes text, a function or a class, not {type(input_func).__name__}")
    import tessera
    from tessera.script import tir as script_tir

    names: dict = {**_BUILTINS, "T": script_tir, "tir": script_tir, "tvm": tessera, "tessera": tessera}
    first_line = re.search(r"^# from tvm\.script import tir as (\w+)$", input_func, re.M)
    prefixes = [tir_prefix] if isinstance(tir_prefix, str) else list(tir_prefix or [])
    for prefix in prefixes + ([first_line.group(1)] if first_line else []):
        names[prefix] = script_tir
    source, tree = _parse(input_func, "<string>", 1)
    source.is_printed = first_line is not None
    return _read(source, tree, names)


def _parse(text: str, filename: str, first_line: int) -> tuple:
    dedented = textwrap.dedent(text)
    first = next((line for line in text.splitlines() if line.strip()), "")
    indent = len(first) - len(first.lstrip())
    source = Source(dedented, filename, first_line, indent)
    try:
        return source, ast.parse(dedented, filename)
    except SyntaxError as error:
        node = ast.Pass(lineno=error.lineno or 1, col_offset=max(0, (error.offset or 1) - 1))
        wrong = source.error(node, f"the script is not Python: {error.msg}")
        source.show(wrong)
        raise wrong from None


def _source_of(item: Any) -> tuple:
    try:
        lines, first_line = inspect.getsourcelines(item)
    except OSError:
        raise OSError(f"the text of {item.__name__} cannot be found; scripts need their source file") from None
    return _parse("".join(lines), inspect.getsourcefile(item) or "<unknown>", first_line)


def _frame_names(frame: FrameType) -> dict:
    return {**frame.f_globals, **frame.f_locals}


def _captured(function: Callable, frame: FrameType) -> dict:
    """Names a script may use: builtins it needs, the module's, the caller's, and what the function closes over."""
    closure = inspect.getclosurevars(function)
    return {**_BUILTINS, **_frame_names(frame), **function.__globals__, **closure.nonlocals}


def _read(source: Source, tree: ast.Module, captured: dict) -> Any:
    try:
        return _read_definition(source, tree, captured)
    except DiagnosticError as error:
        source.show(error)
        raise


def _read_definition(source: Source, tree: ast.Module, captured: dict) -> Any:
    definitions = [n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))]
    if len(definitions) != 1:
        raise source.error(None, f"a script is one function or one class; this text has {len(definitions)}")
    from tessera.script.parser.function import parse_function

    (definition,) = definitions
    if isinstance(definition, ast.FunctionDef):
        return parse_function(source, Scopes(captured), definition)
    return _read_class(source, definition, captured, parse_function)


def _is_empty_meta(node: ast.stmt) -> bool:
    """``__tvm_meta__ = None``, which printers write at the end of a module without metadata."""
    return (
        isinstance(node, ast.Assign)
        and [ast.unparse(target) for target in node.targets] == ["__tvm_meta__"]
        and isinstance(node.value, ast.Constant)
        and node.value.value is None
    )


def _read_class(source: Source, definition: ast.ClassDef, captured: dict, parse_function: Callable) -> Any:
    from tessera import ir

    functions = [n for n in definition.body if isinstance(n, ast.FunctionDef)]
    others = [
        n for n in definition.body if not isinstance(n, (ast.FunctionDef, ast.Pass, ast.Expr)) and not _is_empty_meta(n)
    ]
    if others:
        raise source.error(others[0], "a module of scripts holds functions only")
    names = {function.name: ir.GlobalVar(function.name) for function in functions}
    return ir.IRModule(
        {
            names[function.name]: parse_function(source, Scopes({**captured, **names}), function)
            for function in functions
        }
    )
