"""The order of dimensions in the memory of PyTorch's tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch.fx.experimental.symbolic_shapes import statically_known_true


def dense_order(shape: Sequence[Any], strides: Sequence[Any]) -> list[int] | None:
    """Dimensions from the outermost to the innermost in memory, where elements lie without gaps; otherwise None.

    (2, 3, 4, 5) of strides (60, 1, 15, 3), channels last, gives [0, 2, 3, 1].
    """
    dims = list(range(len(shape)))
    if _is_dense(dims, shape, strides) or any(_equal(extent, 0) for extent in shape):
        return dims
    hints = [_hint(stride) for stride in strides]
    if None in hints:
        return None
    dims.sort(key=lambda dim: -(hints[dim] or 0))
    return dims if _is_dense(dims, shape, strides) else None


def _is_dense(dims: Sequence[int], shape: Sequence[Any], strides: Sequence[Any]) -> bool:
    expected: Any = 1
    for dim in reversed(dims):
        if not _equal(shape[dim], 1) and not _equal(strides[dim], expected):
            return False
        expected = expected * shape[dim]
    return True


def _hint(number: Any) -> int | None:
    """The number, of a symbolic one that of the example."""
    node = getattr(number, "node", None)
    return int(number) if node is None else node.hint


def _equal(a: Any, b: Any) -> bool:
    """True for extents that are known to be equal, without a guard."""
    return bool(statically_known_true(a == b))


def inverse(order: Sequence[int]) -> list[int]:
    """The permutation that takes `order` back."""
    return sorted(range(len(order)), key=order.__getitem__)
