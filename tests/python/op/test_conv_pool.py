"""Convolutions and pools of one, two and three dimensions, compiled and run, against NumPy."""

import numpy as np
import pytest
import tessera
from nn_checks import check, tensor, type_of
from tessera import relay
from tessera.relay import nn

CONV = {1: nn.conv1d, 2: nn.conv2d, 3: nn.conv3d}
TRANSPOSE = {1: nn.conv1d_transpose, 2: nn.conv2d_transpose, 3: nn.conv3d_transpose}
EXTENTS = {1: (9,), 2: (8, 7), 3: (5, 6, 4)}
TAPS = {1: (3,), 2: (3, 2), 3: (2, 3, 2)}
SPACE = {1: "W", 2: "HW", 3: "DHW"}


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize(
    "options",
    [{}, {"strides": 2, "padding": 1}, {"dilation": 2, "padding": 2}, {"groups": 2, "padding": 1}],
    ids=["plain", "strided", "dilated", "grouped"],
)
def test_convolution(n, options):
    groups = options.get("groups", 1)
    x, w = tensor(2, 4, *EXTENTS[n]), tensor(6, 4 // groups, *TAPS[n])
    check(lambda d, f: CONV[n](d, f, **options), x, w)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_convolution_with_channels_last(n):
    x, w = tensor(2, *EXTENTS[n], 4), tensor(*TAPS[n], 4, 6)
    layouts = {"data_layout": f"N{SPACE[n]}C", "kernel_layout": f"{SPACE[n]}IO"}
    check(lambda d, f: CONV[n](d, f, padding=1, **layouts), x, w)
    grouped = tensor(*TAPS[n], 2, 6)
    check(lambda d, f: CONV[n](d, f, strides=2, groups=2, **layouts), x, grouped)
    check(lambda d, f: CONV[n](d, f, out_layout=f"NC{SPACE[n]}", **layouts), x, w)


def test_convolution_in_other_layouts():
    layouts = {"data_layout": "HWCN", "kernel_layout": "HWIO"}
    check(lambda d, f: nn.conv2d(d, f, padding=(1, 0), **layouts), tensor(6, 5, 3, 2), tensor(3, 3, 3, 4))
    check(
        lambda d, f: nn.conv2d(d, f, padding=(1, 2, 0, 1), data_layout="NCHW", kernel_layout="HWIO"),
        tensor(1, 3, 6, 5),
        tensor(3, 3, 3, 4),
    )


@pytest.mark.parametrize("multiplier", [1, 2])
def test_depthwise_convolution(multiplier):
    x = tensor(2, 4, 6, 7)
    check(lambda d, f: nn.conv2d(d, f, groups=4, padding=1), x, tensor(4, multiplier, 3, 3))
    check(lambda d, f: nn.conv2d(d, f, groups=4, strides=2), x, tensor(4 * multiplier, 1, 3, 3))
    last = {"data_layout": "NHWC", "kernel_layout": "HWOI"}
    options = {"groups": 4, "dilation": 2, "channels": 4 * multiplier, "kernel_size": 3, **last}
    check(lambda d, f: nn.conv2d(d, f, **options), tensor(2, 6, 7, 4), tensor(3, 3, 4, multiplier))


def test_convolution_of_blocked_channels():
    x, w = tensor(1, 2, 6, 5, 8), tensor(3, 2, 3, 3, 8, 4)
    options = {"channels": 12, "kernel_size": (3, 3), "data_layout": "NCHW8c", "out_layout": "NCHW4c", "padding": 1}
    check(lambda d, f: nn.contrib_conv2d_nchwc(d, f, kernel_layout="OIHW8i4o", **options), x, w)
    assert str(
        type_of(nn.contrib_conv2d_nchwc(*(relay.var(f"x{i}", shape=a.shape) for i, a in enumerate((x, w))), **options))
    ) == ("Tensor[(1, 3, 6, 5, 4), float32]")
    options = {"channels": 16, "kernel_size": (3, 3), "data_layout": "NCHW8c", "out_layout": "NCHW8c", "groups": 16}
    check(
        lambda d, f: nn.contrib_depthwise_conv2d_nchwc(d, f, kernel_layout="OIHW1i8o", **options),
        x,
        tensor(2, 1, 3, 3, 1, 8),
    )


def test_convolution_accumulates_in_the_type_of_its_result():
    x, w = tensor(1, 4, 5, 5, dtype="int8"), tensor(3, 4, 3, 3, dtype="int8")
    check(lambda d, f: nn.conv2d(d, f, out_dtype="int32"), x, w)
    check(lambda d, f: nn.conv2d(d, f), tensor(0, 4, 5, 5), tensor(3, 4, 3, 3))


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"strides": 2, "padding": 1, "output_padding": 1},
        {"strides": 3, "padding": 2, "dilation": 2},
        {"groups": 2, "strides": 2},
    ],
    ids=["plain", "strided", "dilated", "grouped"],
)
def test_transposed_convolution(n, options):
    x, w = tensor(2, 4, *EXTENTS[n]), tensor(4, 6 // options.get("groups", 1), *TAPS[n])
    check(lambda d, f: TRANSPOSE[n](d, f, **options), x, w)


def test_transposed_convolution_with_channels_last():
    options = {"strides": 2, "padding": (0, 1, 1, 0), "data_layout": "NHWC", "kernel_layout": "HWOI"}
    check(lambda d, f: nn.conv2d_transpose(d, f, **options), tensor(1, 5, 4, 3), tensor(3, 3, 6, 3))


@pytest.mark.parametrize("groups", [1, 2])
def test_gradient_of_a_weight(groups):
    data, grad = tensor(2, 4, 7, 6), tensor(2, 6, 3, 5)
    options = {"kernel_size": (3, 2), "strides": (2, 1), "padding": (0, 0), "groups": groups, "channels": 6}
    check(lambda g, d: nn.conv2d_backward_weight(g, d, **options), grad, data)
    options.update(dilation=(2, 2), grad_layout="NHWC", data_layout="NHWC", kernel_layout="HWIO")
    grad = tensor(2, 2, 4, 6)
    check(lambda g, d: nn.conv2d_backward_weight(g, d, **options), grad, tensor(2, 7, 6, 4))


@pytest.mark.parametrize("options", [{}, {"strides": 2, "padding": 1, "groups": 2, "deformable_groups": 2}])
def test_deformable_convolution(options):
    groups, parts = options.get("groups", 1), options.get("deformable_groups", 1)
    height, width = (3, 3) if options else (4, 3)
    x, w, offset = tensor(1, 4, 6, 5), tensor(6, 4 // groups, 3, 3), tensor(1, 18 * parts, height, width)
    check(lambda d, o, f: nn.deformable_conv2d(d, o, f, **options), x, offset, w)
    last = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
    moved = [x.transpose(0, 2, 3, 1), offset.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0)]
    check(lambda d, o, f: nn.deformable_conv2d(d, o, f, **options, **last), *map(np.ascontiguousarray, moved))


@pytest.mark.parametrize(
    "options", [(1, 4, 1, 1, 4, True), (3, 3, 2, 2, (2, 3), True), (3, 2, 1, 1, (1, 2, 3, 4), False)]
)
def test_correlation(options):
    check(lambda a, b: nn.correlation(a, b, *options, "NCHW"), tensor(1, 3, 8, 9), tensor(1, 3, 8, 9))


POOLS = {"max": (nn.max_pool1d, nn.max_pool2d, nn.max_pool3d), "avg": (nn.avg_pool1d, nn.avg_pool2d, nn.avg_pool3d)}


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize(
    "options",
    [{"strides": 2}, {"padding": 1}, {"strides": 2, "padding": 1, "ceil_mode": True}, {"dilation": 2}],
    ids=["strided", "padded", "ceil", "dilated"],
)
def test_pool(n, kind, options):
    x = tensor(2, 3, *(e + 1 for e in EXTENTS[n]))
    pool = POOLS[kind][n - 1]
    check(lambda d: pool(d, 3 if n < 3 else 2, **options), x)
    if kind == "avg" and "padding" in options:
        check(lambda d: pool(d, 3 if n < 3 else 2, count_include_pad=True, **options), x)


def test_pool_in_other_layouts_and_types():
    check(lambda d: nn.max_pool2d(d, 2, 2, layout="NHWC"), tensor(1, 6, 6, 3))
    check(lambda d: nn.avg_pool2d(d, 2, 2, layout="NCHW4c"), tensor(1, 2, 6, 6, 4))
    check(lambda d: nn.max_pool2d(d, 3, 2, padding=1), tensor(1, 2, 6, 6, dtype="int32"))
    check(lambda d: nn.max_pool2d(d, 3, 2, padding=1), tensor(1, 2, 6, 6, dtype="uint8"))
    x = tensor(1, 1, 4, 4)
    x[0, 0, 1, 1] = np.inf
    check(lambda d: nn.max_pool2d(d, 2), x)


ADAPTIVE = {
    "max": (nn.adaptive_max_pool1d, nn.adaptive_max_pool2d, nn.adaptive_max_pool3d),
    "avg": (nn.adaptive_avg_pool1d, nn.adaptive_avg_pool2d, nn.adaptive_avg_pool3d),
}
GLOBAL = {
    "max": (nn.global_max_pool1d, nn.global_max_pool2d, nn.global_max_pool3d),
    "avg": (nn.global_avg_pool1d, nn.global_avg_pool2d, nn.global_avg_pool3d),
}


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("kind", ["max", "avg"])
def test_adaptive_and_global_pool(n, kind):
    x = tensor(2, 3, *EXTENTS[n])
    adaptive = ADAPTIVE[kind][n - 1]
    check(lambda d: adaptive(d, 3), x)
    check(lambda d: adaptive(d, tuple(range(2, 2 + n))), x)
    check(lambda d: adaptive(d), x)
    check(lambda d: GLOBAL[kind][n - 1](d), x)
    check(lambda d: adaptive(d, 2, layout=f"N{SPACE[n]}C"), tensor(2, *EXTENTS[n], 3))


@pytest.mark.parametrize("function", [nn.max_pool2d_grad, nn.avg_pool2d_grad])
@pytest.mark.parametrize(
    "options, shape",
    [
        ({"pool_size": 2, "strides": 2}, (3, 3)),
        ({"pool_size": 3, "strides": 1, "padding": 1}, (6, 6)),
        ({"pool_size": 3, "strides": 2, "padding": (0, 1, 1, 0), "ceil_mode": True}, (3, 3)),
    ],
)
def test_gradient_of_a_pool(function, options, shape):
    check(lambda g, d: function(g, d, **options), tensor(2, 2, *shape), tensor(2, 2, 6, 6))


def test_gradient_of_a_pool_goes_to_the_first_of_equals():
    check(lambda g, d: nn.max_pool2d_grad(g, d, 2, 2), tensor(1, 1, 2, 2), np.ones((1, 1, 4, 4), "float32"))


X = relay.var("x", shape=(2, 6, 4, 4))
BAD = {
    "channels differ": (lambda: nn.conv2d(X, relay.var("w", shape=(3, 5, 3, 3))), "weight of in channels 6"),
    "groups do not divide": (
        lambda: nn.conv2d(X, relay.var("w"), groups=4),
        "6 channels, which 4 groups do not divide",
    ),
    "kernel sizes differ": (
        lambda: nn.conv2d(X, relay.var("w", shape=(3, 6, 3, 3)), kernel_size=(3, 2)),
        "weight of kernel size 2, but it has 3",
    ),
    "no room": (lambda: nn.conv2d(X, relay.var("w", shape=(3, 6, 5, 3))), "kernel size 5 does not fit into 4"),
    "layout of another rank": (lambda: nn.conv2d(X, relay.var("w"), data_layout="NCHW8c"), "its layout is NCHW8c"),
    "transposed channels": (
        lambda: nn.conv2d_transpose(X, relay.var("w", shape=(3, 6, 3, 3))),
        "data has 6 channels, but weight takes 3",
    ),
    "offsets of another shape": (
        lambda: nn.deformable_conv2d(
            X, relay.var("o", shape=(2, 18, 2, 3)), relay.var("w"), channels=3, kernel_size=(3, 3)
        ),
        "offset must have the shape \\[2, 18, 2, 2\\]",
    ),
    "pool of another rank": (lambda: nn.max_pool1d(X, 2), "its layout is NCW"),
    "adaptive sizes": (lambda: nn.adaptive_avg_pool2d(X, (1, 2, 3)), "output_size takes no, one or 2 values, got 3"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_wrong_call_is_rejected(name):
    build, message = BAD[name]
    with pytest.raises(tessera.error.DiagnosticError, match=message):
        type_of(build())


def test_types_of_dimensions_that_are_not_known():
    x = relay.var("x", shape=(relay.Any(), 6, relay.Any(), 8))
    w = relay.var("w", shape=(4, 6, 3, 3))
    assert str(type_of(nn.conv2d(x, w, padding=1, strides=2))) == "Tensor[(?, 4, ?, 4), float32]"
    assert str(type_of(nn.max_pool2d(x, 2, 2))) == "Tensor[(?, 6, ?, 4), float32]"
    v = relay.var("v", shape=(6, 4, 3, 3))
    assert str(type_of(nn.conv2d_transpose(x, v, strides=2))) == "Tensor[(?, 4, ?, 17), float32]"


def test_output_padding_as_large_as_the_stride_has_a_type_and_no_kernel():
    weight = relay.var("w", shape=(6, 3, 3, 3))
    out = nn.conv2d_transpose(X, weight, output_padding=1)
    mod = relay.transform.InferType()(tessera.IRModule.from_expr(out))
    with pytest.raises(tessera.TVMError, match="output_padding 1 must be smaller than the stride 1"):
        relay.build(mod, "llvm")


def test_the_gradient_of_another_pool_is_rejected():
    grad, x = relay.var("g", shape=(1, 2, 3, 3)), relay.var("x", shape=(1, 2, 4, 4))
    with pytest.raises(tessera.error.DiagnosticError, match="grad is .* has the shape"):
        type_of(nn.avg_pool2d_grad(grad, x, (2, 2), (2, 2)))
