"""Calls of the operators of networks, each with arrays that its gradient is compared at."""

import numpy as np
import tessera
from gradient_checks import away_from_zero, call, positions
from nn_checks import tensor
from tessera import relay
from tessera.relay import nn


def backward_weight(grad, data, channels, kernel_size, **options):
    """The operator that gradients of convolutions are made of, found in one."""
    return nn.conv2d_backward_weight(
        grad, data, channels=channels, kernel_size=kernel_size, grad_layout="NCHW", data_layout="NCHW", **options
    )


def thin(rows, columns, height=1, width=1):
    """data, indices and indptr of a matrix with few blocks, and one entry more than its rows have."""
    used = np.array([[(i * 5 + j * 3) % 4 == 0 for j in range(columns // width)] for i in range(rows // height)])
    count = int(used.sum()) + 1
    data = tensor(count) if height == width == 1 else tensor(count, height, width)
    indices, indptr = [*np.nonzero(used)[1], 0], [0, *np.cumsum(used.sum(1))]
    return data, np.array(indices, "int32"), np.array(indptr, "int32")


def sparse_layer(name, **options):
    return lambda *args: relay.Call(
        tessera.ir.Op.get(name), list(args), tessera.ir.make_node("relay.attrs.SparseDenseAttrs", **options)
    )


X = (2, 3, 4)
CLASSES = np.array([2, 0, 1, 2], "int32")
NN_CASES = {
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
    "fifo_buffer": lambda: (lambda x, b: nn.fifo_buffer(x, b, 1), tensor(2, 2, 3), tensor(2, 4, 3)),
    "fifo_buffer_full": lambda: (lambda x, b: nn.fifo_buffer(x, b, 0), tensor(3), tensor(2)),
    "dense_pack": lambda: (lambda x, w: nn.contrib_dense_pack(x, w, "NC4n"), tensor(3, 5), tensor(2, 5, 4)),
    "on_device": lambda: (lambda x: relay.annotation.on_device(x, tessera.cpu(0)), tensor(3)),
    "device_copy": lambda: (lambda x: relay.device_copy(x, tessera.cpu(0), tessera.cpu(0)), tensor(3)),
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
        positions(1, 12, 2, 5),
        tensor(3, 2, 3, 2),
    ),
    "deformable_conv2d_grouped": lambda: (
        lambda x, o, w: nn.deformable_conv2d(
            x, o, w, dilation=(2, 2), groups=2, deformable_groups=2, kernel_size=(2, 2), channels=4
        ),
        tensor(2, 4, 4, 4),
        positions(2, 16, 2, 2),
        tensor(4, 2, 2, 2),
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
    "sparse_dense": lambda: (sparse_layer("nn.sparse_dense"), tensor(3, 6), *thin(4, 6)),
    "sparse_dense_blocks": lambda: (sparse_layer("nn.sparse_dense"), tensor(2, 6), *thin(4, 6, 2, 3)),
    "sparse_dense_left": lambda: (sparse_layer("nn.sparse_dense", sparse_lhs=True), tensor(2, 6), *thin(4, 6, 4, 1)),
    "sparse_dense_padded": lambda: (sparse_layer("nn.internal.sparse_dense_padded"), tensor(2, 3), *thin(4, 3)),
    "sparse_add": lambda: (
        lambda x, *m: relay.Call(tessera.ir.Op.get("nn.sparse_add"), [x, *m]),
        tensor(4, 6),
        *thin(4, 6),
    ),
    "sparse_transpose": lambda: (
        lambda *m: nn.sparse_transpose(m),
        *[part[: len(part) - (i < 2)] for i, part in enumerate(thin(5, 5))],
    ),
    **{
        f"sparse_conv2d_{layout}_{size}": lambda layout=layout, size=size: (
            lambda x, *m: nn.sparse_conv2d(x, *m, layout=layout, kernel_size=[size, size]),
            tensor(*((1, 3, 4, 2) if layout == "NHWC" else (1, 2, 3, 4))),
            *thin(4, 2 * size * size, 2, 1),
        )
        for layout in ("NHWC", "NCHW")
        for size in (1, 3)
    },
}
