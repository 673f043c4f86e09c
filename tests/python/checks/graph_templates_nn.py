"""Layers of networks in random graphs; see random_graphs.py."""

from graph_templates import is_float
from random_graphs import Graph, template
from tessera import relay

nn = relay.nn
LAYOUTS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}
KERNELS = {"NCW": "OIW", "NWC": "WIO", "NCHW": "OIHW", "NHWC": "HWIO", "NCDHW": "OIDHW", "NDHWC": "DHWIO"}


def image(g, rank=2, channels_last=False, least=2):
    """A float32 tensor (n, c, spatial...), its channels, and its spatial extents."""

    def fits(v):
        spatial = v.shape[1:-1] if channels_last else v.shape[2:]
        return v.dtype == "float32" and v.ndim == rank + 2 and v.size and min(spatial) >= least

    spatial = [g.rng.randrange(least, 8) for _ in range(rank)]
    channels = g.rng.choice((1, 2, 3, 4, 8))
    shape = (g.rng.choice((1, 2)), *spatial, channels) if channels_last else (g.rng.choice((1, 2)), channels, *spatial)
    at = g.find(fits, shape, "float32")
    shape = g.nodes[at].value.shape
    return at, shape[-1] if channels_last else shape[1], shape[1:-1] if channels_last else shape[2:]


def vector(g, size, low=-1.0, high=1.0):
    return g.fresh((size,), "float32", low=low, high=high)


@template(3)
def convolution(g: Graph):
    rank = g.rng.choice((1, 2, 2, 2, 3))
    last = g.rng.random() < 0.3
    at, channels, spatial = image(g, rank, last)
    layout = LAYOUTS[rank][last]
    kernel = [g.rng.randrange(1, min(n, 3) + 1) for n in spatial]
    groups = g.rng.choice([d for d in (1, 1, 1, channels) if channels % d == 0]) if not last else 1
    filters = groups * g.rng.choice((1, 2, 3))
    weight = (filters, channels // groups, *kernel) if not last else (*kernel, channels, filters)
    options = {
        "channels": filters,
        "kernel_size": kernel,
        "strides": [g.rng.choice((1, 1, 2)) for _ in range(rank)],
        "padding": [g.rng.choice((0, 0, 1)) for _ in range(2 * rank)],
        "groups": groups,
        "data_layout": layout,
        "kernel_layout": KERNELS[layout],
    }
    w = g.fresh(weight, "float32", low=-0.5, high=0.5)
    out = g.add(lambda x, w: getattr(nn, f"conv{rank}d")(x, w, **options), at, w)
    if out is not None and g.rng.random() < 0.5:
        axis = -1 if last else 1
        g.add(lambda x, b: nn.bias_add(x, b, axis=axis), out, vector(g, filters))


@template()
def transposed_convolution(g: Graph):
    rank = g.rng.choice((1, 2, 2, 3))
    at, channels, _ = image(g, rank)
    kernel = [g.rng.randrange(1, 4) for _ in range(rank)]
    filters = g.rng.choice((1, 2, 3))
    strides = [g.rng.choice((1, 2)) for _ in range(rank)]
    w = g.fresh((channels, filters, *kernel), "float32", low=-0.5, high=0.5)
    make = getattr(nn, f"conv{rank}d_transpose")
    g.add(lambda x, w: make(x, w, channels=filters, kernel_size=kernel, strides=strides), at, w)


@template(2)
def pool(g: Graph):
    rank = g.rng.choice((1, 2, 2, 3))
    at, _, spatial = image(g, rank)
    size = [g.rng.randrange(1, min(n, 3) + 1) for n in spatial]
    options = {
        "pool_size": size,
        "strides": [g.rng.choice((1, 2)) for _ in range(rank)],
        "padding": [g.rng.randrange((k + 1) // 2) for k in size] * 2,
        "ceil_mode": g.rng.random() < 0.2,
    }
    if g.rng.random() < 0.5:
        g.add(lambda x: getattr(nn, f"max_pool{rank}d")(x, **options), at)
    else:
        counts = g.rng.random() < 0.5
        g.add(lambda x: getattr(nn, f"avg_pool{rank}d")(x, count_include_pad=counts, **options), at)


@template()
def whole_pool(g: Graph):
    at, _, spatial = image(g)
    size = [g.rng.randrange(1, n + 1) for n in spatial]
    kind = g.rng.choice(
        (
            nn.global_avg_pool2d,
            nn.global_max_pool2d,
            lambda x: nn.adaptive_avg_pool2d(x, size),
            lambda x: nn.adaptive_max_pool2d(x, size),
        )
    )
    g.add(kind, at)


@template(2)
def product(g: Graph):
    m, k, n = (g.rng.choice((1, 2, 3, 5, 8, 16)) for _ in range(3))
    if g.rng.random() < 0.6:
        a = g.find(lambda v: v.dtype == "float32" and v.ndim == 2 and v.size, (m, k), "float32")
        k = g.nodes[a].value.shape[1]
        b = g.fresh((n, k), "float32", low=-0.5, high=0.5)
        return g.add(lambda x, w: nn.dense(x, w, units=n), a, b)
    batch = g.rng.choice((1, 2, 3))
    a = g.find(lambda v: v.dtype == "float32" and v.ndim == 3 and v.size, (batch, m, k), "float32")
    batch, _, k = g.nodes[a].value.shape
    b = g.fresh((g.rng.choice((1, batch)), n, k), "float32", low=-0.5, high=0.5)
    g.add(nn.batch_matmul, a, b)


@template(2)
def activation(g: Graph):
    at = g.pick(lambda v: v.dtype == "float32" and v.ndim > 0 and v.size > 0)
    if at is None:
        return
    axis = g.rng.randrange(-g.nodes[at].value.ndim, g.nodes[at].value.ndim)
    kind = g.rng.choice(
        (
            nn.relu,
            lambda x: nn.leaky_relu(x, alpha=0.1),
            lambda x: nn.softmax(x, axis=axis),
            lambda x: nn.log_softmax(x, axis=axis),
            lambda x: nn.l2_normalize(x, eps=1e-3, axis=[axis % g_rank(g, at)]),
        )
    )
    g.add(kind, at)


def g_rank(g, at):
    return g.nodes[at].value.ndim


@template(2)
def normalization(g: Graph):
    at, channels, _ = image(g)
    gamma, beta = vector(g, channels, 0.5, 1.5), vector(g, channels)
    kind = g.rng.randrange(4)
    if kind == 0:
        mean, var = vector(g, channels), vector(g, channels, 0.5, 1.5)
        return g.add(lambda x, a, b, m, v: nn.batch_norm(x, a, b, m, v)[0], at, gamma, beta, mean, var)
    if kind == 1:
        return g.add(lambda x, a, b: nn.layer_norm(x, a, b, axis=1), at, gamma, beta)
    if kind == 2:
        return g.add(nn.instance_norm, at, gamma, beta)
    groups = g.rng.choice([d for d in range(1, channels + 1) if channels % d == 0])
    g.add(lambda x, a, b: nn.group_norm(x, a, b, groups), at, gamma, beta)


@template()
def padded(g: Graph):
    at = g.pick(lambda v: is_float(v) and v.ndim > 0 and v.size)
    if at is None:
        return
    widths = [[g.rng.randrange(2), g.rng.randrange(3)] for _ in range(g_rank(g, at))]
    mode = g.rng.choice(("constant", "constant", "edge"))
    g.add(lambda x: nn.pad(x, widths, 0.5 if mode == "constant" else 0, mode), at)


@template()
def resized(g: Graph):
    at, _, _ = image(g)
    size = [g.rng.randrange(1, 9) for _ in range(2)]
    method = g.rng.choice(("linear", "cubic"))
    mode = g.rng.choice(("half_pixel", "align_corners", "asymmetric"))
    g.add(lambda x: relay.image.resize2d(x, size, method=method, coordinate_transformation_mode=mode), at)


@template(0.5)
def depth_and_space(g: Graph):
    at, channels, spatial = image(g)
    if all(n % 2 == 0 for n in spatial):
        g.add(lambda x: nn.space_to_depth(x, 2), at)
    elif channels % 4 == 0:
        g.add(lambda x: nn.depth_to_space(x, 2), at)
    else:
        g.add(nn.batch_flatten, at)
