"""The nn operators beside convolutions and pools, compiled and run, against NumPy."""

import numpy as np
import pytest
import tessera
from nn_checks import check, tensor, type_of
from tessera import relay
from tessera.relay import nn


@pytest.mark.parametrize("shape, axis", [((2, 3, 4, 5), 1), ((2, 4, 5, 3), -1), ((6, 3), 1), ((3,), 0), ((0, 3, 2), 1)])
@pytest.mark.parametrize("center, scale", [(True, True), (False, True), (True, False)])
def test_batch_norm(shape, axis, center, scale):
    c = shape[axis]
    args = tensor(*shape), tensor(c), tensor(c), tensor(c), tensor(c, low=0.1)
    for opt_level in (0, 2):
        check(
            lambda *v: nn.batch_norm(*v, axis=axis, epsilon=1e-3, center=center, scale=scale),
            *args,
            opt_level=opt_level,
        )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("opt_level", [0, 2])
def test_normalisation_by_what_the_data_says(dtype, opt_level):
    x, c = tensor(2, 6, 4, 5, dtype=dtype), tensor(6, dtype=dtype)
    last = tensor(5, dtype=dtype)
    options = {"opt_level": opt_level}
    check(lambda x, g, b: nn.layer_norm(x, g, b), x, last, last, **options)
    check(lambda x, g, b: nn.layer_norm(x, g, b, axis=1, center=False), x, c, c, **options)
    check(lambda x, g, b: nn.instance_norm(x, g, b), x, c, c, **options)
    check(lambda x, g, b: nn.instance_norm(x, g, b, axis=-1, scale=False), x, last, last, **options)
    check(lambda x, g, b: nn.group_norm(x, g, b, num_groups=3), x, c, c, **options)
    check(lambda x, g, b: nn.group_norm(x, g, b, num_groups=1, epsilon=0.1), x, c, c, **options)
    check(lambda x: nn.l2_normalize(x, 1e-3, axis=[1]), x, **options)
    check(lambda x: nn.l2_normalize(x, 5.0, axis=[2, -1]), x, **options)
    check(lambda x: nn.l2_normalize(x, 1e-3), x, **options)


def test_local_response_normalisation():
    check(lambda x: nn.lrn(x), tensor(2, 7, 3, 3))
    check(lambda x: nn.lrn(x, size=3, axis=-1, bias=1, alpha=0.5, beta=0.6), tensor(2, 3, 3, 7))


def test_dropout_leaves_data_alone_in_inference():
    x = tensor(3, 4)
    check(lambda v: nn.dropout(v, 0.3), x)
    check(lambda v: nn.dropout_raw(v, 0.3), x, opt_level=0)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "fast_softmax"])
@pytest.mark.parametrize("shape, axis", [((3, 5), -1), ((2, 3, 4), 1), ((4,), 0), ((2, 0, 3), 2)])
def test_softmax(name, shape, axis):
    check(lambda v: getattr(nn, name)(v, axis=axis), tensor(*shape), rtol=1e-3 if name == "fast_softmax" else 1e-4)


def test_softmax_of_large_values_is_finite():
    check(lambda v: nn.softmax(v), np.array([[1e4, 1e4 - 1, -1e4]], "float32"))
    check(lambda v: nn.log_softmax(v), np.array([[1e4, 1e4 - 1, -1e4]], "float32"))


def test_activations():
    x = tensor(2, 3, 4)
    check(lambda v: nn.leaky_relu(v, 0.1), x)
    check(lambda v, a: nn.prelu(v, a), x, tensor(3))
    check(lambda v, a: nn.prelu(v, a, axis=-1), x, tensor(4))
    check(lambda v, b: nn.bias_add(v, b, axis=-2), x, tensor(3))
    check(lambda v: nn.relu(v), tensor(7, dtype="int8"))
    special = np.array([np.nan, np.inf, -np.inf, -0.0], "float32")
    check(lambda v: nn.leaky_relu(v, 0.5), special)


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_matmuls_of_operands_stored_either_way(transpose_a, transpose_b):
    flip = {"transpose_a": transpose_a, "transpose_b": transpose_b}
    a, b = ((5, 3) if transpose_a else (3, 5)), ((4, 5) if transpose_b else (5, 4))
    check(lambda x, y: nn.matmul(x, y, **flip), tensor(*a), tensor(*b))
    check(lambda x, y: nn.matmul(x, y, **flip), tensor(2, *a), tensor(*b))
    check(lambda x, y: nn.batch_matmul(x, y, **flip), tensor(2, *a), tensor(2, *b))
    check(lambda x, y: nn.batch_matmul(x, y, **flip), tensor(1, *a), tensor(3, *b))
    check(lambda x, y: nn.batch_matmul(x, y, **flip), tensor(3, *a), tensor(1, *b))


def test_matmuls_of_other_types():
    a, b = tensor(3, 5, dtype="int8"), tensor(4, 5, dtype="int8")
    check(lambda x, y: nn.dense(x, y, out_dtype="int32"), a, b)
    check(lambda x, y: nn.batch_matmul(x, y, out_dtype="int32"), a[None], b[None])
    check(lambda x, y: nn.matmul(x, y, transpose_b=True), tensor(3, 5, dtype="float64"), tensor(4, 5, dtype="float64"))
    check(lambda x, y: nn.dense(x, y), tensor(5), tensor(4, 5))
    check(lambda x, y: nn.dense(x, y), tensor(0, 5), tensor(4, 5))
    check(lambda x, y: nn.batch_matmul(x, y), tensor(2, 3, 0), tensor(2, 4, 0))
    check(lambda x, w: nn.contrib_dense_pack(x, w, "NC8n", out_dtype="float32"), tensor(3, 5), tensor(2, 5, 8))
    check(lambda x, w: nn.contrib_dense_pack(x, w, "NC8n4c"), tensor(3, 8), tensor(2, 2, 8, 4))


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_borders(dtype):
    x = tensor(3, 4, 5, dtype=dtype)
    width = ((1, 2), (0, 0), (2, 1))
    check(lambda v: nn.pad(v, width), x)
    check(lambda v: nn.pad(v, width, 3), x)
    check(lambda v: nn.pad(v, width, pad_mode="edge"), x)
    check(lambda v: nn.pad(v, width, pad_mode="reflect"), x)
    check(lambda v: nn.mirror_pad(v, width), x)
    check(lambda v: nn.mirror_pad(v, width, mode="REFLECT"), x)
    check(lambda v: nn.dilate(v, (2, 1, 3), 1.0), x)


def test_a_border_may_have_a_value_that_is_computed():
    check(lambda v, p: nn.pad(v, ((1, 0), (0, 1)), p), tensor(2, 3), tensor())
    check(lambda v: nn.pad(v, ((1, 0), (0, 1)), float("-inf")), tensor(2, 3))
    check(lambda v: nn.pad(v, ((2, 1), (0, 1))), tensor(0, 3))
    check(lambda v: nn.pad(v, relay.const([[1, 0], [0, 1]])), tensor(2, 3))


def test_a_fifo_buffer():
    check(lambda d, b: nn.fifo_buffer(d, b, 1), tensor(2, 3, 4), tensor(2, 8, 4))
    check(lambda d, b: nn.fifo_buffer(d, b, -1), tensor(2, 3, 1), tensor(2, 3, 5))


@pytest.mark.parametrize("layout, shape", [("NCHW", (2, 8, 4, 6)), ("NHWC", (2, 4, 6, 8))])
def test_space_and_depth(layout, shape):
    x = tensor(*shape)
    check(lambda v: nn.space_to_depth(v, 2, layout), x)
    check(lambda v: nn.depth_to_space(v, 2, layout, mode="DCR"), x)
    check(lambda v: nn.depth_to_space(v, 2, layout, mode="CRD"), x)


def test_space_and_batch():
    check(lambda v: nn.space_to_batch_nd(v, [2, 2], [[0, 0], [0, 0]]), tensor(1, 4, 4, 3))
    check(lambda v: nn.space_to_batch_nd(v, [2, 3], [[1, 0], [0, 2]], 1.5), tensor(2, 3, 4, 5))
    check(lambda v: nn.batch_to_space_nd(v, [2, 2], [[0, 0], [0, 0]]), tensor(4, 2, 2, 3))
    check(lambda v: nn.batch_to_space_nd(v, [2, 3], [[1, 0], [0, 2]]), tensor(12, 3, 4))


def test_losses():
    p, t = tensor(4, 5, low=0.1), tensor(4, 5, low=0.0)
    check(lambda a, b: nn.cross_entropy(a, b), p, t)
    check(lambda a, b: nn.cross_entropy_with_logits(a, b), p, t)
    classes = np.array([[1, 4], [0, -100], [2, 2]], "int32")
    for reduction in ("mean", "sum", "none"):
        check(
            lambda a, b, w, reduction=reduction: nn.nll_loss(a, b, w, reduction),
            tensor(3, 5, 2),
            np.maximum(classes, 0),
            tensor(5, low=0.1),
        )
    check(lambda a, b, w: nn.nll_loss(a, b, w, ignore_index=2), tensor(3, 5, 2), abs(classes) % 5, tensor(5, low=0.1))
    check(lambda a, b, w: nn.nll_loss(a, b, w), tensor(5), np.array(3, "int64"), tensor(5))


def test_types_of_weights_are_concluded():
    x, w = relay.var("x", shape=(2, 6, 4, 4)), [relay.var(f"w{i}") for i in range(4)]
    call = nn.batch_norm(x, *w, axis=1)
    assert str(type_of(call.tuple_value)) == (
        "(Tensor[(2, 6, 4, 4), float32], Tensor[(6), float32], Tensor[(6), float32])"
    )
    assert str(type_of(nn.prelu(x, w[0]))) == "Tensor[(2, 6, 4, 4), float32]"
    assert str(type_of(nn.matmul(relay.var("y", shape=(3, 5)), w[0], units=7))) == "Tensor[(3, 7), float32]"


def test_types_keep_dimensions_that_are_not_known():
    x = relay.var("x", shape=(relay.Any(), 6, relay.Any(), 4))
    assert str(type_of(nn.pad(x, ((0, 1), (1, 1), (2, 2), (0, 0))))) == "Tensor[(?, 8, ?, 4), float32]"
    assert str(type_of(nn.space_to_depth(x, 2))) == "Tensor[(?, 24, ?, 2), float32]"
    assert str(type_of(nn.batch_flatten(x))) == "Tensor[(?, ?), float32]"
    a, b = relay.var("a", shape=(relay.Any(), 3, 5)), relay.var("b", shape=(4, 6, 5))
    assert str(type_of(nn.batch_matmul(a, b))) == "Tensor[(4, 3, 6), float32]"


X = relay.var("x", shape=(2, 6, 4, 4))
BAD = {
    "gamma is another size": (
        lambda: nn.layer_norm(X, relay.var("g", shape=(5,)), relay.var("b")),
        "gamma must be one value for each of the 4 slices",
    ),
    "bias is another type": (
        lambda: nn.bias_add(X, relay.var("b", shape=(6,), dtype="float16")),
        "bias is of float16, but data is of float32",
    ),
    "groups do not divide": (
        lambda: nn.group_norm(X, relay.var("g"), relay.var("b"), num_groups=4),
        "num_groups is 4, which does not divide the 6",
    ),
    "axis is out of range": (lambda: nn.softmax(X, axis=4), "axis 4 is out of range for a tensor of 4 dimensions"),
    "k differs": (
        lambda: nn.matmul(relay.var("a", shape=(3, 5)), relay.var("b", shape=(4, 6))),
        "disagree about k",
    ),
    "batches differ": (
        lambda: nn.batch_matmul(relay.var("a", shape=(3, 5, 2)), relay.var("b", shape=(4, 6, 2))),
        "3 and 4 differ",
    ),
    "batch_matmul of matrices": (
        lambda: nn.batch_matmul(relay.var("a", shape=(5, 2)), relay.var("b", shape=(4, 6, 2))),
        "must have three dimensions",
    ),
    "too few widths": (lambda: nn.pad(X, ((0, 0), (1, 1))), "pad_width has 2 pairs, but data has 4 dimensions"),
    "a negative width of a mirror": (
        lambda: nn.pad(X, ((0, 0), (1, 1), (0, -1), (0, 0)), pad_mode="reflect"),
        "it cannot be negative",
    ),
    "a mode that is not there": (lambda: nn.pad(X, ((0, 0),) * 4, pad_mode="wrap"), "pad_mode is wrap"),
    "a mirror too wide": (
        lambda: nn.mirror_pad(X, ((0, 0), (0, 0), (4, 0), (0, 0)), mode="REFLECT"),
        "does not fit dimension 2 of extent 4",
    ),
    "a block that does not divide": (lambda: nn.space_to_depth(X, 3), "3 does not divide the 4 of the height"),
    "a batch that does not divide": (
        lambda: nn.batch_to_space_nd(X, [3], [[0, 0]]),
        "3 does not divide the 2 of the batch",
    ),
    "targets are not integers": (
        lambda: nn.nll_loss(
            relay.var("p", shape=(3, 5)), relay.var("t", shape=(3,)), relay.var("w", shape=(5,)), "mean"
        ),
        "targets must be integers",
    ),
    "predictions and targets differ": (
        lambda: nn.cross_entropy(relay.var("p", shape=(3, 5)), relay.var("t", shape=(3, 4))),
        "must have one type with two dimensions",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_wrong_call_is_rejected(name):
    build, message = BAD[name]
    with pytest.raises(tessera.error.DiagnosticError, match=message):
        type_of(build())


def test_a_negative_width_of_a_border_crops():
    data = np.arange(16, dtype="float32").reshape(4, 4)
    text = """#[version = "0.0.5"]
    def @main(%x: Tensor[(4, 4), float32]) { nn.pad(%x, 7f, pad_width=[[-1, 0], [1, -2]]) }"""
    mod = tessera.parser.fromtext(text)
    for kind in ("graph", "vm", "debug"):
        out = relay.create_executor(kind, mod).evaluate()(data).numpy()
        np.testing.assert_array_equal(out, np.pad(data[1:, :2], ((0, 0), (1, 0)), constant_values=7))
    backward = relay.transform.gradient(relay.transform.InferType()(mod)["main"])
    _, (grad,) = relay.create_executor("debug", tessera.IRModule.from_expr(backward)).evaluate()(data)
    np.testing.assert_array_equal(grad.numpy(), np.pad(np.ones((3, 2)), ((1, 0), (0, 2))))


def test_lrn_of_an_even_size_has_a_type_and_no_kernel():
    x = relay.var("x", shape=(1, 4, 2, 2))
    mod = relay.transform.InferType()(tessera.IRModule.from_expr(relay.Function([x], nn.lrn(x, size=4))))
    assert mod["main"].ret_type == relay.TensorType((1, 4, 2, 2))
    with pytest.raises(tessera.TVMError, match="size is 4, but must be odd"):
        relay.build(mod, "llvm")


@pytest.mark.parametrize("operator", ["nn.bias_add", "nn.prelu"])
def test_one_element_serves_all_channels(operator):
    text = f"""#[version = "0.0.5"]
    def @main(%x: Tensor[(1, ?, 2), float32], %a: Tensor[(1), float32]) {{ {operator}(%x, %a) }}"""
    data = np.array([[[-1, 2], [3, -4]]], "float32")
    out = relay.create_executor("vm", tessera.parser.fromtext(text)).evaluate()(data, np.array([0.5], "float32"))
    wanted = data + 0.5 if operator == "nn.bias_add" else np.where(data < 0, data * 0.5, data)
    np.testing.assert_array_equal(out.numpy(), wanted)


@pytest.mark.parametrize(
    "build, rows, message",
    [
        (lambda x: nn.pad(x, ((2, 0), (0, 0)), 0, "reflect"), 2, r"arg0.shape\[0\] >= 3|3 <= arg0.shape\[0\]"),
        (lambda x: nn.mirror_pad(x, ((0, 2), (0, 0)), "SYMMETRIC"), 1, r"arg0.shape\[0\] >= 2|2 <= arg0.shape\[0\]"),
        (lambda x: nn.pad(x, ((1, 0), (0, 0)), 0, "edge"), 0, r"arg0.shape\[0\] >= 1|1 <= arg0.shape\[0\]"),
    ],
)
def test_a_border_of_data_needs_it_at_run_time(build, rows, message):
    x = relay.var("x", shape=(relay.Any(), 3))
    run = relay.create_executor("vm", tessera.IRModule.from_expr(relay.Function([x], build(x)))).evaluate()
    assert run(np.ones((4, 3), "float32")).shape[0] > 4
    with pytest.raises(ValueError, match=message):
        run(np.ones((rows, 3), "float32"))


@pytest.mark.parametrize("size", [(3, 4), (1, 1)])
def test_an_image_without_pixels_is_not_sampled(size):
    with pytest.raises(tessera.error.DiagnosticError, match="which has no pixels to sample"):
        relay.transform.InferType()(
            tessera.IRModule.from_expr(relay.image.resize2d(relay.var("x", shape=(1, 2, 0, 4)), size))
        )
