"""A random call of each operator that moves elements or chooses them by index; see operator_cases.py."""

import math

import numpy as np
from operator_cases import ANYTHING, NUMBERS, call, has_rank, value
from random_graphs import Graph, case
from tessera import relay, tir

# ---- shapes ----------------------------------------------------------------------------------------------------------


def factors(g, size):
    out = []
    while size > 1 and len(out) < 3:
        out.append(g.rng.choice([d for d in range(1, size + 1) if size % d == 0]))
        size //= out[-1]
    return [*out, size]


@case("reshape", "contrib_reverse_reshape", "reshape_like")
def reshaped(g: Graph, name):
    at = g.tensor(dtype=ANYTHING, high=100, fits=has_rank)
    v = value(g, at)
    if name == "reshape_like":
        return g.add(relay.reshape_like, at, g.tensor(factors(g, v.size)))
    shape = g.rng.choice(([0, -1], [-1], [-2], [-1, 0], factors(g, v.size), [-4, 1, -1, -2], [-3, -2]))
    if name == "contrib_reverse_reshape":
        shape = g.rng.choice(([-1, 0], [-1], factors(g, v.size)))
        if v.ndim < len(shape) and 0 in shape:
            return None
        return g.add(lambda x: relay.contrib_reverse_reshape(x, shape) if hasattr(relay, "contrib_reverse_reshape")
                     else relay.reverse_reshape(x, shape), at)  # fmt: skip
    if (-3 in shape and v.ndim < 2) or (0 in shape and shape.index(0) >= v.ndim):
        return None
    return g.add(lambda x: relay.reshape(x, shape), at)


@case("transpose", "reverse", "expand_dims", "squeeze", "tile", "repeat", "broadcast_to", "broadcast_to_like",
      "copy", "ndarray_size", "shape_of", "slice_like")  # fmt: skip
def moved(g: Graph, name):
    at = g.tensor(dtype=ANYTHING, high=100, fits=lambda v: 0 < v.ndim < 4 and v.size < 300)
    v = value(g, at)
    axis = g.rng.randrange(-v.ndim, v.ndim)
    axes = g.rng.sample(range(v.ndim), v.ndim)
    reps = [g.rng.choice((1, 2, 3)) for _ in range(g.rng.randrange(1, v.ndim + 2))]
    wide = [*g.rng.choice(([], [2])), *[g.rng.randrange(1, 4) if n == 1 else n for n in v.shape]]
    ways = {
        "transpose": lambda x: relay.transpose(x, axes if axis >= 0 else None),
        "reverse": lambda x: relay.reverse(x, axis),
        "expand_dims": lambda x: relay.expand_dims(x, axis, 2),
        "squeeze": lambda x: relay.squeeze(relay.expand_dims(x, axis), [axis]),
        "tile": lambda x: relay.tile(x, reps),
        "repeat": lambda x: relay.repeat(x, len(reps), axis),
        "broadcast_to": lambda x: relay.broadcast_to(x, wide),
        "copy": relay.copy,
        "ndarray_size": lambda x: relay.ndarray_size(x, "int64"),
        "shape_of": lambda x: relay.shape_of(x, "int64"),
    }
    if name == "broadcast_to_like":
        return g.add(relay.broadcast_to_like, at, g.tensor(wide))
    if name == "slice_like":
        return g.add(lambda x, y: relay.slice_like(x, y), at, g.tensor([g.rng.randrange(1, n + 1) for n in v.shape]))
    return g.add(ways[name], at)


@case("concatenate", "stack")
def merged(g: Graph, name):
    at = g.tensor(dtype=ANYTHING, high=100, fits=lambda v: 0 < v.ndim < 4)
    v = value(g, at)
    axis = g.rng.randrange(-v.ndim, v.ndim)
    shape = list(v.shape)
    if name == "concatenate":
        shape[axis] = g.rng.randrange(0, 4)
    other = g.given(g.array(shape, str(v.dtype)))
    return g.add(lambda *parts: getattr(relay, name)(parts, axis), *g.rng.choice(((at, other), (other, at, at), (at,))))


@case("split")
def split(g: Graph, name):
    at = g.tensor(dtype=ANYTHING, high=100, fits=has_rank)
    v = value(g, at)
    axis = g.rng.randrange(-v.ndim, v.ndim)
    n = v.shape[axis]
    if g.rng.random() < 0.5:
        sections = g.rng.choice([d for d in range(1, n + 1) if n % d == 0])
    else:
        sections = sorted(g.rng.sample(range(1, n), min(n - 1, g.rng.randrange(1, 3)))) if n > 1 else 1
    return g.add(lambda x: relay.split(x, sections, axis), at)


@case("meshgrid")
def meshgrid(g: Graph, name):
    parts = [g.tensor((g.rng.randrange(1, 5),)) for _ in range(g.rng.randrange(1, 4))]
    order = g.rng.choice(("ij", "xy"))
    return g.add(lambda *xs: relay.meshgrid(list(xs), order), *parts)


@case("layout_transform")
def layout(g: Graph, name):
    at = g.tensor((1, g.rng.choice((4, 8)), g.rng.randrange(1, 4), 8))
    to = g.rng.choice(("NHWC", "NCHW4c", "NHWC4c", "CHWN"))
    return g.add(lambda x: relay.layout_transform(x, "NCHW", to), at)


@case("auto_scheduler_layout_transform", "meta_schedule_layout_transform")
def tiled(g: Graph, name):
    n, m = g.rng.randrange(1, 5), 4 * g.rng.randrange(1, 4)
    want = lambda x: x.reshape(n, m // 4, 4).transpose(1, 0, 2)
    if name == "meta_schedule_layout_transform":
        index_map = tir.IndexMap.from_func(lambda i, j: [j // 4, i, j % 4])
        fields = {"attrs": "MetaScheduleLayoutTransformAttrs", "index_map": index_map}
    else:
        layouts = {"src_layout": f"{n}N{m}C", "dst_layout": f"{m // 4}C{n}N4C"}
        fields = {"attrs": "AutoSchedulerLayoutTransformAttrs", **layouts}
    return g.add(lambda x: call(name, x, **fields), g.tensor((n, m)), want=want)


@case("zeros", "ones", "full", "full_like", "arange")
def made(g: Graph, name):
    shape, dtype = g.shape(), g.rng.choice(("float32", "int64", "int8", "float64"))
    if name in ("zeros", "ones"):
        return g.add(lambda: getattr(relay, name)(shape, dtype))
    if name == "full":
        return g.add(lambda v: relay.full(v, shape, dtype), g.given(3, dtype))
    if name == "full_like":
        return g.add(relay.full_like, g.tensor(dtype=dtype, high=100), g.given(3, dtype))
    start, step = g.rng.randrange(-5, 5), g.rng.choice((1, 2, -1, 3))
    stop = start + step * g.rng.randrange(1, 9) + g.rng.choice((0, 1))
    constants = [relay.const(n, dtype) for n in (start, stop, step)]
    return g.add(lambda: relay.arange(*constants, dtype=dtype))


@case("einsum")
def einsum(g: Graph, name):
    equation = g.rng.choice(("mk,kn->mn", "bmk,bkn->bmn", "ij->ji", "ii->i", "i,j->ij", "ijk->j", "ij,ij->"))
    extent = {c: g.rng.randrange(1, 5) for c in "abijkmn"}
    parts = [g.tensor([extent[c] for c in part]) for part in equation.split("->")[0].split(",")]
    return g.add(lambda *xs: relay.einsum(xs, equation), *parts)


@case("sliding_window")
def sliding_window(g: Graph, name):
    at = g.tensor((g.rng.randrange(1, 3), g.rng.randrange(3, 7), g.rng.randrange(3, 7)))
    strides = [g.rng.randrange(1, 3), g.rng.randrange(1, 3)]

    def want(x):
        view = np.lib.stride_tricks.sliding_window_view(x, (2, 3), (1, 2))
        return view[:, :: strides[0], :: strides[1]]

    return g.add(lambda x: relay.sliding_window(x, 1, [2, 3], strides), at, want=want)


@case("stft")
def stft(g: Graph, name):
    hop, onesided = g.rng.randrange(1, 4), g.rng.random() < 0.5
    window = g.tensor((4,))
    at = g.tensor((2, 12))
    return g.add(lambda x, w: relay.stft(x, 4, hop, 4, w, g.seed % 2 == 0, onesided), at, window)


@case("fft")
def fft(g: Graph, name):
    inverse = g.rng.random() < 0.5

    def want(x):
        transformed = (np.fft.ifft if inverse else np.fft.fft)(x[..., 0] + 1j * x[..., 1])
        return np.stack([transformed.real, transformed.imag], -1).astype(x.dtype)

    at = g.tensor((g.rng.randrange(1, 4), g.rng.randrange(1, 9), 2))
    return g.add(lambda x: relay.op.fft(x, inverse), at, want=want)


@case("determinant")
def determinant(g: Graph, name):
    n = g.rng.randrange(1, 5)
    at = g.tensor((3, n, n))
    return g.add(
        lambda x: call("determinant", x), at, want=lambda x: np.linalg.det(x.astype("float64")).astype(x.dtype)
    )


@case("small_float_encode", "small_float_decode")
def small_float(g: Graph, name):
    at = g.given(g.numbers.integers(-8, 9, g.shape()) * 0.5, "float32")
    kind = g.rng.choice(("float8_e4m3fn", "float8_e5m2"))
    both = lambda x: relay.op.small_float_decode(relay.op.small_float_encode(x, kind), kind)
    return g.add(both, at, want=lambda x: x)


# ---- indices ---------------------------------------------------------------------------------------------------------


@case("take")
def take(g: Graph, name):
    at = g.tensor(dtype=ANYTHING, high=100, fits=has_rank)
    v = value(g, at)
    axis = g.rng.choice((None, *range(v.ndim)))
    n = v.size if axis is None else v.shape[axis]
    mode = g.rng.choice(("clip", "wrap", "fast"))
    low, high = (0, n) if mode == "fast" else (-n, 2 * n)
    return g.add(
        lambda x, i: relay.take(x, i, axis, mode=mode), at, g.indices(high, g.shape(g.rng.randrange(3)), low=low)
    )


@case("gather")
def gather(g: Graph, name):
    at = g.tensor(dtype=ANYTHING, high=100, fits=has_rank)
    v = value(g, at)
    axis, shape = g.rng.randrange(v.ndim), list(v.shape)
    shape[axis] = g.rng.randrange(1, 5)
    return g.add(lambda x, i: relay.gather(x, axis, i), at, g.indices(v.shape[axis], shape))


@case("gather_nd", "scatter_nd")
def nd(g: Graph, name):
    at = g.tensor(dtype=("float32", "float64", "int32", "int64"), fits=has_rank)
    v = value(g, at)
    depth = g.rng.randrange(1, v.ndim + 1)
    rows = g.rng.randrange(1, 5)
    chosen = np.stack([g.numbers.integers(0, n, rows) for n in v.shape[:depth]])
    if name == "gather_nd":
        return g.add(relay.gather_nd, at, g.given(chosen, g.rng.choice(("int32", "int64")), is_index=True))
    mode = g.rng.choice(("update", "add", "min", "max", "mul"))
    if mode == "update":  # which of two updates of an element stays is not said
        chosen = chosen[:, :1]
    index = g.given(chosen, g.rng.choice(("int32", "int64")), is_index=True)
    updates = g.tensor((chosen.shape[1], *v.shape[depth:]), dtype=str(v.dtype))
    return g.add(lambda x, i, u: relay.scatter_nd(x, i, u, mode), at, index, updates)


@case("scatter", "scatter_add")
def scatter(g: Graph, name):
    at = g.tensor(dtype=("float32", "float64", "int32", "int64"), fits=lambda v: 0 < v.ndim < 5)
    v = value(g, at)
    axis, shape = g.rng.randrange(v.ndim), list(v.shape)
    rows = g.rng.randrange(1, v.shape[axis] + 1)
    order = g.numbers.permutation(v.shape[axis])[:rows]
    shape[axis] = rows
    index = np.broadcast_to(order.reshape([-1 if i == axis else 1 for i in range(v.ndim)]), shape)
    index = g.given(index.copy(), "int64", is_index=True)
    return g.add(lambda x, i, u: getattr(relay, name)(x, i, u, axis), at, index, g.tensor(shape, dtype=str(v.dtype)))


@case("adv_index")
def adv_index(g: Graph, name):
    at = g.tensor(dtype=ANYTHING, high=100, fits=has_rank)
    v = value(g, at)
    index = [g.indices(n, (3,)) for n in v.shape[: g.rng.randrange(1, v.ndim + 1)]]
    return g.add(lambda *xs: relay.adv_index(list(xs)), at, *index)


@case("one_hot")
def one_hot(g: Graph, name):
    depth, axis, dtype = g.rng.randrange(2, 6), g.rng.choice((-1, 0)), g.rng.choice(("float32", "int32", "int8"))
    index = g.indices(depth, g.shape(g.rng.randrange(1, 3)))
    return g.add(lambda i: relay.one_hot(i, relay.const(1, dtype), relay.const(0, dtype), depth, axis, dtype), index)


@case("sequence_mask", "reverse_sequence")
def sequences(g: Graph, name):
    at = g.tensor(rank=g.rng.choice((2, 3)), dtype=("float32", "float64", "int32"))
    steps, batch = value(g, at).shape[:2]
    lengths = g.indices(steps + 1, (batch,), "int32", low=0 if name == "sequence_mask" else 1)
    if name == "sequence_mask":
        return g.add(lambda x, n: relay.sequence_mask(x, n, 7.0, 0), at, lengths)
    return g.add(lambda x, n: relay.reverse_sequence(x, n, 0, 1), at, lengths)


@case("strided_slice")
def strided_slice(g: Graph, name):
    at = g.tensor(dtype=ANYTHING, high=100, fits=has_rank)
    begin, end, strides = [], [], []
    for n in value(g, at).shape:
        low, high = sorted((g.rng.randrange(n + 1), g.rng.randrange(n + 1)))
        backwards = g.rng.random() < 0.3 and 0 < low < high
        begin.append(high - 1 if backwards else low)
        end.append(low - 1 if backwards else high)
        strides.append(-1 if backwards else g.rng.choice((1, 1, 2)))
    return g.add(lambda x: relay.strided_slice(x, begin, end, strides), at)


@case("strided_set")
def strided_set(g: Graph, name):
    n, m = g.rng.randrange(2, 7), g.rng.randrange(2, 7)
    at = g.tensor((n, m), dtype=("float32", "int32", "float64"))
    begin, strides = [g.rng.randrange(n), g.rng.randrange(m)], [g.rng.randrange(1, 3) for _ in range(2)]
    end = [g.rng.randrange(begin[0] + 1, n + 1), g.rng.randrange(begin[1] + 1, m + 1)]
    shape = [math.ceil((e - b) / s) for b, e, s in zip(begin, end, strides)]
    updates = g.tensor(shape, dtype=str(value(g, at).dtype))
    places = [g.given(part, "int64", is_index=True) for part in (begin, end, strides)]
    return g.add(relay.strided_set, at, updates, *places)


@case("matrix_set_diag")
def matrix_set_diag(g: Graph, name):
    n, m = g.rng.randrange(1, 5), g.rng.randrange(1, 5)
    at = g.tensor((2, n, m), dtype=("float32", "int32"))
    diagonal = g.tensor((2, min(n, m)), dtype=str(value(g, at).dtype))
    return g.add(lambda x, d: relay.matrix_set_diag(x, d), at, diagonal)


@case("trilu")
def trilu(g: Graph, name):
    at = g.tensor(dtype=NUMBERS, high=100, fits=lambda v: v.ndim >= 2)
    upper = g.rng.random() < 0.5
    return g.add(lambda x, k: relay.trilu(x, k, upper), at, g.given(g.rng.randrange(-2, 3), "int32", is_index=True))


@case("unravel_index")
def unravel_index(g: Graph, name):
    shape = [g.rng.randrange(1, 5) for _ in range(g.rng.randrange(1, 4))]
    index = g.indices(math.prod(shape), (g.rng.randrange(1, 6),), "int64")
    return g.add(relay.unravel_index, index, g.given(shape, "int64", is_index=True))


@case("sparse_to_dense")
def sparse_to_dense(g: Graph, name):
    shape = [g.rng.randrange(2, 5), g.rng.randrange(2, 5)]
    flat = g.numbers.permutation(shape[0] * shape[1])[: g.rng.randrange(1, 4)]
    index = g.given(np.stack(np.unravel_index(flat, shape), 1), "int32", is_index=True)
    values = g.tensor((len(flat),))
    return g.add(lambda i, v: relay.sparse_to_dense(i, shape, v, relay.const(0.5)), index, values)


@case("sparse_reshape")
def sparse_reshape(g: Graph, name):
    before = [g.rng.randrange(1, 4) * 2, g.rng.randrange(1, 5)]
    after = g.rng.choice(([before[1], before[0]], [2, -1], [-1]))
    flat = np.sort(g.numbers.permutation(math.prod(before))[:3])

    def want(index, prev, new):
        full = np.zeros(prev, "int8").reshape(new).shape
        offsets = np.ravel_multi_index(tuple(index.T), prev)
        return [np.stack(np.unravel_index(offsets, full), 1).astype(index.dtype), np.array(full, new.dtype)]

    parts = (np.stack(np.unravel_index(flat, before), 1), before, after)
    return g.add(relay.sparse_reshape, *[g.given(part, "int64", is_index=True) for part in parts], want=want)


@case("sparse_fill_empty_rows")
def sparse_fill_empty_rows(g: Graph, name):
    rows, columns = g.rng.randrange(1, 6), 4
    filled = sorted(g.rng.sample(range(rows), g.rng.randrange(1, rows + 1)))
    index = np.array([[row, g.rng.randrange(columns)] for row in filled])

    def want(index, values, shape, default):
        entries = {int(row): (pair, v) for row, pair, v in zip(index[:, 0], index, values)}
        every = [entries.get(row, (np.array([row, 0]), default)) for row in range(shape[0])]
        empty = np.array([row not in entries for row in range(shape[0])])
        return [
            np.stack([pair for pair, _ in every]).astype(index.dtype),
            np.array([v for _, v in every], values.dtype),
            empty,
        ]

    parts = [
        g.given(index, "int64", is_index=True),
        g.tensor((len(filled),)),
        g.given([rows, columns], "int64", is_index=True),
    ]
    return g.add(relay.sparse_fill_empty_rows, *parts, g.given(0.5, "float32"), want=want, needs_vm=True)
