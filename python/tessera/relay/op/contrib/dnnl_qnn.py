"""Layers of int8 for oneDNN: quantised operators written as the library computes them.

    %0 = qnn.conv2d(SRC, WEIGHT, ...)                      acc = nn.conv2d(SRC, WEIGHT), int32
    %1 = nn.bias_add(%0, bias)                 =>          f = clip((cast(acc) + BIAS) * SCALE)
    %2 = qnn.requantize(%1, ...)                           cast(clip(round(f + ZERO_POINT)))
    %3 = clip(%2)

With a qnn.add behind it, f is clip(...) * ACT_SCALE + cast(SUM) * SUM_SCALE. All but SRC, WEIGHT and SUM are constants of floats.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....ir import IRModule, Op
from ....ir.attrs import make_node
from ... import op as _op
from ... import transform
from ...dataflow_pattern import is_op, wildcard
from ...expr import Call, Constant, const
from ...expr_functor import ExprMutator
from ._partition import static_shape

__all__ = [
    "is_quantized_layer",
    "legalize_qnn_for_dnnl",
    "make_qnn_conv2d_pattern",
    "make_qnn_dense_pattern",
    "quantized_patterns",
]

_BYTES = ("int8", "uint8")
_LAYERS = {"qnn.conv2d": "nn.conv2d", "qnn.dense": "nn.dense"}


def _calls(expr: Any, *names: str) -> bool:
    return isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name in names


def _values(expr: Any) -> np.ndarray | None:
    return expr.data.numpy().astype("float64") if isinstance(expr, Constant) else None


def _constants(exprs: Any) -> list[np.ndarray]:
    """The values of expressions that are all constants; nothing where one is not."""
    found = [_values(expr) for expr in exprs]
    return [value for value in found if value is not None] if all(value is not None for value in found) else []


def _number(value: np.ndarray) -> float:
    return float(value.reshape(()))


def _dtype(expr: Any) -> str:
    return str(getattr(expr.checked_type, "dtype", ""))


class _Layer(NamedTuple):
    """A layer up to its requantisation: results are clip((acc + bias) * scale, low, high) + zero."""

    acc: Any
    bias: np.ndarray
    scale: np.ndarray
    low: float
    high: float
    zero: float
    behind: int  # axes behind that of the channels


def _without_padding(call: Call, zero: int) -> tuple[Any, dict[str, Any]]:
    """The data and the attributes of a convolution whose border, of zero points, is added before it."""
    values = {name: call.attrs[name] for name in call.attrs.keys()}  # noqa: SIM118 (attributes are no mapping)
    data = call.args[0]
    if call.op.name == "qnn.dense" or zero == 0:
        return data, values
    around = [int(p) for p in values["padding"]]
    around = around * 4 if len(around) == 1 else around * 2 if len(around) == 2 else around
    if any(around):
        layout = str(values["data_layout"])
        widths = [[0, 0]] * len(layout)
        for letter, i in (("H", 0), ("W", 1)):
            widths[layout.index(letter)] = [around[i], around[i + 2]]
        data = _op.nn.pad(data, widths, float(zero))
        values["padding"] = [0, 0, 0, 0]
    return data, values


def _contraction(call: Call) -> tuple[Any, np.ndarray, int] | None:
    """The layer on integers, what the zero point of its data leaves to subtract, and the axes behind the channels."""
    constants = _constants(list(call.args)[1:4])
    if not constants or any(value.size != 1 for value in constants[1:]) or _number(constants[2]) != 0:
        return None
    weight = constants[0]
    if _dtype(call.args[0]) not in _BYTES or _dtype(call.args[1]) != "int8":
        return None
    zero = int(_number(constants[1]))
    data, values = _without_padding(call, zero)
    values["out_dtype"] = "int32"
    axis = behind = 0
    if call.op.name == "qnn.conv2d":
        layout = str(values["out_layout"] or values["data_layout"])
        axis, behind = str(values["kernel_layout"]).index("O"), len(layout) - 1 - layout.index("C")
        if int(values["groups"]) > 1 and str(values["kernel_layout"]) != "OIHW":
            return None
    sums = weight.sum(axis=tuple(i for i in range(weight.ndim) if i != axis)) * zero
    op = Op.get(_LAYERS[call.op.name])
    return Call(op, [data, call.args[1]], make_node(str(op.attrs_type_key), **values)), sums, behind


def _bias(call: Call, channel: int, behind: int) -> np.ndarray | None:
    """The constants that are added to channels, one for each or one for all; None where something else is added."""
    value = _values(call.args[1])
    if value is None:
        return None
    if call.op.name == "nn.bias_add":
        return value if int(call.attrs.axis) % (channel + 1 + behind) == channel else None
    others = [extent for i, extent in enumerate(value.shape) if value.ndim - 1 - i != behind]
    return value.reshape(-1) if all(extent == 1 for extent in others) else None


def _layer(expr: Any) -> _Layer | None:
    """Reads [clip](qnn.requantize([bias](layer)))."""
    limits = None
    if _calls(expr, "clip"):
        limits, expr = (float(expr.attrs.a_min), float(expr.attrs.a_max)), expr.args[0]
    if not _calls(expr, "qnn.requantize") or _dtype(expr) not in _BYTES:
        return None
    numbers = _constants(list(expr.args)[1:])
    if not numbers:
        return None
    in_scale, in_zero, out_scale, out_zero = numbers
    if out_scale.size != 1 or out_zero.size != 1 or np.any(in_zero != 0):
        return None
    added, bias = None, np.zeros(1)
    inner = expr.args[0]
    if _calls(inner, "nn.bias_add", "add"):
        added, inner = inner, inner.args[0]
    made = _contraction(inner) if _calls(inner, *_LAYERS) else None
    if made is None:
        return None
    acc, correction, behind = made
    channel = len(inner.checked_type.shape) - 1 - behind
    if in_scale.size > 1 and int(expr.attrs.axis) % (channel + 1 + behind) != channel:
        return None
    if added is not None:
        given = _bias(added, channel, behind)
        if given is None:
            return None
        bias = given
    range_ = np.iinfo(_dtype(expr))
    low, high = (range_.min, range_.max) if limits is None else (max(limits[0], range_.min), min(limits[1], range_.max))
    zero = _number(out_zero)
    scale = in_scale.reshape(-1) / _number(out_scale)
    if bias.size not in (1, correction.size) or scale.size not in (1, correction.size):
        return None
    return _Layer(acc, bias - correction, scale, low - zero, high - zero, zero, behind)


def _channels(values: np.ndarray, behind: int) -> Constant:
    values = values.astype("float32")
    return const(values.reshape(-1, *[1] * behind) if values.size > 1 else values.reshape(()))


def _clipped(layer: _Layer) -> Any:
    value = _op.cast(layer.acc, "float32") + _channels(layer.bias, layer.behind)
    scale = _channels(layer.scale if layer.scale.size > 1 else layer.scale.reshape(-1)[:1], layer.behind)
    return _op.clip(value * scale, float(layer.low), float(layer.high))


def _stored(value: Any, zero: float, dtype: str) -> Any:
    range_ = np.iinfo(dtype)
    value = _op.round(value + const(np.float32(zero)))
    return _op.cast(_op.clip(value, float(range_.min), float(range_.max)), dtype)


class _Legalizer(ExprMutator):
    def visit_call(self, call: Call) -> Any:
        if _calls(call, "qnn.add"):
            out = self._sum(call)
            if out is not None:
                return out
        layer = _layer(call)
        if layer is None:
            return super().visit_call(call)
        return _stored(_clipped(self._below(layer)), layer.zero, _dtype(call))

    def _below(self, layer: _Layer) -> _Layer:
        """The layer on data that is legalised too."""
        return layer._replace(acc=Call(layer.acc.op, [self.visit(arg) for arg in layer.acc.args], layer.acc.attrs))

    def _sum(self, call: Call) -> Any:
        numbers = _constants(list(call.args)[2:8])
        if not numbers or any(number.size != 1 for number in numbers) or _dtype(call) not in _BYTES:
            return None
        scales, zeros = [_number(n) for n in numbers[::2]], [_number(n) for n in numbers[1::2]]
        for side in (0, 1):
            layer, other = _layer(call.args[side]), call.args[1 - side]
            same_shape = static_shape(call.args[side]) == static_shape(other) == static_shape(call)
            if layer is None or not same_shape or _dtype(other) != _dtype(call):
                continue
            act, add = scales[side] / scales[2], scales[1 - side] / scales[2]
            zero = zeros[2] - zeros[1 - side] * add + (layer.zero - zeros[side]) * act
            value = _clipped(self._below(layer)) * const(np.float32(act))
            summand = _op.cast(self.visit(other), "float32") * const(np.float32(add))
            return _stored(value + summand, zero, _dtype(call))
        return None


def legalize_qnn_for_dnnl(mod: IRModule) -> IRModule:
    """Quantised convolutions and dense layers with constant weights and scales, written as oneDNN computes them.

    Results may differ by one: oneDNN rounds halves to even, and rounds once where a sum is added.
    """
    mod = transform.InferType()(mod)
    function = mod["main"]
    out = IRModule(mod.functions, mod.type_definitions)
    out["main"] = _Legalizer().visit(function)
    return transform.InferType()(out)


def _quantized_pattern(layer: str, with_sum: bool) -> Any:
    value = is_op("cast")(is_op(layer)(wildcard(), wildcard()))
    value = is_op("clip")(is_op("multiply")(is_op("add")(value, wildcard()), wildcard()))
    if with_sum:
        value = is_op("multiply")(value, wildcard())
        value = is_op("add")(value, is_op("multiply")(is_op("cast")(wildcard()), wildcard()))
    return is_op("cast")(is_op("clip")(is_op("round")(is_op("add")(value, wildcard()))))


def quantized_patterns() -> list[tuple]:
    """(name, pattern, check) of layers of int8, those with a sum first."""
    return [
        (f"dnnl.qnn.{layer}{end}", _quantized_pattern(f"nn.{layer}", bool(end)), is_quantized_layer)
        for end in ("_sum", "")
        for layer in ("conv2d", "dense")
    ]


def make_qnn_conv2d_pattern() -> tuple[str, Any]:
    """(name, pattern) of a convolution of int8."""
    return "dnnl.qnn.conv2d", _quantized_pattern("nn.conv2d", False)


def make_qnn_dense_pattern() -> tuple[str, Any]:
    """(name, pattern) of a dense layer of int8."""
    return "dnnl.qnn.dense", _quantized_pattern("nn.dense", False)


def is_quantized_layer(expr: Any) -> bool:
    """True for a match whose operands are in the order that the code generator reads, and of types that the library takes."""
    zero, value = expr.args[0].args[0].args[0].args[1], expr.args[0].args[0].args[0].args[0]
    numbers = [zero]
    if _calls(value, "add"):
        value, summand = value.args
        if not (_calls(value, "multiply") and _calls(summand, "multiply") and _calls(summand.args[0], "cast")):
            return False
        tensor = summand.args[0].args[0]
        if _dtype(tensor) != _dtype(expr) or static_shape(tensor) != static_shape(expr):
            return False
        numbers += [value.args[1], summand.args[1]]
        value = value.args[0]
    if not _calls(value, "clip") or not _calls(value.args[0].args[0], "add"):
        return False
    scale, biased = value.args[0].args[1], value.args[0].args[0]
    if not _calls(biased.args[0], "cast") or not all(
        isinstance(n, Constant) for n in (*numbers, scale, biased.args[1])
    ):
        return False
    layer = biased.args[0].args[0]
    if not _calls(layer, *_LAYERS.values()) or not all(n.data.numpy().size == 1 for n in numbers):
        return False
    range_ = np.iinfo(_dtype(expr)) if _dtype(expr) in _BYTES else None
    final = expr.args[0].attrs
    if range_ is None or (float(final.a_min), float(final.a_max)) != (range_.min, range_.max):
        return False
    fits = _dtype(layer.args[0]) in _BYTES and _dtype(layer.args[1]) == "int8" and _dtype(layer) == "int32"
    return fits and all(static_shape(part) is not None for part in (expr, *layer.args))
