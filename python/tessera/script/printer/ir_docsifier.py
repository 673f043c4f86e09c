"""From objects to documents, by functions for their types."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable, ClassVar

from ...runtime.object_path import ObjectPath
from .doc import Doc
from .frame import Frame
from .var_table import VarTable

__all__ = ["IRDocsifier", "RootNodeContainer"]

DispatchFunction = Callable[[Any, ObjectPath, "IRDocsifier"], Doc]


class RootNodeContainer:
    """What is printed; functions for the roots of a language get it."""

    def __init__(self, root_node: Any):
        self.root_node = root_node


class IRDocsifier:
    """The state of one translation: prefixes of the languages, variables, and the frames and languages entered."""

    _dispatch: ClassVar[dict[tuple[str, type], DispatchFunction]] = {}
    _root_dispatch: ClassVar[dict[str, Callable[[Any, IRDocsifier], Doc]]] = {}

    def __init__(self, ir_prefix: dict[str, str]):
        self.ir_prefix = dict(ir_prefix)
        self.vars = VarTable()
        self.frames: list[Frame] = []
        self.dispatch_tokens: list[str] = [""]

    @classmethod
    def set_dispatch(cls, node_type: type, dispatch_function: DispatchFunction, dispatch_token: str = "") -> None:
        """Says the function of a type, for one language or for all: function(object, path, docsifier) -> document."""
        cls._dispatch[(dispatch_token, node_type)] = dispatch_function

    @classmethod
    def set_root_dispatch(cls, dispatch_token: str, root_dispatch_function: Callable[[Any, IRDocsifier], Doc]) -> None:
        """Says the function of a language's roots: function(RootNodeContainer, docsifier) -> document."""
        cls._root_dispatch[dispatch_token] = root_dispatch_function

    def as_doc(self, obj: Any, object_path: ObjectPath) -> Doc:
        """The document of an object: by the current language, or by the function for all of them."""
        if isinstance(obj, RootNodeContainer):
            token = self.dispatch_tokens[-1]
            if token not in self._root_dispatch:
                raise ValueError(f"no function is set for the roots of {token or 'any language'}")
            doc = self._root_dispatch[token](obj, self)
        else:
            doc = self._function_of(obj)(obj, object_path, self)
        doc.source_paths.append(object_path)
        return doc

    def _function_of(self, obj: Any) -> DispatchFunction:
        for token in (self.dispatch_tokens[-1], ""):
            for kind in type(obj).__mro__:
                if (token, kind) in self._dispatch:
                    return self._dispatch[(token, kind)]
        token = self.dispatch_tokens[-1]
        raise ValueError(f"no function is set for {type(obj).__name__} in {token or 'any language'}")

    @contextmanager
    def dispatch_token(self, token: str) -> Iterator[None]:
        """Inside it objects are of that language."""
        self.dispatch_tokens.append(token)
        try:
            yield
        finally:
            self.dispatch_tokens.pop()

    @contextmanager
    def frame(self, frame: Frame) -> Iterator[Frame]:
        """Enters a frame."""
        self.frames.append(frame)
        try:
            with frame:
                yield frame
        finally:
            self.frames.pop()

    def get_frame(self, frame_type: type) -> Any:
        """The innermost frame of a kind, or None."""
        return next((frame for frame in reversed(self.frames) if isinstance(frame, frame_type)), None)
