"""Shapes of operators that bench/ops.py measures: one module a family, each with `cases(nets) -> list[Case]`."""

from __future__ import annotations

from typing import Callable

from . import conv, moves, pool, product, recurrent, rows
from .case import Case

__all__ = ["FAMILIES", "Case"]

#: By name: what gives the cases. Names of networks choose among the convolutions of networks only.
FAMILIES: dict[str, Callable[[list[str]], list[Case]]] = {
    "networks": conv.networks,
    "conv2d": conv.two_dimensions,
    "grouped": conv.grouped,
    "conv1d": conv.one_dimension,
    "conv3d": conv.three_dimensions,
    "transposed": conv.transposed,
    "pool": pool.cases,
    "resize": pool.resizes,
    "elementwise": pool.chains,
    "recurrent": recurrent.cases,
    "product": product.cases,
    "attention": product.attentions,
    "narrow": product.narrow,
    "dynamic": product.dynamic,
    "rows": rows.cases,
    "reduction": rows.reductions,
    "moves": moves.cases,
    "index": moves.indices,
}
