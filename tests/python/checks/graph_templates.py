"""Ways to grow a random graph, one function for each family of operators; see random_graphs.py."""

import numpy as np
from random_graphs import FLOATS, INTS, Graph, template
from references import BINARY, UNARY
from tessera import relay

NUMBERS = (*FLOATS, *INTS)


def is_float(v):
    return str(v.dtype) in FLOATS


def is_number(v):
    return str(v.dtype) in NUMBERS


def within(low, high):
    return lambda v: is_float(v) and v.size > 0 and v.min() >= low and v.max() <= high


def whole(v, step=1.0):
    """No element so near to the middle or the end of a step that rounding might take it across."""
    return v.size > 0 and np.all(np.abs(v / step - np.round(v / step)) > 0.01)


def apart(v, axis=None):
    """No two floats so near to each other that rounding might change their order."""
    if not is_float(v):
        return False
    ordered = np.sort(v, axis=axis)
    return bool(np.all(np.abs(np.diff(ordered, axis=-1 if axis is None else axis)) > 1e-3))


# ---- element by element ----------------------------------------------------------------------------------------------

DOMAIN = {
    "acos": within(-0.9, 0.9),
    "acosh": within(1.1, 50),
    "asin": within(-0.9, 0.9),
    "atanh": within(-0.9, 0.9),
    "bitwise_not": lambda v: str(v.dtype) in ("int32", "int64", "bool"),
    "ceil": lambda v: is_float(v) and whole(v),
    "cosh": within(-5, 5),
    "exp": within(-20, 5),
    "fast_exp": within(-20, 5),
    "floor": lambda v: is_float(v) and whole(v),
    "log": within(0.01, 1e4),
    "log10": within(0.01, 1e4),
    "log2": within(0.01, 1e4),
    "logical_not": lambda v: v.dtype == bool,
    "negative": lambda v: str(v.dtype) in ("float32", "float64", "int32", "int64"),
    "round": lambda v: is_float(v) and whole(v + 0.5),
    "rsqrt": within(0.01, 1e4),
    "sign": lambda v: is_float(v) and np.all(np.abs(v) > 1e-3),
    "sinh": within(-5, 5),
    "sqrt": within(0.01, 1e4),
    "tan": within(-1.2, 1.2),
    "trunc": lambda v: is_float(v) and whole(v),
    "abs": lambda v: str(v.dtype) in ("float32", "float64", "int32", "int64"),
    "cos": within(-100, 100),
    "sin": within(-100, 100),
}
ANY = ("copy", "zeros_like", "ones_like")


def of_element(name):
    return lambda x: relay.Call(relay.op.get(name), [x])


@template(6)
def unary(g: Graph):
    name = g.rng.choice(sorted(UNARY))
    at = g.pick(DOMAIN.get(name, is_number if name in ANY else is_float))
    if at is not None:
        g.add(of_element(name), at)


def broadcastable(g, v):
    """A shape that goes with v's."""
    shape = [n if g.rng.random() < 0.7 else 1 for n in v.shape]
    return shape[g.rng.randrange(len(shape) + 1) :] if g.rng.random() < 0.5 else shape


def broadcasts(a, b):
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return False
    return a.dtype == b.dtype


ARITHMETIC = ("add", "subtract", "multiply", "maximum", "minimum")
COMPARE = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
DIVIDE = ("divide", "floor_divide", "floor_mod", "mod", "trunc_divide", "trunc_mod", "power")
BITS = ("bitwise_and", "bitwise_or", "bitwise_xor")
SHIFTS = ("left_shift", "right_shift")
LOGICAL = ("logical_and", "logical_or", "logical_xor")
assert {*ARITHMETIC, *COMPARE, *DIVIDE, *BITS, *SHIFTS, *LOGICAL} == set(BINARY)


@template(8)
def arithmetic(g: Graph):
    a = g.pick(is_number)
    if a is None:
        return
    v = g.nodes[a].value
    b = g.find(lambda w: broadcasts(v, w), broadcastable(g, v), str(v.dtype))
    pair = (a, b) if g.rng.random() < 0.5 else (b, a)
    g.add(getattr(relay, g.rng.choice(ARITHMETIC)), *pair)


@template()
def comparison(g: Graph):
    a = g.pick(is_number)
    if a is None:
        return
    v = g.nodes[a].value
    b = g.find(lambda w: broadcasts(v, w), broadcastable(g, v), str(v.dtype))
    if is_float(v) and np.any(np.abs(v - g.nodes[b].value) < 1e-3):
        return
    g.add(getattr(relay, g.rng.choice(COMPARE)), a, b)


@template()
def division(g: Graph):
    name = g.rng.choice(DIVIDE)
    a = g.pick(within(0.1, 20) if name == "power" else lambda v: is_float(v) or str(v.dtype) in ("int32", "int64"))
    if a is None:
        return
    v = g.nodes[a].value
    if name == "power":
        return g.add(relay.power, a, g.fresh(broadcastable(g, v), str(v.dtype)))
    b = g.fresh(broadcastable(g, v), str(v.dtype), low=0.5, high=3.0)
    with np.errstate(all="ignore"):
        quotient = v / g.nodes[b].value
    if is_float(v) and name != "divide" and not whole(quotient):
        return
    g.add(getattr(relay, name), a, b)


@template()
def bits(g: Graph):
    name = g.rng.choice(BITS + SHIFTS + LOGICAL)
    if name in LOGICAL:
        a = g.find(lambda v: v.dtype == bool, g.shape(), "bool")
        v = g.nodes[a].value
        return g.add(getattr(relay, name), a, g.find(lambda w: broadcasts(v, w), broadcastable(g, v), "bool"))
    a = g.pick(lambda v: str(v.dtype) in ("int32", "int64") and (v.size == 0 or np.abs(v).max() < 1 << 20))
    if a is None:
        return
    v = g.nodes[a].value
    if name in SHIFTS:
        b = g.fresh(broadcastable(g, v), str(v.dtype), low=0, high=1.5)
    else:
        b = g.find(lambda w: broadcasts(v, w), broadcastable(g, v), str(v.dtype))
    g.add(getattr(relay, name), a, b)


@template()
def choice(g: Graph):
    a = g.pick(is_number)
    if a is None:
        return
    v = g.nodes[a].value
    b = g.find(lambda w: broadcasts(v, w), broadcastable(g, v), str(v.dtype))
    shape = np.broadcast_shapes(v.shape, g.nodes[b].value.shape)
    condition = g.find(lambda w: w.dtype == bool and w.shape == shape, shape, "bool")
    g.add(relay.where, condition, a, b)


@template()
def bounds(g: Graph):
    a = g.pick(lambda v: is_float(v) or str(v.dtype) in ("int32", "int64"))
    if a is not None:
        low = g.rng.randrange(-3, 2)
        g.add(lambda x: relay.clip(x, low, low + g.seed % 4 + 1), a)


@template()
def other_type(g: Graph):
    to = g.rng.choice(("float32", "float64", "int32", "int64", "bool"))
    a = g.pick(lambda v: v.dtype == bool or (str(v.dtype) in INTS and v.dtype != to) or (is_float(v) and to in FLOATS))
    if a is not None:
        g.add(lambda x: relay.cast(x, to), a)


# ---- reductions ------------------------------------------------------------------------------------------------------


def some_axes(g, rank):
    if g.rng.random() < 0.2:
        return None
    axes = g.rng.sample(range(rank), g.rng.randrange(1, rank + 1)) if rank else []
    return [axis - rank if g.rng.random() < 0.3 else axis for axis in axes]


@template(2)
def reduction(g: Graph):
    name = g.rng.choice(("sum", "max", "min", "mean", "prod", "all", "any"))
    fits = (lambda v: v.dtype == bool and v.ndim) if name in ("all", "any") else (lambda v: is_float(v) and v.ndim)
    a = g.pick(lambda v: fits(v) and v.size)
    if a is None:
        return
    axes, keep = some_axes(g, g.nodes[a].value.ndim), g.rng.random() < 0.4
    exclude = axes is not None and len(axes) < g.nodes[a].value.ndim and g.rng.random() < 0.2
    g.add(lambda x: getattr(relay, name)(x, axis=axes, keepdims=keep, exclude=exclude), a)


@template()
def position(g: Graph):
    a = g.pick(lambda v: v.ndim > 0 and v.size > 0 and apart(v))
    if a is None:
        return
    axes, keep = some_axes(g, g.nodes[a].value.ndim), g.rng.random() < 0.4
    g.add(lambda x: getattr(relay, ("argmax", "argmin")[keep])(x, axis=axes, keepdims=keep), a)


@template()
def spread(g: Graph):
    a = g.pick(lambda v: is_float(v) and v.ndim > 0 and v.size > 0)
    if a is None:
        return
    axes, keep = some_axes(g, g.nodes[a].value.ndim), g.rng.random() < 0.4
    mean = g.add(lambda x: relay.mean(x, axis=axes, keepdims=True), a)
    if mean is not None:
        g.add(lambda x, m: relay.variance(x, axis=axes, keepdims=keep, with_mean=m), a, mean)


@template()
def running(g: Graph):
    a = g.pick(lambda v: is_float(v) and v.ndim > 0 and v.size > 0)
    if a is None:
        return
    axis, exclusive = g.rng.randrange(g.nodes[a].value.ndim), g.rng.random() < 0.3
    g.add(lambda x: relay.cumsum(x, axis=axis, exclusive=exclusive), a)


@template()
def order(g: Graph):
    a = g.pick(lambda v: v.ndim > 0 and v.size > 0 and apart(v))
    if a is None:
        return
    axis, up = g.rng.randrange(g.nodes[a].value.ndim), g.rng.random() < 0.5
    k = g.rng.randrange(1, g.nodes[a].value.shape[axis] + 1)
    kind = g.rng.choice(
        (
            lambda x: relay.sort(x, axis=axis, is_ascend=up),
            lambda x: relay.argsort(x, axis=axis, is_ascend=up),
            lambda x: relay.topk(x, k=k, axis=axis, is_ascend=up),
        )
    )
    g.add(kind, a)


# ---- shapes ----------------------------------------------------------------------------------------------------------


def factors(g, size):
    out = []
    while size > 1 and len(out) < 4:
        divisors = [d for d in range(1, size + 1) if size % d == 0]
        out.append(g.rng.choice(divisors))
        size //= out[-1]
    return [*out, size] if size > 1 or not out else out


@template(3)
def reshaped(g: Graph):
    a = g.pick(lambda v: v.size > 0)
    if a is None:
        return
    shape = factors(g, g.nodes[a].value.size)
    if g.rng.random() < 0.3:
        shape[g.rng.randrange(len(shape))] = -1
    g.add(lambda x: relay.reshape(x, shape), a)


@template(2)
def transposed(g: Graph):
    a = g.pick(lambda v: v.ndim > 1)
    if a is None:
        return
    axes = None if g.rng.random() < 0.3 else g.rng.sample(range(g.nodes[a].value.ndim), g.nodes[a].value.ndim)
    g.add(lambda x: relay.transpose(x, axes), a)


@template()
def ones_added(g: Graph):
    a = g.pick(lambda v: v.ndim < 5)
    if a is None:
        return
    axis = g.rng.randrange(-g.nodes[a].value.ndim - 1, g.nodes[a].value.ndim + 1)
    g.add(lambda x: relay.expand_dims(x, axis), a)


@template()
def ones_removed(g: Graph):
    a = g.pick(lambda v: 1 in v.shape)
    if a is None:
        return
    ones = [i for i, n in enumerate(g.nodes[a].value.shape) if n == 1]
    some = g.rng.sample(ones, g.rng.randrange(1, len(ones) + 1))
    # Without axes, the extents that are written as 1 are dropped: one that is known only at run time stays.
    axes = None if g.rng.random() < 0.4 and not g.nodes[a].needs_vm else some
    g.add(lambda x: relay.squeeze(x, axes), a)


@template()
def broadcast(g: Graph):
    a = g.pick(lambda v: v.ndim < 4 and v.size < 200)
    if a is None:
        return
    v = g.nodes[a].value
    shape = [*g.shape(1), *[g.rng.randrange(1, 5) if n == 1 else n for n in v.shape]]
    like = g.fresh(shape, str(v.dtype))
    if g.rng.random() < 0.5:
        g.add(lambda x: relay.broadcast_to(x, shape), a)
    else:
        g.add(relay.broadcast_to_like, a, like)


@template()
def collapsed(g: Graph):
    a = g.pick(lambda v: is_float(v) and v.ndim > 0)
    if a is None:
        return
    like = g.fresh(broadcastable(g, g.nodes[a].value), str(g.nodes[a].value.dtype))
    g.add(relay.collapse_sum_like, a, like)


@template(2)
def concatenated(g: Graph):
    a = g.pick(lambda v: v.ndim > 0)
    if a is None:
        return
    v = g.nodes[a].value
    axis = g.rng.randrange(-v.ndim, v.ndim)

    def fits(w):
        rest = [n for i, n in enumerate(w.shape) if i != axis % v.ndim]
        return (
            w.dtype == v.dtype and w.ndim == v.ndim and rest == [n for i, n in enumerate(v.shape) if i != axis % v.ndim]
        )

    parts = [a] + [g.find(fits, v.shape, str(v.dtype)) for _ in range(g.rng.randrange(1, 3))]
    g.rng.shuffle(parts)
    g.add(lambda *xs: relay.concatenate(xs, axis), *parts)


@template()
def stacked(g: Graph):
    a = g.pick(lambda v: v.ndim < 4)
    if a is None:
        return
    v = g.nodes[a].value
    parts = [a, g.find(lambda w: w.shape == v.shape and w.dtype == v.dtype, v.shape, str(v.dtype))]
    axis = g.rng.randrange(-v.ndim - 1, v.ndim + 1)
    g.add(lambda *xs: relay.stack(xs, axis), *parts)


@template()
def parted(g: Graph):
    a = g.pick(lambda v: v.ndim > 0 and max(v.shape) > 1)
    if a is None:
        return
    v = g.nodes[a].value
    axis = max(range(v.ndim), key=lambda i: v.shape[i])
    n = v.shape[axis]
    if g.rng.random() < 0.5:
        sections = g.rng.choice([d for d in range(1, n + 1) if n % d == 0][:4])
        g.add(lambda x: relay.split(x, sections, axis), a)
    else:
        begins = sorted(g.rng.sample(range(1, n), min(n - 1, g.rng.randrange(1, 3))))
        g.add(lambda x: relay.split(x, begins, axis), a)


@template(2)
def sliced(g: Graph):
    a = g.pick(lambda v: v.ndim > 0 and v.size > 0)
    if a is None:
        return
    begin, end, strides = [], [], []
    for n in g.nodes[a].value.shape:
        low, high = sorted((g.rng.randrange(n + 1), g.rng.randrange(n + 1)))
        backwards = g.rng.random() < 0.2 and low < high and low > 0
        begin.append(high - 1 if backwards else low)
        end.append(low - 1 if backwards else high)
        strides.append(-1 if backwards else g.rng.choice((1, 1, 2)))
    g.add(lambda x: relay.strided_slice(x, begin, end, strides), a)


@template()
def repeated(g: Graph):
    a = g.pick(lambda v: v.ndim > 0 and 0 < v.size < 500)
    if a is None:
        return
    v = g.nodes[a].value
    axis = g.rng.randrange(-v.ndim, v.ndim)
    reps = [g.rng.choice((1, 2, 3)) for _ in range(g.rng.randrange(1, v.ndim + 2))]
    kind = g.rng.choice(
        (
            lambda x: relay.tile(x, reps),
            lambda x: relay.repeat(x, 2, axis),
            lambda x: relay.reverse(x, axis),
        )
    )
    g.add(kind, a)


@template()
def gathered(g: Graph):
    a = g.pick(lambda v: v.ndim > 0 and v.size > 0)
    if a is None:
        return
    v = g.nodes[a].value
    axis = g.rng.randrange(v.ndim)
    if g.rng.random() < 0.5:
        index = g.fresh(g.shape(g.rng.randrange(3)), g.rng.choice(("int32", "int64")), low=-1, high=3)
        mode = g.rng.choice(("clip", "wrap"))
        g.add(lambda x, i: relay.take(x, i, axis=axis, mode=mode), a, index)
    else:
        shape = list(v.shape)
        shape[axis] = g.rng.randrange(1, 4)
        index = g.fresh(shape, "int32")
        g.nodes[index].value = g.numbers.integers(0, v.shape[axis], shape).astype("int32")
        g.add(lambda x, i: relay.gather(x, axis, i), a, index)


@template(0.5)
def hot(g: Graph):
    index = g.fresh(g.shape(g.rng.randrange(1, 3)), "int32", low=0, high=1.5)
    depth, axis = g.rng.randrange(2, 7), g.rng.choice((-1, 0))
    g.add(lambda i: relay.one_hot(i, relay.const(1.0), relay.const(0.0), depth, axis, "float32"), index)


@template(0.5)
def made(g: Graph):
    shape = g.shape()
    value = g.rng.random() * 3
    kind = g.rng.choice(
        (
            lambda: relay.zeros(shape, "float32"),
            lambda: relay.ones(shape, "int32"),
            lambda: relay.full(relay.const(value, "float32"), shape, "float32"),
        )
    )
    g.add(kind)


@template(0.5)
def triangle(g: Graph):
    a = g.pick(lambda v: v.ndim >= 2 and is_number(v))
    if a is not None:
        k, upper = g.rng.randrange(-2, 3), g.rng.random() < 0.5
        g.add(lambda x: relay.trilu(x, relay.const(k), upper), a)


@template(0.5)
def contracted(g: Graph):
    m, k, n = (g.rng.randrange(1, 6) for _ in range(3))
    a = g.find(lambda v: v.shape == (m, k) and v.dtype == "float32", (m, k), "float32")
    b = g.find(lambda v: v.shape == (k, n) and v.dtype == "float32", (k, n), "float32")
    g.add(lambda x, y: relay.einsum((x, y), "mk,kn->mn"), a, b)
