"""Elementwise operators and reductions of MXNet; see `framework_cases`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from . import Case, Pairs
from ._mxnet_symbol import Value, case, floats, imported, renamed, tensor


def _elementwise() -> Iterator[Case]:
    positive, signed, small = (
        tensor(2, 3, 4, low=0.1, high=3),
        tensor(2, 3, 4, high=2, low=-2),
        tensor(2, 3, 4, high=0.9, low=-0.9),
    )
    for name in [
        "_copy",
        "relu",
        "arctan",
        "arcsinh",
        "logical_not",
        "flatten",
        "Flatten",
        "square",
        "cbrt",
        "expm1",
        "softsign",
        "hard_sigmoid",
        "BlockGrad",
        "make_loss",
        "abs",
        "exp",
        "erf",
        "floor",
        "ceil",
        "round",
        "trunc",
        "sign",
        "sigmoid",
        "negative",
        "zeros_like",
        "ones_like",
        "cos",
        "cosh",
        "sin",
        "sinh",
        "tan",
        "tanh",
        "_np_copy",
        "_npi_tanh",
    ]:
        yield case(name, signed)
    for name in ["arccos", "arcsin", "arctanh"]:
        yield case(name, small)
    for name in ["rsqrt", "rcbrt", "log2", "log10", "log1p", "reciprocal", "log", "sqrt"]:
        yield case(name, positive)
    yield case("arccosh", positive + 1)
    yield renamed("_npi_copy", "_copy", signed)
    yield case("smooth_l1", signed, scalar=1.5)
    yield case("clip", signed, a_min=-0.5, a_max=0.7)
    whole = np.round(signed)
    for name in [
        "_equal",
        "_not_equal",
        "_greater",
        "_greater_equal",
        "_lesser",
        "_lesser_equal",
        "_maximum",
        "_minimum",
    ]:
        yield case(name, whole, np.round(tensor(2, 3, 4, seed=5, low=-2, high=2)))
    for name in ["elemwise_add", "elemwise_sub", "elemwise_mul", "elemwise_div"]:
        yield case(name, signed, positive)
    for name in [
        "add",
        "plus",
        "sub",
        "minus",
        "mul",
        "div",
        "mod",
        "maximum",
        "minimum",
        "equal",
        "not_equal",
        "greater",
        "greater_equal",
        "lesser",
        "lesser_equal",
    ]:
        yield case(
            f"broadcast_{name}",
            whole,
            np.round(tensor(2, 1, 4, seed=5, low=-2, high=2)) + 0.5 * (name in ("div", "mod")),
        )
    yield case("broadcast_power", positive, tensor(2, 1, 4))
    for name in ["or", "and", "xor"]:
        yield case(f"broadcast_logical_{name}", whole, np.round(tensor(2, 1, 4)))
    for name in ["add", "subtract", "multiply"]:
        yield case(f"_npi_{name}", signed, positive)
    yield case("_npi_power", positive, signed)
    for names, value in (
        ("_power_scalar", 1.5),
        ("_rminus_scalar _rdiv_scalar _plus_scalar _minus_scalar _mul_scalar _div_scalar", 1.5),
        (
            "_maximum_scalar _minimum_scalar _npi_add_scalar _npi_subtract_scalar _npi_multiply_scalar _npi_power_scalar",
            0.5,
        ),
        ("_npi_true_divide_scalar", 0.5),
        (
            "_equal_scalar _not_equal_scalar _greater_scalar _greater_equal_scalar _lesser_scalar _lesser_equal_scalar",
            1.0,
        ),
    ):
        for name in names.split():
            yield case(name, np.ceil(positive) if "equal" in name or "er_" in name else positive, scalar=value)
    aliases = {"pow": "_power_scalar", "rsub": "_rminus_scalar", "rdiv": "_rdiv_scalar", "rpow": "_rpower_scalar"}
    aliases |= {"add": "_plus_scalar", "sub": "_minus_scalar", "mul": "_mul_scalar", "div": "_div_scalar"}
    for name, real in aliases.items():  # what older files call them
        yield renamed(f"__{name}_scalar__", real, positive, scalar=1.5)
    yield case("add_n", signed, positive, small)
    yield case("where", whole, signed, positive)
    yield case("where", floats([1, 0]), signed, positive)
    yield case("Cast", signed, dtype="int32")
    yield case("amp_cast", signed, dtype="float16")
    yield Case("amp_multicast", "amp_multicast", partial(_multicast, signed, positive.astype("float16")))
    for name in ["mean", "max", "min", "sum", "max_axis", "min_axis", "sum_axis"]:
        yield case(name, signed)
        yield case(name, signed, axis=(0, 2))
        yield case(name, signed, axis=1, keepdims=True)
    yield case("sum", signed, axis=1, exclude=True)
    for name in ["argmax", "argmin"]:
        yield case(name, signed, axis=1)
        yield case(name, signed)
        yield case(name, signed, axis=2, keepdims=True)


def _multicast(a: Value, b: Value) -> Pairs:
    """MXNet with oneDNN cannot run it on fp16, so that the oracle is its cast to the widest type."""
    import mxnet as mx

    symbol = mx.sym.amp_multicast(mx.sym.Variable("x0"), mx.sym.Variable("x1"), num_outputs=2)
    want = [mx.nd.amp_cast(mx.nd.array(one, dtype=one.dtype), dtype="float32").asnumpy() for one in (a, b)]
    return zip(imported(symbol, {"x0": a, "x1": b}, {}, []), want, strict=True)


def cases() -> Iterator[Case]:
    """All of them."""
    yield from _elementwise()
