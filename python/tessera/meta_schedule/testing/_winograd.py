"""Winograd's convolution F(4x4, 3x3) in tensor expressions, stage by stage."""

from __future__ import annotations

from ... import te, tir
from ...tir import PrimFunc
from ...topi.nn.winograd import winograd_transform_matrices

__all__ = ["winograd_conv2d"]


def winograd_conv2d(height: int, width: int, channels_in: int, channels_out: int) -> PrimFunc:
    """3x3 with padding 1 over an image whose channels come last; the weight is [6, 6, channels out, channels in]."""
    tile, alpha = 4, 6
    rows, columns = (height + tile - 1) // tile, (width + tile - 1) // tile
    data = te.placeholder((1, height, width, channels_in), name="placeholder")
    weight = te.placeholder((alpha, alpha, channels_out, channels_in), name="placeholder_1")
    a, b, _ = winograd_transform_matrices(tile, 3, "float32")
    padded = te.compute(
        (1, rows * tile + 2, columns * tile + 2, channels_in),
        lambda n, h, w, c: tir.if_then_else(
            tir.all(h >= 1, h < height + 1, w >= 1, w < width + 1), data[n, h - 1, w - 1, c], 0.0
        ),
        name="data_pad",
    )
    input_tile = te.compute(
        (alpha, alpha, rows * columns, channels_in),
        lambda eps, nu, p, ci: padded[tir.const(0, "int32"), p // columns * tile + eps, p % columns * tile + nu, ci],
        name="input_tile",
    )
    r_a, r_b = te.reduce_axis((0, alpha), "r_a"), te.reduce_axis((0, alpha), "r_b")
    data_pack = te.compute(
        (alpha, alpha, rows * columns, channels_in),
        lambda eps, nu, p, ci: te.sum(input_tile[r_a, r_b, p, ci] * b[r_a, eps] * b[r_b, nu], axis=[r_a, r_b]),
        name="data_pack",
    )
    ci = te.reduce_axis((0, channels_in), "ci")
    bgemm = te.compute(
        (alpha, alpha, rows * columns, channels_out),
        lambda eps, nu, p, co: te.sum(data_pack[eps, nu, p, ci] * weight[eps, nu, co, ci], axis=[ci]),
        name="bgemm",
    )
    s_a, s_b = te.reduce_axis((0, alpha), "r_a"), te.reduce_axis((0, alpha), "r_b")
    inverse = te.compute(
        (tile, tile, rows * columns, channels_out),
        lambda vh, vw, p, co: te.sum(bgemm[s_a, s_b, p, co] * a[s_a, vh] * a[s_b, vw], axis=[s_a, s_b]),
        name="inverse",
    )
    out = te.compute(
        (1, height, width, channels_out),
        lambda n, h, w, co: inverse[h % tile, w % tile, n * rows * columns + h // tile * columns + w // tile, co],
        name="conv2d_winograd",
    )
    return te.create_prim_func([data, weight, out])
