"""A random call of each operator that takes a shape as a tensor, and of control flow; see operator_cases.py."""

import math

import numpy as np
from operator_cases import ANYTHING, call, has_rank, value
from operator_cases_moves import factors
from random_graphs import Graph, case, template
from references import new_shape
from tessera import relay
from tessera.relay.op import dyn

make = dyn._make


def extents(g, values):
    """The numbers of a shape as a tensor."""
    return g.given(np.asarray(values), g.rng.choice(("int64", "int32")), is_index=True)


def add(g, build, *args, want):
    return g.add(build, *args, want=want, needs_vm=True)


@case("dyn.reshape")
def reshape(g: Graph, name):
    at = g.tensor(dtype=ANYTHING, high=100, fits=has_rank)
    v = value(g, at)
    shape = g.rng.choice((factors(g, v.size), [-1], [0, -1] if v.ndim > 1 else [0], [-3, -1] if v.ndim > 2 else [-1]))
    return add(g, make.reshape, at, extents(g, shape), want=lambda x, s: x.reshape(new_shape(x.shape, list(s))))


@case("dyn.zeros", "dyn.ones", "dyn.full")
def made(g: Graph, name):
    shape, dtype = extents(g, g.shape(g.rng.randrange(1, 4))), g.rng.choice(("float32", "int32"))
    if name == "dyn.full":
        return add(g, make.full, g.given(3, dtype), shape, want=lambda v, s: np.full(s, v))
    build = getattr(make, name[4:])
    return add(g, lambda s: build(s, dtype), shape, want=lambda s: getattr(np, name[4:])(s, dtype))


@case("dyn.broadcast_to", "dyn.tile")
def repeated(g: Graph, name):
    at = g.tensor(dtype=ANYTHING, high=100, fits=lambda v: 0 < v.ndim < 4 and v.size < 200)
    v = value(g, at)
    if name == "dyn.tile":
        reps = [g.rng.choice((1, 2, 3)) for _ in range(g.rng.randrange(1, v.ndim + 2))]
        return add(g, make.tile, at, extents(g, reps), want=lambda x, r: np.tile(x, r))
    wide = [*g.rng.choice(([], [2])), *[g.rng.randrange(1, 4) if n == 1 else n for n in v.shape]]
    return add(g, make.broadcast_to, at, extents(g, wide), want=lambda x, s: np.broadcast_to(x, s))


@case("dyn.one_hot")
def one_hot(g: Graph, name):
    depth, dtype = g.rng.randrange(2, 6), g.rng.choice(("float32", "int32"))
    index = g.indices(depth, g.shape(g.rng.randrange(1, 3)))
    on, off = relay.const(1, dtype), relay.const(0, dtype)
    want = lambda i, d: (i[..., None] == np.arange(d)).astype(dtype)
    return add(g, lambda i, d: make.one_hot(i, on, off, d, -1, dtype), index,
               g.given(depth, "int32", is_index=True), want=want)  # fmt: skip


@case("dyn.iota")
def iota(g: Graph, name):
    count = g.given(g.rng.randrange(0, 9), "int64", is_index=True)
    return add(g, lambda n: call("dyn.iota", n), count, want=lambda n: np.arange(n))


@case("arange")
def arange(g: Graph, name):
    start, step, dtype = g.rng.randrange(-5, 5), g.rng.choice((1, 2, -1, 3)), g.rng.choice(("int32", "float32"))
    stop = start + step * g.rng.randrange(0, 9)
    parts = [g.given(part, dtype, is_index=True) for part in (start, stop, step)]
    return add(
        g, lambda a, b, c: relay.arange(a, b, c, dtype=dtype), *parts, want=lambda a, b, c: np.arange(a, b, c, dtype)
    )


@case("dyn.strided_slice")
def strided_slice(g: Graph, name):
    at = g.tensor(dtype=ANYTHING, high=100, fits=has_rank)
    begin, end, strides = [], [], []
    for n in value(g, at).shape:
        low, high = sorted((g.rng.randrange(n + 1), g.rng.randrange(n + 1)))
        begin.append(low)
        end.append(high)
        strides.append(g.rng.choice((1, 1, 2)))
    kind = g.rng.choice(("int64", "int32"))
    parts = [g.given(part, kind, is_index=True) for part in (begin, end, strides)]
    want = lambda x, b, e, s: x[tuple(slice(*part) for part in zip(b, e, s))]
    return add(g, make.strided_slice, at, *parts, want=want)


@case("dyn.expand_dims", "dyn.squeeze")
def ones(g: Graph, name):
    if name == "dyn.squeeze":
        at = g.tensor((1, g.rng.randrange(1, 5), 1))
        axes = g.rng.choice(([0], [2], [0, 2], [-1]))
        return add(g, make.squeeze, at, extents(g, axes), want=lambda x, a: np.squeeze(x, tuple(a)))
    at = g.tensor(dtype=ANYTHING, high=100, fits=lambda v: v.ndim < 4)
    axis = g.given(g.rng.randrange(value(g, at).ndim + 1), "int64", is_index=True)
    return add(g, make.expand_dims, at, axis, want=lambda x, a: np.expand_dims(x, int(a)))


@case("dyn.topk")
def topk(g: Graph, name):
    n = g.rng.randrange(1, 9)
    at = g.given(g.numbers.permutation(2 * n).reshape(2, n), "float32")
    k = g.given(g.rng.randrange(1, n + 1), "int64", is_index=True)
    want = lambda x, k: -np.sort(-x, -1)[:, : int(k)]
    return add(g, lambda x, k: make.topk(x, k, ret_type="values"), at, k, want=want)


@case("dyn.sparse_to_dense")
def sparse_to_dense(g: Graph, name):
    shape = [g.rng.randrange(2, 5), g.rng.randrange(2, 5)]
    flat = g.numbers.permutation(math.prod(shape))[: g.rng.randrange(1, 4)]
    index = g.given(np.stack(np.unravel_index(flat, shape), 1), "int64", is_index=True)

    def want(index, values, shape):
        out = np.full(shape, 0.5, "float32")
        out[tuple(index.T)] = values
        return out

    build = lambda i, v, s: make.sparse_to_dense(i, s, v, relay.const(0.5))
    return add(g, build, index, g.tensor((len(flat),)), extents(g, shape), want=want)


@case("dyn.nn.pad")
def pad(g: Graph, name):
    at = g.tensor(rank=g.rng.randrange(1, 4))
    widths = extents(g, g.numbers.integers(0, 3, (value(g, at).ndim, 2)))
    build = lambda x, w: dyn.nn._make.pad(x, w, relay.const(0.5))
    return add(g, build, at, widths, want=lambda x, w: np.pad(x, w, constant_values=np.float32(0.5)))


@case("dyn.nn.upsampling", "dyn.nn.upsampling3d")
def upsampling(g: Graph, name):
    count = 3 if name.endswith("3d") else 2
    at = g.tensor((1, 2, *[g.rng.randrange(1, 4) for _ in range(count)]))
    scales = [g.given(g.rng.choice((1, 2, 3)), "float32", is_index=True) for _ in range(count)]

    def want(x, *factors):
        for axis, factor in enumerate(factors):
            x = x.repeat(int(factor), 2 + axis)
        return x

    options = {"coordinate_transformation_mode": "asymmetric"} if count == 3 else {}
    return add(g, lambda x, *s: getattr(dyn.nn._make, name[7:])(x, *s, **options), at, *scales, want=want)


@case("dyn.image.resize2d")
def resize(g: Graph, name):
    at = g.tensor((1, 2, g.rng.randrange(1, 4), g.rng.randrange(1, 4)))
    factors = [g.rng.choice((1, 2, 3)) for _ in range(2)]
    size = extents(g, [n * f for n, f in zip(value(g, at).shape[2:], factors)])
    options = {"method": "nearest_neighbor", "coordinate_transformation_mode": "asymmetric", "rounding_method": "floor"}
    build = lambda x, s: dyn.image._make.resize2d(x, s, relay.const(np.zeros(4, "float32")), **options)
    return add(g, build, at, size, want=lambda x, s: x.repeat(factors[0], 2).repeat(factors[1], 3))


# ---- control flow ----------------------------------------------------------------------------------------------------


@template(0.3)
def branch(g: Graph):
    condition = g.given(g.rng.random() < 0.5)
    at = g.tensor(high=50, low=-50)
    build = lambda c, x: relay.If(c, relay.nn.relu(x), relay.negative(x))
    g.add(build, condition, at, want=lambda c, x: np.maximum(x, 0) if c else -x, needs_vm=True)


@template(0.2)
def function(g: Graph):
    at = g.tensor()
    g.add(called, at, want=lambda x: (x + x) * (x + x), needs_vm=True)


def called(x):
    """A function that is called by the variable of a let."""
    inner = relay.var("inner", type_annotation=getattr(x, "type_annotation", None))
    square = relay.Function([inner], inner * inner)
    name = relay.var("square")
    return relay.Let(name, square, relay.Call(name, [x + x]))


@template(0.2)
def loop(g: Graph):
    at, count = g.tensor(low=-1, high=1), g.given(g.rng.randrange(0, 4), "int32")
    shape = value(g, at).shape

    def build(x, n):
        i, last = (relay.var(name, shape=(), dtype="int32") for name in ("i", "last"))
        state = relay.var("state", shape=shape)
        step = lambda i, last, state: [i + relay.const(1), last, relay.tanh(state) + relay.const(1.0)]
        run = relay.loops.while_loop(lambda i, last, state: i < last, [i, last, state], step)
        return relay.TupleGetItem(run(relay.const(0), n, x), 2)

    def want(x, n):
        for _ in range(int(n)):
            x = np.tanh(x) + np.float32(1)
        return x

    g.add(build, at, count, want=want, needs_vm=True)


@case("append")
def append(g: Graph, name):
    row = g.tensor(fits=lambda v: v.ndim < 4)
    rows = g.given(g.array((g.rng.randrange(0, 4), *value(g, row).shape), "float32"))
    build = lambda rows, row: call("append", rows, row, attrs="AppendAttrs")  # what loops collect: no graph has it
    return add(g, build, rows, row, want=lambda rows, row: np.concatenate([rows, row[None]]))
