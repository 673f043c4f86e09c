"""Rewrites of models for oneDNN: decomposed operators become whole again."""

from __future__ import annotations

from typing import Any

from ....ir import IRModule
from ... import op as _op
from ... import transform
from ...dataflow_pattern import DFPatternCallback, is_constant, is_op, rewrite, wildcard
from ...expr import Constant
from ._partition import static_shape

__all__ = [
    "DenseReshapeBiasGeluRewrite",
    "LayerNormRewrite",
    "rewrite_dense_bias_gelu_reshape_last",
    "rewrite_layer_norm",
]


def _rewritten(mod: IRModule, *callbacks: Any) -> IRModule:
    mod = transform.InferType()(mod)
    out = IRModule(dict(mod.functions), dict(mod.type_definitions))
    out["main"] = rewrite(list(callbacks), mod["main"])
    return transform.InferType()(out)


class LayerNormRewrite(DFPatternCallback):
    """gamma * (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) + beta over the last axis becomes nn.layer_norm."""

    def __init__(self) -> None:
        super().__init__(require_type=True, rewrite_once=True)
        self.data, self.gamma, self.beta = wildcard(), wildcard(), wildcard()
        self.mean, self.epsilon, self.two = is_op("mean")(self.data), is_constant(), is_constant()
        moved = is_op("subtract")(self.data, self.mean)
        squared = is_op("power")(is_op("cast")(moved) | moved, self.two) | is_op("multiply")(moved, moved)
        self.averaged, self.variance = is_op("mean")(squared), is_op("variance")(self.data, self.mean)
        spread = is_op("add")(self.averaged | self.variance, self.epsilon)
        normal = is_op("divide")(moved, is_op("sqrt")(spread))
        scaled = is_op("multiply")(normal, self.gamma) | is_op("multiply")(self.gamma, normal)
        self.pattern = is_op("add")(scaled, self.beta) | is_op("add")(self.beta, scaled)

    def _is_last(self, mean: Any, rank: int) -> bool:
        axes = [int(axis) % rank for axis in mean.attrs.axis or []]
        return axes == [rank - 1] and bool(mean.attrs.keepdims) and not bool(mean.attrs.exclude)

    def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
        """The operator, where the shapes are those of its arguments."""
        data, gamma, beta = (node_map[part][0] for part in (self.data, self.gamma, self.beta))
        shape = static_shape(pre)
        if shape is None or static_shape(data) != shape:
            return post
        reduced = [node_map[part][0] for part in (self.mean, self.averaged, self.variance) if part in node_map]
        if len(reduced) != 2 or not all(self._is_last(call, len(shape)) for call in reduced):
            return post
        if any(static_shape(part) != [shape[-1]] for part in (gamma, beta)):
            return post
        if self.two in node_map and float(node_map[self.two][0].data.numpy()) != 2.0:
            return post
        epsilon = float(node_map[self.epsilon][0].data.numpy())
        return _op.nn.layer_norm(data, gamma, beta, axis=-1, epsilon=epsilon)


def rewrite_layer_norm(mod: IRModule) -> IRModule:
    """The module with layer normalisations as operators."""
    return _rewritten(mod, LayerNormRewrite())


class DenseReshapeBiasGeluRewrite(DFPatternCallback):
    """dense, reshape, bias (and gelu) become dense, bias (and gelu), reshape: what one primitive computes stands together."""

    def __init__(self, has_gelu: bool = True):
        super().__init__(require_type=True)
        self.data, self.weight, self.bias = wildcard(), wildcard(), wildcard()
        self.one, self.root, self.half = is_constant(), is_constant(), is_constant()
        self.has_gelu = has_gelu
        self.reshape = is_op("reshape")(is_op("nn.dense")(self.data, self.weight))
        biased = is_op("add")(self.reshape, self.bias) | is_op("add")(self.bias, self.reshape)
        if has_gelu:
            scaled = is_op("divide")(biased, self.root) | is_op("multiply")(biased, self.root)
            one_more = is_op("add")(is_op("erf")(scaled), self.one)
            first = is_op("multiply")(is_op("multiply")(biased, one_more), self.half)
            biased = first | is_op("multiply")(biased, is_op("multiply")(one_more, self.half))
        self.pattern = biased

    def get_attr(self, pre: Any) -> Any:
        """The shape that is wanted at the end."""
        return [int(extent) for extent in pre.checked_type.shape]

    def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
        """The same with the reshape last, where the bias has one number for each unit."""
        data, weight, bias = (node_map[part][0] for part in (self.data, self.weight, self.bias))
        units, shape = static_shape(weight), static_shape(pre)
        if units is None or shape is None or static_shape(bias) != [units[0]] or shape[-1] != units[0]:
            return post
        out = _op.add(_op.nn.dense(data, weight), bias)
        if self.has_gelu:
            root = node_map[self.root][0]
            is_product = isinstance(root, Constant) and float(root.data.numpy()) < 1
            scaled = _op.multiply(out, root) if is_product else _op.divide(out, root)
            one_more = _op.add(_op.erf(scaled), node_map[self.one][0])
            out = _op.multiply(_op.multiply(out, one_more), node_map[self.half][0])
        return _op.reshape(out, self.get_attr(pre))


def rewrite_dense_bias_gelu_reshape_last(mod: IRModule) -> IRModule:
    """The module with reshapes after the epilogues of dense layers."""
    return _rewritten(mod, DenseReshapeBiasGeluRewrite(), DenseReshapeBiasGeluRewrite(has_gelu=False))
