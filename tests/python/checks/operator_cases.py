"""A random call of each tensor operator, for graphs and for the conformance of its record; see random_graphs.py."""

import numpy as np
from graph_templates import apart, whole
from random_graphs import Graph, case
from references import BINARY, UNARY
from tessera import cpu, ir, relay

REALS = ("float32", "float32", "float64", "float16")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
NUMBERS = (*REALS, *SIGNED, *UNSIGNED)
ANYTHING = (*NUMBERS, "bool")


def call(name, *args, attrs=None, **fields):
    """A call of the operator by its name; `attrs` is the type of its attributes without prefix."""
    made = ir.make_node(f"relay.attrs.{attrs}", **fields) if attrs else None
    return relay.Call(ir.Op.get(name), list(args), made)


def value(g, at):
    return g.nodes[at].value


# ---- element by element ----------------------------------------------------------------------------------------------

RANGE = {
    **dict.fromkeys(("acos", "asin", "atanh"), (-0.9, 0.9)),
    **dict.fromkeys(("log", "log2", "log10", "sqrt", "rsqrt"), (0.1, 50.0)),
    "acosh": (1.1, 50.0),
    "tan": (-1.2, 1.2),
}
INTEGER_TOO = ("abs", "copy", "negative", "zeros_like", "ones_like", "sign")
STEPS = ("ceil", "floor", "round", "trunc", "sign", "round_to_even")


@case(*sorted(set(UNARY) - {"bitwise_not", "logical_not"}), "round_to_even")
def one_tensor(g: Graph, name):
    low, high = RANGE.get(name, (-2.0, 2.0))
    dtypes = (*REALS, *SIGNED) if name in INTEGER_TOO else ("float32",) if name.startswith("fast_") else REALS
    fits = lambda v: v.dtype.kind != "f" or name not in STEPS or whole(v * 2)
    at = g.tensor(dtype=dtypes, low=low, high=high, fits=fits)
    want = (lambda x: np.rint(x)) if name == "round_to_even" else None
    return g.add(lambda x: call(name, x), at, want=want)


@case("bitwise_not", "logical_not")
def inverted(g: Graph, name):
    at = g.tensor(dtype=("bool",) if name == "logical_not" else (*SIGNED, *UNSIGNED, "bool"), high=100)
    return g.add(lambda x: call(name, x), at)


@case("isnan", "isfinite", "isinf")
def question(g: Graph, name):
    x = g.array(g.shape(2), g.rng.choice(("float32", "float64")))
    for special in (np.nan, np.inf, -np.inf):
        x[g.numbers.random(x.shape) < 0.2] = special
    return g.add(lambda x: call(name, x), g.given(x))


def partner(g, at, **bounds):
    """A tensor that the one at `at` is broadcast with."""
    v = value(g, at)
    shape = [n if g.rng.random() < 0.7 else 1 for n in v.shape]
    shape = shape[g.rng.randrange(len(shape) + 1) :] if g.rng.random() < 0.5 else shape
    return g.tensor(shape, dtype=str(v.dtype), **bounds)


ARITHMETIC = ("add", "subtract", "multiply", "maximum", "minimum")
BITS = ("bitwise_and", "bitwise_or", "bitwise_xor")
LOGICAL = ("logical_and", "logical_or", "logical_xor")
SHIFTS = ("left_shift", "right_shift")
COMPARE = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
QUOTIENTS = ("divide", "floor_divide", "floor_mod", "mod", "trunc_divide", "trunc_mod")
assert {*ARITHMETIC, *BITS, *LOGICAL, *SHIFTS, *COMPARE, *QUOTIENTS, "power"} == set(BINARY)


@case(*ARITHMETIC, *BITS, *LOGICAL, *COMPARE)
def two_tensors(g: Graph, name):
    dtypes = {BITS: (*SIGNED, *UNSIGNED), LOGICAL: ("bool",)}
    chosen = next((types for names, types in dtypes.items() if name in names), NUMBERS)
    a = g.tensor(dtype=chosen, high=100)
    b = partner(g, a, high=100)
    if name in COMPARE and value(g, a).dtype.kind == "f":
        near = np.abs(value(g, a) - value(g, b))
        if np.any((near > 0) & (near < 1e-2)) or a != b:  # computed values may be equal but for a rounding
            a = g.given(g.numbers.integers(-3, 3, value(g, a).shape), str(value(g, a).dtype))
            b = g.given(g.numbers.integers(-3, 3, value(g, b).shape), str(value(g, b).dtype))
    pair = (a, b) if g.rng.random() < 0.5 else (b, a)
    return g.add(getattr(relay, name), *pair)


@case(*QUOTIENTS)
def quotient(g: Graph, name):
    a = g.tensor(dtype=NUMBERS, low=-100, high=100)
    v = value(g, a)
    b = g.given(g.array(v.shape[-1:] if g.rng.random() < 0.5 else v.shape, str(v.dtype), low=1.0, high=3.0))
    if v.dtype.kind == "f" and name != "divide" and not whole(v / value(g, b)):
        return None
    if v.dtype.kind == "i" and g.rng.random() < 0.5:
        g.nodes[b].value = -value(g, b)
    return g.add(getattr(relay, name), a, b)


@case("power")
def power(g: Graph, name):
    a = g.tensor(dtype=REALS, low=0.2, high=4)
    return g.add(relay.power, a, partner(g, a))


@case(*SHIFTS)
def shifts(g: Graph, name):
    a = g.tensor(dtype=(*SIGNED, *UNSIGNED), low=0, high=15)
    v = value(g, a)
    return g.add(getattr(relay, name), a, g.given(g.numbers.integers(0, 4, v.shape), str(v.dtype)))


@case("clip")
def clip(g: Graph, name):
    low = g.rng.randrange(-3, 2)
    high = low + g.rng.randrange(1, 5)
    at = g.tensor(dtype=(*REALS, *SIGNED), low=-100, high=100)
    return g.add(lambda x: relay.clip(x, low, high), at)


@case("cast", "cast_like", "reinterpret")
def other_type(g: Graph, name):
    if name == "reinterpret":
        pairs = (
            ("float32", "int32"),
            ("int32", "uint32"),
            ("float64", "int64"),
            ("int64", "uint64"),
            ("int8", "uint8"),
        )
        source, to = g.rng.choice(pairs)
        return g.add(lambda x: relay.reinterpret(x, to), g.given(g.array(g.shape(), source)))
    at = g.tensor(
        dtype=ANYTHING, low=0 if g.rng.random() < 0.5 else -2, high=100, fits=lambda v: v.dtype.kind != "f" or whole(v)
    )
    low = value(g, at).min()
    to = g.rng.choice(ANYTHING if low >= 0 else (*REALS, *SIGNED, "bool"))
    if to == "bool" and value(g, at).dtype.kind == "f":
        to = "float32"
    if name == "cast":
        return g.add(lambda x: relay.cast(x, to), at)
    return g.add(relay.cast_like, at, g.tensor(dtype=to, high=100))


@case("fixed_point_multiply")
def fixed_point_multiply(g: Graph, name):
    multiplier, shift = g.rng.randrange(1 << 30, (1 << 31) - 1), g.rng.randrange(-4, 5)
    at = g.tensor(dtype="int32", low=-100, high=100)
    return g.add(lambda x: relay.fixed_point_multiply(x, multiplier, shift), at)


@case("where")
def where(g: Graph, name):
    a = g.tensor(dtype=ANYTHING, high=100)
    b = partner(g, a, high=100)
    shape = np.broadcast_shapes(value(g, a).shape, value(g, b).shape)
    condition = g.tensor(shape, dtype=("bool", "int32"))
    return g.add(relay.where, condition, a, b)


@case("annotation.stop_fusion", "annotation.checkpoint", "annotation.cast_hint", "annotation.bitpack_start",
      "annotation.bitpack_end")  # fmt: skip
def annotation(g: Graph, name):
    fields = {"annotation.cast_hint": {"attrs": "CastHintAttrs", "dtype": "int8"}}
    return g.add(lambda x: call(name, x, **fields.get(name, {})), g.tensor(), want=lambda x: x)


@case("debug")
def debug(g: Graph, name):
    return g.add(lambda x: relay.op.debug(x, lambda tensor: None), g.tensor(), want=lambda x: x)


@case("annotation.compiler_begin", "annotation.compiler_end")
def compiler(g: Graph, name):
    part = relay.op.annotation
    return g.add(
        lambda x: part.compiler_end(relay.tanh(part.compiler_begin(x, "default")), "default"), g.tensor(), want=np.tanh
    )


@case("on_device", "device_copy")
def device(g: Graph, name):
    if name == "on_device":
        return g.add(lambda x: relay.annotation.on_device(x, cpu()), g.tensor(), want=lambda x: x)
    return g.add(lambda x: relay.device_copy(x, cpu(), cpu()), g.tensor(), want=lambda x: x)


# ---- reductions ------------------------------------------------------------------------------------------------------


def some_axes(g, rank):
    axes = g.rng.sample(range(rank), g.rng.randrange(1, rank + 1))
    return None if g.rng.random() < 0.2 else [axis - rank if g.rng.random() < 0.3 else axis for axis in axes]


def reduction_options(g, at):
    rank = value(g, at).ndim
    axes = some_axes(g, rank)
    exclude = axes is not None and len(axes) < rank and g.rng.random() < 0.2
    return {"axis": axes, "keepdims": g.rng.random() < 0.4, "exclude": exclude}


def has_rank(v):
    return v.ndim > 0


@case("sum", "mean", "max", "min", "prod", "all", "any")
def reduction(g: Graph, name):
    dtypes = ("bool",) if name in ("all", "any") else REALS[:3] if name == "mean" else (*REALS[:3], "int32", "int64")
    at = g.tensor(dtype=dtypes, fits=has_rank)
    options = reduction_options(g, at)
    return g.add(lambda x: getattr(relay, name)(x, **options), at)


@case("variance")
def variance(g: Graph, name):
    at = g.tensor(dtype=REALS[:3], fits=has_rank)
    options = reduction_options(g, at)
    return g.add(lambda x: relay.variance(x, **options), at)


@case("argmax", "argmin")
def position(g: Graph, name):
    at = g.given(g.numbers.integers(-4, 5, g.shape(g.rng.randrange(1, 4))), g.rng.choice((*REALS, *SIGNED)))
    if not value(g, at).size:
        return None
    options = {**reduction_options(g, at), "select_last_index": g.rng.random() < 0.3}
    return g.add(lambda x: getattr(relay, name)(x, **options), at)


@case("cumsum", "cumprod")
def running(g: Graph, name):
    at = g.tensor(dtype=(*REALS[:3], "int32", "int64"), fits=lambda v: v.ndim > 0 and v.size < 64)
    axis = g.rng.choice((None, *range(value(g, at).ndim)))
    exclusive = g.rng.random() < 0.3
    return g.add(lambda x: getattr(relay, name)(x, axis=axis, exclusive=exclusive), at)


@case("collapse_sum_like", "collapse_sum_to")
def collapsed(g: Graph, name):
    at = g.tensor(dtype=REALS[:3], fits=has_rank)
    shape = [n if g.rng.random() < 0.5 else 1 for n in value(g, at).shape][g.rng.randrange(value(g, at).ndim + 1) :]
    if name == "collapse_sum_like":
        return g.add(relay.collapse_sum_like, at, g.tensor(shape))
    return g.add(lambda x: relay.collapse_sum_to(x, relay.const(np.array(shape, "int64"))), at,
                 want=lambda x: np.asarray(sum_to(x, shape)))  # fmt: skip


def sum_to(x, shape):
    x = x.sum(tuple(range(x.ndim - len(shape))))
    return x.sum(tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True).reshape(shape).astype(x.dtype)


# ---- order and search ------------------------------------------------------------------------------------------------


@case("sort", "argsort", "topk")
def order(g: Graph, name):
    distinct = lambda v: v.ndim > 0 and (v.dtype.kind != "f" or apart(v))
    at = g.tensor(dtype=("float32", "float64", *SIGNED, *UNSIGNED), fits=distinct, high=100)
    axis, up = g.rng.randrange(-value(g, at).ndim, value(g, at).ndim), g.rng.random() < 0.5
    if name == "topk":
        k, kind = g.rng.randrange(1, value(g, at).shape[axis] + 1), g.rng.choice(("both", "values", "indices"))
        return g.add(lambda x: relay.topk(x, k, axis, kind, up), at)
    return g.add(lambda x: getattr(relay, name)(x, axis=axis, is_ascend=up), at)


@case("searchsorted")
def searchsorted(g: Graph, name):
    rows = g.rng.choice(((), (2,), (3, 2)))
    dtype = g.rng.choice(("float32", "int32", "int64"))
    sequence = g.given(np.sort(g.numbers.integers(0, 9, (*rows, 7))), dtype)
    values = g.given(g.numbers.integers(-1, 10, (*rows, 4)), dtype)
    right = g.rng.random() < 0.5
    return g.add(lambda s, v: relay.searchsorted(s, v, right), sequence, values)


@case("unique")
def unique(g: Graph, name):
    at = g.given(g.numbers.integers(0, 5, g.rng.randrange(1, 12)), g.rng.choice(("int32", "int64")))
    counts = g.rng.random() < 0.5

    def want(x):
        values, first, inverse, count = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
        return [values, first, inverse, np.array([len(values)]), count][: 5 if counts else 4]

    def trimmed(x):
        out = relay.unique(x, is_sorted=True, return_counts=counts)
        n = out[3]
        first, step = (relay.const(np.array([i], "int64")) for i in (0, 1))
        cut = lambda v: relay.cast(relay.strided_slice(v, first, relay.cast(n, "int64"), step), "int64")
        parts = [cut(out[0]), cut(out[1]), relay.cast(out[2], "int64"), relay.cast(n, "int64")]
        return relay.Tuple([*parts, cut(out[4])] if counts else parts)

    return g.add(trimmed, at, want=lambda x: [part.astype("int64") for part in want(x)], needs_vm=True)


@case("unique_rows")
def unique_rows(g: Graph, name):
    at = g.given(g.numbers.integers(0, 2, (g.rng.randrange(1, 9), 2)), "int32")

    def want(x):
        rows, first, inverse, counts = np.unique(x, axis=0, return_index=True, return_inverse=True, return_counts=True)
        unused = len(x) - len(rows)
        padded = lambda part: np.concatenate([part, np.zeros(unused, part.dtype)])
        return [padded(first), inverse.reshape(-1), padded(counts), np.array([len(rows)])]

    return g.add(lambda x: relay.op.unique_rows(x, sorted=True), at, want=want)


@case("argwhere")
def argwhere(g: Graph, name):
    at = g.tensor(dtype=("bool", "int32", "float32"), fits=lambda v: v.ndim > 0)
    return g.add(relay.argwhere, at, want=lambda x: np.argwhere(x).astype("int32"), needs_vm=True)


@case("invert_permutation")
def permutation(g: Graph, name):
    at = g.given(g.numbers.permutation(g.rng.randrange(1, 9)), g.rng.choice(("int32", "int64")), is_index=True)
    return g.add(relay.invert_permutation, at)
