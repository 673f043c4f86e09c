"""Names of variables while they are in scope."""

from __future__ import annotations

import copy
from typing import Any, Callable

from ...runtime.object_path import ObjectPath
from .doc import ExprDoc, IdDoc
from .frame import Frame

__all__ = ["VarTable"]


class VarTable:
    """What stands for each variable, until the frame ends in which it was defined."""

    def __init__(self) -> None:
        self._docs: list[tuple[Any, Callable[[], ExprDoc]]] = []
        self._names: set[str] = set()

    def _position(self, obj: Any) -> int:
        for i, (known, _) in enumerate(self._docs):
            if known is obj or (hasattr(known, "same_as") and known.same_as(obj)):
                return i
        return -1

    def _keep(self, obj: Any, make: Callable[[], ExprDoc], frame: Frame) -> None:
        if self.is_var_defined(obj):
            raise ValueError(f"the variable {obj} is defined already")
        self._docs.append((obj, make))
        frame.add_exit_callback(lambda: self._docs.pop(self._position(obj)))

    def define(self, obj: Any, name_hint: str, object_path: ObjectPath, frame: Frame) -> IdDoc:
        """Gives a variable a name: `name_hint`, or with a number where that is taken."""
        name, number = name_hint, 0
        while name in self._names:
            number += 1
            name = f"{name_hint}_{number}"
        self._keep(obj, lambda: IdDoc(name), frame)
        self._names.add(name)
        frame.add_exit_callback(lambda: self._names.discard(name))
        doc = IdDoc(name)
        doc.source_paths.append(object_path)
        return doc

    def define_by_doc(self, obj: Any, doc_factory: Callable[[], ExprDoc], frame: Frame) -> None:
        """Says what stands for a variable."""
        self._keep(obj, doc_factory, frame)

    def get_var_doc(self, obj: Any, object_path: ObjectPath) -> ExprDoc | None:
        """What stands for a variable here; None where it is not defined."""
        position = self._position(obj)
        if position < 0:
            return None
        doc = copy.copy(self._docs[position][1]())
        doc.source_paths = [object_path]
        return doc

    def is_var_defined(self, obj: Any) -> bool:
        """True while a variable is in scope."""
        return self._position(obj) >= 0

    def __contains__(self, obj: Any) -> bool:
        return self.is_var_defined(obj)
