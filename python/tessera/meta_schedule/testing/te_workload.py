"""Tensor computations of one operator each, under the names and shapes that tests of schedules use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import te, tir, topi

__all__ = [
    "CONFIGS",
    "batch_matmul_nkkm",
    "conv1d_nlc",
    "conv2d_capsule_nhwijc",
    "conv2d_nchw",
    "conv2d_nchw_bias_bn_relu",
    "conv2d_nhwc",
    "conv2d_nhwc_without_layout_rewrite",
    "conv2d_transpose_nhwc",
    "conv3d_ndhwc",
    "create_te_workload",
    "depthwise_conv2d_nhwc",
    "matmul",
    "matmul_relu",
    "max_pool2d_nchw",
    "norm_bmn",
    "softmax_mn",
    "transpose_batch_matmul",
]

Tensors = tuple[Any, ...]


def _each(value: Any, rank: int) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value] * rank


def _padded(data: Any, padding: Sequence[Any], first: int = 1) -> Any:
    """The data with zeros around the dimensions from `first` on."""
    before = [0] * first + list(padding)
    return topi.nn.pad(data, before + [0] * (len(data.shape) - len(before)), name="PadInput")


def _conv_channels_last(
    spatial: Sequence[int], N: int, CI: int, CO: int, options: Sequence[Any], in_dtype: str, out_dtype: str
) -> Tensors:
    """out[n, x..., co] = sum of inputs[n, x * stride + r * dilation..., group of co and c] * weight[r..., c, co]."""
    rank = len(spatial)
    kernel, stride, padding, dilation = (_each(option, rank) for option in options[:4])
    groups = options[4]
    inputs = te.placeholder((N, *spatial, CI), name="inputs", dtype=in_dtype)
    weight = te.placeholder((*kernel, CI // groups, CO), name="weight", dtype=in_dtype)
    padded = _padded(inputs, padding)
    extents = [
        (size + 2 * p - d * (k - 1) - 1) // s + 1
        for size, k, s, p, d in zip(spatial, kernel, stride, padding, dilation)
    ]
    window = [te.reduce_axis((0, k), name=name) for k, name in zip(kernel, ("rd", "rh", "rw")[-rank:])]
    rc = te.reduce_axis((0, CI // groups), name="rc")

    def at(*index: Any) -> Any:
        n, co = index[0], index[-1]
        where = [x * s + r * d for x, s, r, d in zip(index[1:-1], stride, window, dilation)]
        channel = co // (CO // groups) * (CI // groups) + rc  # also of one group, as v0.10 writes it
        return te.sum(
            padded[(n, *where, channel)].astype(out_dtype) * weight[(*window, rc, co)].astype(out_dtype),
            axis=[*window, rc],
        )

    name = f"conv{rank}d_{'nlc' if rank == 1 else 'nhwc' if rank == 2 else 'ndhwc'}"
    return inputs, weight, te.compute((N, *extents, CO), at, name=name)


def conv1d_nlc(
    N: int,
    L: int,
    CI: int,
    CO: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    in_dtype: str = "float32",
    out_dtype: str = "float32",
) -> Tensors:
    """A convolution over length."""
    options = (kernel_size, stride, padding, dilation, groups)
    return _conv_channels_last([L], N, CI, CO, options, in_dtype, out_dtype)


def conv2d_nhwc(
    N: int,
    H: int,
    W: int,
    CI: int,
    CO: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    in_dtype: str = "float32",
    out_dtype: str = "float32",
) -> Tensors:
    """A convolution over images whose channels come last."""
    options = (kernel_size, stride, padding, dilation, groups)
    return _conv_channels_last([H, W], N, CI, CO, options, in_dtype, out_dtype)


def conv2d_nhwc_without_layout_rewrite(
    Input: Any, Filter: Any, stride: Any, padding: Any, dilation: Any, out_dtype: str = "float32"
) -> Any:
    """The same of two given tensors."""
    return topi.nn.conv2d_nhwc(Input, Filter, stride, padding, dilation, out_dtype)


def conv3d_ndhwc(
    N: int,
    D: int,
    H: int,
    W: int,
    CI: int,
    CO: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    in_dtype: str = "float32",
    out_dtype: str = "float32",
) -> Tensors:
    """A convolution over volumes whose channels come last."""
    options = (kernel_size, stride, padding, dilation, groups)
    return _conv_channels_last([D, H, W], N, CI, CO, options, in_dtype, out_dtype)


def depthwise_conv2d_nhwc(
    N: int,
    H: int,
    W: int,
    C: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    factor: int = 1,
    in_dtype: str = "float32",
    out_dtype: str = "float32",
) -> Tensors:
    """A convolution of each channel by itself."""
    kernel, stride, padding, dilation = (_each(o, 2) for o in (kernel_size, stride, padding, dilation))
    inputs = te.placeholder((N, H, W, C), name="placeholder", dtype=in_dtype)
    weight = te.placeholder((factor, *kernel, C), name="weight", dtype=in_dtype)
    padded = _padded(inputs, padding)
    extents = [
        (size + 2 * p - d * (k - 1) - 1) // s + 1 for size, k, s, p, d in zip((H, W), kernel, stride, padding, dilation)
    ]
    rh, rw = te.reduce_axis((0, kernel[0]), name="rh"), te.reduce_axis((0, kernel[1]), name="rw")
    output = te.compute(
        (N, *extents, C),
        lambda n, h, w, c: te.sum(
            padded[n, h * stride[0] + rh * dilation[0], w * stride[1] + rw * dilation[1], c // factor].astype(out_dtype)
            * weight[c % factor, rh, rw, c // factor].astype(out_dtype),
            axis=[rh, rw],
        ),
        name="depth_conv2d_nhwc",
    )
    return inputs, weight, output


def conv2d_transpose_nhwc(
    N: int,
    H: int,
    W: int,
    CI: int,
    CO: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: Any = 0,
    in_dtype: str = "float32",
    out_dtype: str = "float32",
) -> Tensors:
    """A transposed convolution: the inputs, spread by the stride, under the kernel read backwards."""
    kernel, stride, padding = (_each(o, 2) for o in (kernel_size, stride, padding))
    inputs = te.placeholder((N, H, W, CI), name="inputs", dtype=in_dtype)
    weight = te.placeholder((*kernel, CI, CO), name="weight", dtype=in_dtype)
    edge = [k - 1 - p for k, p in zip(kernel, padding)]
    before = [(e + s - 1) // s for e, s in zip(edge, stride)]  # rows of zeros before the data, unspread
    extents = [(size - 1) * s + k - 2 * p for size, s, k, p in zip((H, W), stride, kernel, padding)]
    padded = _padded(inputs, before)
    rh, rw = te.reduce_axis((0, kernel[0]), name="rh"), te.reduce_axis((0, kernel[1]), name="rw")
    rc = te.reduce_axis((0, CI), name="rc")

    def at(n: Any, h: Any, w: Any, co: Any) -> Any:
        y, x = h + rh + (before[0] * stride[0] - edge[0]), w + rw + (before[1] * stride[1] - edge[1])
        value = tir.if_then_else(
            tir.all(tir.floormod(y, stride[0]) == 0, tir.floormod(x, stride[1]) == 0),
            padded[n, tir.floordiv(y, stride[0]), tir.floordiv(x, stride[1]), rc],
            tir.const(0, in_dtype),
        )
        turned = weight[kernel[0] - 1 - rh, kernel[1] - 1 - rw, rc, co]
        return te.sum(value.astype(out_dtype) * turned.astype(out_dtype), axis=[rh, rw, rc])

    return inputs, weight, te.compute((N, *extents, CO), at, name="conv2d_transpose_nhwc")


def conv2d_capsule_nhwijc(
    N: int,
    H: int,
    W: int,
    CI: int,
    CO: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: Any = 0,
    capsule_size: int = 4,
    in_dtype: str = "float32",
    out_dtype: str = "float32",
) -> Tensors:
    """A convolution whose elements are square matrices."""
    kernel, stride, padding = (_each(o, 2) for o in (kernel_size, stride, padding))
    size = capsule_size
    inputs = te.placeholder((N, H, W, size, size, CI), name="inputs", dtype=in_dtype)
    weight = te.placeholder((*kernel, size, size, CI, CO), name="weight", dtype=in_dtype)
    padded = _padded(inputs, padding)
    extents = [(side + 2 * p - k) // s + 1 for side, k, s, p in zip((H, W), kernel, stride, padding)]
    rh, rw = te.reduce_axis((0, kernel[0]), name="rh"), te.reduce_axis((0, kernel[1]), name="rw")
    inner, rc = te.reduce_axis((0, size), name="cap_k"), te.reduce_axis((0, CI), name="rc")
    output = te.compute(
        (N, *extents, size, size, CO),
        lambda n, h, w, i, j, co: te.sum(
            padded[n, h * stride[0] + rh, w * stride[1] + rw, i, inner, rc].astype(out_dtype)
            * weight[rh, rw, inner, j, rc, co].astype(out_dtype),
            axis=[rh, rw, inner, rc],
        ),
        name="conv2d_capsule_nhwijc",
    )
    return inputs, weight, output


def batch_matmul_nkkm(B: int, N: int, M: int, K: int, in_dtype: str = "float32", out_dtype: str = "float32") -> Tensors:
    """Matmuls of a batch."""
    x = te.placeholder((B, N, K), name="X", dtype=in_dtype)
    y = te.placeholder((B, K, M), name="Y", dtype=in_dtype)
    k = te.reduce_axis((0, K), name="k")
    z = te.compute(
        (B, N, M),
        lambda b, i, j: te.sum(x[b, i, k].astype(out_dtype) * y[b, k, j].astype(out_dtype), axis=[k]),
        name="Z",
    )
    return x, y, z


def transpose_batch_matmul(
    batch: int, seq_len: int, n_head: int, n_dim: int, in_dtype: str = "float32", out_dtype: str = "float32"
) -> Tensors:
    """The scores of attention: queries times keys, head by head."""
    query = te.placeholder((batch, seq_len, n_head, n_dim), name="query", dtype=in_dtype)
    value = te.placeholder((batch, seq_len, n_head, n_dim), name="value", dtype=in_dtype)
    heads = (batch, n_head, seq_len, n_dim)
    query_t = te.compute(heads, lambda b, h, l, d: query[b, l, h, d], name="query_T")
    value_t = te.compute((batch, n_head, n_dim, seq_len), lambda b, h, d, l: value[b, l, h, d], name="value_T")
    k = te.reduce_axis((0, n_dim), name="k")
    out = te.compute(
        (batch, n_head, seq_len, seq_len),
        lambda b, h, i, j: te.sum(
            query_t[b, h, i, k].astype(out_dtype) * value_t[b, h, k, j].astype(out_dtype), axis=[k]
        ),
        name="C",
    )
    return query, value, out


def matmul(n: int, m: int, k: int, in_dtype: str = "float32", out_dtype: str = "float32") -> Tensors:
    """C[i, j] = sum over k of A[i, k] * B[k, j]."""
    a = te.placeholder((n, k), name="A", dtype=in_dtype)
    b = te.placeholder((k, m), name="B", dtype=in_dtype)
    r = te.reduce_axis((0, k), name="k")
    c = te.compute(
        (n, m),
        lambda i, j: te.sum(a[i, r].astype(out_dtype) * b[r, j].astype(out_dtype), axis=[r]),
        name="C",
    )
    return a, b, c


def matmul_relu(n: int, m: int, k: int, in_dtype: str = "float32", out_dtype: str = "float32") -> Tensors:
    """A matmul and its rectifier."""
    a, b, c = matmul(n, m, k, in_dtype, out_dtype)
    return a, b, topi.nn.relu(c)


def _conv2d_nchw(data: Any, weight: Any, stride: int, padding: int, dilation: int) -> Any:
    n, ci, h, w = (int(extent) for extent in data.shape)
    co, _, kh, kw = (int(extent) for extent in weight.shape)
    padded = _padded(data, [padding, padding], 2)
    extents = [(size + 2 * padding - dilation * (k - 1) - 1) // stride + 1 for size, k in ((h, kh), (w, kw))]
    rc, rh, rw = (te.reduce_axis((0, e), name=name) for e, name in ((ci, "rc"), (kh, "rh"), (kw, "rw")))
    return te.compute(
        (n, co, *extents),
        lambda i, c, y, x: te.sum(
            padded[i, rc, y * stride + rh * dilation, x * stride + rw * dilation] * weight[c, rc, rh, rw],
            axis=[rc, rh, rw],
        ),
        name="conv2d_nchw",
    )


def conv2d_nchw(
    n: int,
    h: int,
    w: int,
    ci: int,
    co: int,
    kh: int,
    kw: int,
    stride: int,
    padding: int,
    dilation: int = 1,
    in_dtype: str = "float32",
    out_dtype: str = "float32",
) -> Tensors:
    """A convolution over images whose channels come first."""
    del out_dtype
    x = te.placeholder((n, ci, h, w), name="X", dtype=in_dtype)
    weight = te.placeholder((co, ci, kh, kw), name="W", dtype=in_dtype)
    return x, weight, _conv2d_nchw(x, weight, stride, padding, dilation)


def conv2d_nchw_bias_bn_relu(
    n: int,
    h: int,
    w: int,
    ci: int,
    co: int,
    kh: int,
    kw: int,
    stride: int,
    padding: int,
    dilation: int = 1,
    in_dtype: str = "float32",
    out_dtype: str = "float32",
) -> Tensors:
    """The same with a bias, a scale and an offset for each channel, and a rectifier."""
    x, weight, y = conv2d_nchw(n, h, w, ci, co, kh, kw, stride, padding, dilation, in_dtype, out_dtype)
    bias, scale, offset = (te.placeholder((co, 1, 1), name=name) for name in ("bias", "bn_scale", "bn_offset"))
    y = te.compute(y.shape, lambda i, c, p, q: y[i, c, p, q] + bias[c, 0, 0], name="bias_add")
    z = te.compute(y.shape, lambda i, c, p, q: y[i, c, p, q] * scale[c, 0, 0], name="bn_mul")
    out = te.compute(z.shape, lambda i, c, p, q: z[i, c, p, q] + offset[c, 0, 0], name="bn_add")
    return x, weight, bias, scale, offset, topi.nn.relu(out)


def _conv2d_nhwc_bn_relu(
    N: int,
    H: int,
    W: int,
    CI: int,
    CO: int,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any = 1,
    in_dtype: str = "float32",
    out_dtype: str = "float32",
) -> Tensors:
    data, kernel, y = conv2d_nhwc(N, H, W, CI, CO, kernel_size, stride, padding, dilation, 1, in_dtype, out_dtype)
    bias, scale, offset = (te.placeholder((CO,), name=name) for name in ("bias", "bn_scale", "bn_offset"))
    y = te.compute(y.shape, lambda i, p, q, c: y[i, p, q, c] + bias[c], name="bias_add")
    z = te.compute(y.shape, lambda i, p, q, c: y[i, p, q, c] * scale[c], name="bn_mul")
    out = te.compute(z.shape, lambda i, p, q, c: z[i, p, q, c] + offset[c], name="bn_add")
    return data, kernel, bias, offset, scale, topi.nn.relu(out)


def max_pool2d_nchw(n: int, h: int, w: int, ci: int, padding: int) -> Tensors:
    """Maxima of windows of two by two, which do not overlap."""
    x = te.placeholder((n, ci, h, w), name="X")
    return x, topi.nn.pool2d(x, [2, 2], [1, 1], [1, 1], [padding] * 4, "max")


def norm_bmn(B: int, M: int, N: int) -> Tensors:
    """The Euclidean norm of each matrix of a batch."""
    a = te.placeholder((B, M, N), name="A")
    i, j = te.reduce_axis((0, M), name="i"), te.reduce_axis((0, N), name="j")
    squares = te.compute((B,), lambda b: te.sum(a[b, i, j] * a[b, i, j], axis=[i, j]), name="C")
    return a, te.compute((B,), lambda b: te.sqrt(squares[b]), name="D")


def softmax_mn(m: int, n: int) -> Tensors:
    """A softmax of each row."""
    a = te.placeholder((m, n), name="A")
    return a, topi.nn.softmax(a, axis=1)


#: Name of a workload, the function that makes it, and the arguments by index.
CONFIGS: dict[str, tuple[Callable[..., Tensors], list[tuple[Any, ...]]]] = {
    "C1D": (
        conv1d_nlc,
        [
            (1, 256, 64, 128, 3, 2, 1),
            (1, 128, 128, 256, 1, 2, 0),
            (1, 64, 256, 256, 5, 1, 2),
            (1, 32, 512, 512, 3, 1, 1),
        ],
    ),
    "C2D": (
        conv2d_nhwc,
        [
            (1, 224, 224, 3, 64, 7, 2, 3),
            (1, 56, 56, 64, 128, 1, 2, 0),
            (1, 28, 28, 256, 256, 5, 1, 2),
            (1, 14, 14, 512, 512, 3, 1, 1),
        ],
    ),
    "C3D": (
        conv3d_ndhwc,
        [
            (1, 16, 224, 224, 3, 64, 7, 2, 3),
            (1, 16, 56, 56, 64, 128, 1, 2, 0),
            (1, 16, 28, 28, 256, 256, 5, 1, 2),
            (1, 16, 14, 14, 512, 512, 3, 1, 1),
        ],
    ),
    "GMM": (batch_matmul_nkkm, [(1, 128, 128, 128), (1, 512, 32, 512), (1, 512, 512, 512), (1, 1024, 1024, 1024)]),
    "GRP": (
        conv2d_nhwc,
        [
            (1, 56, 56, 64, 128, 3, 2, 1, 1, 4),
            (1, 56, 56, 64, 64, 1, 2, 0, 1, 4),
            (1, 28, 28, 128, 256, 3, 1, 1, 1, 4),
            (1, 14, 14, 256, 512, 3, 1, 1, 1, 4),
        ],
    ),
    "DIL": (
        conv2d_nhwc,
        [
            (1, 224, 224, 3, 64, 7, 2, 3, 2),
            (1, 56, 56, 64, 64, 1, 2, 0, 2),
            (1, 28, 28, 128, 128, 3, 1, 1, 2),
            (1, 14, 14, 256, 512, 3, 1, 1, 2),
        ],
    ),
    "DEP": (
        depthwise_conv2d_nhwc,
        [(1, 112, 112, 32, 3, 1, 1), (1, 112, 112, 64, 3, 2, 1), (1, 28, 28, 256, 3, 1, 1), (1, 14, 14, 512, 3, 1, 1)],
    ),
    "T2D": (
        conv2d_transpose_nhwc,
        [
            (1, 4, 4, 512, 256, 4, 2, 1),
            (1, 8, 8, 256, 128, 4, 2, 1),
            (1, 16, 16, 128, 64, 4, 2, 1),
            (1, 32, 32, 64, 3, 4, 2, 1),
        ],
    ),
    "CAP": (
        conv2d_capsule_nhwijc,
        [
            (1, 16, 16, 32, 32, 3, 2, 1),
            (1, 8, 8, 32, 32, 3, 1, 1),
            (1, 16, 16, 8, 16, 3, 2, 1),
            (1, 8, 8, 16, 16, 3, 1, 1),
        ],
    ),
    "NRM": (norm_bmn, [(1, 256, 256), (1, 512, 512), (1, 1024, 1024), (1, 4096, 1024)]),
    "SFM": (softmax_mn, [(256, 256), (512, 512), (1024, 1024), (2048, 2048)]),
    "CBR": (
        _conv2d_nhwc_bn_relu,
        [(1, 224, 224, 3, 64, 7, 2, 3), (1, 56, 56, 64, 128, 1, 2, 0), (1, 28, 28, 256, 256, 5, 1, 2)],
    ),
    "TBG": (transpose_batch_matmul, [(1, 128, 12, 64), (1, 128, 16, 64), (1, 64, 12, 128), (1, 128, 12, 128)]),
}


def create_te_workload(name: str, idx: int) -> tir.PrimFunc:
    """The workload of a name with its arguments of an index, as a function of blocks."""
    make, arguments = CONFIGS[name]
    return te.create_prim_func(list(make(*arguments[idx])))
