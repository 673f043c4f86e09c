"""Writing loop programs in Python by what they do, in order.

Example::

    ib = tir.ir_builder.create()
    A = ib.pointer("float32", name="A")
    with ib.for_range(0, n, name="i") as i:
        with ib.if_scope(i % 2 == 0):
            A[i] = A[i] + 1
    stmt = ib.get()
"""

from __future__ import annotations

from typing import Any, Callable

from ..ir import PrimExpr
from ..runtime.object_generic import ObjectGeneric, const, convert
from . import expr as _expr
from . import stmt as _stmt
from .buffer import Buffer, decl_buffer
from .op import floordiv, floormod, likely

__all__ = ["BufferVar", "IRBuilder", "WithScope", "create"]


class WithScope:
    """What `with` works on: a value on entry, a function to call on exit."""

    def __init__(self, enter_value: Any, exit_cb: Callable[[], None]):
        self._enter_value = enter_value
        self._exit_cb = exit_cb

    def __enter__(self) -> Any:
        return self._enter_value

    def __exit__(self, ptype: Any, value: Any, trace: Any) -> None:
        if value is None:
            self._exit_cb()


class BufferVar(ObjectGeneric):
    """A buffer that is read by `b[i]` and written by `b[i] = value`. One index counts through all dimensions."""

    def __init__(self, builder: IRBuilder, buffer: Buffer, content_type: str):
        self._builder = builder
        self._buffer = buffer
        self._content_type = content_type

    def asobject(self) -> Buffer:
        """The buffer itself; a call that takes one is given its address."""
        return self._buffer

    @property
    def dtype(self) -> str:
        return self._content_type

    def _indices(self, index: Any) -> list[Any]:
        indices = list(index) if isinstance(index, (list, tuple)) else [index]
        indices = [x.var if isinstance(x, _expr.IterVar) else x for x in indices]
        shape = self._buffer.shape
        if len(indices) == 1 and len(shape) != 1:
            rest, indices = indices[0], []
            for dim in reversed(list(shape)[1:]):
                indices.insert(0, floormod(rest, dim))
                rest = floordiv(rest, dim)
            indices.insert(0, rest)
        return indices

    def __getitem__(self, index: Any) -> Any:
        return _expr.BufferLoad(self._buffer, self._indices(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        value = convert(value)
        if value.dtype.split("x")[0] != self._content_type.split("x")[0]:
            raise ValueError(f"data type does not match content type {value.dtype} vs {self._content_type}")
        self._builder.emit(_stmt.BufferStore(self._buffer, value, self._indices(index)))


_KINDS = {
    "serial": _stmt.ForKind.SERIAL,
    "parallel": _stmt.ForKind.PARALLEL,
    "vectorize": _stmt.ForKind.VECTORIZED,
    "unroll": _stmt.ForKind.UNROLLED,
}


class IRBuilder:
    """Collects statements; scopes nest by `with`."""

    def __init__(self) -> None:
        # Each scope is a list of statements and of functions that wrap all that follows them.
        self._seq_stack: list[list[Any]] = [[]]
        self.nidx = 0

    def _pop_seq(self) -> Any:
        seq = self._seq_stack.pop()
        if not seq or callable(seq[-1]):
            seq.append(_stmt.Evaluate(0))
        parts: list[Any] = []
        for item in reversed(seq):
            parts = [item(_as_one(parts))] if callable(item) else [item, *parts]
        return _as_one(parts)

    def emit(self, stmt: Any) -> None:
        """Adds a statement, an expression, or a function from what follows to the statement around it."""
        if isinstance(stmt, _expr.Call):
            stmt = _stmt.Evaluate(stmt)
        if not isinstance(stmt, _stmt.Stmt) and not callable(stmt):
            raise TypeError(f"a statement or a function is emitted, not {stmt!r}")
        self._seq_stack[-1].append(stmt)

    def scope_attr(self, node: Any, attr_key: str, value: Any) -> None:
        """Says something about `node` that holds for all that follows in this scope."""
        if isinstance(node, str):
            node = _expr.StringImm(node)
        if isinstance(value, str):
            value = _expr.StringImm(value)
        self.emit(lambda body: _stmt.AttrStmt(node, attr_key, value, body))

    def for_range(
        self, begin: Any, end: Any, name: str = "i", dtype: str | None = None, kind: str = "serial"
    ) -> WithScope:
        """A loop from `begin` up to, not including, `end`; the value of the scope is its variable."""
        if kind not in _KINDS:
            raise ValueError(f"Unknown kind {kind!r}; it is one of {', '.join(_KINDS)}")
        if name == "i":
            name = chr(ord(name) + self.nidx) if self.nidx < 3 else f"i_{self.nidx - 3}"
            self.nidx += 1
        loop_var = _expr.Var(name, dtype or _wider(_index_dtype(begin), _index_dtype(end)))
        extent = end if isinstance(begin, int) and begin == 0 else end - begin

        def leave() -> None:
            self.emit(_stmt.For(loop_var, begin, extent, _KINDS[kind], self._pop_seq()))

        return self._enter(loop_var, leave)

    def while_loop(self, condition: Any) -> WithScope:
        """A loop that runs as long as the condition holds."""
        return self._enter(None, lambda: self.emit(_stmt.While(condition, self._pop_seq())))

    def if_scope(self, cond: Any) -> WithScope:
        """What is done where the condition holds."""
        cond = convert(cond)
        return self._enter(None, lambda: self.emit(_stmt.IfThenElse(cond, self._pop_seq(), None)))

    def else_scope(self) -> WithScope:
        """What is done where the condition of the `if_scope` just before does not hold."""
        seq = self._seq_stack[-1]
        if not seq or not isinstance(seq[-1], _stmt.IfThenElse) or seq[-1].else_case is not None:
            raise RuntimeError("else_scope can only follow an if_scope")
        before = seq.pop()

        def leave() -> None:
            self.emit(_stmt.IfThenElse(before.condition, before.then_case, self._pop_seq()))

        return self._enter(None, leave)

    def new_scope(self) -> WithScope:
        """A scope of its own: allocations and attributes end with it."""
        return self._enter(None, lambda: self.emit(self._pop_seq()))

    def let(self, var_name: str, value: Any) -> Any:
        """A name for a value, valid in what follows."""
        value = convert(value)
        var = _expr.Var(var_name, dtype=value.dtype)
        self.emit(lambda body: _stmt.LetStmt(var, value, body))
        return var

    def allocate(
        self, dtype: str, shape: Any, name: str = "buf", axis_separators: Any = None, scope: str = ""
    ) -> BufferVar:
        """Memory that exists in what follows."""
        shape = list(shape) if not isinstance(shape, (int, PrimExpr)) else [shape]
        buffer = decl_buffer(shape, dtype, name, scope=scope, axis_separators=axis_separators)
        self.emit(lambda body: _stmt.Allocate(buffer.data, dtype, shape, const(1, dtype="uint1"), body))
        return BufferVar(self, buffer, dtype)

    def pointer(self, content_type: str, name: str = "ptr", scope: str = "") -> BufferVar:
        """A pointer to memory from outside."""
        return BufferVar(self, decl_buffer([1], content_type, name, scope=scope), content_type)

    def buffer_ptr(self, buf: Buffer) -> BufferVar:
        """A buffer from outside."""
        return BufferVar(self, buf, buf.dtype)

    def likely(self, expr: Any) -> Any:
        """Marks a condition as one that nearly always holds."""
        return likely(expr)

    def get(self) -> Any:
        """The program written so far."""
        if len(self._seq_stack) != 1:
            raise RuntimeError("cannot call get inside construction scope")
        return self._pop_seq()

    def _enter(self, value: Any, leave: Callable[[], None]) -> WithScope:
        self._seq_stack.append([])
        return WithScope(value, leave)


def _as_one(parts: list[Any]) -> Any:
    return parts[0] if len(parts) == 1 else _stmt.SeqStmt(parts)


def _index_dtype(value: Any) -> str:
    if isinstance(value, PrimExpr):
        if not value.dtype.startswith("int"):
            raise NotImplementedError(f"loops count in integers, not in {value.dtype}")
        return value.dtype
    return "int32" if -(2**31) <= int(value) < 2**31 else "int64"


def _wider(a: str, b: str) -> str:
    return a if int(a[3:]) >= int(b[3:]) else b


def create() -> IRBuilder:
    """A builder with nothing written yet."""
    return IRBuilder()
