"""A random call of each operator of networks; see operator_cases.py."""

import numpy as np
from graph_templates_nn import KERNELS, LAYOUTS
from operator_cases import REALS, call, has_rank, value
from random_graphs import Graph, case
from tessera import relay

nn = relay.nn
WEIGHTS = {"low": -0.5, "high": 0.5}


def image(g, rank=2, least=2, channels=None, dtype="float32"):
    shape = (
        g.rng.choice((1, 2)),
        channels or g.rng.choice((1, 2, 3, 4)),
        *[g.rng.randrange(least, 8) for _ in range(rank)],
    )
    return g.tensor(shape, dtype=dtype)


def spatial_rank(name):
    return next((int(c) for c, d in zip(name, name[1:]) if d == "d" and c in "123"), 2)


@case("nn.conv1d", "nn.conv2d", "nn.conv3d")
def convolution(g: Graph, name):
    rank = spatial_rank(name)
    last = g.rng.random() < 0.4
    groups = g.rng.choice((1, 1, 2, 4))
    channels, filters = groups * g.rng.choice((1, 2, 3)), groups * g.rng.choice((1, 2, 4))
    if last and groups > 1:
        groups = 1
    extents = [g.rng.randrange(3, 8) for _ in range(rank)]
    kernel = [g.rng.randrange(1, 4) for _ in range(rank)]
    dtype, out = g.rng.choice((("float32", ""), ("float32", ""), ("float64", ""), ("int8", "int32")))
    batch = g.rng.choice((1, 2))
    x = g.tensor((batch, *extents, channels) if last else (batch, channels, *extents), dtype=dtype)
    shape = (*kernel, channels // groups, filters) if last else (filters, channels // groups, *kernel)
    w = g.tensor(shape, dtype=dtype, low=-1, high=1)
    layout = LAYOUTS[rank][last]
    options = {
        "channels": filters,
        "kernel_size": kernel,
        "strides": [g.rng.choice((1, 1, 2)) for _ in range(rank)],
        "dilation": [g.rng.choice((1, 1, 1, 2)) if k * 2 - 1 <= n else 1 for k, n in zip(kernel, extents)],
        "padding": [g.rng.choice((0, 0, 1)) for _ in range(2 * rank)],
        "groups": groups,
        "data_layout": layout,
        "kernel_layout": KERNELS[layout],
        "out_dtype": out,
    }
    return g.add(lambda x, w: getattr(nn, name[3:])(x, w, **options), x, w)


@case("nn.contrib_conv2d_NCHWc", "nn.contrib_depthwise_conv2d_NCHWc")
def blocked(g: Graph, name):
    height = g.rng.randrange(3, 7)
    deep = name == "nn.contrib_depthwise_conv2d_NCHWc"
    x = g.tensor((1, 2, height, height, 4))
    w = g.tensor((2, 1, 3, 3, 1, 4) if deep else (3, 2, 3, 3, 4, 4), **WEIGHTS)
    options = {
        "channels": 8 if deep else 12,
        "kernel_size": (3, 3),
        "padding": (1, 1),
        "groups": 8 if deep else 1,
        "data_layout": "NCHW4c",
        "kernel_layout": "OIHW1i4o" if deep else "OIHW4i4o",
        "out_layout": "NCHW4c",
    }
    build = nn.contrib_depthwise_conv2d_nchwc if deep else nn.contrib_conv2d_nchwc
    return g.add(lambda x, w: build(x, w, **options), x, w)


@case("nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose")
def transposed(g: Graph, name):
    rank = spatial_rank(name)
    x = image(g, rank)
    channels, filters = value(g, x).shape[1], g.rng.choice((1, 2, 3))
    kernel = [g.rng.randrange(1, 4) for _ in range(rank)]
    strides = [g.rng.choice((1, 2)) for _ in range(rank)]
    w = g.tensor((channels, filters, *kernel), **WEIGHTS)
    options = {"channels": filters, "kernel_size": kernel, "strides": strides}
    return g.add(lambda x, w: getattr(nn, name[3:])(x, w, **options), x, w)


@case("nn.conv2d_backward_weight")
def backward_weight(g: Graph, name):
    x, grad = g.tensor((2, 3, 5, 6)), g.tensor((2, 4, 5, 6))
    options = {"kernel_size": (3, 3), "channels": 4, "padding": (1, 1), "grad_layout": "NCHW", "data_layout": "NCHW"}
    return g.add(lambda d, x: nn.conv2d_backward_weight(d, x, **options), grad, x)


@case("nn.deformable_conv2d")
def deformable(g: Graph, name):
    n = g.rng.randrange(3, 6)
    x, offset, w = g.tensor((1, 2, n, n)), g.tensor((1, 18, n, n), low=-1, high=1), g.tensor((3, 2, 3, 3), **WEIGHTS)
    options = {"kernel_size": (3, 3), "channels": 3, "padding": (1, 1)}
    return g.add(lambda x, o, w: nn.deformable_conv2d(x, o, w, **options), x, offset, w)


@case("nn.correlation")
def correlation(g: Graph, name):
    a, b = g.tensor((1, 2, 5, 6)), g.tensor((1, 2, 5, 6))
    multiply = g.rng.random() < 0.5
    return g.add(lambda a, b: nn.correlation(a, b, 1, 2, 1, 1, (2, 2), multiply, "NCHW"), a, b)


@case("nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d", "nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d")
def pool(g: Graph, name):
    rank = spatial_rank(name)
    x = image(g, rank)
    size = [g.rng.randrange(1, min(n, 3) + 1) for n in value(g, x).shape[2:]]
    options = {
        "pool_size": size,
        "strides": [g.rng.choice((1, 2)) for _ in range(rank)],
        "padding": [g.rng.randrange((k + 1) // 2) for k in size] * 2,
        "ceil_mode": g.rng.random() < 0.3,
    }
    if "avg" in name:
        options["count_include_pad"] = g.rng.random() < 0.5
    return g.add(lambda x: getattr(nn, name[3:])(x, **options), x)


@case("nn.max_pool2d_grad", "nn.avg_pool2d_grad")
def pool_grad(g: Graph, name):
    n = g.rng.choice((4, 6))
    x = g.given(g.numbers.permutation(2 * n * n).reshape(1, 2, n, n) * 0.1, "float32")
    grad = g.tensor((1, 2, n // 2, n // 2))
    return g.add(lambda d, x: getattr(nn, name[3:])(d, x, (2, 2), (2, 2)), grad, x)


@case(
    "nn.global_max_pool2d",
    "nn.global_avg_pool2d",
    *[f"nn.adaptive_{k}_pool{n}d" for k in ("max", "avg") for n in (1, 2, 3)],
)
def whole_pool(g: Graph, name):
    rank = spatial_rank(name)
    x = image(g, rank)
    if "global" in name:
        return g.add(getattr(nn, name[3:]), x)
    size = [g.rng.randrange(1, n + 1) for n in value(g, x).shape[2:]]
    return g.add(lambda x: getattr(nn, name[3:])(x, size), x)


@case("nn.dense", "nn.matmul", "nn.batch_matmul")
def matmul(g: Graph, name):
    m, k, n, batch = (g.rng.choice((1, 2, 3, 5, 8, 17)) for _ in range(4))
    dtype, out = g.rng.choice(
        (("float32", ""), ("float32", ""), ("float64", ""), ("int8", "int32"), ("float16", "float32"))
    )
    if name == "nn.dense":
        parts = g.tensor((m, k), dtype=dtype), g.tensor((n, k), dtype=dtype)
        return g.add(lambda x, w: nn.dense(x, w, units=n, out_dtype=out), *parts)
    left, right = g.rng.random() < 0.5, g.rng.random() < 0.5
    lead = (batch,) if name == "nn.batch_matmul" else ()
    a, b = (*lead, *((k, m) if left else (m, k))), (*lead, *((n, k) if right else (k, n)))
    options = {"transpose_a": left, "transpose_b": right, "out_dtype": out}
    build = nn.batch_matmul if lead else nn.matmul
    return g.add(lambda x, y: build(x, y, **options), g.tensor(a, dtype=dtype), g.tensor(b, dtype=dtype))


@case("nn.contrib_dense_pack")
def dense_pack(g: Graph, name):
    x, w = g.tensor((g.rng.randrange(1, 5), 6)), g.tensor((2, 6, 8), **WEIGHTS)
    return g.add(lambda x, w: nn.contrib_dense_pack(x, w, "NC8n", units=16), x, w)


@case("nn.relu", "nn.leaky_relu", "nn.softmax", "nn.fast_softmax", "nn.log_softmax", "nn.l2_normalize",
      "nn.batch_flatten", "nn.dropout", "nn.prelu", "nn.bias_add")  # fmt: skip
def activation(g: Graph, name):
    dtypes = REALS[:3] if name != "nn.fast_softmax" else ("float32",)
    x = g.tensor(dtype=dtypes, low=-5, high=5, fits=has_rank)
    v = value(g, x)
    axis = g.rng.randrange(v.ndim)
    if name in ("nn.prelu", "nn.bias_add"):
        return g.add(
            lambda x, a: getattr(nn, name[3:])(x, a, axis=axis), x, g.tensor((v.shape[axis],), dtype=str(v.dtype))
        )
    ways = {
        "nn.relu": nn.relu,
        "nn.leaky_relu": lambda x: nn.leaky_relu(x, alpha=0.1),
        "nn.softmax": lambda x: nn.softmax(x, axis=axis),
        "nn.fast_softmax": lambda x: nn.fast_softmax(x, axis=axis),
        "nn.log_softmax": lambda x: nn.log_softmax(x, axis=axis),
        "nn.l2_normalize": lambda x: nn.l2_normalize(x, eps=1e-3, axis=[axis]),
        "nn.batch_flatten": nn.batch_flatten,
        "nn.dropout": lambda x: nn.dropout(x, 0.5),
    }
    return g.add(ways[name], x)


@case("nn.batch_norm", "nn.layer_norm", "nn.instance_norm", "nn.group_norm", "nn.lrn")
def normalization(g: Graph, name):
    x = image(g)
    if name == "nn.lrn":
        return g.add(lambda x: nn.lrn(x, size=3, axis=1, bias=1.0, alpha=0.1, beta=0.75), x)
    channels = value(g, x).shape[1]
    gamma, beta = g.tensor((channels,), low=0.5, high=1.5), g.tensor((channels,))
    if name == "nn.batch_norm":
        mean, var = g.tensor((channels,)), g.tensor((channels,), low=0.5, high=1.5)
        return g.add(lambda *parts: nn.batch_norm(*parts)[0], x, gamma, beta, mean, var)
    ways = {
        "nn.layer_norm": lambda x, a, b: nn.layer_norm(x, a, b, axis=1),
        "nn.instance_norm": nn.instance_norm,
        "nn.group_norm": lambda x, a, b: nn.group_norm(x, a, b, channels),
    }
    return g.add(ways[name], x, gamma, beta)


@case("nn.pad", "nn.mirror_pad", "nn.dilate", "nn.fifo_buffer")
def borders(g: Graph, name):
    x = g.tensor(rank=g.rng.randrange(1, 4), fits=lambda v: min(v.shape) > 1)
    rank = value(g, x).ndim
    widths = [[g.rng.randrange(2), g.rng.randrange(2)] for _ in range(rank)]
    if name == "nn.pad":
        mode = g.rng.choice(("constant", "edge", "reflect"))
        return g.add(lambda x: nn.pad(x, widths, 0.5 if mode == "constant" else 0, mode), x)
    if name == "nn.mirror_pad":
        mode = g.rng.choice(("SYMMETRIC", "REFLECT"))
        return g.add(lambda x: nn.mirror_pad(x, widths, mode), x)
    if name == "nn.dilate":
        strides = [g.rng.randrange(1, 4) for _ in range(rank)]
        return g.add(lambda x: nn.dilate(x, strides, 0.5), x)
    axis, shape = g.rng.randrange(rank), list(value(g, x).shape)
    shape[axis] = g.rng.randrange(1, 6)
    return g.add(lambda x, b: nn.fifo_buffer(x, b, axis), x, g.tensor(shape))


@case("nn.space_to_depth", "nn.depth_to_space", "nn.space_to_batch_nd", "nn.batch_to_space_nd")
def space(g: Graph, name):
    h, w = g.rng.choice((2, 4)), g.rng.choice((2, 4, 6))
    if name == "nn.depth_to_space":
        mode = g.rng.choice(("DCR", "CRD"))
        return g.add(lambda x: nn.depth_to_space(x, 2, mode=mode), g.tensor((1, 8, h, w)))
    if name == "nn.space_to_depth":
        return g.add(lambda x: nn.space_to_depth(x, 2), g.tensor((1, 2, h, w)))
    if name == "nn.space_to_batch_nd":
        return g.add(lambda x: nn.space_to_batch_nd(x, [2, 2], [[0, 0], [1, 1]]), g.tensor((1, h, w, 3)))
    return g.add(lambda x: nn.batch_to_space_nd(x, [2, 2], [[0, 1], [0, 0]]), g.tensor((4, h, w, 3)))


@case("nn.cross_entropy", "nn.cross_entropy_with_logits", "nn.nll_loss")
def loss(g: Graph, name):
    n, classes = g.rng.randrange(1, 5), g.rng.randrange(2, 6)
    x = g.tensor((n, classes), low=0.1, high=2)
    if name != "nn.nll_loss":
        return g.add(getattr(nn, name[3:]), x, g.tensor((n, classes), low=0, high=2))
    kind = g.rng.choice(("mean", "sum", "none"))
    labels, weights = g.indices(classes, (n,), "int32"), g.tensor((classes,), low=0.5, high=2)
    return g.add(lambda x, y, w: nn.nll_loss(x, y, w, reduction=kind), x, labels, weights)


@case("nn.upsampling", "nn.upsampling3d")
def upsampling(g: Graph, name):
    if name == "nn.upsampling":
        return g.add(lambda x: nn.upsampling(x, 2, 3), image(g))
    mode = {"coordinate_transformation_mode": "asymmetric"}
    return g.add(lambda x: nn.upsampling3d(x, 2, 1, 2, **mode), image(g, 3))


# ---- sparse matrices, packed bits, transformed weights ---------------------------------------------------------------


def thin(g, *shape):
    return (g.array(shape, "float32") * (g.numbers.random(shape) < 0.4)).astype("float32")


def blocks_of(matrix, height, width):
    """data, indices and indptr of the blocks that are not zero."""
    tiles = matrix.reshape(matrix.shape[0] // height, height, -1, width).swapaxes(1, 2)
    used = tiles.any((2, 3))
    indptr = np.concatenate([[0], np.cumsum(used.sum(1))])
    data = np.ascontiguousarray(tiles[used])
    return [data.reshape(-1) if height == width == 1 else data, np.nonzero(used)[1], indptr]


def matrix_of(columns, data, indices, indptr):
    """What `blocks_of` took apart."""
    data = data.reshape(len(data), *(data.shape[1:] or (1, 1)))
    _, height, width = data.shape
    out = np.zeros((len(indptr) - 1, height, columns // width, width), data.dtype)
    for row, (first, end) in enumerate(zip(indptr, indptr[1:])):
        for entry in range(first, end):
            out[row, :, indices[entry]] += data[entry]
    return out.reshape(-1, columns)


def sparse(g, matrix, height=1, width=1):
    data, indices, indptr = blocks_of(matrix, height, width)
    return [g.given(data), g.given(indices, "int32", is_index=True), g.given(indptr, "int32", is_index=True)]


@case("nn.sparse_dense", "nn.internal.sparse_dense_padded")
def sparse_dense(g: Graph, name):
    block = g.rng.choice(((1, 1), (2, 2), (4, 1)))
    n, k = 4 * g.rng.randrange(1, 4), 2 * g.rng.randrange(1, 6)
    matrix = np.kron(thin(g, n // block[0], k // block[1]), np.ones(block)).astype("float32")
    x = g.tensor((g.rng.randrange(1, 5), k))
    left = g.rng.random() < 0.3
    parts = sparse(g, matrix, *block)
    build = lambda x, *parts: call(name, x, *parts, attrs="SparseDenseAttrs", sparse_lhs=left)

    def want(x, *parts):
        matrix = matrix_of(k, *parts)
        return np.ascontiguousarray(matrix @ x.T if left else x @ matrix.T)

    return g.add(build, x, *parts, want=want)


@case("nn.sparse_add", "nn.sparse_transpose")
def sparse_sum(g: Graph, name):
    n = g.rng.randrange(1, 6)
    matrix = thin(g, n, n)
    parts = sparse(g, matrix)
    if name == "nn.sparse_add":
        want = lambda x, *parts: x + matrix_of(n, *parts)
        return g.add(lambda x, *p: call(name, x, *p), g.tensor((n, n)), *parts, want=want)

    def transposed(*parts):
        flipped = blocks_of(matrix_of(n, *parts).T, 1, 1)
        return [part.astype("int32") if i else part for i, part in enumerate(flipped)]

    return g.add(lambda *p: nn.sparse_transpose(p), *parts, want=transposed)


@case("nn.sparse_conv2d")
def sparse_conv2d(g: Graph, name):
    nhwc, kernel = g.rng.random() < 0.5, g.rng.choice((1, 3))
    weight = thin(g, 4, 2, kernel, kernel)
    x = g.tensor((1, 2, 5, 4))
    flat = np.ascontiguousarray((weight.transpose(0, 2, 3, 1) if nhwc else weight).reshape(4, -1))
    layout = "NHWC" if nhwc else "NCHW"

    def build(x, *parts):
        x = relay.transpose(x, (0, 2, 3, 1)) if nhwc else x
        return nn.sparse_conv2d(x, *parts, layout=layout, kernel_size=[kernel] * 2)

    def want(x, *parts):
        shape = (4, kernel, kernel, 2) if nhwc else (4, 2, kernel, kernel)
        weight = matrix_of(flat.shape[1], *parts).reshape(shape).transpose((0, 3, 1, 2) if nhwc else (0, 1, 2, 3))
        padded = np.pad(x, [(0, 0), (0, 0), *[(kernel // 2,) * 2] * 2])
        view = np.lib.stride_tricks.sliding_window_view(padded, (kernel, kernel), (2, 3))
        return np.einsum("nchwij,ocij->nhwo" if nhwc else "nchwij,ocij->nohw", view, weight).astype("float32")

    return g.add(build, x, *sparse(g, flat), want=want)


@case("nn.bitpack", "nn.bitserial_dense", "nn.bitserial_conv2d")
def bits(g: Graph, name):
    data_bits, weight_bits = g.rng.choice(((1, 1), (2, 1), (2, 2)))
    if name == "nn.bitserial_conv2d":
        x = g.given(g.numbers.integers(0, 1 << data_bits, (1, 32, 4, 5)), "int32")
        w = g.numbers.integers(0, 1 << weight_bits, (4, 32, 3, 3))

        def want(x, w):
            view = np.lib.stride_tricks.sliding_window_view(np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)]), (3, 3), (2, 3))
            return np.einsum("nchwij,ocij->nohw", view, w).astype("int16")

        options = {"channels": 4, "padding": (1, 1), "activation_bits": data_bits, "weight_bits": weight_bits}
        build = lambda x, w: nn.bitserial_conv2d(x, w, unipolar=False, **options)
        return g.add(build, x, g.given(w, "int32"), want=want)
    x = g.given(g.numbers.integers(0, 1 << data_bits, (g.rng.randrange(1, 4), 64)), "int32")
    if name == "nn.bitserial_dense":
        w = g.given(g.numbers.integers(0, 1 << weight_bits, (5, 64)), "int32")
        build = lambda x, w: nn.bitserial_dense(x, w, 5, data_bits, weight_bits, unipolar=False)
        return g.add(build, x, w, want=lambda x, w: (x @ w.T).astype("int16"))

    def packed(x):
        planes = np.stack([(x >> b) & 1 for b in range(data_bits)], 1).astype("uint8")
        return np.packbits(planes, axis=-1)

    return g.add(lambda x: nn.bitpack(x, data_bits, 1, 1, "uint8"), x, want=packed)


TRANSFORMED = {
    "nn.contrib_conv2d_winograd": 2,
    "nn.contrib_conv3d_winograd": 3,
    "nn.contrib_conv2d_gemm": 2,
}


@case(
    *[f"{kind}_weight_transform" for kind in TRANSFORMED], *[f"{kind}_without_weight_transform" for kind in TRANSFORMED]
)
def transformed(g: Graph, name):
    rank, gemm = spatial_rank(name), "gemm" in name
    x = g.tensor((1, 2, *[g.rng.randrange(3, 8) for _ in range(rank)]), low=-1, high=1)
    w = g.tensor((3, 2, *[3] * rank), **WEIGHTS)
    tile = g.rng.choice((2, 4))
    options = {"channels": 3, "kernel_size": [3] * rank, "padding": [1] * rank}

    def build(x, w):
        if gemm:
            tiles = nn.contrib_conv2d_gemm_weight_transform(relay.transpose(w, (2, 3, 1, 0)), 4, 16)
            x = relay.transpose(x, (0, 2, 3, 1))
            layouts = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
            out = nn.contrib_conv2d_gemm_without_weight_transform(x, tiles, **layouts, **options)
            return relay.transpose(out, (0, 3, 1, 2))
        ready = getattr(nn, f"contrib_conv{rank}d_winograd_weight_transform")(w, tile)
        return getattr(nn, f"contrib_conv{rank}d_winograd_without_weight_transform")(x, ready, tile, **options)

    def want(x, w):
        view = np.pad(x, [(0, 0), (0, 0), *[(1, 1)] * rank])
        view = np.lib.stride_tricks.sliding_window_view(view, [3] * rank, tuple(range(2, 2 + rank)))
        letters = ("hw", "ij") if rank == 2 else ("dhw", "kij")
        return np.einsum(f"nc{''.join(letters)},oc{letters[1]}->no{letters[0]}", view, w).astype("float32")

    return g.add(build, x, w, want=want)


@case("nn.recurrent")
def recurrent(g: Graph, name):
    """A layer whose units are one block, with lengths; its data are what the gates get from the input."""
    kind = g.rng.choice(("rnn", "lstm"))
    gates, (steps, batch, units) = {"rnn": 1, "lstm": 4}[kind], (g.rng.randrange(1, 5) for _ in range(3))
    data, weight = g.tensor((steps, batch, gates * units)), g.tensor((1, 1, units, gates, units), **WEIGHTS)
    lengths = g.given(g.numbers.integers(0, steps + 1, batch), "int32", is_index=True)
    activations = ["tanh"] if kind == "rnn" else ["sigmoid", "tanh", "tanh"]
    zeros = [0.0] * len(activations)
    attrs = {"cell": kind, "activations": activations, "activation_alpha": zeros, "activation_beta": zeros}
    attrs["inputs"] = ["data", "weight", "lengths"]
    sigmoid = lambda v: 1 / (1 + np.exp(-v))

    def want(data, weight, lengths):
        h, c, all_h = np.zeros((batch, units)), np.zeros((batch, units)), []
        for t in range(steps):
            total = data[t].reshape(batch, gates, units) + np.einsum("bk,kgu->bgu", h, weight[0, 0])
            if kind == "rnn":
                new_h, new_c = np.tanh(total[:, 0]), c
            else:  # input, output, forget, cell
                new_c = sigmoid(total[:, 2]) * c + sigmoid(total[:, 0]) * np.tanh(total[:, 3])
                new_h = sigmoid(total[:, 1]) * np.tanh(new_c)
            goes_on = (t < lengths)[:, None]
            h, c = np.where(goes_on, new_h, h), np.where(goes_on, new_c, c)
            all_h.append(np.where(goes_on, new_h, 0))
        last = [np.stack(all_h)[:, None], h[None], c[None]]
        return [part.astype("float32") for part in last[: 2 if kind == "rnn" else 3]]

    return g.add(lambda *parts: nn.recurrent(relay.Tuple(list(parts)), **attrs), data, weight, lengths, want=want)


@case("nn.matmul_nbits")
def matmul_nbits(g: Graph, name):
    """Weights of a few bits in one or two panels, with a zero point of each block or one for all."""
    bits, block, rows = g.rng.choice((2, 4, 8)), g.rng.choice((16, 32)), g.rng.choice((1, 3, 14))
    units, blocks = g.rng.randrange(1, 30), g.rng.randrange(1, 4)
    panels, k = (units + 15) // 16, block * blocks
    data = g.tensor((rows, k))
    weight = g.given(g.numbers.integers(0, 256, (panels, k * bits // 32, 64)), "uint8")
    scale = g.tensor((panels, blocks, 16), **WEIGHTS)
    zero = g.given(g.numbers.integers(0, 1 << bits, g.rng.choice(((1, 1, 1), (panels, blocks, 16)))), "uint8")

    def want(data, weight, scale, zero):
        lanes = weight.reshape(panels, -1, 16, 4)
        parts = np.stack([lanes >> shift & (1 << bits) - 1 for shift in range(0, 8, bits)], 3)
        numbers = parts.transpose(0, 2, 1, 3, 4).reshape(panels, 16, blocks, block).astype("float32")
        wide = (numbers - zero.astype("float32").transpose(0, 2, 1)[..., None]) * scale.transpose(0, 2, 1)[..., None]
        return (data @ wide.reshape(panels * 16, k)[:units].T).astype("float32")

    attrs = {"units": units, "bits": bits, "block_size": block}
    return g.add(lambda *parts: nn.matmul_nbits(*parts, **attrs), data, weight, scale, zero, want=want)
