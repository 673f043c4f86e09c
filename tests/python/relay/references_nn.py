"""What the nn, image and vision operators compute, in plain NumPy: name -> function of (attrs, *inputs).

Results are in the types that the operators give; a list stands for several results.
"""

import itertools
import re

import numpy as np
from references_vision import VISION_REFERENCES

__all__ = ["REFERENCES"]


# ---- layouts ---------------------------------------------------------------------------------------------------


def _parts(layout):
    """[("N", None), ("C", None), ("c", 8)] of "NC8c"."""
    return [(letter, int(size) if size else None) for size, letter in re.findall(r"(\d*)([A-Za-z])", layout)]


def to_plain(x, layout, plain):
    """`x` with one dimension for each letter of `plain`, parts joined."""
    letters = [letter for letter, _ in _parts(layout)]
    order, shape = [], []
    for primal in plain:
        places = [i for i, letter in enumerate(letters) if letter == primal]
        places += [i for i, letter in enumerate(letters) if letter == primal.lower()]
        order += places
        shape.append(int(np.prod([x.shape[i] for i in places])))
    return x.transpose(order).reshape(shape)


def from_plain(x, plain, layout):
    """The way back; extents that parts do not divide are filled up with zeros."""
    parts = _parts(layout)
    sizes = {letter.upper(): size for letter, size in parts if size}
    x = np.pad(x, [(0, -n % sizes.get(letter, 1)) for letter, n in zip(plain, x.shape)])
    shape, names = [], []
    for letter, extent in zip(plain, x.shape):
        if letter in sizes:
            shape += [extent // sizes[letter], sizes[letter]]
            names += [letter, letter.lower()]
        else:
            shape.append(extent)
            names.append(letter)
    return x.reshape(shape).transpose([names.index(letter) for letter, _ in parts])


def _ints(values):
    return [int(v) for v in values]


def _sides(padding, spatial):
    values = _ints(padding)
    if len(values) == 1:
        values *= 2 * spatial
    elif len(values) == spatial:
        values += values
    return list(zip(values[:spatial], values[spatial:]))


_SPACE = {1: "W", 2: "HW", 3: "DHW"}


# ---- convolutions ----------------------------------------------------------------------------------------------


def conv_plain(data, weight, strides, pads, dilation, groups):
    """(n, c, ...) with (o, c / groups, ...), or with (c, multiplier, ...) channel by channel."""
    spatial = data.ndim - 2
    if groups > 1 and groups == data.shape[1] == weight.shape[0]:
        weight = weight.reshape((-1, 1, *weight.shape[2:]))
    data = np.pad(data, [(0, 0), (0, 0), *pads])
    counts = [
        (data.shape[2 + i] - (weight.shape[2 + i] - 1) * dilation[i] - 1) // strides[i] + 1 for i in range(spatial)
    ]
    n, o = data.shape[0], weight.shape[0]
    split = data.reshape(n, groups, data.shape[1] // groups, *data.shape[2:])
    filters = weight.reshape(groups, o // groups, *weight.shape[1:])
    out = np.zeros((n, groups, o // groups, *counts), np.result_type(data, weight))
    for tap in itertools.product(*(range(k) for k in weight.shape[2:])):
        places = tuple(slice(t * d, t * d + (c - 1) * s + 1, s) for t, d, c, s in zip(tap, dilation, counts, strides))
        out += np.einsum("ngi...,goi->ngo...", split[(..., *places)], filters[(..., *tap)])
    return out.reshape(n, o, *counts)


def _out_dtype(attrs, *inputs):
    return str(attrs.out_dtype) if str(attrs.out_dtype) not in ("", "void") else inputs[0].dtype


def conv(attrs, data, weight):
    spatial = len(attrs.strides)
    plain, plain_kernel = "NC" + _SPACE[spatial], "OI" + _SPACE[spatial]
    dtype = _out_dtype(attrs, data)
    out = conv_plain(
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
    plain = "NC" + _SPACE[spatial]
    kernel = ("IO" if spatial == 2 else "OI") + _SPACE[spatial]
    dtype = _out_dtype(attrs, data)
    x, w = to_plain(data, attrs.data_layout, plain).astype(dtype), to_plain(weight, attrs.kernel_layout, kernel)
    strides, dilation, groups = _ints(attrs.strides), _ints(attrs.dilation), int(attrs.groups)
    more, pads = _ints(attrs.output_padding), _sides(attrs.padding, spatial)
    n, c = x.shape[:2]
    full = [(x.shape[2 + i] - 1) * strides[i] + (w.shape[2 + i] - 1) * dilation[i] + 1 for i in range(spatial)]
    full = [extent + m for extent, m in zip(full, more)]
    out = np.zeros((n, groups, w.shape[1], *full), dtype)
    split, filters = x.reshape(n, groups, c // groups, *x.shape[2:]), w.reshape(groups, c // groups, *w.shape[1:])
    for tap in itertools.product(*(range(k) for k in w.shape[2:])):
        places = tuple(
            slice(t * d, t * d + (e - 1) * s + 1, s) for t, d, e, s in zip(tap, dilation, x.shape[2:], strides)
        )
        out[(..., *places)] += np.einsum("ngi...,gio->ngo...", split, filters[(..., *tap)].astype(dtype))
    out = out.reshape(n, -1, *full)
    out = out[(..., *(slice(a, e - b) for (a, b), e in zip(pads, full)))]
    return from_plain(out, plain, attrs.out_layout or attrs.data_layout)


def conv2d_backward_weight(attrs, grad, data):
    grad, data = to_plain(grad, attrs.data_layout, "NCHW"), to_plain(data, attrs.kernel_layout, "NCHW")
    groups, taps, strides = int(attrs.groups), _ints(attrs.kernel_size), _ints(attrs.strides)
    dilation = _ints(attrs.dilation)
    data = np.pad(data, [(0, 0), (0, 0), *_sides(attrs.padding, 2)])
    n, o = grad.shape[:2]
    c = data.shape[1]
    out = np.zeros((groups, o // groups, c // groups, *taps), grad.dtype)
    grads = grad.reshape(n, groups, o // groups, *grad.shape[2:])
    split = data.reshape(n, groups, c // groups, *data.shape[2:])
    for tap in itertools.product(*(range(k) for k in taps)):
        places = tuple(
            slice(t * d, t * d + (e - 1) * s + 1, s) for t, d, e, s in zip(tap, dilation, grad.shape[2:], strides)
        )
        out[(..., *tap)] = np.einsum("ngoyx,ngiyx->goi", grads, split[(..., *places)])
    return from_plain(out.reshape(o, c // groups, *taps), "OIHW", attrs.out_layout or "OIHW")


# ---- pools -----------------------------------------------------------------------------------------------------


def _windows(attrs, data):
    """For each spatial dimension the places of each window's elements; those outside are not in [0, extent)."""
    spatial = len(attrs.pool_size)
    letters = [letter for letter, _ in _parts(attrs.layout)]
    axes = [letters.index(letter) for letter in _SPACE[spatial]]
    out = []
    for i, (axis, (begin, end)) in enumerate(zip(axes, _sides(attrs.padding, spatial))):
        k, s, d = int(attrs.pool_size[i]), int(attrs.strides[i]), int(attrs.dilation[i])
        room = data.shape[axis] + begin + end - (k - 1) * d - 1
        count = (-(-room // s) if attrs.ceil_mode else room // s) + 1
        out.append([[w * s - begin + t * d for t in range(k)] for w in range(count)])
    return axes, out


def _pool(attrs, data, reduce):
    axes, places = _windows(attrs, data)
    shape = list(data.shape)
    for axis, p in zip(axes, places):
        shape[axis] = len(p)
    out = np.zeros(shape, data.dtype)
    for window in itertools.product(*(range(len(p)) for p in places)):
        at, source = [slice(None)] * data.ndim, data
        for axis, p, w in zip(axes, places, window):
            at[axis] = w
            source = np.take(source, [t for t in p[w] if 0 <= t < data.shape[axis]], axis)
        size = int(np.prod([len(p[w]) for p, w in zip(places, window)]))
        out[tuple(at)] = reduce(source, tuple(axes), size)
    return out


def max_pool(attrs, data):
    lowest = -np.inf if data.dtype.kind == "f" else np.iinfo(data.dtype).min
    return _pool(attrs, data, lambda x, axes, size: x.max(axes, initial=lowest))


def avg_pool(attrs, data):
    def mean(x, axes, size):
        inside = int(np.prod([x.shape[axis] for axis in axes]))
        return x.sum(axes) / (size if attrs.count_include_pad else max(inside, 1))

    return _pool(attrs, data, mean)


def _pool_grad(attrs, grad, data, share):
    axes, places = _windows(attrs, data)
    out = np.zeros_like(data)
    others = [i for i in range(data.ndim) if i not in axes]
    for window in itertools.product(*(range(len(p)) for p in places)):
        for rest in itertools.product(*(range(data.shape[i]) for i in others)):
            at = [0] * data.ndim
            for i, r in zip(others, rest):
                at[i] = r
            cells = []
            for cell in itertools.product(*(p[w] for p, w in zip(places, window))):
                if all(0 <= c < data.shape[axis] for c, axis in zip(cell, axes)):
                    for axis, c in zip(axes, cell):
                        at[axis] = c
                    cells.append(tuple(at))
            for axis, w in zip(axes, window):
                at[axis] = w
            size = int(np.prod([len(p[w]) for p, w in zip(places, window)]))
            share(out, grad[tuple(at)], cells, size)
    return out


def max_pool_grad(attrs, grad, data):
    def share(out, g, cells, size):
        out[max(cells, key=lambda cell: data[cell])] += g

    return _pool_grad(attrs, grad, data, share)


def avg_pool_grad(attrs, grad, data):
    def share(out, g, cells, size):
        for cell in cells:
            out[cell] += g / (size if getattr(attrs, "count_include_pad", False) else len(cells))

    return _pool_grad(attrs, grad, data, share)


def _adaptive(reduce):
    def function(attrs, data):
        letters = [letter for letter, _ in _parts(attrs.layout)]
        size = _ints(attrs.output_size) if hasattr(attrs, "output_size") else [1, 1]
        axes = [letters.index(letter) for letter in "DHW" if letter in letters]
        if len(size) == 1:
            size *= len(axes)
        size = size or [data.shape[axis] for axis in axes]
        shape = list(data.shape)
        for axis, n in zip(axes, size):
            shape[axis] = n
        out = np.zeros(shape, data.dtype)
        for place in itertools.product(*(range(n) for n in size)):
            at, source = [slice(None)] * data.ndim, data
            for axis, n, p in zip(axes, size, place):
                extent = data.shape[axis]
                at[axis] = p
                source = np.take(source, range(p * extent // n, -(-(p + 1) * extent // n)), axis)
            out[tuple(at)] = reduce(source, tuple(axes))
        return out

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
    shape = [1] * data.ndim
    shape[attrs.axis] = -1
    x = (data - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + attrs.epsilon)
    return [_scaled(attrs, x, gamma, beta, attrs.axis).astype(data.dtype), mean, var]


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
    axes = tuple(_ints(attrs.axis)) if attrs.axis else tuple(range(data.ndim))
    return data / np.sqrt(np.maximum((data * data).sum(axes, keepdims=True), attrs.eps))


def lrn(attrs, data):
    x = np.moveaxis(data, attrs.axis, 0)
    half = attrs.size // 2
    squares = np.pad(x * x, [(half, half)] + [(0, 0)] * (x.ndim - 1))
    total = sum(squares[i : i + x.shape[0]] for i in range(attrs.size))
    return np.moveaxis(x / (attrs.bias + attrs.alpha / attrs.size * total) ** attrs.beta, 0, attrs.axis)


def softmax(attrs, x):
    e = np.exp(x - x.max(attrs.axis, keepdims=True))
    return e / e.sum(attrs.axis, keepdims=True)


def log_softmax(attrs, x):
    shifted = x - x.max(attrs.axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(attrs.axis, keepdims=True))


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
    strides = _ints(attrs.strides)
    out = np.full([(n - 1) * s + 1 for n, s in zip(data.shape, strides)], attrs.dilation_value, data.dtype)
    out[tuple(slice(None, None, s) for s in strides)] = data
    return out


def fifo_buffer(attrs, data, buffer):
    n = buffer.shape[attrs.axis]
    joined = np.concatenate([buffer, data], attrs.axis)
    return np.take(joined, range(joined.shape[attrs.axis] - n, joined.shape[attrs.axis]), attrs.axis)


def space_to_depth(attrs, data):
    x, b = to_plain(data, attrs.layout, "NCHW"), int(attrs.block_size)
    n, c, h, w = x.shape
    x = x.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4).reshape(n, c * b * b, h // b, w // b)
    return from_plain(x, "NCHW", attrs.layout)


def depth_to_space(attrs, data):
    x, b = to_plain(data, attrs.layout, "NCHW"), int(attrs.block_size)
    n, c, h, w = x.shape
    if attrs.mode == "DCR":
        x = x.reshape(n, b, b, c // b // b, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        x = x.reshape(n, c // b // b, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return from_plain(x.reshape(n, c // b // b, h * b, w * b), "NCHW", attrs.layout)


def space_to_batch_nd(attrs, data):
    block = _ints(attrs.block_shape)
    m, rest = len(block), data.ndim - 1 - len(block)
    x = np.pad(data, [(0, 0), *_pairs(attrs.paddings), *[(0, 0)] * rest], constant_values=attrs.pad_value)
    n, shape = x.shape[0], list(x.shape)
    cut = [n]
    for i, b in enumerate(block):
        cut += [shape[i + 1] // b, b]
    x = x.reshape(cut + shape[m + 1 :])
    order = [2 * i + 2 for i in range(m)] + [0] + [2 * i + 1 for i in range(m)]
    x = x.transpose(order + list(range(2 * m + 1, x.ndim)))
    return x.reshape([n * int(np.prod(block)), *(shape[i + 1] // block[i] for i in range(m)), *shape[m + 1 :]])


def batch_to_space_nd(attrs, data):
    block = _ints(attrs.block_shape)
    m, shape = len(block), list(data.shape)
    n = shape[0] // int(np.prod(block))
    x = data.reshape([*block, n, *shape[1:]])
    order = [m]
    for i in range(m):
        order += [m + 1 + i, i]
    x = x.transpose(order + list(range(2 * m + 1, x.ndim)))
    x = x.reshape([n, *(shape[i + 1] * block[i] for i in range(m)), *shape[m + 1 :]])
    return x[(slice(None), *(slice(a, x.shape[i + 1] - b) for i, (a, b) in enumerate(_pairs(attrs.crops))))]


# ---- images ----------------------------------------------------------------------------------------------------


def _coordinate(mode, x, old, new, begin, end):
    scale = old / new
    if mode == "half_pixel":
        return (x + 0.5) * scale - 0.5
    if mode == "align_corners":
        return x * ((old - 1) / (new - 1)) if new > 1 else 0.0
    if mode == "asymmetric":
        return x * scale
    if mode == "pytorch_half_pixel":
        return (x + 0.5) * scale - 0.5 if new > 1 else 0.0
    if mode == "tf_half_pixel_for_nn":
        return (x + 0.5) * scale
    assert mode == "tf_crop_and_resize"
    if new > 1:
        return begin * (old - 1) + x * (end - begin) * (old - 1) / (new - 1)
    return 0.5 * (begin + end) * (old - 1)


def _nearest(place, rounding):
    return {
        "round": lambda: np.sign(place) * np.floor(abs(place) + 0.5),
        "round_prefer_floor": lambda: np.ceil(place - 0.5),
        "round_prefer_ceil": lambda: np.floor(place + 0.5),
        "floor": lambda: np.floor(place + 1e-5),
        "ceil": lambda: np.ceil(place - 1e-5),
    }[rounding]()


def _cubic(t, a):
    def weight(d):
        d = abs(d)
        if d <= 1:
            return (a + 2) * d**3 - (a + 3) * d**2 + 1
        return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else 0.0

    return [weight(t + 1), weight(t), weight(1 - t), weight(2 - t)]


def _weights(method, place, old, rounding, alpha, exclude):
    """(index, weight) of what makes up the value at a place of one dimension."""
    whole = int(np.floor(place))
    t = place - whole
    if method == "nearest_neighbor":
        taps = [(int(_nearest(place, rounding)), 1.0)]
    elif method == "linear":
        taps = [(whole, 1 - t), (whole + 1, t)]
    else:
        taps = list(zip(range(whole - 1, whole + 3), _cubic(t, alpha)))
        if exclude:
            taps = [(i, w if 0 <= i < old else 0.0) for i, w in taps]
            total = sum(w for _, w in taps)
            taps = [(i, w / total) for i, w in taps]
    return [(min(max(i, 0), old - 1), w) for i, w in taps]


def resize_plain(x, axes, size, roi, method, mode, rounding, alpha, exclude, outside):
    """Dimension by dimension: all methods are products of one-dimensional ones."""
    rounding = rounding or ("round" if mode == "align_corners" else "floor")
    is_outside = np.zeros(x.shape, bool)
    for i, (axis, new) in enumerate(zip(axes, size)):
        old = x.shape[axis]
        rows, mask = np.zeros((new, old)), np.zeros(new, bool)
        for at in range(new):
            place = _coordinate(mode, at, old, new, roi[i], roi[i + len(axes)])
            mask[at] = mode == "tf_crop_and_resize" and (place < 0 or place > old - 1)
            for index, weight in _weights(method, place, old, rounding, alpha, exclude):
                rows[at, index] += weight
        x = np.moveaxis(np.tensordot(rows, np.moveaxis(x, axis, 0), 1), 0, axis)
        shape = [1] * x.ndim
        shape[axis] = new
        is_outside = np.take(is_outside, [0] * new, axis) | mask.reshape(shape)
    return np.where(is_outside, outside, x)


def resize(attrs, data):
    letters = [letter for letter, _ in _parts(attrs.layout)]
    axes = [letters.index(letter) for letter in "DHW" if letter in letters]
    roi = [float(v) for v in attrs.roi] if attrs.roi else [0.0, 1.0] * len(axes)
    out = resize_plain(
        data.astype("float64"),
        axes,
        _ints(attrs.size),
        roi,
        str(attrs.method),
        str(attrs.coordinate_transformation_mode),
        str(attrs.rounding_method),
        attrs.cubic_alpha,
        attrs.cubic_exclude,
        attrs.extrapolation_value,
    )
    return out.astype(_out_dtype(attrs, data))


def upsampling(attrs, data):
    letters = [letter for letter, _ in _parts(attrs.layout)]
    axes = [letters.index(letter) for letter in "DHW" if letter in letters]
    scales = [getattr(attrs, f"scale_{letter.lower()}") for letter in "DHW" if letter in letters]
    size = [int(np.floor(data.shape[axis] * scale + 0.5)) for axis, scale in zip(axes, scales)]
    if hasattr(attrs, "coordinate_transformation_mode"):
        mode = str(attrs.coordinate_transformation_mode)
    else:
        mode = "align_corners" if attrs.align_corners else "asymmetric"
    method = re.sub("^(bi|tri)", "", str(attrs.method))
    out = resize_plain(data.astype("float64"), axes, size, [0.0] * 6, method, mode, "", -0.5, False, 0.0)
    return out.astype(data.dtype)


def crop_and_resize(attrs, data, boxes, indices):
    x = to_plain(data, attrs.layout, "NCHW").astype("float64")
    method = re.sub("^bi", "", str(attrs.method))
    rounding, outside = "round", attrs.extrapolation_value
    out = [
        resize_plain(
            x[i], (1, 2), _ints(attrs.crop_size), box, method, "tf_crop_and_resize", rounding, -0.5, False, outside
        )
        for box, i in zip(boxes, indices)
    ]
    shape = (len(boxes), x.shape[1], *_ints(attrs.crop_size))
    return from_plain(np.array(out).reshape(shape), "NCHW", attrs.layout).astype(_out_dtype(attrs, data))


def affine_grid(attrs, data):
    height, width = _ints(attrs.target_shape)
    y, x = np.meshgrid(np.linspace(-1, 1, height), np.linspace(-1, 1, width), indexing="ij")
    return np.einsum("ndk,khw->ndhw", data, np.stack([x, y, np.ones_like(x)])).astype(data.dtype)


def _folded(place, extent, mode, align_corners):
    if mode == "reflection":
        low, high = (0, extent - 1) if align_corners else (-0.5, extent - 0.5)
        while not low <= place <= high:
            place = 2 * low - place if place < low else 2 * high - place
    return place if mode == "zeros" else min(max(place, 0), extent - 1)


def grid_sample(attrs, data, grid):
    spatial, mode, align = data.ndim - 2, str(attrs.padding_mode), bool(attrs.align_corners)
    out = np.zeros((*data.shape[:2], *grid.shape[2:]), "float64")
    for n in range(data.shape[0]):
        for at in np.ndindex(grid.shape[2:]):
            taps = []
            for i, extent in enumerate(data.shape[2:]):
                place = float(grid[(n, spatial - 1 - i, *at)])
                place = (place + 1) * (extent - 1) / 2 if align else (place + 1) * extent / 2 - 0.5
                if attrs.method == "bicubic":
                    whole = int(np.floor(place))
                    weights = _cubic(place - whole, -0.75)
                    taps.append([(int(_folded(whole - 1 + k, extent, mode, align)), w) for k, w in enumerate(weights)])
                    continue
                place = _folded(place, extent, mode, align)
                whole = int(np.floor(place))
                if attrs.method == "nearest":
                    taps.append([(round(place), 1.0)])
                else:
                    taps.append([(whole, 1 - (place - whole)), (whole + 1, place - whole)])
            for combination in itertools.product(*taps):
                index = tuple(i for i, _ in combination)
                if all(0 <= i < extent for i, extent in zip(index, data.shape[2:])):
                    out[(n, slice(None), *at)] += data[(n, slice(None), *index)] * np.prod([w for _, w in combination])
    return out.astype(data.dtype)


def dilation2d(attrs, data, weight):
    x, w = to_plain(data, attrs.data_layout, "NCHW"), to_plain(weight, attrs.kernel_layout, "IHW")
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    x = np.pad(x, [(0, 0), (0, 0), *_sides(attrs.padding, 2)], constant_values=lowest)
    strides, steps = _ints(attrs.strides), _ints(attrs.dilations)
    counts = [(x.shape[2 + i] - (w.shape[1 + i] - 1) * steps[i] - 1) // strides[i] + 1 for i in range(2)]
    out = np.full((*x.shape[:2], *counts), lowest, x.dtype)
    for tap in np.ndindex(w.shape[1:]):
        places = tuple(slice(t * d, t * d + (c - 1) * s + 1, s) for t, d, c, s in zip(tap, steps, counts, strides))
        with np.errstate(over="ignore"):
            out = np.maximum(out, x[(..., *places)] + w[(slice(None), *tap)][:, None, None])
    return from_plain(out, "NCHW", attrs.data_layout).astype(_out_dtype(attrs, data))


def deformable_conv2d(attrs, data, offset, weight):
    x, w = to_plain(data, attrs.data_layout, "NCHW"), to_plain(weight, attrs.kernel_layout, "OIHW")
    moves = to_plain(offset, attrs.data_layout, "NCHW")
    strides, dilation, pads = _ints(attrs.strides), _ints(attrs.dilation), _sides(attrs.padding, 2)
    parts, groups = int(attrs.deformable_groups), int(attrs.groups)
    n, channels, height, width = x.shape
    taken = np.zeros((n, channels, *w.shape[2:], *moves.shape[2:]), "float64")
    for at in np.ndindex(taken.shape):
        b, c, ky, kx, oy, ox = at
        first = ((c // (channels // parts)) * w.shape[2] * w.shape[3] + ky * w.shape[3] + kx) * 2
        y = oy * strides[0] - pads[0][0] + ky * dilation[0] + moves[b, first, oy, ox]
        z = ox * strides[1] - pads[1][0] + kx * dilation[1] + moves[b, first + 1, oy, ox]
        if y < 0 or z < 0 or y >= height or z >= width:
            continue
        for i, wy in ((int(y), 1 - y % 1), (int(y) + 1, y % 1)):
            for j, wx in ((int(z), 1 - z % 1), (int(z) + 1, z % 1)):
                if i < height and j < width:
                    taken[at] += wy * wx * x[b, c, i, j]
    taken = taken.reshape(n, groups, channels // groups, *taken.shape[2:])
    filters = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    out = np.einsum("ngiabyx,goiab->ngoyx", taken, filters).reshape(n, w.shape[0], *moves.shape[2:])
    return from_plain(out, "NCHW", attrs.data_layout).astype(_out_dtype(attrs, data))


def correlation(attrs, a, b):
    pads = [(0, 0), (0, 0), *_sides(attrs.padding, 2)]
    a, b = np.pad(a, pads), np.pad(b, pads)
    size, reach = attrs.kernel_size, attrs.max_displacement
    radius = reach // attrs.stride2
    border = reach + size // 2
    height, width = (-(-(extent - 2 * border) // attrs.stride1) for extent in a.shape[2:])
    out = np.zeros((a.shape[0], (2 * radius + 1) ** 2, height, width), a.dtype)
    for n, q, i, j in np.ndindex(out.shape):
        y, x = i * attrs.stride1 + reach, j * attrs.stride1 + reach
        v = y + (q // (2 * radius + 1) - radius) * attrs.stride2
        u = x + (q % (2 * radius + 1) - radius) * attrs.stride2
        p, r = a[n, :, y : y + size, x : x + size], b[n, :, v : v + size, u : u + size]
        out[n, q, i, j] = (p * r if attrs.is_multiply else abs(p - r)).mean()
    return out


# ---- losses ----------------------------------------------------------------------------------------------------


def nll_loss(attrs, predictions, targets, weights):
    if predictions.ndim == 1:
        predictions, targets = predictions[None], targets[None]
        single = True
    else:
        single = False
    picked = np.take_along_axis(predictions, np.clip(targets, 0, None)[:, None], 1)[:, 0]
    w = np.where(targets == attrs.ignore_index, 0, weights[np.clip(targets, 0, None)])
    loss = np.where(targets == attrs.ignore_index, 0, -picked * w)
    if attrs.reduction == "none":
        return (loss[0] if single else loss).astype(predictions.dtype)
    total = loss.sum() / (w.sum() if attrs.reduction == "mean" else 1)
    return np.asarray(total, predictions.dtype)


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
