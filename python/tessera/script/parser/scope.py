"""What names mean while a script is read."""

from __future__ import annotations

from typing import Any


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


class Scopes:
    """Nested tables of names, innermost last; captured Python values lie outermost."""

    def __init__(self, captured: dict):
        self.captured = captured
        self.frames: list[dict] = []
        self.blocks: list[BlockInfo] = []
        self.loop_ranges: dict = {}  # loop variable -> (min, extent)

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

    def is_script_variable(self, name: str) -> bool:
        return any(name in frame for frame in self.frames)
