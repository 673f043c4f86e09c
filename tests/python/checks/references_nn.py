"""What the nn, image and vision operators compute, in plain NumPy: name -> function of (attrs, *inputs).

Results are in the types that the operators give; a list stands for several results.
"""

import re

import numpy as np
from references_vision import VISION_REFERENCES
from tessera.topi import testing
from tessera.topi.testing import convolution, pooling
from tessera.topi.testing.layouts import SPACE, from_plain, parts_of, spatial_axes, to_plain
from tessera.topi.testing.resize import resize as resize_plain

__all__ = ["REFERENCES"]


# ---- layouts ---------------------------------------------------------------------------------------------------


def _ints(values):
    return [int(v) for v in values]


def _sides(padding, spatial):
    values = _ints(padding)
    if len(values) == 1:
        values *= 2 * spatial
    elif len(values) == spatial:
        values += values
    return list(zip(values[:spatial], values[spatial:]))


# ---- convolutions ----------------------------------------------------------------------------------------------


def _out_dtype(attrs, *inputs):
    return str(attrs.out_dtype) if str(attrs.out_dtype) not in ("", "void") else inputs[0].dtype


def conv(attrs, data, weight):
    spatial = len(attrs.strides)
    plain, plain_kernel = "NC" + SPACE[spatial], "OI" + SPACE[spatial]
    dtype = _out_dtype(attrs, data)
    out = convolution.conv(
        to_plain(data, attrs.data_layout, plain).astype(dtype),
        to_plain(weight, attrs.kernel_layout, plain_kernel).astype(dtype),
        _ints(attrs.strides),
        _sides(attrs.padding, spatial),
        _ints(attrs.dilation),
        int(attrs.groups),
    )
    return from_plain(out, plain, attrs.out_layout or attrs.data_layout)


def conv_transpose(attrs, data, weight):
    spatial = len(attrs.strides)
    plain = "NC" + SPACE[spatial]
    kernel = ("IO" if spatial == 2 else "OI") + SPACE[spatial]
    dtype = _out_dtype(attrs, data)
    out = convolution.conv_transpose(
        to_plain(data, attrs.data_layout, plain).astype(dtype),
        to_plain(weight, attrs.kernel_layout, kernel).astype(dtype),
        _ints(attrs.strides),
        _sides(attrs.padding, spatial),
        _ints(attrs.output_padding),
        _ints(attrs.dilation),
        int(attrs.groups),
    )
    return from_plain(out, plain, attrs.out_layout or attrs.data_layout)


def conv2d_backward_weight(attrs, grad, data):
    out = convolution.conv_backward_weight(
        to_plain(grad, attrs.data_layout, "NCHW"),
        to_plain(data, attrs.kernel_layout, "NCHW"),
        _ints(attrs.kernel_size),
        _ints(attrs.strides),
        _sides(attrs.padding, 2),
        _ints(attrs.dilation),
        int(attrs.groups),
    )
    return from_plain(out, "OIHW", attrs.out_layout or "OIHW")


# ---- pools -----------------------------------------------------------------------------------------------------


def _windows(attrs, data):
    spatial = len(attrs.pool_size)
    letters = [letter for letter, _ in parts_of(attrs.layout)]
    axes = [letters.index(letter) for letter in SPACE[spatial]]
    size, strides, dilation = _ints(attrs.pool_size), _ints(attrs.strides), _ints(attrs.dilation)
    extents, pads = [data.shape[axis] for axis in axes], _sides(attrs.padding, spatial)
    return axes, pooling.windows(extents, size, strides, dilation, pads, attrs.ceil_mode)


def max_pool(attrs, data):
    return pooling.pool(data, *_windows(attrs, data), pooling.maximum)


def avg_pool(attrs, data):
    return pooling.pool(data, *_windows(attrs, data), pooling.mean(attrs.count_include_pad))


def max_pool_grad(attrs, grad, data):
    def share(out, g, elements, size):
        out[max(elements, key=lambda element: data[element])] += g

    return pooling.pool_grad(grad, data, *_windows(attrs, data), share)


def avg_pool_grad(attrs, grad, data):
    def share(out, g, elements, size):
        for element in elements:
            out[element] += g / (size if getattr(attrs, "count_include_pad", False) else len(elements))

    return pooling.pool_grad(grad, data, *_windows(attrs, data), share)


def _adaptive(reduce):
    def function(attrs, data):
        axes = spatial_axes(attrs.layout)
        size = _ints(attrs.output_size) if hasattr(attrs, "output_size") else [1, 1]
        if len(size) == 1:
            size *= len(axes)
        return pooling.adaptive(data, axes, size or [data.shape[axis] for axis in axes], reduce)

    return function


# ---- normalisation ---------------------------------------------------------------------------------------------


def _scaled(attrs, x, gamma, beta, axis):
    shape = [1] * x.ndim
    shape[axis] = -1
    x = x * gamma.reshape(shape) if attrs.scale else x
    return x + beta.reshape(shape) if attrs.center else x


def _white(x, axes, epsilon):
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) / np.sqrt(var + epsilon)


def batch_norm(attrs, data, gamma, beta, mean, var):
    return testing.batch_norm(data, gamma, beta, mean, var, attrs.axis, attrs.epsilon, attrs.center, attrs.scale)


def layer_norm(attrs, data, gamma, beta):
    return _scaled(attrs, _white(data, attrs.axis, attrs.epsilon), gamma, beta, attrs.axis).astype(data.dtype)


def instance_norm(attrs, data, gamma, beta):
    axes = tuple(i for i in range(1, data.ndim) if i != attrs.axis % data.ndim)
    return _scaled(attrs, _white(data, axes, attrs.epsilon), gamma, beta, attrs.axis).astype(data.dtype)


def group_norm(attrs, data, gamma, beta):
    axis = attrs.axis % data.ndim
    groups = int(attrs.num_groups)
    x = data.reshape(*data.shape[:axis], groups, data.shape[axis] // groups, *data.shape[axis + 1 :])
    x = _white(x, tuple(range(axis + 1, x.ndim)), attrs.epsilon).reshape(data.shape)
    return _scaled(attrs, x, gamma, beta, axis).astype(data.dtype)


def l2_normalize(attrs, data):
    return testing.l2_normalize_python(data, attrs.eps, _ints(attrs.axis) if attrs.axis else None)


def lrn(attrs, data):
    return testing.lrn_python(data, attrs.size, attrs.axis, attrs.bias, attrs.alpha, attrs.beta)


def softmax(attrs, x):
    return testing.softmax_python(x, attrs.axis)


def log_softmax(attrs, x):
    return testing.log_softmax_python(x, attrs.axis)


# ---- products --------------------------------------------------------------------------------------------------


def _swapped(x, swap):
    return np.swapaxes(x, -1, -2) if swap else x


def _product(attrs, a, b):
    wide = b.dtype if b.dtype.itemsize > a.dtype.itemsize else a.dtype
    dtype = str(attrs.out_dtype) if str(attrs.out_dtype) not in ("", "void") else wide
    return a.astype(dtype) @ b.astype(dtype)


def batch_matmul(attrs, a, b):
    return _product(attrs, _swapped(a, attrs.transpose_a), _swapped(b, attrs.transpose_b))


def matmul(attrs, a, b):
    return _product(attrs, _swapped(a, attrs.transpose_a), _swapped(b, attrs.transpose_b))


def dense_pack(attrs, data, weight):
    blocks, k, block = weight.shape[:3]
    if weight.ndim == 4:
        weight = weight.transpose(0, 2, 1, 3).reshape(blocks * block, k * weight.shape[3])
    else:
        weight = weight.transpose(0, 2, 1).reshape(blocks * block, k)
    return _product(attrs, data, weight.T)


# ---- borders, space --------------------------------------------------------------------------------------------


def _pairs(pairs):
    return [tuple(_ints(pair)) for pair in pairs]


def pad(attrs, data, value):
    if attrs.pad_mode == "constant":
        return np.pad(data, _pairs(attrs.pad_width), constant_values=value.astype(data.dtype))
    return np.pad(data, _pairs(attrs.pad_width), mode=str(attrs.pad_mode))


def mirror_pad(attrs, data):
    return np.pad(data, _pairs(attrs.pad_width), mode=str(attrs.mode).lower())


def dilate(attrs, data):
    return testing.dilate_python(data, _ints(attrs.strides), attrs.dilation_value)


def fifo_buffer(attrs, data, buffer):
    n = buffer.shape[attrs.axis]
    whole = np.concatenate([buffer, data], attrs.axis)
    return np.take(whole, range(whole.shape[attrs.axis] - n, whole.shape[attrs.axis]), attrs.axis)


def space_to_depth(attrs, data):
    x = to_plain(data, attrs.layout, "NCHW")
    return from_plain(testing.space_to_depth_python(x, int(attrs.block_size)), "NCHW", attrs.layout)


def depth_to_space(attrs, data):
    x = to_plain(data, attrs.layout, "NCHW")
    return from_plain(testing.depth_to_space_python(x, int(attrs.block_size), attrs.mode), "NCHW", attrs.layout)


def space_to_batch_nd(attrs, data):
    before, after = zip(*_pairs(attrs.paddings))
    return testing.space_to_batch_nd_python(data, _ints(attrs.block_shape), before, after, attrs.pad_value)


def batch_to_space_nd(attrs, data):
    begin, end = zip(*_pairs(attrs.crops))
    return testing.batch_to_space_nd_python(data, _ints(attrs.block_shape), begin, end)


# ---- images ----------------------------------------------------------------------------------------------------


def resize(attrs, data):
    axes = spatial_axes(attrs.layout)
    out = resize_plain(
        data.astype("float64"),
        axes,
        _ints(attrs.size),
        str(attrs.method),
        str(attrs.coordinate_transformation_mode),
        str(attrs.rounding_method),
        attrs.cubic_alpha,
        attrs.cubic_exclude,
        [float(v) for v in attrs.roi] if attrs.roi else None,
        attrs.extrapolation_value,
    )
    return out.astype(_out_dtype(attrs, data))


def upsampling(attrs, data):
    letters = [letter for letter, _ in parts_of(attrs.layout)]
    axes = [letters.index(letter) for letter in "DHW" if letter in letters]
    scales = [getattr(attrs, f"scale_{letter.lower()}") for letter in "DHW" if letter in letters]
    size = [int(np.floor(data.shape[axis] * scale + 0.5)) for axis, scale in zip(axes, scales)]
    if hasattr(attrs, "coordinate_transformation_mode"):
        mode = str(attrs.coordinate_transformation_mode)
    else:
        mode = "align_corners" if attrs.align_corners else "asymmetric"
    method = re.sub("^(bi|tri)", "", str(attrs.method))
    return resize_plain(data.astype("float64"), axes, size, method, mode).astype(data.dtype)


def crop_and_resize(attrs, data, boxes, indices):
    size, method, outside = _ints(attrs.crop_size), str(attrs.method), attrs.extrapolation_value
    image = data.astype("float64")
    out = testing.crop_and_resize_python(image, boxes, indices, size, attrs.layout, method, outside)
    return out.astype(_out_dtype(attrs, data))


def affine_grid(attrs, data):
    return testing.affine_grid_python(data, _ints(attrs.target_shape))


def grid_sample(attrs, data, grid):
    layout = "NCHW" if data.ndim == 4 else "NCDHW"
    return testing.grid_sample_python(
        data, grid, str(attrs.method), layout, str(attrs.padding_mode), bool(attrs.align_corners)
    )


def dilation2d(attrs, data, weight):
    x, w = to_plain(data, attrs.data_layout, "NCHW"), to_plain(weight, attrs.kernel_layout, "IHW")
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    x = np.pad(x, [(0, 0), (0, 0), *_sides(attrs.padding, 2)], constant_values=lowest)
    strides, steps = _ints(attrs.strides), _ints(attrs.dilations)
    counts = [(x.shape[2 + i] - (w.shape[1 + i] - 1) * steps[i] - 1) // strides[i] + 1 for i in range(2)]
    out = np.full((*x.shape[:2], *counts), lowest, x.dtype)
    for tap in np.ndindex(w.shape[1:]):
        slices = tuple(slice(t * d, t * d + (c - 1) * s + 1, s) for t, d, c, s in zip(tap, steps, counts, strides))
        with np.errstate(over="ignore"):
            out = np.maximum(out, x[(..., *slices)] + w[(slice(None), *tap)][:, None, None])
    return from_plain(out, "NCHW", attrs.data_layout).astype(_out_dtype(attrs, data))


def deformable_conv2d(attrs, data, offset, weight):
    out = testing.deformable_conv2d_nchw_python(
        to_plain(data, attrs.data_layout, "NCHW"),
        to_plain(offset, attrs.data_layout, "NCHW"),
        to_plain(weight, attrs.kernel_layout, "OIHW"),
        _ints(attrs.strides),
        _ints(attrs.padding),
        _ints(attrs.dilation),
        int(attrs.deformable_groups),
        int(attrs.groups),
    )
    return from_plain(out, "NCHW", attrs.data_layout).astype(_out_dtype(attrs, data))


def correlation(attrs, a, b):
    return testing.correlation_nchw_python(
        a,
        b,
        attrs.kernel_size,
        attrs.max_displacement,
        attrs.stride1,
        attrs.stride2,
        _ints(attrs.padding),
        attrs.is_multiply,
    )


# ---- losses ----------------------------------------------------------------------------------------------------


def nll_loss(attrs, predictions, targets, weights):
    return testing.nll_loss(predictions, targets, weights, attrs.reduction, attrs.ignore_index)


def _slice_shape(x, axis):
    shape = [1] * x.ndim
    shape[axis] = -1
    return shape


REFERENCES = {
    "nn.relu": lambda attrs, x: np.maximum(x, 0),
    "nn.leaky_relu": lambda attrs, x: np.where(x > 0, x, x * np.asarray(attrs.alpha, x.dtype)),
    "nn.prelu": lambda attrs, x, a: np.where(x > 0, x, x * a.reshape(_slice_shape(x, attrs.axis))),
    "nn.bias_add": lambda attrs, x, b: x + b.reshape(_slice_shape(x, attrs.axis)),
    "nn.batch_flatten": lambda attrs, x: x.reshape(x.shape[0], int(np.prod(x.shape[1:]))),
    "nn.softmax": softmax,
    "nn.fast_softmax": softmax,
    "nn.log_softmax": log_softmax,
    "nn.dense": lambda attrs, a, b: _product(attrs, a, b.T),
    "nn.matmul": matmul,
    "nn.batch_matmul": batch_matmul,
    "nn.contrib_dense_pack": dense_pack,
    "nn.batch_norm": batch_norm,
    "nn.layer_norm": layer_norm,
    "nn.instance_norm": instance_norm,
    "nn.group_norm": group_norm,
    "nn.l2_normalize": l2_normalize,
    "nn.lrn": lrn,
    "nn.dropout": lambda attrs, x: [x, np.ones_like(x)],
    "nn.pad": pad,
    "nn.mirror_pad": mirror_pad,
    "nn.dilate": dilate,
    "nn.fifo_buffer": fifo_buffer,
    "nn.space_to_depth": space_to_depth,
    "nn.depth_to_space": depth_to_space,
    "nn.space_to_batch_nd": space_to_batch_nd,
    "nn.batch_to_space_nd": batch_to_space_nd,
    "nn.conv2d_backward_weight": conv2d_backward_weight,
    "nn.global_max_pool2d": _adaptive(np.max),
    "nn.global_avg_pool2d": _adaptive(np.mean),
    "nn.max_pool2d_grad": max_pool_grad,
    "nn.avg_pool2d_grad": avg_pool_grad,
    "nn.cross_entropy": lambda attrs, x, y: np.asarray(-(np.log(x) * y).sum() / x.shape[0], x.dtype),
    "nn.cross_entropy_with_logits": lambda attrs, x, y: np.asarray(-(x * y).sum() / x.shape[0], x.dtype),
    "nn.nll_loss": nll_loss,
    "nn.upsampling": upsampling,
    "nn.upsampling3d": upsampling,
    "nn.deformable_conv2d": deformable_conv2d,
    "nn.correlation": correlation,
    "image.crop_and_resize": crop_and_resize,
    "image.affine_grid": affine_grid,
    "image.grid_sample": grid_sample,
    "image.dilation2d": dilation2d,
    **{f"nn.conv{n}d": conv for n in (1, 2, 3)},
    **{f"nn.conv{n}d_transpose": conv_transpose for n in (1, 2, 3)},
    **{f"nn.max_pool{n}d": max_pool for n in (1, 2, 3)},
    **{f"nn.avg_pool{n}d": avg_pool for n in (1, 2, 3)},
    **{f"nn.adaptive_max_pool{n}d": _adaptive(np.max) for n in (1, 2, 3)},
    **{f"nn.adaptive_avg_pool{n}d": _adaptive(np.mean) for n in (1, 2, 3)},
    **{f"image.resize{n}d": resize for n in (1, 2, 3)},
    "nn.contrib_conv2d_NCHWc": conv,
    "nn.contrib_depthwise_conv2d_NCHWc": conv,
    **VISION_REFERENCES,
}
