"""A schedule written out as the text of a hybrid function, which plain Python can run."""

from __future__ import annotations

import keyword
import re
from typing import Any, Callable

from .. import tir
from ..ir import Array
from . import tensor as _tensor

_INFIX = {
    tir.Add: "+",
    tir.Sub: "-",
    tir.Mul: "*",
    tir.FloorDiv: "//",
    tir.FloorMod: "%",
    tir.EQ: "==",
    tir.NE: "!=",
    tir.LT: "<",
    tir.LE: "<=",
    tir.GT: ">",
    tir.GE: ">=",
    tir.And: "and",
    tir.Or: "or",
}
_LOOPS = {
    tir.ForKind.SERIAL: "range",
    tir.ForKind.PARALLEL: "parallel",
    tir.ForKind.VECTORIZED: "vectorize",
    tir.ForKind.UNROLLED: "unroll",
}
_FUNCTIONS = {"pow": "power", "fabs": "abs"}
_INFIX_CALLS = {
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "shift_left": "<<",
    "shift_right": ">>",
}


class SourceWriter:
    """Writes statements line by line; every tensor and variable keeps one name."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names: dict[Any, str] = {}
        self._indent = 0

    def name_of(self, thing: Any) -> str:
        """The name of a tensor's operation output or of a variable."""
        key = (thing.op, thing.value_index) if isinstance(thing, _tensor.Tensor) else thing
        if key not in self._names:
            wanted = re.sub(r"\W", "_", getattr(thing, "name", "") or "v")
            wanted = f"v{wanted}" if wanted[0].isdigit() or keyword.iskeyword(wanted) else wanted
            taken, count, name = set(self._names.values()), 0, wanted
            while name in taken:
                count += 1
                name = f"{wanted}_{count}"
            self._names[key] = name
        return self._names[key]

    def line(self, text: str) -> None:
        self.lines.append("  " * self._indent + text)

    def inside(self, head: str, write: Callable[[], None]) -> None:
        self.line(head)
        self._indent += 1
        before = len(self.lines)
        write()
        if len(self.lines) == before:
            self.line("pass")
        self._indent -= 1

    def function(self, name: str, inputs: list, outputs: list, body: Any) -> str:
        """The whole text: inputs are parameters, outputs are made and returned."""
        self._known = [*inputs, *outputs]

        def write() -> None:
            for tensor in outputs:
                self.line(f"{self.name_of(tensor)} = output_tensor({self._shape(tensor)}, {tensor.dtype!r})")
            self.stmt(body)
            self.line(f"return {', '.join(self.name_of(tensor) for tensor in outputs)}")

        self.inside(f"def {name}({', '.join(self.name_of(tensor) for tensor in inputs)}):", write)
        return "\n".join(self.lines) + "\n"

    def _shape(self, tensor: Any) -> str:
        return "(" + "".join(f"{self.expr(extent)}, " for extent in tensor.shape) + ")"

    # ---- statements

    def stmt(self, stmt: Any) -> None:
        if isinstance(stmt, tir.SeqStmt):
            for part in stmt.seq:
                self.stmt(part)
        elif isinstance(stmt, tir.AttrStmt):
            self._attr(stmt)
        elif isinstance(stmt, tir.ProducerRealize):
            self._realize(stmt)
        elif isinstance(stmt, tir.ProducerStore):
            self.line(f"{self._element(stmt)} = {self.expr(stmt.value)}")
        elif isinstance(stmt, tir.For):
            low, extent = self.expr(stmt.min), self.expr(stmt.extent)
            bounds = extent if low == "0" else f"{low}, {low} + {extent}"
            head = f"for {self.name_of(stmt.loop_var)} in {_LOOPS[tir.ForKind(stmt.kind)]}({bounds}):"
            self.inside(head, lambda: self.stmt(stmt.body))
        elif isinstance(stmt, tir.IfThenElse):
            self.inside(f"if {self.expr(stmt.condition)}:", lambda: self.stmt(stmt.then_case))
            if stmt.else_case is not None:
                self.inside("else:", lambda: self.stmt(stmt.else_case))
        elif isinstance(stmt, tir.LetStmt):
            self.line(f"{self.name_of(stmt.var)} = {self.expr(stmt.value)}")
            self.stmt(stmt.body)
        elif isinstance(stmt, tir.AssertStmt):
            self.line(f"assert {self.expr(stmt.condition)}, {self.expr(stmt.message)}")
            self.stmt(stmt.body)
        elif not isinstance(stmt, tir.Evaluate):
            raise NotImplementedError(f"hybrid script has no form for a {type(stmt).__name__}")

    def _attr(self, stmt: Any) -> None:
        if stmt.attr_key == "thread_extent":
            head = f"for {self.name_of(stmt.node.var)} in bind({stmt.node.thread_tag!r}, {self.expr(stmt.value)}):"
            return self.inside(head, lambda: self.stmt(stmt.body))
        return self.stmt(stmt.body)

    def _realize(self, stmt: Any) -> None:
        tensor = stmt.producer
        if not any(tensor == known for known in self._known):
            self._known.append(tensor)
            scope = stmt.storage_scope or "global"
            self.line(f"{self.name_of(tensor)} = allocate({self._shape(tensor)}, {tensor.dtype!r}, {scope!r})")
        self.stmt(stmt.body)

    # ---- expressions

    def _element(self, access: Any) -> str:
        indices = ", ".join(self.expr(index) for index in access.indices)
        return f"{self.name_of(access.producer)}[{indices or '()'}]"

    def expr(self, e: Any) -> str:
        if isinstance(e, (int, float)):
            return repr(e)
        if isinstance(e, tir.Var):
            return self.name_of(e)
        if isinstance(e, tir.IntImm):
            return str(bool(e.value)) if e.dtype == "bool" else str(e.value)
        if isinstance(e, tir.FloatImm):
            return f"{e.dtype}({e.value!r})".replace("(inf)", "(inf)").replace("(-inf)", "(ninf)")
        if isinstance(e, tir.StringImm):
            return repr(str(e.value))
        if isinstance(e, tir.ProducerLoad):
            return self._element(e)
        if type(e) in _INFIX:
            return f"({self.expr(e.a)} {_INFIX[type(e)]} {self.expr(e.b)})"
        if isinstance(e, tir.Div):
            a, b = self.expr(e.a), self.expr(e.b)
            return f"({a} / {b})" if "float" in e.dtype else f"int({a} / {b})"
        if isinstance(e, tir.Mod):
            a, b = self.expr(e.a), self.expr(e.b)
            return f"({a} - int({a} / {b}) * {b})"
        if isinstance(e, (tir.Min, tir.Max)):
            return f"{'min' if isinstance(e, tir.Min) else 'max'}({self.expr(e.a)}, {self.expr(e.b)})"
        if isinstance(e, tir.Not):
            return f"(not {self.expr(e.a)})"
        if isinstance(e, tir.Cast):
            return f"{'bool' if e.dtype == 'bool' else e.dtype}({self.expr(e.value)})"
        if isinstance(e, tir.Select):
            return self._choice(e.condition, e.true_value, e.false_value)
        if isinstance(e, tir.Call):
            return self._call(e)
        raise NotImplementedError(f"hybrid script has no form for a {type(e).__name__}")

    def _choice(self, condition: Any, then: Any, otherwise: Any) -> str:
        return f"({self.expr(then)} if {self.expr(condition)} else {self.expr(otherwise)})"

    def _call(self, e: Any) -> str:
        name = e.op.name.removeprefix("tir.")
        if name == "if_then_else":
            return self._choice(*e.args)
        if name in _INFIX_CALLS:
            return f"({self.expr(e.args[0])} {_INFIX_CALLS[name]} {self.expr(e.args[1])})"
        return f"{_FUNCTIONS.get(name, name)}({', '.join(self.expr(arg) for arg in e.args)})"


def source_of(body: Any, inputs: Array | list, outputs: Array | list, name: str) -> str:
    """The statement of a schedule (its raw loops over tensors) as a hybrid function."""
    return SourceWriter().function(name, list(inputs), list(outputs), body)
