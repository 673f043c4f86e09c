"""Workloads for tests of the auto-scheduler."""

from __future__ import annotations

from typing import Any

from .. import auto_scheduler, te, tir, topi
from ..auto_scheduler import register_workload

__all__ = [
    "conv2d_nchw_bn_relu_auto_scheduler_test",
    "conv2d_winograd_nhwc_auto_scheduler_test",
    "double_matmul_auto_scheduler_test",
    "get_tiled_matmul",
    "invalid_compute_definition",
    "matmul_auto_scheduler_test",
    "matmul_auto_scheduler_test_rename_0",
    "max_pool2d_auto_scheduler_test",
    "min_nm_auto_scheduler_test",
    "parallel_matmul_auto_scheduler_test",
    "softmax_abcd_auto_scheduler_test",
    "softmax_nm_auto_scheduler_test",
    "zero_rank_compute_auto_scheduler_test",
    "zero_rank_reduce_auto_scheduler_test",
]


def _matmul(a: Any, b: Any, n: int, m: int, k: int, name: str, **attrs: Any) -> Any:
    axis = te.reduce_axis((0, k), name="k")
    return te.compute((n, m), lambda i, j: te.sum(a[i, axis] * b[axis, j], axis=[axis]), name=name, **attrs)


@register_workload
def matmul_auto_scheduler_test(N: int, M: int, K: int) -> list[Any]:
    """C = A B, where B may be laid out anew."""
    a = te.placeholder((N, K), name="A")
    b = te.placeholder((K, M), name="B")
    return [a, b, _matmul(a, b, N, M, K, "C", attrs={"layout_free_placeholders": [b]})]


@register_workload
def double_matmul_auto_scheduler_test(N: int) -> list[Any]:
    """(A B) C: the second matmul reads the first."""
    a, b, c = (te.placeholder((N, N), name=name) for name in "ABC")
    d = _matmul(a, b, N, N, N, "D")
    return [a, b, c, _matmul(d, c, N, N, N, "E")]


@register_workload
def parallel_matmul_auto_scheduler_test(N: int) -> list[Any]:
    """A B and A C: two matmuls side by side."""
    a, b, c = (te.placeholder((N, N), name=name) for name in "ABC")
    return [a, b, c, _matmul(a, b, N, N, N, "D"), _matmul(a, c, N, N, N, "E")]


@register_workload("matmul_auto_scheduler_test_rename_1")
def matmul_auto_scheduler_test_rename_0(N: int, M: int, K: int) -> list[Any]:
    """A matmul that is registered under another name."""
    a = te.placeholder((N, K), name="A")
    b = te.placeholder((K, M), name="B")
    return [a, b, _matmul(a, b, N, M, K, "C")]


@register_workload
def conv2d_nchw_bn_relu_auto_scheduler_test(
    N: int, H: int, W: int, CI: int, CO: int, kernel_size: int, strides: int, padding: int, dilation: int = 1
) -> list[Any]:
    """A convolution with bias, batch normalisation and ReLU."""
    data = te.placeholder((N, CI, H, W), name="Data")
    kernel = te.placeholder((CO, CI, kernel_size, kernel_size), name="Kernel")
    bias, bn_scale, bn_offset = (te.placeholder((CO, 1, 1), name=name) for name in ("Bias", "Bn_scale", "Bn_offset"))
    height = (H + 2 * padding - (kernel_size - 1) * dilation - 1) // strides + 1
    width = (W + 2 * padding - (kernel_size - 1) * dilation - 1) // strides + 1
    shape = (N, CO, height, width)
    conv = topi.nn.conv2d_nchw(data, kernel, strides, padding, dilation)
    conv = te.compute(shape, lambda i, j, k, l: conv[i, j, k, l] + bias[j, 0, 0], name="Bias_add")
    conv = te.compute(shape, lambda i, j, k, l: conv[i, j, k, l] * bn_scale[j, 0, 0], name="Bn_mul")
    conv = te.compute(shape, lambda i, j, k, l: conv[i, j, k, l] + bn_offset[j, 0, 0], name="Bn_add")
    return [data, kernel, bias, bn_offset, bn_scale, topi.nn.relu(conv)]


@register_workload
def max_pool2d_auto_scheduler_test(N: int, H: int, W: int, CI: int, padding: int) -> list[Any]:
    """A maximum over windows of 2 by 2."""
    data = te.placeholder((N, CI, H, W), name="Data")
    out = topi.nn.pool2d(data, [2, 2], [1, 1], [1, 1], [padding, padding, padding, padding], "max")
    return [data, out]


@register_workload
def min_nm_auto_scheduler_test(N: int, M: int) -> list[Any]:
    """The minimum of each row."""
    a = te.placeholder((N, M), name="A")
    return [a, topi.min(a, axis=-1)]


@register_workload
def softmax_nm_auto_scheduler_test(N: int, M: int) -> list[Any]:
    """The softmax of rows."""
    a = te.placeholder((N, M), name="A")
    return [a, topi.nn.softmax(a, axis=1)]


@register_workload
def softmax_abcd_auto_scheduler_test(a: int, b: int, c: int, d: int) -> list[Any]:
    """The softmax of the innermost of four dimensions."""
    x = te.placeholder((a, b, c, d), name="A")
    return [x, topi.nn.softmax(x, axis=-1)]


@register_workload
def conv2d_winograd_nhwc_auto_scheduler_test(
    N: int,
    H: int,
    W: int,
    CI: int,
    CO: int,
    kernel_size: int = 3,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
) -> list[Any]:
    """A convolution by Winograd's algorithm, its weight transformed already."""
    tile = 4
    inputs = te.placeholder((N, H, W, CI), name="inputs")
    height = (H + 2 * padding - (kernel_size - 1) * dilation - 1) // stride + 1
    width = (W + 2 * padding - (kernel_size - 1) * dilation - 1) // stride + 1
    alpha = kernel_size + tile - 1
    weight = te.placeholder((alpha, alpha, CO, CI), name="weight")
    matrix_a, matrix_b, _ = topi.nn.winograd_transform_matrices(tile, kernel_size, "float32")
    tiles_h, tiles_w = (height + tile - 1) // tile, (width + tile - 1) // tile
    points = N * tiles_h * tiles_w
    per_image = tiles_h * tiles_w
    padded = topi.nn.pad(
        inputs,
        (0, padding, padding, 0),
        (0, tiles_h * tile + kernel_size - 1 - H - padding, tiles_w * tile + kernel_size - 1 - W - padding, 0),
        name="data_pad",
    )
    idxdiv: Any = tir.indexdiv
    idxmod: Any = tir.indexmod
    input_tile = te.compute(
        (alpha, alpha, points, CI),
        lambda eps, nu, p, ci: padded[
            idxdiv(p, per_image),
            idxmod(idxdiv(p, tiles_w), tiles_h) * tile + eps,
            idxmod(p, tiles_w) * tile + nu,
            ci,
        ],
        name="input_tile",
    )
    r_a, r_b = te.reduce_axis((0, alpha), "r_a"), te.reduce_axis((0, alpha), "r_b")
    data_pack = te.compute(
        (alpha, alpha, points, CI),
        lambda eps, nu, p, ci: te.sum(
            input_tile[r_a, r_b, p, ci] * matrix_b[r_a, eps] * matrix_b[r_b, nu], axis=[r_a, r_b]
        ),
        name="data_pack",
        attrs={"auto_scheduler_simplify_const_tensor_indices": ["eps", "nu", "r_a", "r_b"]},
    )
    ci = te.reduce_axis((0, CI), name="ci")
    product = te.compute(
        (alpha, alpha, points, CO),
        lambda eps, nu, p, co: te.sum(data_pack[eps, nu, p, ci] * weight[eps, nu, co, ci], axis=[ci]),
        name="bgemm",
        attrs={"layout_free_placeholders": [weight]},
    )
    s_a, s_b = te.reduce_axis((0, alpha), "r_a"), te.reduce_axis((0, alpha), "r_b")
    inverse = te.compute(
        (tile, tile, points, CO),
        lambda vh, vw, p, co: te.sum(product[s_a, s_b, p, co] * matrix_a[s_a, vh] * matrix_a[s_b, vw], axis=[s_a, s_b]),
        name="inverse",
        attrs={"auto_scheduler_simplify_const_tensor_indices": ["vh", "vw", "r_a", "r_b"]},
    )
    output = te.compute(
        (N, height, width, CO),
        lambda n, h, w, co: inverse[
            idxmod(h, tile), idxmod(w, tile), n * per_image + idxdiv(h, tile) * tiles_w + idxdiv(w, tile), co
        ],
        name="conv2d_winograd",
    )
    return [inputs, weight, output]


def get_tiled_matmul() -> tuple[Any, Any]:
    """The DAG of a matmul, and a state in which it is tiled."""
    a, b, c = matmul_auto_scheduler_test(512, 512, 512)
    dag = auto_scheduler.ComputeDAG([a, b, c])
    state = dag.get_init_state()
    rows = state.split(c, state[c].iters[0], [4, 8, 8])
    columns = state.split(c, state[c].iters[4], [8, 4, 4])
    state.reorder(
        c,
        [
            rows[0],
            columns[0],
            rows[1],
            columns[1],
            rows[2],
            columns[2],
            state[c].iters[8],
            rows[3],
            columns[3],
        ],
    )
    return dag, state


@register_workload
def invalid_compute_definition() -> list[Any]:
    """Two reduce axes of one name, which a ComputeDAG rejects: loops are known by the names of their axes."""
    a = te.placeholder((10, 10), name="A")
    r1 = te.reduce_axis((0, 2), name="r1")
    r2 = te.reduce_axis((0, 2), name="r1")
    b = te.compute((10,), lambda i: te.sum(a[i][r1 + r2], axis=[r1, r2]), name="B")
    return [a, b]


@register_workload
def zero_rank_reduce_auto_scheduler_test(N: int) -> list[Any]:
    """The sum of all elements: a tensor without dimensions."""
    a = te.placeholder((N,), name="A")
    k = te.reduce_axis((0, N), name="k")
    return [a, te.compute((), lambda: te.sum(a[k], k), name="B")]


@register_workload
def zero_rank_compute_auto_scheduler_test(N: int) -> list[Any]:
    """Tensors without dimensions one after the other."""
    a = te.placeholder((N,), name="A")
    b = te.compute((), lambda: a[0], name="B")
    return [a, b]
