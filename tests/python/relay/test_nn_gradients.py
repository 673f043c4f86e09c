"""Gradients of the nn operators against finite differences."""

import numpy as np
import pytest
import tessera
from nn_checks import execute, tensor, variables
from references import REFERENCES
from tessera import relay
from tessera.contrib import graph_executor
from tessera.relay import image, nn
from tessera.relay.testing import check_grad


def compiled(params, body):
    """A function of arrays that gives all outputs."""
    mod = tessera.IRModule.from_expr(relay.Function(params, body))
    graph = graph_executor.GraphModule(relay.build(mod, target="llvm")["default"](tessera.cpu()))

    def run(*arrays):
        graph.run(**{p.name_hint: a for p, a in zip(params, arrays)})
        return [graph.get_output(i).numpy() for i in range(graph.get_num_outputs())]

    return run


def differences(function, arrays, i, weights, step=1e-4):
    """The gradient by array `i` of the sum of outputs times weights, element by element."""
    out = np.zeros_like(arrays[i])
    total = lambda: sum((w * o).sum() for w, o in zip(weights, function(*arrays)))
    for at in np.ndindex(arrays[i].shape):
        kept = arrays[i][at]
        arrays[i][at] = kept + step
        high = total()
        arrays[i][at] = kept - step
        out[at] = (high - total()) / (2 * step)
        arrays[i][at] = kept
    return out


def check_gradient(build, *arrays, rtol=1e-4, atol=1e-5):
    arrays = [a if a.dtype.kind == "i" else a.astype("float64") for a in arrays]
    params = variables(arrays)
    body = build(*params)
    body = body.tuple_value if isinstance(body, relay.TupleWrapper) else body
    call = relay.transform.InferType()(tessera.IRModule.from_expr(relay.Function(params, body)))["main"].body
    forward = compiled(params, body)
    weights = [tensor(*o.shape, dtype="float64") for o in forward(*arrays)]
    grads = [relay.var(f"g{i}", shape=w.shape, dtype="float64") for i, w in enumerate(weights)]
    grad = relay.Tuple(grads) if isinstance(call.checked_type, relay.TupleType) else grads[0]
    gradients = call.op.get_attr("FPrimalGradient")(call, grad)
    assert len(gradients) == len(arrays)
    got = execute(list(call_params(call, params)) + grads, relay.Tuple(list(gradients)), arrays + weights)
    for i, analytic in enumerate(got):
        assert analytic.shape == arrays[i].shape
        if arrays[i].dtype.kind == "i":
            assert not analytic.any()
            continue
        numeric = differences(forward, arrays, i, weights)
        np.testing.assert_allclose(analytic, numeric, rtol=rtol, atol=atol, err_msg=f"argument {i}")


def call_params(call, params):
    """The variables of the typed call, in the order of `params`."""
    by_name = {v.name_hint: v for v in relay.analysis.free_vars(call)}
    return [by_name.get(p.name_hint, p) for p in params]


def away_from_zero(*shape):
    x = tensor(*shape)
    return x + 0.1 * np.sign(x)


X = (2, 3, 4)
CLASSES = np.array([2, 0, 1, 2], "int32")
CASES = {
    "relu": lambda: (nn.relu, away_from_zero(*X)),
    "leaky_relu": lambda: (lambda x: nn.leaky_relu(x, 0.2), away_from_zero(*X)),
    "prelu": lambda: (lambda x, a: nn.prelu(x, a, axis=1), away_from_zero(*X), tensor(3)),
    "prelu_last": lambda: (lambda x, a: nn.prelu(x, a, axis=-1), away_from_zero(*X), tensor(4)),
    "bias_add": lambda: (lambda x, b: nn.bias_add(x, b, axis=-2), tensor(*X), tensor(3)),
    "batch_flatten": lambda: (nn.batch_flatten, tensor(*X)),
    "softmax": lambda: (lambda x: nn.softmax(x, axis=1), tensor(*X)),
    "log_softmax": lambda: (lambda x: nn.log_softmax(x), tensor(*X)),
    "dense": lambda: (lambda x, w: nn.dense(x, w), tensor(*X), tensor(5, 4)),
    "matmul_nn": lambda: (lambda a, b: nn.matmul(a, b), tensor(3, 4), tensor(4, 5)),
    "matmul_tn": lambda: (lambda a, b: nn.matmul(a, b, transpose_a=True), tensor(2, 4, 3), tensor(4, 5)),
    "matmul_nt": lambda: (lambda a, b: nn.matmul(a, b, transpose_b=True), tensor(2, 3, 4), tensor(5, 4)),
    "matmul_tt": lambda: (
        lambda a, b: nn.matmul(a, b, transpose_a=True, transpose_b=True),
        tensor(4, 3),
        tensor(5, 4),
    ),
    "batch_matmul": lambda: (lambda a, b: nn.batch_matmul(a, b), tensor(2, 3, 4), tensor(2, 5, 4)),
    "batch_matmul_tn": lambda: (
        lambda a, b: nn.batch_matmul(a, b, transpose_a=True, transpose_b=False),
        tensor(1, 4, 3),
        tensor(2, 4, 5),
    ),
    "batch_matmul_tt": lambda: (
        lambda a, b: nn.batch_matmul(a, b, transpose_a=True),
        tensor(2, 4, 3),
        tensor(1, 5, 4),
    ),
    "batch_matmul_nn": lambda: (
        lambda a, b: nn.batch_matmul(a, b, transpose_b=False),
        tensor(2, 3, 4),
        tensor(2, 4, 5),
    ),
    "conv1d": lambda: (lambda x, w: nn.conv1d(x, w, strides=2, padding=1), tensor(2, 3, 6), tensor(4, 3, 3)),
    "conv1d_grouped": lambda: (lambda x, w: nn.conv1d(x, w, groups=2, dilation=2), tensor(1, 4, 6), tensor(2, 2, 2)),
    "conv2d": lambda: (lambda x, w: nn.conv2d(x, w, strides=(2, 1), padding=1), tensor(2, 2, 4, 5), tensor(3, 2, 3, 2)),
    "conv2d_dilated": lambda: (
        lambda x, w: nn.conv2d(x, w, dilation=2, padding=(1, 0, 2, 1), strides=2),
        tensor(1, 2, 6, 5),
        tensor(2, 2, 3, 2),
    ),
    "conv2d_grouped": lambda: (lambda x, w: nn.conv2d(x, w, groups=2), tensor(1, 4, 4, 4), tensor(4, 2, 2, 3)),
    "conv2d_depthwise": lambda: (lambda x, w: nn.conv2d(x, w, groups=3), tensor(1, 3, 4, 4), tensor(3, 2, 2, 2)),
    "conv2d_nhwc": lambda: (
        lambda x, w: nn.conv2d(x, w, data_layout="NHWC", kernel_layout="HWIO", padding=1),
        tensor(1, 4, 4, 2),
        tensor(3, 3, 2, 3),
    ),
    "conv3d": lambda: (
        lambda x, w: nn.conv3d(x, w, padding=1, strides=2),
        tensor(1, 2, 3, 4, 3),
        tensor(2, 2, 2, 3, 2),
    ),
    "conv1d_transpose": lambda: (
        lambda x, w: nn.conv1d_transpose(x, w, strides=2, padding=1, output_padding=1),
        tensor(1, 2, 4),
        tensor(2, 3, 3),
    ),
    "conv2d_transpose": lambda: (
        lambda x, w: nn.conv2d_transpose(x, w, strides=2, padding=1, output_padding=1),
        tensor(1, 2, 3, 4),
        tensor(2, 3, 3, 3),
    ),
    "conv2d_transpose_grouped": lambda: (
        lambda x, w: nn.conv2d_transpose(x, w, groups=2),
        tensor(1, 4, 3, 3),
        tensor(4, 2, 2, 2),
    ),
    "max_pool2d": lambda: (lambda x: nn.max_pool2d(x, 3, 2, padding=1), tensor(1, 2, 6, 6)),
    "max_pool2d_nhwc": lambda: (lambda x: nn.max_pool2d(x, 2, 1, layout="NHWC"), tensor(1, 4, 4, 2)),
    "avg_pool2d": lambda: (lambda x: nn.avg_pool2d(x, 3, 2, padding=1), tensor(1, 2, 6, 6)),
    "avg_pool2d_all": lambda: (
        lambda x: nn.avg_pool2d(x, 3, 2, padding=1, count_include_pad=True, ceil_mode=True),
        tensor(1, 1, 6, 6),
    ),
    "max_pool1d": lambda: (lambda x: nn.max_pool1d(x, 3, 2, padding=1), tensor(2, 3, 7)),
    "avg_pool1d": lambda: (lambda x: nn.avg_pool1d(x, 3, 2, padding=(1, 0), layout="NWC"), tensor(2, 7, 3)),
    "global_avg_pool2d": lambda: (nn.global_avg_pool2d, tensor(2, 3, 3, 4)),
    "global_max_pool2d": lambda: (nn.global_max_pool2d, tensor(2, 3, 3, 4)),
    "adaptive_avg_pool2d": lambda: (lambda x: nn.adaptive_avg_pool2d(x, (2, 3)), tensor(1, 2, 4, 6)),
    "adaptive_max_pool2d": lambda: (lambda x: nn.adaptive_max_pool2d(x, 2), tensor(1, 2, 4, 6)),
    "batch_norm": lambda: (nn.batch_norm, tensor(2, 3, 2), tensor(3), tensor(3), tensor(3), tensor(3, low=0.5)),
    "batch_norm_plain": lambda: (
        lambda *v: nn.batch_norm(*v, axis=-1, center=False, scale=False, epsilon=0.1),
        tensor(2, 2, 3),
        tensor(3),
        tensor(3),
        tensor(3),
        tensor(3, low=0.5),
    ),
    "layer_norm": lambda: (nn.layer_norm, tensor(*X), tensor(4), tensor(4)),
    "instance_norm": lambda: (nn.instance_norm, tensor(2, 3, 2, 3), tensor(3), tensor(3)),
    "group_norm": lambda: (lambda x, g, b: nn.group_norm(x, g, b, 2), tensor(2, 4, 2, 2), tensor(4), tensor(4)),
    "l2_normalize": lambda: (lambda x: nn.l2_normalize(x, 1e-3, axis=[1]), tensor(*X)),
    "l2_normalize_small": lambda: (lambda x: nn.l2_normalize(x, 100.0), tensor(*X)),
    "lrn": lambda: (lambda x: nn.lrn(x, size=3, alpha=0.3), tensor(2, 4, 2, 2)),
    "lrn_last": lambda: (lambda x: nn.lrn(x, size=3, axis=-1, alpha=0.3, bias=1), tensor(2, 2, 5)),
    "dropout": lambda: (nn.dropout_raw, tensor(*X)),
    "pad": lambda: (lambda x, v: nn.pad(x, ((1, 0), (0, 2), (1, 1)), v), tensor(*X), tensor()),
    "dilate": lambda: (lambda x: nn.dilate(x, (1, 2, 3)), tensor(*X)),
    "space_to_depth": lambda: (lambda x: nn.space_to_depth(x, 2), tensor(1, 2, 4, 4)),
    "depth_to_space": lambda: (lambda x: nn.depth_to_space(x, 2), tensor(1, 8, 2, 2)),
    "space_to_batch_nd": lambda: (lambda x: nn.space_to_batch_nd(x, [2, 2], [[1, 0], [0, 1]]), tensor(1, 3, 3, 2)),
    "batch_to_space_nd": lambda: (lambda x: nn.batch_to_space_nd(x, [2, 2], [[1, 0], [0, 1]]), tensor(4, 2, 2, 1)),
    "conv3d_transpose": lambda: (
        lambda x, w: nn.conv3d_transpose(x, w, strides=(1, 2, 1), padding=(0, 1, 0)),
        tensor(1, 2, 2, 2, 3),
        tensor(2, 1, 2, 3, 2),
    ),
    "conv2d_blocks": lambda: (
        lambda x, w: nn.contrib_conv2d_nchwc(
            x, w, channels=4, kernel_size=(3, 3), padding=(1, 1), data_layout="NCHW2c", kernel_layout="OIHW2i4o"
        ),
        tensor(1, 2, 4, 4, 2),
        tensor(1, 2, 3, 3, 2, 4),
    ),
    "depthwise_conv2d_blocks": lambda: (
        lambda x, w: nn.contrib_depthwise_conv2d_nchwc(
            x,
            w,
            channels=4,
            kernel_size=(3, 3),
            groups=4,
            strides=(2, 2),
            data_layout="NCHW2c",
            kernel_layout="OIHW1i2o",
            out_layout="NCHW2c",
        ),
        tensor(1, 2, 5, 5, 2),
        tensor(2, 1, 3, 3, 1, 2),
    ),
    "fast_softmax": lambda: (nn.fast_softmax, tensor(2, 3)),
    "stop_fusion": lambda: (relay.annotation.stop_fusion, tensor(3)),
    "checkpoint": lambda: (relay.annotation.checkpoint, tensor(3)),
    "max_pool3d": lambda: (
        lambda x: nn.max_pool3d(x, (2, 3, 2), (2, 1, 2), padding=(0, 1, 1)),
        tensor(1, 2, 4, 3, 4),
    ),
    "max_pool3d_last": lambda: (lambda x: nn.max_pool3d(x, 2, 2, layout="NDHWC"), tensor(1, 2, 4, 2, 2)),
    "avg_pool3d": lambda: (lambda x: nn.avg_pool3d(x, (2, 3, 2), (1, 2, 2), padding=1), tensor(1, 2, 3, 4, 4)),
    "avg_pool3d_counted": lambda: (
        lambda x: nn.avg_pool3d(x, 2, 2, padding=1, ceil_mode=True, count_include_pad=True),
        tensor(1, 1, 3, 3, 2),
    ),
    "adaptive_avg_pool1d": lambda: (lambda x: nn.adaptive_avg_pool1d(x, 3), tensor(1, 2, 7)),
    "adaptive_max_pool1d": lambda: (lambda x: nn.adaptive_max_pool1d(x, 3), tensor(1, 2, 7)),
    "adaptive_avg_pool2d_uneven": lambda: (lambda x: nn.adaptive_avg_pool2d(x, (2, 3)), tensor(1, 2, 5, 4)),
    "adaptive_max_pool2d_uneven": lambda: (
        lambda x: nn.adaptive_max_pool2d(x, (2, 3), layout="NHWC"),
        tensor(1, 5, 4, 2),
    ),
    "adaptive_avg_pool3d": lambda: (lambda x: nn.adaptive_avg_pool3d(x, (1, 2, 3)), tensor(1, 1, 3, 5, 3)),
    "adaptive_max_pool3d": lambda: (lambda x: nn.adaptive_max_pool3d(x, 2), tensor(1, 1, 3, 4, 2)),
    "pad_edge": lambda: (lambda x, v: nn.pad(x, ((1, 0), (0, 2), (3, 1)), v, "edge"), tensor(*X), tensor()),
    "pad_reflect": lambda: (lambda x, v: nn.pad(x, ((0, 0), (1, 2), (3, 1)), v, "reflect"), tensor(*X), tensor()),
    "mirror_pad": lambda: (lambda x: nn.mirror_pad(x, ((1, 0), (0, 2), (3, 1))), tensor(*X)),
    "mirror_pad_reflect": lambda: (lambda x: nn.mirror_pad(x, ((2, 3),), "REFLECT"), tensor(5)),
    "sliding_window": lambda: (lambda x: relay.sliding_window(x, 1, [2, 3], [1, 2]), tensor(2, 4, 7)),
    "yolo_reorg": lambda: (lambda x: relay.vision.yolo_reorg(x, 2), tensor(1, 4, 4, 2)),
    "depth_to_space_crd": lambda: (lambda x: nn.depth_to_space(x, 2, mode="CRD"), tensor(1, 8, 2, 2)),
    "resize1d": lambda: (lambda x: image.resize1d(x, 7), tensor(1, 2, 4)),
    "resize2d": lambda: (lambda x: image.resize2d(x, (5, 2)), tensor(1, 2, 3, 4)),
    "resize2d_last": lambda: (
        lambda x: image.resize2d(x, (5, 6), layout="NHWC", coordinate_transformation_mode="align_corners"),
        tensor(1, 3, 4, 2),
    ),
    "resize2d_cubic": lambda: (
        lambda x: image.resize2d(x, (5, 7), method="cubic", cubic_exclude=1),
        tensor(1, 1, 4, 5),
    ),
    "resize2d_nearest": lambda: (
        lambda x: image.resize2d(
            x, (5, 3), method="nearest_neighbor", coordinate_transformation_mode="asymmetric", rounding_method="floor"
        ),
        tensor(1, 1, 4, 5),
    ),
    "resize2d_part": lambda: (
        lambda x: image.resize2d(
            x,
            (3, 4),
            roi=(0.1, -0.2, 1.3, 0.8),
            coordinate_transformation_mode="tf_crop_and_resize",
            extrapolation_value=5.0,
        ),
        tensor(1, 1, 4, 5),
    ),
    "resize3d": lambda: (lambda x: image.resize3d(x, (3, 2, 4)), tensor(1, 1, 2, 3, 3)),
    "upsampling_bilinear": lambda: (lambda x: nn.upsampling(x, 2, 1.5, method="bilinear"), tensor(1, 2, 2, 4)),
    "upsampling_corners": lambda: (
        lambda x: nn.upsampling(x, 2, 2, method="bilinear", align_corners=True),
        tensor(1, 1, 1, 3),
    ),
    "upsampling3d": lambda: (lambda x: nn.upsampling3d(x, 2, 1, 2, method="trilinear"), tensor(1, 1, 2, 2, 3)),
    "nll_loss": lambda: (lambda p, t, w: nn.nll_loss(p, t, w), tensor(4, 3), CLASSES, tensor(3, low=0.5)),
    "nll_loss_sum": lambda: (
        lambda p, t, w: nn.nll_loss(p, t, w, reduction="sum", ignore_index=1),
        tensor(4, 3),
        CLASSES,
        tensor(3),
    ),
    "nll_loss_none": lambda: (
        lambda p, t, w: nn.nll_loss(p, t, w, reduction="none", ignore_index=2),
        tensor(2, 3, 2),
        CLASSES.reshape(2, 2),
        tensor(3),
    ),
    "nll_loss_of_one": lambda: (nn.nll_loss, tensor(3), np.array(1, "int32"), tensor(3, low=0.5)),
    "upsampling": lambda: (lambda x: nn.upsampling(x, 2, 3), tensor(1, 2, 2, 3)),
    "cross_entropy": lambda: (nn.cross_entropy, tensor(3, 4, low=0.5), tensor(3, 4)),
    "cross_entropy_with_logits": lambda: (nn.cross_entropy_with_logits, tensor(3, 4), tensor(3, 4)),
}


@pytest.mark.parametrize("name", CASES)
def test_gradient(name):
    build, *arrays = CASES[name]()
    check_gradient(build, *arrays)


SHAPES = {
    "dyn.reshape": (relay.reshape, [3, 2], 1),
    "dyn.squeeze": (relay.squeeze, [1], 1),
    "dyn.expand_dims": (relay.expand_dims, 1, 1),
    "dyn.broadcast_to": (relay.broadcast_to, [2, 4, 3], 4),
    "dyn.full": (relay.full, [2, 3], 6),
}


@pytest.mark.parametrize("name", SHAPES)
def test_gradient_where_the_shape_is_an_argument(name):
    build, shape, copies = SHAPES[name]
    given = () if name == "dyn.full" else (2, 1, 3)
    arrays = tensor(*given, dtype="float64"), np.array(shape, "int64")
    x, s = params = variables(arrays)
    body = build(x, s)
    assert body.op.name == name
    mod = relay.transform.InferType()(tessera.IRModule.from_expr(relay.Function(params, relay.sum(body * body))))
    backward = tessera.IRModule.from_expr(relay.transform.gradient(mod["main"], mode="first_order"))
    _, (by_x, by_shape) = relay.create_executor("vm", backward, tessera.cpu(), "llvm").evaluate()(*arrays)
    np.testing.assert_allclose(by_x.numpy(), 2 * copies * arrays[0])
    assert not by_shape.numpy().any()


def test_every_gradient_of_another_operator_is_compared():
    compared = set(SHAPES)
    for build, *arrays in (case() for case in CASES.values()):
        body = build(*variables([a if a.dtype.kind == "i" else a.astype("float64") for a in arrays]))
        compared.add((body.tuple_value if isinstance(body, relay.TupleWrapper) else body).op.name)
    zero = {"argwhere", "dyn.ones", "dyn.zeros", "round_to_even"}
    names = {name for name in tessera.ir.Op.list_op_names() if not name.startswith("tir.")} - set(REFERENCES) - zero
    assert {name for name in names if tessera.ir.Op.get(name).has_attr("FPrimalGradient")} == compared - set(REFERENCES)


def test_a_gradient_that_is_not_there_is_said_so():
    x = relay.var("x", shape=(1, 1, relay.Any(), 2))
    call = relay.transform.InferType()(tessera.IRModule.from_expr(nn.upsampling(x, 2, 2, method="bilinear")))
    body = call["main"].body
    with pytest.raises(NotImplementedError, match="a gradient needs extent 2"):
        body.op.get_attr("FPrimalGradient")(body, relay.var("g", shape=(1, 1, 4, 4)))


def test_gradient_of_a_network():
    arrays = [tensor(*shape, dtype="float64") for shape in ((1, 2, 4, 4), (3, 2, 3, 3), (4, 12))]
    x, w, d = params = variables(arrays)
    features = nn.batch_flatten(nn.max_pool2d(nn.relu(nn.conv2d(x, w, padding=1)), 2, 2))
    body = relay.multiply(nn.log_softmax(nn.dense(features, d)), relay.const(tensor(1, 4), "float64"))
    for mode in ("first_order", "higher_order"):
        check_grad(relay.Function(params, body), arrays, eps=1e-6, atol=1e-4, rtol=1e-4, mode=mode)
