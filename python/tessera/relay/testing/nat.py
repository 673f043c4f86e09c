"""Natural numbers as a data type (std/nat.rly), from and to Python's."""

from __future__ import annotations

from typing import Any

from ..backend.interpreter import ConstructorValue

__all__ = ["count", "get_type", "make_nat_expr", "make_nat_value"]


def get_type(prelude: Any, name: str) -> Any:
    """A data type of the prelude's module, followed by its constructors."""
    return prelude.mod.get_type(name)


def _constructors(prelude: Any) -> tuple[Any, Any]:
    """Zero and the successor."""
    _, zero, successor = prelude.mod.get_type("nat")
    return zero, successor


def count(prelude: Any, n: Any) -> int:
    """The number that a value of type nat stands for."""
    zero, _ = _constructors(prelude)
    out = 0
    while n.tag != zero.tag:
        n = n.fields[0]
        out += 1
    return out


def make_nat_value(prelude: Any, n: int) -> Any:
    """The number as a value."""
    zero, successor = _constructors(prelude)
    value = ConstructorValue(zero.tag, [], zero)
    for _ in range(n):
        value = ConstructorValue(successor.tag, [value], successor)
    return value


def make_nat_expr(prelude: Any, n: int) -> Any:
    """The number as an expression."""
    if n < 0:
        raise ValueError(f"a natural number is not negative: {n}")
    zero, successor = _constructors(prelude)
    expr = zero()
    for _ in range(n):
        expr = successor(expr)
    return expr
