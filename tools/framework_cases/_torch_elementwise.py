"""Element-wise operators, comparisons, reductions and sorts."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from . import Case
from ._torch_model import bools, floats, ints, scripted, traced, written

F = torch.nn.functional
SPECIAL = torch.tensor([[1.0, float("inf"), -float("inf"), float("nan"), 0.0, -0.0]])


def unary() -> Iterator[Case]:
    positive, unit = floats(3, 20, low=0.1, high=4), floats(3, 20, low=-0.95, high=0.95)
    for name in [
        "abs",
        "neg",
        "cos",
        "cosh",
        "sin",
        "sinh",
        "tan",
        "tanh",
        "atan",
        "exp",
        "erf",
        "trunc",
        "sign",
        "square",
        "ceil",
        "floor",
        "sigmoid",
        "relu",
    ]:
        yield traced(name, getattr(torch, name), floats(3, 20))
    for name in ["log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal"]:
        yield traced(name, getattr(torch, name), positive)
    for name in ("acos", "asin"):
        yield traced(name, getattr(torch, name), unit)
    for name in ["abs", "neg", "sign", "square"]:
        yield traced(name, getattr(torch, name), ints(3, 5), name="int64")
    for name in ["sin", "exp", "sqrt", "sigmoid", "tanh", "log", "erf"]:
        yield traced(name, getattr(torch, name), ints(3, 5, low=1), name="int64 to float32")
    for name in ["exp", "sqrt", "relu", "neg", "abs", "ceil"]:
        yield traced(name, lambda x, name=name: getattr(x.clone(), name + "_")(), positive, name="in place")
    halves = torch.tensor([0.5, 1.5, -0.5, 2.5, -1.5, 0.2, -3.7])
    yield traced("round", torch.round, halves)
    yield traced("round", lambda x: torch.round(x, decimals=2), floats(5), name="decimals")
    for name in ("isfinite", "isinf", "isnan"):
        yield traced(name, getattr(torch, name), SPECIAL)
    yield traced("logical_not", torch.logical_not, bools(4, 5))
    yield traced("logical_not", torch.logical_not, ints(4, 5, low=0, high=2), name="int64")
    yield traced("bitwise_not", torch.bitwise_not, ints(4, 5))
    yield traced("bitwise_not", torch.bitwise_not, bools(4, 5), name="bool")
    yield scripted("is_floating_point", "x) -> int:\n  if x.is_floating_point():\n    return 1\n  return 0", floats(2))
    for name, low in (("detach", -2), ("clone", -2), ("contiguous", -2)):
        yield traced(name, lambda x, name=name: getattr(x, name)() + 1, floats(2, 3, low=low))


def activations() -> Iterator[Case]:
    x = floats(3, 40, low=-6, high=6)
    yield traced("leaky_relu", lambda x: F.leaky_relu(x, 0.2), x)
    yield traced("elu", lambda x: F.elu(x, 0.7), x)
    yield traced("celu", lambda x: F.celu(x, 0.7), x)
    yield traced("selu", F.selu, x)
    yield traced("gelu", F.gelu, x)
    yield traced("gelu", lambda x: F.gelu(x, approximate="tanh"), x, name="tanh")
    yield traced("silu", F.silu, x)
    yield traced("glu", lambda x: F.glu(x, 1), x)
    yield traced("glu", lambda x: F.glu(x, -1), floats(2, 3, 4), name="last")
    yield traced("log_sigmoid", F.logsigmoid, x)
    yield traced("hardtanh", lambda x: F.hardtanh(x, -2, 3), x)
    yield traced("hardtanh", torch.nn.ReLU6(), x, name="relu6")
    yield traced("hardswish", F.hardswish, x)
    yield traced("hardsigmoid", F.hardsigmoid, x)
    yield traced("threshold", lambda x: F.threshold(x, 0.5, -3), x)
    yield traced("softplus", F.softplus, x)
    yield traced("softplus", lambda x: F.softplus(x * 10, beta=2, threshold=5), x, name="beta")
    yield traced("prelu", torch.nn.PReLU(3), floats(2, 3, 4, 5))
    yield traced("prelu", torch.nn.PReLU(), floats(2, 3), name="one slope")
    for name in ("softmax", "log_softmax"):
        yield traced(name, lambda x, name=name: getattr(F, name)(x, 1), floats(2, 5, 4))
        yield traced(
            name, lambda x, name=name: getattr(F, name)(x, -1, dtype=torch.float64), floats(2, 5), name="float64"
        )
    yield traced("clamp", lambda x: x.clamp(-1, 2), x)
    yield traced("clamp", lambda x: x.clamp(max=2), ints(5), name="max, int64")
    yield traced(
        "clamp",
        lambda x, low, high: x.clamp(low, high),
        x,
        floats(40, low=-3, high=-1),
        floats(3, 1, low=0),
        name="tensors",
    )
    yield traced("clamp_min", lambda x: torch.clamp_min(x, 0.3), x)
    yield traced("clamp_max", lambda x: torch.clamp_max(x, 0.3), x)
    for name in ("dropout", "feature_dropout", "alpha_dropout"):
        yield traced(name, lambda x, name=name: getattr(torch, name)(x, 0.5, False) * 2, x)


def binary() -> Iterator[Case]:
    a, b = floats(2, 3, 4), floats(3, 1, seed=1, low=0.5)
    i, j = ints(2, 3, 4), ints(3, 1, seed=1, low=1)
    yield written(
        "true_divide", "%x : Tensor, %y : Tensor):\n  %z : Tensor = aten::true_divide(%x, %y)\n  return (%z)", i, j
    )
    for name in ["add", "sub", "mul", "div"]:
        yield traced(name, getattr(torch, name), a, b)
        yield traced(name, getattr(torch, name), i, b, name="int64 and float32")
        yield traced(name, getattr(torch, name), i, j, name="int64")
        yield traced(name, lambda x, name=name: getattr(torch, name)(x, 3), ints(4, dtype=torch.int32), name="number")
    alpha = "%x : Tensor, %y : Tensor):\n  %a : int = prim::Constant[value=2]()\n  %z : Tensor = aten::rsub(%x, %y, %a)\n  return (%z)"
    yield written("rsub", alpha, a, b, name="alpha")
    for name in ("add", "sub"):
        yield traced(name, lambda x, y, name=name: getattr(torch, name)(x, y, alpha=2), a, b, name="alpha")
    yield traced("add", lambda x, y: x.clone().add_(y), a, b, name="in place")
    yield traced("mul", lambda x, y: x.clone().mul_(y), a, b, name="in place")
    yield traced("rsub", lambda x: 3 - x, a)
    for mode in ("floor", "trunc"):
        yield traced("div", lambda x, y, mode=mode: torch.div(x, y, rounding_mode=mode), a, b, name=mode)
        yield traced("div", lambda x, y, mode=mode: torch.div(x, y, rounding_mode=mode), i, j, name=f"{mode}, int64")
    for name in ("floor_divide", "fmod", "remainder"):
        yield traced(name, getattr(torch, name), a * 5, b)
        yield traced(name, getattr(torch, name), i, j, name="int64")
        yield traced(name, lambda x, name=name: getattr(torch, name)(x, -3), i, name="number")
    yield traced("pow", torch.pow, floats(2, 3, low=0.1), floats(3, seed=1))
    yield traced("pow", lambda x: x**2, a, name="square")
    yield traced("pow", lambda x: 2**x, a, name="base")
    yield traced("pow", lambda x: x**3, i, name="int64")
    for name in ("maximum", "minimum", "max", "min"):
        yield traced(name, getattr(torch, name), a, b, name="two tensors")
        yield traced(name, getattr(torch, name), i, b, name="int64 and float32")
    for name in ["lt", "gt", "le", "ge", "ne", "eq"]:
        yield traced(name, getattr(torch, name), i, j)
        yield traced(name, lambda x, name=name: getattr(torch, name)(x, 0.5), a, name="number")
        yield traced(name, lambda x, name=name: getattr(torch, name)(x, 1.5), i, name="int64 and a real number")
    for name in ("logical_and", "logical_xor"):
        yield traced(name, getattr(torch, name), bools(4, 5), bools(5, seed=1))
        yield traced(name, getattr(torch, name), ints(4, 5, low=0, high=2), floats(5).round(), name="numbers")
    yield traced("bitwise_xor", torch.bitwise_xor, i, j)
    yield traced("__and__", lambda x, y: torch.ops.aten.__and__(x, y), bools(5), bools(5, seed=1))
    yield traced("__and__", lambda x: torch.ops.aten.__and__(x, 6), i, name="int64")
    for name in ("__ior__", "__iand__", "__ixor__"):
        yield traced(
            name, lambda x, y, name=name: getattr(torch.ops.aten, name)(x.clone(), y), bools(5), bools(5, seed=1)
        )
        yield traced(name, lambda x, y, name=name: getattr(torch.ops.aten, name)(x.clone(), y), i, j, name="int64")
    for name in ("__lshift__", "__rshift__"):
        yield traced(
            name, lambda x, y, name=name: getattr(x, name)(y), ints(5, low=-99, high=99), ints(5, low=0, high=5)
        )
    yield scripted(
        "__not__", "x) -> int:\n  if not bool(x.sum() > 0):\n    return 3\n  return 4", floats(3, low=-1, high=0)
    )
    yield traced("lerp", torch.lerp, a, floats(4), torch.tensor(0.3))
    yield traced("lerp", lambda x, y: torch.lerp(x, y, 0.7), a, floats(4), name="number")
    for name in ("addcdiv", "addcmul"):
        yield traced(name, lambda x, y, z, name=name: getattr(torch, name)(x, y, z, value=0.3), a, floats(4), b)
    yield traced("masked_fill", lambda x, m: x.masked_fill(m, -7.0), a, bools(3, 4))
    yield traced("where", torch.where, bools(3, 4), a, b)
    yield traced("where", lambda c, x: torch.where(c, x, 2.0), bools(3, 4), a, name="number")
    yield traced("where", torch.where, bools(3, 4), name="indices")


def reductions() -> Iterator[Case]:
    x, n = floats(3, 4, 5), ints(3, 4, 5)
    for name in ("sum", "mean", "prod", "std", "var", "max", "min", "all", "any", "argmax", "argmin"):
        data = bools(3, 4, 5) if name in ("all", "any") else x
        yield traced(name, getattr(torch, name), data, name="all elements")
        yield traced(name, lambda x, name=name: getattr(torch, name)(x, 1), data, name="one axis")
        yield traced(name, lambda x, name=name: getattr(torch, name)(x, -1, keepdim=True), data, name="keepdim")
    for name in ("sum", "mean", "std", "var", "amax", "amin", "logsumexp"):
        yield traced(name, lambda x, name=name: getattr(torch, name)(x, (0, 2)), x, name="two axes")
    for name in ("amax", "amin"):
        yield traced(name, lambda x, name=name: getattr(torch, name)(x, 1, True), n, name="int64")
    yield traced("logsumexp", lambda x: torch.logsumexp(x, 1, True), x * 50, name="large")
    for name in ("sum", "prod", "max"):
        yield traced(name, getattr(torch, name), ints(3, 4, dtype=torch.int32), name="int32")
    yield traced("sum", torch.sum, bools(3, 4), name="bool")
    yield traced("any", torch.any, n, name="int64")
    yield traced("mean", lambda x: x.mean(1, dtype=torch.float64), x, name="float64")
    for name in ("std", "var"):
        yield traced(name, lambda x, name=name: getattr(torch, name)(x, unbiased=False), x, name="biased")
        yield traced(name, lambda x, name=name: getattr(torch, name)(x, 1, correction=2), x, name="correction")
    yield traced("var_mean", lambda x: torch.var_mean(x, 1), x)
    yield traced("var_mean", lambda x: torch.var_mean(x, (0, 1), correction=0, keepdim=True), x, name="correction")
    for p in (1, 2, 3, float("inf"), -float("inf"), 0):
        yield traced("norm", lambda x, p=p: torch.ops.aten.norm(x, p, [1], True), x, name=f"p={p}")
    yield traced("norm", lambda x: torch.ops.aten.norm(x, 2), x, name="all elements")
    yield traced("frobenius_norm", lambda x: torch.ops.aten.frobenius_norm(x, [0, 1], False), x)
    yield traced("cumsum", lambda x: torch.cumsum(x, 1), x)
    yield traced("cumsum", lambda x: torch.cumsum(x, -1, dtype=torch.float64), n, name="float64")


def sorts() -> Iterator[Case]:
    x = torch.randperm(60, generator=torch.Generator().manual_seed(0)).reshape(3, 4, 5).float()
    yield traced("topk", lambda x: torch.topk(x, 3), x)
    yield traced("topk", lambda x: torch.topk(x, 2, 1, largest=False), x, name="smallest")
    for name in ("sort", "argsort"):
        yield traced(name, lambda x, name=name: getattr(torch, name)(x), x)
        yield traced(name, lambda x, name=name: getattr(torch, name)(x, 1, True), x, name="descending")
    yield traced("sort", lambda x: torch.sort(x, dim=0, stable=True), ints(9, 3, low=0, high=3), name="stable")
    yield traced(
        "sort",
        lambda x: torch.sort(x, stable=True, descending=True),
        ints(3, 20, low=0, high=3),
        name="stable, descending",
    )
    yield traced(
        "_unique2", lambda x: torch.unique(x, return_inverse=True, return_counts=True), ints(4, 6, low=0, high=5)
    )
    yield traced("_unique2", lambda x: torch.unique(x), floats(20).round(), name="values")
    edges, values = torch.arange(8.0), floats(4, 6, low=-1, high=9).round()
    for right in (False, True):
        yield traced(
            "searchsorted",
            lambda e, v, r=right: torch.searchsorted(e, v, right=r),
            edges,
            values,
            name=f"right={right}",
        )
        yield traced(
            "bucketize", lambda v, e, r=right: torch.bucketize(v, e, right=r), values, edges, name=f"right={right}"
        )
    rows = floats(4, 7).sort(1)[0]
    yield traced(
        "searchsorted", lambda e, v: torch.searchsorted(e, v, out_int32=True), rows, floats(4, 3, seed=1), name="rows"
    )
    yield traced("bincount", torch.bincount, ints(30, low=0, high=6))
    yield traced("bincount", lambda x, w: torch.bincount(x, w, 9), ints(30, low=0, high=6), floats(30), name="weights")
    yield traced("bincount", lambda x: torch.bincount(x, minlength=9), ints(30, low=0, high=6), name="minlength")


def cases() -> Iterator[Case]:
    """All of this file."""
    for family in (unary, activations, binary, reductions, sorts):
        yield from family()
