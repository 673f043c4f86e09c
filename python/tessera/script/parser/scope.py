"""What names mean while a script is read."""

from __future__ import annotations

from typing import Any, Callable


class BlockInfo:
    """What the statements at the head of a block have said about it."""

    def __init__(self, name: str = "", is_root: bool = False):
        self.name, self.is_root = name, is_root
        self.iter_vars: list = []
        self.iter_values: list = []
        self.predicate: Any = None
        self.reads: Any = None
        self.writes: Any = None
        self.annotations: dict = {}
        self.alloc_buffers: list = []
        self.match_buffers: list = []
        self.init: Any = None
        self.said: set[str] = set()  # "reads", "where", ...: what stands once in a block


class InTurn:
    """Several threads of one name: each use of it is about the next."""

    def __init__(self, threads: list):
        self._threads = threads

    def next(self) -> Any:
        return self._threads.pop(0) if len(self._threads) > 1 else self._threads[0]


class Scopes:
    """Nested tables of names, innermost last; captured Python values lie outermost."""

    def __init__(self, captured: dict):
        self.captured = captured
        self.frames: list[dict] = []
        self.blocks: list[BlockInfo] = []
        self.loop_ranges: dict = {}  # loop variable -> (min, extent)
        self._unbound: list = []  # variables that T.var announced and nothing has bound yet

    def __enter__(self) -> Scopes:
        self.frames.append({})
        return self

    def __exit__(self, *_: object) -> None:
        self.frames.pop()

    def define(self, name: str, value: Any) -> None:
        self.frames[-1][name] = value

    def lookup(self, name: str) -> Any:
        """The value of a name; KeyError when there is none."""
        for frame in reversed(self.frames):
            if name in frame:
                return frame[name]
        return self.captured[name]

    def known(self, name: str) -> Any:
        """The value that the script itself has given to a name, or None."""
        return next((frame[name] for frame in reversed(self.frames) if name in frame), None)

    def is_defined(self, name: str) -> bool:
        return name in self.captured or any(name in frame for frame in self.frames)

    def define_unbound(self, name: str, variable: Any) -> None:
        self.define(name, variable)
        self._unbound.append(variable)

    def finalize(self, variable: Any) -> None:
        """The variable has its value: a `let` of that name makes a new one."""
        self._unbound = [other for other in self._unbound if not other.same_as(variable)]

    def bind(self, name: str, make: Callable[[], Any]) -> Any:
        """Defines the name: the variable that was announced under it, else a new one."""
        known = self.lookup(name) if self.is_defined(name) else None
        if any(other.same_as(known) for other in self._unbound):
            self.finalize(known)
        else:
            known = make()
        self.define(name, known)
        return known
