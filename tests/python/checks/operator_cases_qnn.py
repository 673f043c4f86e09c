"""A random call of each operator on integers that stand for real numbers; see operator_cases.py.

Scales and zero points are constants, as importers write them. A result that is rounded may be off by one.
"""

import numpy as np
from operator_cases import call, value
from random_graphs import Graph, case
from references import erf
from tessera import relay

qnn = relay.qnn.op


def integers(g, shape=None, dtype="int8", low=-60, high=60):
    low = 0 if dtype == "uint8" else low
    return g.given(g.numbers.integers(low, high, g.shape() if shape is None else shape), dtype)


def scale(g):
    return np.float32(g.rng.choice((0.25, 0.5, 0.0625)))


def number(value):
    return relay.const(value, "float32" if isinstance(value, (float, np.floating)) else "int32")


def fitted(real, dtype):
    limits = np.iinfo(dtype)
    return np.clip(np.floor(real + 0.5), limits.min, limits.max).astype(dtype)


@case("qnn.quantize", "qnn.dequantize", "qnn.requantize")
def affine(g: Graph, name):
    s, zero, dtype = scale(g), g.rng.randrange(-5, 6), g.rng.choice(("int8", "uint8"))
    zero = abs(zero) if dtype == "uint8" else zero
    if name == "qnn.dequantize":
        want = lambda x: ((x.astype("int32") - zero) * s).astype("float32")
        return g.add(lambda x: qnn.dequantize(x, number(s), number(zero)), integers(g, dtype=dtype), want=want)
    if name == "qnn.quantize":
        at = g.tensor(low=-20, high=20)
        want = lambda x: fitted(x.astype("float64") / s + zero, dtype)
        return g.add(lambda x: qnn.quantize(x, number(s), number(zero), out_dtype=dtype), at, want=want, slack=1)
    to, out_zero = scale(g), g.rng.randrange(0, 5)
    at = integers(g, dtype="int32", low=-500, high=500)
    build = lambda x: qnn.requantize(x, number(s), number(zero), number(to), number(out_zero), out_dtype=dtype)
    return g.add(build, at, want=lambda x: fitted((x - zero) * (s / to) + out_zero, dtype), slack=1)


@case("qnn.add", "qnn.subtract", "qnn.mul")
def two(g: Graph, name):
    dtype = g.rng.choice(("int8", "uint8"))
    a = integers(g, dtype=dtype)
    b = integers(g, value(g, a).shape[g.rng.randrange(value(g, a).ndim + 1) :], dtype)
    s, t, out = scale(g), scale(g), np.float32(g.rng.choice((0.5, 2.0)))
    za, zb, zo = (g.rng.randrange(0, 5) for _ in range(3))
    parts = [number(v) for v in (s, za, t, zb, out, zo)]
    real = {"qnn.add": np.add, "qnn.subtract": np.subtract, "qnn.mul": np.multiply}[name]
    of = lambda x, zero, step: (x.astype("float64") - zero) * step
    want = lambda x, y: fitted(real(of(x, za, s), of(y, zb, t)) / out + zo, dtype)
    return g.add(lambda x, y: getattr(qnn, name[4:])(x, y, *parts), a, b, want=want, slack=2)


REAL = {
    "qnn.abs": np.abs,
    "qnn.erf": erf,
    "qnn.exp": np.exp,
    "qnn.hardswish": lambda v: v * np.clip(v + 3, 0, 6) / 6,
    "qnn.log": np.log,
    "qnn.rsqrt": lambda v: 1 / np.sqrt(v),
    "qnn.sigmoid": lambda v: 1 / (1 + np.exp(-v)),
    "qnn.sqrt": np.sqrt,
    "qnn.tanh": np.tanh,
}


@case(*REAL, "qnn.leaky_relu")
def one(g: Graph, name):
    s, zero, out, out_zero = np.float32(0.05), g.rng.randrange(-5, 6), np.float32(0.04), g.rng.randrange(-5, 6)
    positive = name in ("qnn.log", "qnn.rsqrt", "qnn.sqrt")
    at = integers(g, low=zero + 4 if positive else -60)
    parts = [number(v) for v in (s, zero, out, out_zero)]
    real = lambda x: (x.astype("float64") - zero) * s
    if name == "qnn.leaky_relu":
        want = lambda x: fitted(np.where(real(x) < 0, real(x) * 0.25, real(x)) / out + out_zero, "int8")
        return g.add(lambda x: qnn.leaky_relu(x, 0.25, *parts), at, want=want, slack=1)
    want = lambda x: fitted(REAL[name](real(x)) / out + out_zero, "int8")
    return g.add(lambda x: getattr(qnn, name[4:])(x, *parts), at, want=want, slack=1)


@case("qnn.concatenate")
def concatenate(g: Graph, name):
    rows = g.rng.randrange(1, 4)
    parts = [integers(g, (rows, g.rng.randrange(1, 5)), "uint8") for _ in range(2)]
    steps, zeros, out = [scale(g), scale(g)], [0, 1], scale(g)

    def build(*xs):
        return qnn.concatenate(xs, [number(s) for s in steps], [number(z) for z in zeros], number(out), number(0), 1)

    def want(*xs):
        each = [fitted((x.astype("float64") - z) * s / out, "uint8") for x, s, z in zip(xs, steps, zeros)]
        return np.concatenate(each, 1)

    return g.add(build, *parts, want=want, slack=1)


@case("qnn.dense", "qnn.batch_matmul", "qnn.conv2d", "qnn.conv2d_transpose")
def contraction(g: Graph, name):
    zero_x, zero_w = g.rng.choice((0, 3)), g.rng.choice((0, 0, -2))
    affine = [number(zero_x), number(zero_w), number(scale(g)), number(scale(g))]
    kind = g.rng.choice(("int8", "uint8"))
    m, k, n = (g.rng.randrange(1, 9) for _ in range(3))
    shift = lambda x, w: (x.astype("int64") - zero_x, w.astype("int64") - zero_w)
    if name == "qnn.dense":
        parts = integers(g, (m, k), kind), integers(g, (n, k))
        build = lambda x, w: qnn.dense(x, w, *affine, units=n)
        return g.add(build, *parts, want=lambda x, w: (shift(x, w)[0] @ shift(x, w)[1].T).astype("int32"))
    if name == "qnn.batch_matmul":
        parts = integers(g, (2, m, k), "int8"), integers(g, (2, n, k))
        want = lambda x, w: (shift(x, w)[0] @ shift(x, w)[1].transpose(0, 2, 1)).astype("int32")
        return g.add(lambda x, w: qnn.batch_matmul(x, w, *affine), *parts, want=want)
    x = integers(g, (1, m, 5, 6), kind)
    if name == "qnn.conv2d":
        w = integers(g, (n, m, 3, 3))

        def convolved(x, w):
            x, w = shift(x, w)
            view = np.lib.stride_tricks.sliding_window_view(np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)]), (3, 3), (2, 3))
            return np.einsum("nchwij,ocij->nohw", view, w).astype("int32")

        options = {"kernel_size": (3, 3), "channels": n, "padding": (1, 1)}
        return g.add(lambda x, w: qnn.conv2d(x, w, *affine, **options), x, w, want=convolved)
    w = integers(g, (m, n, 3, 3))

    def spread(x, w):
        x, w = shift(x, w)
        out = np.zeros((1, n, 11, 13), "int64")
        for i, j in np.ndindex(3, 3):
            out[:, :, i : i + 9 : 2, j : j + 11 : 2] += np.einsum("nchw,co->nohw", x, w[:, :, i, j])
        return out.astype("int32")

    options = {"kernel_size": (3, 3), "channels": n, "strides": (2, 2)}
    return g.add(lambda x, w: qnn.conv2d_transpose(x, w, *affine, **options), x, w, want=spread)


@case("qnn.simulated_quantize", "qnn.simulated_dequantize", "relay.op.annotation.simulated_quantize")
def simulated(g: Graph, name):
    s, zero = scale(g), g.rng.randrange(-5, 6)
    at = g.given(g.numbers.integers(-40, 40, g.shape(2)) * 0.25 + 0.03, "float32")
    if name == "qnn.simulated_quantize":
        want = lambda x: fitted(x.astype("float64") / s + zero, "int8").astype("float32")
        return g.add(lambda x: qnn.simulated_quantize(x, number(s), number(zero), out_dtype="int8"), at, want=want)
    if name == "qnn.simulated_dequantize":
        want = lambda x: ((x - zero) * s).astype("float32")
        return g.add(lambda x: qnn.simulated_dequantize(x, number(s), number(zero), in_dtype="int8"), at, want=want)
    bounds = [relay.const(v, "float32") for v in (s, -127.0, 127.0)]
    fields = {"kind": 1, "sign": True, "rounding": "round"}
    build = lambda x: call(name, x, *bounds, attrs="QuantizeAnnotationAttrs", **fields)
    return g.add(build, at, want=lambda x: (np.clip(np.rint(x / s), -127, 127) * s).astype("float32"))
