"""The builder and its frames."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Callable

from ...tir import Buffer, SeqStmt, Stmt, Var, decl_buffer
from ...tir.stmt import Evaluate

__all__ = ["IRBuilder", "IRBuilderFrame"]

_state = threading.local()


def _builders() -> list[IRBuilder]:
    if not hasattr(_state, "builders"):
        _state.builders = []
    return _state.builders


class IRBuilderFrame:
    """A part of a program that is entered: what is made inside belongs to it."""

    def __init__(self) -> None:
        self.stmts: list[Stmt] = []
        self._callbacks: list[Callable[[], Any]] = []

    def add_callback(self, callback: Callable[[], Any]) -> None:
        """Says what to call when the frame is left."""
        self._callbacks.append(callback)

    def __enter__(self) -> Any:
        IRBuilder.current().frames.append(self)
        return self

    def __exit__(self, exc_type: Any, *_: Any) -> None:
        builder = IRBuilder.current()
        builder.frames.remove(self)
        if exc_type is not None:
            return
        while self._callbacks:
            self._callbacks.pop()()
        self.leave(builder)

    def leave(self, builder: IRBuilder) -> None:
        """Gives what the frame made to the frame around it."""
        raise NotImplementedError

    def body(self) -> Stmt:
        """The statements of the frame as one; without any, one that does nothing."""
        if not self.stmts:
            return Evaluate(0)
        return self.stmts[0] if len(self.stmts) == 1 else SeqStmt(self.stmts)

    def replace(self, old: Any, new: Any) -> None:
        """Takes a variable or buffer in place of another, which has no uses yet."""
        for name, value in vars(self).items():
            if value is old:
                setattr(self, name, new)
            elif isinstance(value, list):
                value[:] = [new if item is old else item for item in value]


class IRBuilder:
    """Holds the frames; ``with IRBuilder() as ib: ...`` and then ``ib.get()``."""

    def __init__(self) -> None:
        self.frames: list[IRBuilderFrame] = []
        self.result: Any = None

    def __enter__(self) -> IRBuilder:
        _builders().append(self)
        return self

    def __exit__(self, *_: Any) -> None:
        _builders().pop()

    @staticmethod
    def current() -> IRBuilder:
        """The builder that was entered last."""
        if not _builders():
            raise ValueError("No current IRBuilder in scope: write `with IRBuilder():`")
        return _builders()[-1]

    @staticmethod
    def is_in_scope() -> bool:
        """True inside a builder."""
        return bool(_builders())

    def get(self) -> Any:
        """What was built."""
        if self.result is None:
            raise ValueError("the builder has built nothing")
        return self.result

    def find(self, kind: type, what: str) -> Any:
        """The innermost frame, which must be of a kind."""
        if not self.frames or not isinstance(self.frames[-1], kind):
            raise ValueError(f"{what} needs to be right inside {kind.__name__}")
        return self.frames[-1]

    def find_around(self, kind: type, what: str) -> Any:
        """The innermost frame of a kind."""
        for frame in reversed(self.frames):
            if isinstance(frame, kind):
                return frame
        raise ValueError(f"{what} needs to be inside {kind.__name__}")

    def add(self, stmt: Stmt) -> None:
        """Adds a statement to the innermost frame; without one it is the result."""
        if self.frames:
            self.frames[-1].stmts.append(stmt)
        elif self.result is None:
            self.result = stmt
        else:
            raise ValueError("the builder has a result already; a second one needs a frame around both")

    @staticmethod
    def name(s: str, v: Any) -> Any:
        """A variable or buffer of that name in place of `v`, which has no uses yet."""
        if isinstance(v, Var):
            new: Any = Var(s, v.type_annotation if v.type_annotation is not None else v.dtype)
        elif isinstance(v, Buffer):
            new = decl_buffer(
                v.shape,
                v.dtype,
                s,
                data=v.data if v.data.name else None,
                strides=list(v.strides) or None,
                elem_offset=v.elem_offset,
                scope=v.scope(),
                data_alignment=v.data_alignment,
                offset_factor=v.offset_factor,
                axis_separators=list(v.axis_separators),
            )
        else:
            return v
        for frame in IRBuilder.current().frames:
            frame.replace(v, new)
        return new

    @staticmethod
    def name_many(s: Sequence[str], vs: Sequence[Any]) -> list[Any]:
        """`name` for several."""
        if len(s) != len(vs):
            raise ValueError(f"{len(s)} names for {len(vs)} values")
        return [IRBuilder.name(name, value) for name, value in zip(s, vs)]
