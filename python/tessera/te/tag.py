"""Tags: a word that every tensor computed inside a scope carries."""

from __future__ import annotations

import functools
from typing import Any, Callable


class TagScope:
    """The scope of a tag; also a decorator. Use `tag_scope`."""

    _current: TagScope | None = None

    def __init__(self, tag: str):
        self.tag = tag
        self._old_scope: TagScope | None = None

    @classmethod
    def get_current(cls) -> TagScope | None:
        """The scope that is open, or None."""
        return cls._current

    def __enter__(self) -> TagScope:
        if TagScope._current is not None:
            raise ValueError("nested op_tag is not allowed for now")
        self._old_scope = TagScope._current
        TagScope._current = self
        return self

    def __exit__(self, ptype: Any, value: Any, trace: Any) -> None:
        TagScope._current = self._old_scope

    def __call__(self, fdecl: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fdecl)
        def tagged_fdecl(*args: Any, **kwargs: Any) -> Any:
            with self:
                return fdecl(*args, **kwargs)

        return tagged_fdecl


def tag_scope(tag: str) -> TagScope:
    """Gives `tag` to every tensor computed inside ``with tag_scope(...)`` or a function decorated by it."""
    return TagScope(tag)


def scoped_tag(tag: str) -> str:
    """The tag of the open scope, else `tag`; both at once are rejected."""
    scope = TagScope.get_current()
    if scope is None:
        return tag
    if tag != "":
        raise ValueError("nested tag is not allowed for now")
    return scope.tag
