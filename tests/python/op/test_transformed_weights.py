"""Convolutions with a weight that was transformed before, against the plain ones."""

import numpy as np
import pytest
import tessera
from tessera import relay


def run(body, *inputs):
    mod = tessera.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))
    return relay.create_executor("graph", mod=mod, target="llvm").evaluate()(*inputs).numpy()


def numbers(*shape):
    return np.random.default_rng(3).standard_normal(shape).astype("float32")


@pytest.mark.parametrize("kernel_size, tile", [((3, 3, 3), 2), ((3, 3, 3), 4), ((1, 3, 3), 4), ((5, 5, 5), 2)])
def test_winograd_in_three_dimensions(kernel_size, tile):
    padding = tuple(extent // 2 for extent in kernel_size)
    data, weight = numbers(1, 3, 6, 7, 9), numbers(4, 3, *kernel_size)
    x, options = relay.var("x", shape=data.shape), {"padding": padding, "channels": 4, "kernel_size": kernel_size}
    transformed = relay.nn.contrib_conv3d_winograd_weight_transform(relay.const(weight), tile)
    conv = relay.nn.contrib_conv3d_winograd_without_weight_transform(x, transformed, tile_size=tile, **options)
    wanted = run(relay.nn.conv3d(x, relay.const(weight), padding=padding), data)
    np.testing.assert_allclose(run(relay.nn.relu(conv), data), np.maximum(wanted, 0), 1e-3, 1e-3)


def test_strides_are_not_for_winograd():
    x, w = relay.var("x", shape=(1, 3, 6, 6, 6)), relay.var("w", shape=(4, 4, 4, 8, 3))
    conv = relay.nn.contrib_conv3d_winograd_without_weight_transform(
        x, w, tile_size=2, strides=2, channels=8, kernel_size=(3, 3, 3)
    )
    with pytest.raises(ValueError, match="strides and dilation of 1"):
        relay.build(tessera.IRModule.from_expr(conv), "llvm")


def test_weight_of_six_by_six_tiles():
    weight = numbers(2, 3, 3, 3)
    out = run(relay.nn.contrib_conv2d_winograd_nnpack_weight_transform(relay.var("w", shape=weight.shape), 3), weight)
    assert out.shape == (2, 3, 8, 8)
    # Row 0 is the point 0, the last one infinity: what a polynomial is there is its first and its last coefficient.
    np.testing.assert_allclose(out[:, :, -1, -1], weight[:, :, 2, 2], 1e-5)
    assert abs(out[:, :, 0, 0] / weight[:, :, 0, 0] - (out[0, 0, 0, 0] / weight[0, 0, 0, 0])).max() < 1e-4


@pytest.mark.parametrize("stride, dilation", [(1, 1), (2, 1), (1, 2)])
def test_convolution_as_a_matmul(stride, dilation):
    data, weight = numbers(2, 7, 8, 3), numbers(3, 3, 3, 5)
    x = relay.var("x", shape=data.shape)
    window = {"padding": 1, "strides": stride, "dilation": dilation}
    tiles = relay.nn.contrib_conv2d_gemm_weight_transform(relay.const(weight), tile_rows=4, tile_cols=16)
    typed = relay.transform.InferType()(tessera.IRModule.from_expr(tiles))["main"]
    assert [int(extent) for extent in typed.body.checked_type.shape] == [2, 2, 4, 16]
    conv = relay.nn.contrib_conv2d_gemm_without_weight_transform(
        x, tiles, channels=5, kernel_size=(3, 3), data_layout="NHWC", kernel_layout="HWIO", **window
    )
    plain = relay.nn.conv2d(x, relay.const(weight), data_layout="NHWC", kernel_layout="HWIO", **window)
    np.testing.assert_allclose(run(conv, data), run(plain, data), 1e-4, 1e-4)
