"""Between layers: the integers that some operators make of integers, so that no floats are needed there."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...ir import Op
from .. import op as _op
from ..expr import Call, Constant, const

__all__ = ["Integers", "dequantized", "integers_of_call", "requantized"]

_MOVES = {
    "nn.relu", "nn.max_pool2d", "nn.batch_flatten", "reshape", "transpose", "squeeze", "expand_dims", "strided_slice", "copy",
}  # fmt: skip
_LIMIT = 2**31 - 1


class Integers(NamedTuple):
    """int32 values, and what one of their steps stands for."""

    data: Any
    step: float


def _rescaled(value: Integers, step: float) -> Any:
    """The same numbers in other steps, rounded."""
    ratio = value.step / step
    if ratio == 1:
        return value.data
    fraction, exponent = math.frexp(ratio)
    multiplier = round(fraction * 2**31)
    if multiplier == 2**31:
        multiplier, exponent = 2**30, exponent + 1
    return _op.fixed_point_multiply(value.data, multiplier, exponent)


def dequantized(value: Integers) -> Any:
    """The floats."""
    return _op.cast(value.data, "float32") * const(np.float32(value.step))


def requantized(value: Integers, step: float, low: float, high: float, dtype: str) -> Any:
    """Integers of few bits, for a layer to read."""
    return _op.cast(_op.clip(_rescaled(value, step), low, high), dtype)


def _sum(a: Integers | None, b: Integers | None, args: list[Any]) -> Integers | None:
    if a and b:
        step = max(a.step, b.step)  # the coarser: nothing overflows
        return Integers(_rescaled(a, step) + _rescaled(b, step), step)
    value, other = (a, args[1]) if a else (b, args[0])
    if not value or not isinstance(other, Constant):
        return None
    steps = np.rint(other.data.numpy().astype("float64") / value.step)
    if not np.all(np.abs(steps) < _LIMIT):
        return None
    return Integers(value.data + const(steps.astype("int32")), value.step)


def integers_of_call(call: Call, args: list[Any], known: dict[Any, Integers]) -> Integers | None:
    """What a call gives in integers where its arguments are known in integers; None where it cannot be said."""
    if not isinstance(call.op, Op) or not args:
        return None
    name, first = call.op.name, known.get(args[0])
    if name == "add":
        return _sum(first, known.get(args[1]), args)
    if first is None:
        return None
    if name in _MOVES and len(args) == 1:
        return Integers(Call(call.op, [first.data], call.attrs), first.step)
    if name == "clip":
        low, high = (max(min(round(v / first.step), _LIMIT), -_LIMIT) for v in (call.attrs.a_min, call.attrs.a_max))
        return Integers(_op.clip(first.data, float(low), float(high)), first.step)
    return None
