"""What a parser of hybrid scripts needs besides Python's syntax."""

from __future__ import annotations

import ast
from typing import Any

from ... import tir

__all__ = ["is_docstring", "make_nop", "replace_io"]


def make_nop() -> Any:
    """A statement that does nothing."""
    return tir.Evaluate(tir.const(0, "int32"))


def is_docstring(node: Any) -> bool:
    """True for a string that stands alone."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def replace_io(body: Any, rmap: dict[Any, Any]) -> Any:
    """A statement with the tensors of `rmap`'s keys (operations) replaced by its values' in loads and stores."""

    def replaced(node: Any) -> Any:
        producer = getattr(node, "producer", None)
        target = rmap.get(producer.op) if producer is not None and hasattr(producer, "op") else None
        if target is None or producer is None:
            return None
        tensor = target.output(producer.value_index)
        if isinstance(node, tir.ProducerStore):
            return tir.ProducerStore(tensor, node.value, node.indices)
        return tir.ProducerLoad(tensor, node.indices)

    return tir.stmt_functor.ir_transform(body, None, replaced, ["tir.ProducerStore", "tir.ProducerLoad"])
