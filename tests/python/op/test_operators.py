"""Each operator, compiled and run, against NumPy."""

import numpy as np
import pytest
import tessera
from operator_check import as_function, indices, run_function, tensor, verify
from references import BINARY, UNARY
from tessera import relay


def run(build, *arrays, opt_level=2):
    """The outputs of `build(vars...)` on the arrays."""
    return run_function(as_function(build, arrays), arrays, opt_level)


def check(build, reference, *arrays, rtol=1e-5, atol=1e-6):
    got = run(build, *arrays)
    want = reference(*arrays)
    want = list(want) if isinstance(want, (list, tuple)) else [want]
    assert len(got) == len(want)
    for a, b in zip(got, want):
        assert a.shape == np.shape(b)
        np.testing.assert_allclose(a, np.asarray(b).astype(a.dtype), rtol=rtol, atol=atol)


POSITIVE = ("log", "log2", "log10", "sqrt", "rsqrt", "acosh")
UNIT = ("acos", "asin", "atanh")


@pytest.mark.parametrize("name", sorted(set(UNARY) - {"bitwise_not", "logical_not"}))
def test_an_operator_of_one_tensor(name):
    low, high = (1.1, 9.0) if name in POSITIVE else (-0.9, 0.9) if name in UNIT else (-2.0, 2.0)
    build = getattr(relay, name, None) or (lambda v: relay.Call(tessera.ir.Op.get(name), [v]))
    for shape in ((3, 33), (), (0, 4)):
        verify(build, tensor(*shape, low=low, high=high), rtol=1e-4 if name.startswith("fast") else 1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["isnan", "isfinite", "isinf"])
def test_a_question_about_each_number(name):
    verify(getattr(relay, name), np.array([np.nan, np.inf, -np.inf, 0, 1e30], "float32"))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_operators_on_integers(dtype):
    a, b = indices(100, 3, 7, dtype=dtype), indices(9, 7, dtype=dtype, low=1)
    for name in ("add", "subtract", "multiply", "divide", "floor_divide", "floor_mod", "trunc_divide", "trunc_mod"):
        verify(getattr(relay, name), a, b)
    for name in ("mod", "bitwise_and", "bitwise_or", "bitwise_xor", "maximum", "minimum", "less", "equal"):
        verify(getattr(relay, name), a, b)
    verify(relay.bitwise_not, a)
    verify(relay.right_shift, a, indices(5, 7, dtype=dtype))
    if dtype.startswith("int"):
        for name in ("divide", "floor_divide", "floor_mod", "trunc_divide", "trunc_mod", "mod"):
            verify(getattr(relay, name), indices(100, 3, 7, dtype=dtype, low=-100), b)
        verify(relay.abs, indices(100, 9, dtype=dtype, low=-100))
        verify(relay.sign, indices(3, 9, dtype=dtype, low=-3))


def test_logic():
    a, b = tensor(3, 1, dtype="bool"), tensor(3, 7, dtype="bool")
    for name in ("logical_and", "logical_or", "logical_xor"):
        verify(getattr(relay, name), a, b)
    verify(relay.logical_not, a)


FLOAT_BINARY = sorted(
    set(BINARY) - {name for name in BINARY if "bitwise" in name or "logical" in name or "shift" in name}
)


@pytest.mark.parametrize("name", FLOAT_BINARY)
@pytest.mark.parametrize("shapes", [((4, 5), (4, 5)), ((4, 1), (1, 5)), ((3, 4, 5), (5,)), ((), (2, 3))])
def test_an_operator_of_two_tensors_broadcasts_them(name, shapes):
    lhs, rhs = tensor(*shapes[0], low=0.1 if name == "power" else -2.0), tensor(*shapes[1], low=0.5)
    verify(getattr(relay, name), lhs, rhs)


@pytest.mark.parametrize("name", ["left_shift", "right_shift"])
@pytest.mark.parametrize("dtype", ["int32", "int64", "int8"])
def test_shifts(name, dtype):
    verify(getattr(relay, name), indices(7, 9, dtype=dtype), indices(4, 9, dtype=dtype))


@pytest.mark.parametrize("name", ["sum", "max", "min", "prod", "mean"])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_a_reduction(name, axis, keepdims):
    verify(lambda v: getattr(relay, name)(v, axis=axis, keepdims=keepdims), tensor(3, 4, 5))


def test_reductions_of_other_kinds():
    x = tensor(3, 4, 5)
    verify(lambda v: relay.sum(v, axis=1, exclude=True), x)
    verify(lambda v: relay.sum(v, axis=()), x)
    verify(lambda v: relay.sum(v), tensor())
    verify(lambda v: relay.sum(v, axis=0), tensor(0, 4))
    verify(lambda v: relay.prod(v, axis=1), tensor(3, 0))
    for last in (False, True):
        verify(lambda v: relay.argmax(v, axis=1, select_last_index=last), indices(3, 4, 9))
        verify(lambda v: relay.argmin(v, axis=(0, 2), keepdims=True, select_last_index=last), indices(3, 4, 2, 5))
    verify(lambda v: relay.argmax(v), x)
    verify(lambda v: relay.variance(v, axis=1), x)
    verify(lambda v: relay.variance(v, axis=1, unbiased=True), x)
    verify(lambda v: relay.std(v, axis=(0, 2)), x)
    verify(lambda v: relay.mean_variance(v, axis=1), x)
    verify(lambda v: relay.mean_std(v, axis=0), x)
    b = tensor(3, 4, dtype="bool")
    verify(lambda v: relay.all(v, axis=0), b)
    verify(lambda v: relay.any(v, axis=1), b)
    verify(lambda v: relay.sum(v, axis=1), indices(9, 3, 8, dtype="int8"))


def test_elements_are_moved():
    x, y = tensor(2, 3, 4), tensor(2, 5, 4)
    for newshape in ((0, -2), (-4, 1, 2, -2), (-3, 4), (24,), (-1, 4), (-4, -1, 1, 0, 0), (1, -1, 1)):
        verify(lambda v: relay.reshape(v, newshape), x)
    verify(lambda v: relay.transpose(v), x)
    verify(lambda v: relay.transpose(v, (1, -1, 0)), x)
    verify(lambda v: relay.expand_dims(v, 1, 2), x)
    verify(lambda v: relay.squeeze(relay.expand_dims(v, -1)), x)
    verify(lambda v: relay.squeeze(v, (0, -1)), tensor(1, 3, 1))
    verify(lambda a, b: relay.concatenate([a, b, a], 1), x, y)
    verify(lambda a, b: relay.concatenate([a, b], -2), tensor(0, 3), tensor(2, 3))
    verify(lambda a: relay.stack([a, a + a], -1), x)
    verify(lambda a: relay.split(a, 2, axis=2), x)
    verify(lambda a: relay.split(a, (1, 3), axis=1), y)
    for source, target in (("NCHW", "NCHW16c"), ("NCHW", "NHWC"), ("NHWC", "NCHW4c")):
        verify(lambda a: relay.layout_transform(a, source, target), tensor(2, 32, 3, 16))
    verify(lambda a: relay.layout_transform(a, "NCHW8c", "NHWC"), tensor(2, 3, 4, 5, 8))
    verify(lambda a: relay.layout_transform(a, "OIHW4i8o", "OIHW"), tensor(2, 3, 4, 5, 4, 8))


def test_types_are_changed_and_tensors_made():
    x = tensor(3, 5, low=-300, high=300)
    verify(lambda a: relay.cast(a, "int32"), x)
    verify(lambda a: relay.clip(a, -1.5, 6.0), x)
    verify(lambda a: relay.clip(a, -2, 100), indices(120, 9, dtype="int8", low=-120))
    verify(lambda a: relay.reinterpret(a, "int32"), x)
    verify(lambda a: a + relay.zeros((3, 5), "float32") + relay.ones((5,), "float32"), x)
    verify(lambda a: relay.full(relay.const(2.5), (2, 2)) * relay.sum(a), x, rtol=1e-4)
    verify(lambda a: relay.full_like(a, relay.const(3.0)), x)


def windows(x, kernel, strides, dilation):
    """Windows of a padded NC... array: (n, c, out..., taps...)."""
    spatial = len(kernel)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
    view = np.lib.stride_tricks.sliding_window_view(x, reach, axis=tuple(range(2, 2 + spatial)))
    steps = tuple(slice(None, None, s) for s in strides)
    taps = tuple(slice(None, None, d) for d in dilation)
    return view[(slice(None), slice(None), *steps, *taps)]


def conv_reference(x, w, strides, padding, dilation, groups):
    spatial = w.ndim - 2
    pads = [(0, 0), (0, 0)] + [(padding[i], padding[i + spatial]) for i in range(spatial)]
    view = windows(np.pad(x, pads), w.shape[2:], strides, dilation)
    outputs = []
    for g in range(groups):
        part = view[:, g * w.shape[1] : (g + 1) * w.shape[1]]
        kernel = w[g * (w.shape[0] // groups) : (g + 1) * (w.shape[0] // groups)]
        axes = ([1, *range(2 + spatial, 2 + 2 * spatial)], [1, *range(2, 2 + spatial)])
        outputs.append(np.moveaxis(np.tensordot(part, kernel, axes), -1, 1))
    return np.concatenate(outputs, 1)


@pytest.mark.parametrize(
    "spatial, options",
    [
        (1, {}),
        (1, {"strides": 2, "padding": (2, 1), "dilation": 2}),
        (2, {"padding": (1, 1)}),
        (2, {"strides": (2, 1), "padding": (1, 0, 2, 3), "dilation": (1, 2)}),
        (2, {"groups": 2, "padding": 1}),
        (2, {"groups": 4}),
        (3, {"strides": (1, 2, 1), "padding": (1, 1, 1)}),
    ],
)
def test_a_convolution(spatial, options):
    groups = options.get("groups", 1)
    x, w = tensor(2, 4, *[9, 8, 7][:spatial]), tensor(8, 4 // groups, *[3, 2, 3][:spatial])
    one = (1,) * spatial
    as_tuple = lambda v: (v,) * spatial if isinstance(v, int) else tuple(v)
    padding = as_tuple(options.get("padding", 0))
    padding = padding * 2 if len(padding) == spatial else padding
    strides, dilation = as_tuple(options.get("strides", one)), as_tuple(options.get("dilation", one))
    conv = getattr(relay.nn, f"conv{spatial}d")
    check(
        lambda a, b: conv(a, b, **options),
        lambda a, b: conv_reference(a, b, strides, padding, dilation, groups),
        x,
        w,
        rtol=1e-4,
        atol=1e-4,
    )


def test_a_convolution_in_other_layouts():
    x, w = tensor(1, 8, 6, 6), tensor(8, 8, 3, 3)
    want = conv_reference(x, w, (1, 1), (1,) * 4, (1, 1), 1)
    nhwc = lambda a, b: relay.nn.conv2d(a, b, padding=1, data_layout="NHWC", kernel_layout="HWIO")
    got = run(nhwc, x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0))[0]
    np.testing.assert_allclose(got.transpose(0, 3, 1, 2), want, rtol=1e-4, atol=1e-4)
    blocked = lambda a, b: relay.nn.conv2d(
        relay.layout_transform(a, "NCHW", "NCHW4c"),
        relay.layout_transform(b, "OIHW", "OIHW4i8o"),
        padding=1,
        data_layout="NCHW4c",
        kernel_layout="OIHW4i8o",
        out_layout="NCHW8c",
    )
    got = run(lambda a, b: relay.layout_transform(blocked(a, b), "NCHW8c", "NCHW"), x, w)[0]
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def pool_reference(x, kind, size, strides, padding, dilation, ceil_mode=False, include=False):
    extra = [s - 1 if ceil_mode else 0 for s in strides]
    pads = [(0, 0), (0, 0)] + [(padding[i], padding[i + 2] + extra[i]) for i in range(2)]
    axes = (-2, -1)
    if kind == "max":
        return windows(np.pad(x, pads, constant_values=-np.inf), size, strides, dilation).max(axes)
    total = windows(np.pad(x, pads), size, strides, dilation).sum(axes)
    counted = np.pad(np.ones_like(x), pads, constant_values=1 if include else 0)
    return total / windows(counted, size, strides, dilation).sum(axes)


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize(
    "size, strides, padding, dilation, ceil_mode",
    [
        ((2, 2), (2, 2), (0, 0, 0, 0), (1, 1), False),
        ((3, 3), (1, 2), (1, 1, 1, 1), (1, 1), False),
        ((3, 2), (2, 2), (1, 0, 0, 1), (1, 2), False),
        ((3, 3), (2, 2), (0, 0, 0, 0), (1, 1), True),
    ],
)
def test_pooling(kind, size, strides, padding, dilation, ceil_mode):
    pool = getattr(relay.nn, f"{kind}_pool2d")
    check(
        lambda v: pool(v, size, strides, dilation, padding, ceil_mode=ceil_mode),
        lambda a: pool_reference(a, kind, size, strides, padding, dilation, ceil_mode),
        tensor(2, 3, 8, 9),
    )


def test_pooling_of_other_kinds():
    x = tensor(2, 3, 8, 9)
    check(
        lambda v: relay.nn.avg_pool2d(v, (3, 3), padding=(1, 1), count_include_pad=True),
        lambda a: pool_reference(a, "avg", (3, 3), (1, 1), (1,) * 4, (1, 1), include=True),
        x,
    )
    check(relay.nn.global_avg_pool2d, lambda a: a.mean((2, 3), keepdims=True), x)
    check(relay.nn.global_max_pool2d, lambda a: a.max((2, 3), keepdims=True), x)
    check(lambda v: relay.nn.max_pool1d(v, 3, 2), lambda a: windows(a, (3,), (2,), (1,)).max(-1), tensor(2, 3, 9))


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def test_layers():
    x = tensor(3, 7, low=-20, high=20)
    check(relay.nn.softmax, softmax, x)
    check(lambda v: relay.nn.softmax(v, axis=0), lambda a: softmax(a, 0), x)
    check(relay.nn.log_softmax, lambda a: np.log(softmax(a.astype("float64"))), x)
    check(relay.nn.relu, lambda a: np.maximum(a, 0), x)
    check(lambda v: relay.nn.leaky_relu(v, 0.1), lambda a: np.where(a > 0, a, a * 0.1), x)
    check(relay.nn.dense, lambda a, w: a @ w.T, tensor(3, 20), tensor(17, 20), rtol=1e-4, atol=1e-5)
    check(relay.nn.dense, lambda a, w: a @ w.T, tensor(2, 3, 20), tensor(17, 20), rtol=1e-4, atol=1e-5)
    check(relay.nn.bias_add, lambda a, b: a + b[None, :, None], tensor(2, 3, 4), tensor(3))
    check(relay.nn.batch_flatten, lambda a: a.reshape(2, -1), tensor(2, 3, 4))
    for shape in [(2, 3, 0, 4), (0, 3, 4), (1, 0)]:
        check(relay.nn.batch_flatten, lambda a: a.reshape(a.shape[0], int(np.prod(a.shape[1:]))), tensor(*shape))


def test_not_a_number_and_infinities_go_through():
    x = np.array([np.nan, np.inf, -np.inf, -0.0, 1.0], "float32")
    for name in (
        "abs",
        "negative",
        "isnan",
        "isinf",
        "isfinite",
        "exp",
        "copy",
        "sign",
        "floor",
        "sqrt",
        "tanh",
        "erf",
    ):
        verify(getattr(relay, name), x)
    check(relay.nn.relu, lambda a: np.where(a > 0, a, np.where(np.isnan(a), a, 0)), x[1:])


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_every_level_gives_the_same_answer(level):
    x, w, b = tensor(1, 3, 8, 8), tensor(6, 3, 3, 3), tensor(6)

    def network(data, weight, bias):
        y = relay.nn.relu(relay.nn.bias_add(relay.nn.conv2d(data, weight, padding=1), bias))
        y = relay.concatenate([relay.nn.max_pool2d(y, (2, 2), (2, 2)), relay.nn.avg_pool2d(y, (2, 2), (2, 2))], 1)
        return relay.nn.softmax(relay.nn.batch_flatten(y))

    y = np.maximum(conv_reference(x, w, (1, 1), (1,) * 4, (1, 1), 1) + b[None, :, None, None], 0)
    pooled = [pool_reference(y, kind, (2, 2), (2, 2), (0,) * 4, (1, 1)) for kind in ("max", "avg")]
    want = softmax(np.concatenate(pooled, 1).reshape(1, -1))
    np.testing.assert_allclose(run(network, x, w, b, opt_level=level)[0], want, rtol=1e-4, atol=1e-6)


def test_equal_parts_of_a_symbolic_extent_have_one_type():
    n = tessera.te.var("n")
    data = relay.var("x", relay.TensorType((n, 3), "float32"))
    part = relay.TensorType((tessera.tir.indexdiv(n, 4), 3), "float32")
    typed = relay.testing.run_infer_type(relay.split(data, 4).astuple())
    assert typed.checked_type == relay.TupleType([part] * 4)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_remainders_of_large_quotients_are_those_of_their_type(dtype):
    rng = np.random.default_rng(0)
    x = rng.uniform(-60, 60, 200).astype(dtype)
    y = rng.uniform(0.7, 1.1, 200).astype(dtype)
    (got,) = run(relay.floor_mod, x, y)
    np.testing.assert_allclose(got, np.mod(x, y), atol=1e-3 if dtype == "float16" else 1e-5)
