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


def check_gradient(build, *arrays, rtol=1e-4, atol=1e-5, fixed=()):
    """Arguments that are `fixed` are taken as they are, as integers are: their gradients are zeros."""
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
        if arrays[i].dtype.kind == "i" or i in fixed:
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


def places(*shape, size=0.9):
    """Places that are not close to the middle or the border of elements, where samples have kinks."""
    return tensor(*shape, low=-size, high=size).round(2) + 0.0037


def call(name, *args, **attrs):
    return relay.Call(
        tessera.ir.Op.get(name), list(args), tessera.ir.make_node(f"relay.attrs.{name.capitalize()}Attrs", **attrs)
    )


def backward_weight(grad, data, channels, kernel_size, **options):
    """The operator that gradients of convolutions are made of, found in one."""
    return nn.conv2d_backward_weight(
        grad, data, channels=channels, kernel_size=kernel_size, grad_layout="NCHW", data_layout="NCHW", **options
    )


X = (2, 3, 4)
BOXES = np.array([[0.13, 0.21, 0.83, 0.97], [0.71, 0.11, 0.24, 0.52], [-0.33, 0.42, 0.61, 1.27]])
# the number of an image first, which is cut to an integer
ROIS = np.array([[1.4, 1.3, 0.7, 9.1, 8.3], [0.4, -3.1, 2.3, 6.2, 7.4], [1.4, 4.2, 5.1, 4.9, 5.3]])
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
    "fifo_buffer": lambda: (lambda x, b: nn.fifo_buffer(x, b, 1), tensor(2, 2, 3), tensor(2, 4, 3)),
    "fifo_buffer_full": lambda: (lambda x, b: nn.fifo_buffer(x, b, 0), tensor(3), tensor(2)),
    "dense_pack": lambda: (lambda x, w: nn.contrib_dense_pack(x, w, "NC4n"), tensor(3, 5), tensor(2, 5, 4)),
    "on_device": lambda: (lambda x: relay.annotation.on_device(x, tessera.cpu(0)), tensor(3)),
    "device_copy": lambda: (lambda x: relay.device_copy(x, tessera.cpu(0), tessera.cpu(0)), tensor(3)),
    "affine_grid": lambda: (lambda m: image.affine_grid(m, (3, 4)), tensor(2, 2, 3)),
    "grid_sample": lambda: (image.grid_sample, tensor(2, 3, 4, 5), places(2, 2, 3, 3)),
    "grid_sample_volume": lambda: (
        lambda x, g: image.grid_sample(x, g, layout="NCDHW", align_corners=False),
        tensor(1, 2, 3, 2, 3),
        places(1, 3, 2, 2, 2),
    ),
    "grid_sample_border": lambda: (
        lambda x, g: image.grid_sample(x, g, padding_mode="border"),
        tensor(1, 1, 4, 5),
        places(1, 2, 3, 4, size=1.5),
    ),
    "grid_sample_reflection": lambda: (
        lambda x, g: image.grid_sample(x, g, padding_mode="reflection", align_corners=False),
        tensor(1, 1, 4, 5),
        places(1, 2, 3, 4, size=2.5),
    ),
    "grid_sample_nearest": lambda: (
        lambda x, g: image.grid_sample(x, g, method="nearest"),
        tensor(1, 2, 4, 5),
        places(1, 2, 3, 3, size=1.2),
    ),
    "grid_sample_bicubic": lambda: (
        lambda x, g: image.grid_sample(x, g, method="bicubic"),
        tensor(1, 1, 5, 5),
        places(1, 2, 2, 3),
    ),
    "grid_sample_bicubic_border": lambda: (
        lambda x, g: image.grid_sample(x, g, method="bicubic", padding_mode="reflection"),
        tensor(1, 1, 5, 5),
        places(1, 2, 2, 3, size=1.3),
    ),
    "crop_and_resize": lambda: (
        lambda x, b, i: image.crop_and_resize(x, b, i, (3, 2), "NCHW"),
        tensor(2, 2, 4, 5),
        BOXES,
        np.array([1, 0, 1], "int32"),
    ),
    "crop_and_resize_to_one": lambda: (
        lambda x, b, i: image.crop_and_resize(x, b, i, (1, 4), layout="NHWC", extrapolation_value=3.0),
        tensor(2, 4, 5, 2),
        BOXES,
        np.array([1, 0, 1], "int32"),
    ),
    "crop_and_resize_nearest": lambda: (
        lambda x, b, i: image.crop_and_resize(x, b, i, (3, 2), "NCHW", method="nearest_neighbor"),
        tensor(2, 2, 4, 5),
        BOXES,
        np.array([1, 0, 1], "int32"),
    ),
    "dilation2d": lambda: (
        lambda x, w: image.dilation2d(x, w, strides=[1, 2], padding=[1, 1, 0, 1], dilations=[2, 1]),
        tensor(1, 2, 5, 5),
        tensor(2, 2, 3),
    ),
    "dilation2d_last": lambda: (
        lambda x, w: image.dilation2d(x, w, data_layout="NHWC", kernel_layout="HWI"),
        tensor(1, 4, 4, 2),
        tensor(2, 2, 2),
    ),
    "correlation": lambda: (
        lambda a, b: nn.correlation(a, b, 1, 2, 1, 1, (2, 2), True, "NCHW"),
        tensor(1, 2, 4, 5),
        tensor(1, 2, 4, 5),
    ),
    "correlation_windows": lambda: (
        lambda a, b: nn.correlation(a, b, 3, 3, 2, 2, (3, 4), False, "NCHW"),
        tensor(1, 2, 5, 6),
        tensor(1, 2, 5, 6),
    ),
    "deformable_conv2d": lambda: (
        lambda x, o, w: nn.deformable_conv2d(x, o, w, strides=(2, 1), padding=(1, 1), kernel_size=(3, 2), channels=3),
        tensor(1, 2, 4, 4),
        places(1, 12, 2, 5),
        tensor(3, 2, 3, 2),
    ),
    "deformable_conv2d_grouped": lambda: (
        lambda x, o, w: nn.deformable_conv2d(
            x, o, w, dilation=(2, 2), groups=2, deformable_groups=2, kernel_size=(2, 2), channels=4
        ),
        tensor(2, 4, 4, 4),
        places(2, 16, 2, 2),
        tensor(4, 2, 2, 2),
    ),
    "roi_align": lambda: (
        lambda x, r: relay.vision.roi_align(x, r, (2, 3), 0.5, 2),
        tensor(2, 2, 5, 6),
        ROIS,
    ),
    "roi_align_max": lambda: (
        lambda x, r: relay.vision.roi_align(x, r, (2, 3), 0.5, 2, mode="max"),
        tensor(2, 2, 5, 6),
        ROIS,
    ),
    "roi_pool": lambda: (
        lambda x, r: relay.vision.roi_pool(x, r, (2, 3), 0.5),
        tensor(2, 2, 5, 6),
        ROIS,
    ),
    "conv2d_backward_weight": lambda: (
        lambda g, x: backward_weight(g, x, 3, (2, 3), strides=(2, 1), padding=(1, 1), dilation=(1, 2)),
        tensor(2, 3, 3, 3),
        tensor(2, 2, 5, 5),
    ),
    "conv2d_backward_weight_grouped": lambda: (
        lambda g, x: backward_weight(g, x, 4, (2, 2), groups=2),
        tensor(1, 4, 3, 3),
        tensor(1, 4, 4, 4),
    ),
    "max_pool2d_grad": lambda: (
        lambda g, x: nn.max_pool2d_grad(g, x, (3, 2), (2, 2), padding=(1, 0), ceil_mode=True),
        tensor(1, 2, 4, 3),
        tensor(1, 2, 6, 5),
    ),
    "max_pool2d_grad_last": lambda: (
        lambda g, x: nn.max_pool2d_grad(g, x, (2, 2), (1, 1), layout="NHWC"),
        tensor(1, 3, 3, 2),
        tensor(1, 4, 4, 2),
    ),
    "avg_pool2d_grad": lambda: (
        lambda g, x: nn.avg_pool2d_grad(g, x, (3, 2), (2, 2), padding=(1, 0)),
        tensor(1, 2, 3, 3),
        tensor(1, 2, 5, 6),
    ),
    "fft": lambda: (lambda x: call("fft", x, inverse=False), tensor(2, 5, 2)),
    "fft_inverse": lambda: (lambda x: call("fft", x, inverse=True), tensor(2, 4, 2)),
    "determinant": lambda: (lambda x: relay.Call(tessera.ir.Op.get("determinant"), [x]), tensor(2, 3, 3)),
    "determinant_singular": lambda: (
        lambda x: relay.Call(tessera.ir.Op.get("determinant"), [x]),
        np.outer(tensor(4), tensor(4)),
    ),
    "determinant_of_one": lambda: (lambda x: relay.Call(tessera.ir.Op.get("determinant"), [x]), tensor(2, 1, 1)),
    "cross_entropy": lambda: (nn.cross_entropy, tensor(3, 4, low=0.5), tensor(3, 4)),
    "cross_entropy_with_logits": lambda: (nn.cross_entropy_with_logits, tensor(3, 4), tensor(3, 4)),
}


@pytest.mark.parametrize("name", CASES)
def test_gradient(name):
    build, *arrays = CASES[name]()
    check_gradient(build, *arrays)


def test_regions_are_taken_as_they_are_where_they_say_the_number_of_samples():
    build = lambda x, r: relay.vision.roi_align(x, r, (2, 2), 0.6, -1, layout="NHWC")
    check_gradient(build, tensor(2, 5, 6, 2), ROIS, fixed=[1])


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


def int64(*values):
    return np.array(values, "int64")


def check_open(build, *arrays, shapes=None):
    """The gradients of the sum of squares, where extents are arguments or Any, against differences on the VM."""
    arrays = [a if a.dtype.kind == "i" else a.astype("float64") for a in arrays]
    shapes = [a.shape for a in arrays] if shapes is None else shapes
    params = [relay.var(f"x{i}", shape=s, dtype=str(a.dtype)) for i, (s, a) in enumerate(zip(shapes, arrays))]
    body = build(*params)
    parts = [*body] if isinstance(body, relay.TupleWrapper) else [body]
    total = sum((relay.sum(part * part) for part in parts), relay.const(0.0, "float64"))
    mod = relay.transform.InferType()(tessera.IRModule.from_expr(relay.Function(params, total)))
    backward = tessera.IRModule.from_expr(relay.transform.gradient(mod["main"], mode="first_order"))
    on_vm = lambda module: relay.create_executor("vm", module, tessera.cpu(), "llvm").evaluate()
    forward = on_vm(mod)
    _, gradients = on_vm(backward)(*arrays)
    for i, analytic in enumerate(gradients):
        assert analytic.shape == arrays[i].shape
        if arrays[i].dtype.kind == "i":
            assert not analytic.numpy().any()
            continue
        numeric = differences(lambda *given: [forward(*given).numpy()], arrays, i, [1.0])
        np.testing.assert_allclose(analytic.numpy(), numeric, rtol=1e-4, atol=1e-5, err_msg=f"argument {i}")
    return getattr(parts[0], "op", None)


DYNAMIC = {
    "dyn.strided_slice": lambda: (
        lambda x, b, e, s: relay.strided_slice(x, b, e, s),
        tensor(4, 6),
        int64(1, 5),
        int64(4, 0),
        int64(2, -2),
    ),
    "dyn.strided_slice size": lambda: (
        lambda x, b, e, s: relay.strided_slice(x, b, e, s, slice_mode="size"),
        tensor(4, 6),
        int64(-3, 2),
        int64(2, -1),
        int64(1, 1),
    ),
    "dyn.tile": lambda: (relay.tile, tensor(2, 3), int64(2, 1, 3)),
    "dyn.tile few": lambda: (relay.tile, tensor(2, 3), int64(2)),
    "dyn.nn.pad": lambda: (nn.pad, tensor(2, 3), np.array([[1, 0], [2, 3]]), tensor()),
    "dyn.nn.pad edge": lambda: (
        lambda x, w, v: nn.pad(x, w, v, "edge"),
        tensor(2, 3),
        np.array([[1, 0], [2, 3]]),
        tensor(),
    ),
    "dyn.nn.pad reflect": lambda: (
        lambda x, w, v: nn.pad(x, w, v, "reflect"),
        tensor(3, 4),
        np.array([[1, 2], [0, 3]]),
        tensor(),
    ),
    "dyn.nn.upsampling": lambda: (
        lambda x, h, w: nn.upsampling(x, relay.cast(h, "float32"), relay.cast(w, "float32"), method="bilinear"),
        tensor(1, 2, 3, 2),
        int64(2),
        int64(3),
    ),
    "dyn.nn.upsampling3d": lambda: (
        lambda x, d, h, w: nn.upsampling3d(
            x, *(relay.cast(s, "float32") for s in (d, h, w)), layout="NDHWC", method="trilinear"
        ),
        tensor(1, 2, 3, 2, 1),
        int64(2),
        int64(1),
        int64(2),
    ),
    "dyn.image.resize2d": lambda: (
        lambda x, s: image.resize2d(x, s, method="cubic", layout="NHWC"),
        tensor(1, 3, 4, 2),
        int64(5, 3),
    ),
    "dyn.topk": lambda: (lambda x, k: relay.topk(x, k, ret_type="values"), tensor(3, 5), int64(2)),
    "dyn.one_hot": lambda: (
        lambda i, on, off, d: relay.one_hot(i, on, off, d, -1, "float64"),
        int64(0, 3, 1),
        tensor(),
        tensor(),
        np.array(4, "int64"),
    ),
    "dyn.sparse_to_dense": lambda: (
        lambda i, s, v, d: relay.sparse_to_dense(i, s, v, d),
        np.array([[0, 1], [2, 3], [2, 3], [9, 9]]),
        int64(3, 4),
        tensor(4),
        tensor(),
    ),
}
ANY = relay.Any()
OPEN = {
    "concatenate": lambda: (
        lambda a, b: relay.concatenate([a, b], 1),
        [(2, ANY), (2, ANY)],
        tensor(2, 3),
        tensor(2, 1),
    ),
    "mean": lambda: (lambda x: relay.mean(x, (0, 2)), [(ANY, 3, 4)], tensor(*X)),
    "variance": lambda: (lambda x: relay.variance(x, 1, unbiased=True), [(2, ANY)], tensor(2, 3)),
    "take": lambda: (
        lambda x, i: relay.take(x, i, 1, mode="wrap"),
        [(2, ANY, 3), (2, ANY)],
        tensor(2, 4, 3),
        np.array([[1, 3, -2], [3, 0, 9]]),
    ),
    "take_flat": lambda: (relay.take, [(ANY, 3), (ANY,)], tensor(2, 3), np.array([1, 9, 1])),
    "strided_slice": lambda: (lambda x: relay.strided_slice(x, [1, -2], [3, -9], [1, -1]), [(ANY, ANY)], tensor(4, 5)),
    "strided_slice_axes": lambda: (
        lambda x: relay.strided_slice(x, [-3], [2], axes=[1], slice_mode="size"),
        [(ANY, ANY)],
        tensor(2, 5),
    ),
    "slice_like": lambda: (relay.slice_like, [(ANY, 4), (2, ANY)], tensor(3, 4), tensor(2, 3)),
    "tile": lambda: (lambda x: relay.tile(x, (2, 1, 3)), [(ANY, 2)], tensor(3, 2)),
    "repeat": lambda: (lambda x: relay.repeat(x, 3, 1), [(ANY, ANY)], tensor(2, 3)),
    "pad": lambda: (lambda x: nn.pad(x, ((1, 0), (2, 3))), [(ANY, ANY)], tensor(2, 3)),
    "pad_edge": lambda: (lambda x: nn.pad(x, ((1, 0), (2, 3)), pad_mode="edge"), [(ANY, ANY)], tensor(2, 3)),
    "mirror_pad": lambda: (lambda x: nn.mirror_pad(x, ((1, 0), (2, 1))), [(ANY, ANY)], tensor(2, 3)),
    "resize2d": lambda: (lambda x: image.resize2d(x, (5, 3)), [(ANY, 1, ANY, ANY)], tensor(2, 1, 3, 4)),
    "fft": lambda: (lambda x: call("fft", x, inverse=True), [(ANY, 2)], tensor(4, 2)),
    "conv2d": lambda: (
        lambda x, w: nn.conv2d(x, w, padding=1, strides=2),
        [(ANY, 2, 4, 4), (3, 2, 3, 3)],
        tensor(2, 2, 4, 4),
        tensor(3, 2, 3, 3),
    ),
}


@pytest.mark.parametrize("name", DYNAMIC)
def test_gradient_where_extents_are_arguments(name):
    build, *arrays = DYNAMIC[name]()
    assert check_open(build, *arrays).name == name.split()[0]


@pytest.mark.parametrize("name", OPEN)
def test_gradient_where_extents_are_not_known(name):
    build, shapes, *arrays = OPEN[name]()
    check_open(build, *arrays, shapes=shapes)


def test_every_gradient_of_another_operator_is_compared():
    compared = {*SHAPES, *(name.split()[0] for name in DYNAMIC)}
    for build, *arrays in (case() for case in CASES.values()):
        body = build(*variables([a if a.dtype.kind == "i" else a.astype("float64") for a in arrays]))
        compared.add((body.tuple_value if isinstance(body, relay.TupleWrapper) else body).op.name)
    zero = {"argwhere", "dyn.ones", "dyn.zeros", "round_to_even"}
    names = {name for name in tessera.ir.Op.list_op_names() if not name.startswith("tir.")} - set(REFERENCES) - zero
    assert {name for name in names if tessera.ir.Op.get(name).has_attr("FPrimalGradient")} == compared - set(REFERENCES)


def test_a_gradient_that_is_not_there_is_said_so():
    x, grid = relay.var("x", shape=(1, 1, relay.Any(), 2)), relay.var("grid", shape=(1, 2, 4, 4))
    body = relay.transform.InferType()(tessera.IRModule.from_expr(image.grid_sample(x, grid)))["main"].body
    with pytest.raises(NotImplementedError, match="a gradient needs extent 2"):
        body.op.get_attr("FPrimalGradient")(body, relay.var("g", shape=(1, 1, 4, 4)))


def test_gradient_of_a_network():
    arrays = [tensor(*shape, dtype="float64") for shape in ((1, 2, 4, 4), (3, 2, 3, 3), (4, 12))]
    x, w, d = params = variables(arrays)
    features = nn.batch_flatten(nn.max_pool2d(nn.relu(nn.conv2d(x, w, padding=1)), 2, 2))
    body = relay.multiply(nn.log_softmax(nn.dense(features, d)), relay.const(tensor(1, 4), "float64"))
    for mode in ("first_order", "higher_order"):
        check_grad(relay.Function(params, body), arrays, eps=1e-6, atol=1e-4, rtol=1e-4, mode=mode)
