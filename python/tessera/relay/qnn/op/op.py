"""What users say of quantised operators."""

from __future__ import annotations

from typing import Any, Callable

from ...op.op import register_op_attr

__all__ = ["register_qnn_canonicalize", "register_qnn_legalize"]


def register_qnn_legalize(op_name: str, legal_op: Callable | None = None, level: int = 10) -> Any:
    """Says a quantised call in types that the target has: legal_op(attrs, inputs, types) gives an expression or None; also
    a decorator."""
    return register_op_attr(op_name, "FTVMQnnLegalize", legal_op, level)


def register_qnn_canonicalize(op_name: str, legal_op: Callable | None = None, level: int = 10) -> Any:
    """Says a quantised call in terms of other operators; also a decorator."""
    return register_op_attr(op_name, "FTVMQnnCanonicalize", legal_op, level)
