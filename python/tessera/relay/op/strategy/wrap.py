"""From functions of tensors to what strategies take: (attrs, inputs, out_type) and (attrs, outs, target)."""

from __future__ import annotations

from typing import Any, Callable

__all__ = [
    "get_conv2d_in_channels",
    "get_conv2d_out_channels",
    "is_depthwise_conv2d",
    "wrap_compute_argsort",
    "wrap_compute_batch_matmul",
    "wrap_compute_batch_norm",
    "wrap_compute_conv1d",
    "wrap_compute_conv1d_transpose",
    "wrap_compute_conv2d",
    "wrap_compute_conv2d_transpose",
    "wrap_compute_conv3d",
    "wrap_compute_conv3d_transpose",
    "wrap_compute_deformable_conv2d",
    "wrap_compute_dense",
    "wrap_compute_dense_pack",
    "wrap_compute_dilation2d",
    "wrap_compute_einsum",
    "wrap_compute_matmul",
    "wrap_compute_roi_align",
    "wrap_compute_scanop",
    "wrap_compute_scatter",
    "wrap_compute_scatter_nd",
    "wrap_compute_searchsorted",
    "wrap_compute_softmax",
    "wrap_compute_sort",
    "wrap_compute_topk",
    "wrap_topi_compute",
    "wrap_topi_schedule",
]


def wrap_topi_schedule(topi_schedule: Callable) -> Callable:
    """A schedule of a strategy from one of topi: `schedule(outs)`, called under the target."""

    def wrapper(attrs: Any, outs: Any, target: Any) -> Any:
        del attrs
        with target:
            return topi_schedule(outs)

    return wrapper


def wrap_topi_compute(topi_compute: Callable) -> Callable:
    """A compute of a strategy from one of topi that takes the inputs alone."""
    return _wrap(topi_compute, lambda attrs, inputs, out_type: inputs)


def _wrap(topi_compute: Callable, arguments: Callable) -> Callable:
    def compute(attrs: Any, inputs: Any, out_type: Any) -> list:
        out = topi_compute(*arguments(attrs, inputs, out_type))
        return list(out) if isinstance(out, (list, tuple)) else [out]

    return compute


def _ints(values: Any) -> tuple[int, ...]:
    return tuple(int(value) for value in values)


def _out_dtype(attrs: Any, inputs: Any) -> str:
    return inputs[0].dtype if str(attrs.out_dtype) in ("same", "", "void") else str(attrs.out_dtype)


def wrap_compute_conv2d(
    topi_compute: Callable,
    need_data_layout: bool = False,
    need_kernel_layout: bool = False,
    need_out_layout: bool = False,
    has_groups: bool = False,
    need_auto_scheduler_layout: bool = False,
    need_meta_schedule_layout: bool = False,
) -> Callable:
    """compute(data, kernel, strides, padding, dilation, [groups], [layouts,] out_dtype)."""

    def arguments(attrs: Any, inputs: Any, out_type: Any) -> list:
        del out_type
        if need_auto_scheduler_layout or need_meta_schedule_layout:
            raise NotImplementedError("layouts rewritten by a search are not supported")
        out = [inputs[0], inputs[1], _ints(attrs.strides), _ints(attrs.padding), _ints(attrs.dilation)]
        out += [int(attrs.groups)] if has_groups else []
        out += [str(attrs.data_layout)] if need_data_layout else []
        out += [str(attrs.kernel_layout)] if need_kernel_layout else []
        out += [str(attrs.out_layout)] if need_out_layout else []
        return [*out, _out_dtype(attrs, inputs)]

    return _wrap(topi_compute, arguments)


def wrap_compute_conv1d(topi_compute: Callable) -> Callable:
    """compute(data, kernel, strides, padding, dilation, out_dtype)."""
    return wrap_compute_conv2d(topi_compute)


def wrap_compute_conv3d(
    topi_compute: Callable,
    need_layout: bool = False,
    need_auto_scheduler_layout: bool = False,
    need_meta_schedule_layout: bool = False,
) -> Callable:
    """compute(data, kernel, strides, padding, dilation, groups, [layout,] out_dtype)."""
    return wrap_compute_conv2d(
        topi_compute,
        need_layout,
        has_groups=True,
        need_auto_scheduler_layout=need_auto_scheduler_layout,
        need_meta_schedule_layout=need_meta_schedule_layout,
    )


def _transposed(topi_compute: Callable, with_groups: bool, with_layout: bool = False) -> Callable:
    def arguments(attrs: Any, inputs: Any, out_type: Any) -> list:
        del out_type
        out = [inputs[0], inputs[1], _ints(attrs.strides), _ints(attrs.padding), _out_dtype(attrs, inputs)]
        out += [_ints(attrs.output_padding), *([int(attrs.groups)] if with_groups else [])]
        return [*out, *([str(attrs.data_layout)] if with_layout else [])]

    return _wrap(topi_compute, arguments)


def wrap_compute_conv1d_transpose(topi_compute: Callable) -> Callable:
    """compute(data, kernel, strides, padding, out_dtype, output_padding)."""
    return _transposed(topi_compute, False)


def wrap_compute_conv2d_transpose(
    topi_compute: Callable, has_groups: bool = False, add_layout: bool = False
) -> Callable:
    """compute(data, kernel, strides, padding, out_dtype, output_padding, [groups,] [layout])."""
    return _transposed(topi_compute, has_groups, add_layout)


def wrap_compute_conv3d_transpose(topi_compute: Callable) -> Callable:
    """compute(data, kernel, strides, padding, out_dtype, output_padding)."""
    return _transposed(topi_compute, False)


def wrap_compute_deformable_conv2d(topi_compute: Callable) -> Callable:
    """compute(data, offset, kernel, strides, padding, dilation, deformable_groups, groups, out_dtype)."""
    return _wrap(
        topi_compute,
        lambda attrs, inputs, out_type: [
            *inputs[:3],
            _ints(attrs.strides),
            _ints(attrs.padding),
            _ints(attrs.dilation),
            int(attrs.deformable_groups),
            int(attrs.groups),
            _out_dtype(attrs, inputs),
        ],
    )


def wrap_compute_dilation2d(topi_compute: Callable, need_data_layout: bool = False) -> Callable:
    """compute(data, kernel, strides, padding, dilations, [layout,] out_dtype)."""

    def arguments(attrs: Any, inputs: Any, out_type: Any) -> list:
        del out_type
        out = [inputs[0], inputs[1], _ints(attrs.strides), _ints(attrs.padding), _ints(attrs.dilations)]
        return [*out, *([str(attrs.data_layout)] if need_data_layout else []), _out_dtype(attrs, inputs)]

    return _wrap(topi_compute, arguments)


def wrap_compute_dense(
    topi_compute: Callable, need_auto_scheduler_layout: bool = False, need_meta_schedule_layout: bool = False
) -> Callable:
    """compute(data, weight, None, out_dtype)."""
    if need_auto_scheduler_layout or need_meta_schedule_layout:
        raise NotImplementedError("layouts rewritten by a search are not supported")
    return _wrap(topi_compute, lambda attrs, inputs, out_type: [*inputs[:2], None, _out_dtype(attrs, inputs)])


def wrap_compute_dense_pack(topi_compute: Callable) -> Callable:
    """compute(data, packed weight, None, out_dtype)."""
    return wrap_compute_dense(topi_compute)


def wrap_compute_matmul(
    topi_compute: Callable, need_auto_scheduler_layout: bool = False, need_meta_schedule_layout: bool = False
) -> Callable:
    """compute(a, b, None, out_dtype, transpose_a, transpose_b)."""
    if need_auto_scheduler_layout or need_meta_schedule_layout:
        raise NotImplementedError("layouts rewritten by a search are not supported")

    def arguments(attrs: Any, inputs: Any, out_type: Any) -> list:
        del out_type
        return [*inputs[:2], None, _out_dtype(attrs, inputs), bool(attrs.transpose_a), bool(attrs.transpose_b)]

    return _wrap(topi_compute, arguments)


def wrap_compute_batch_matmul(
    topi_compute: Callable,
    *,
    need_auto_scheduler_layout: bool = False,
    need_meta_schedule_layout: bool = False,
    need_out_dtype: bool = False,
) -> Callable:
    """compute(a, b, result shape, [out_dtype, transpose_a, transpose_b])."""
    if need_auto_scheduler_layout or need_meta_schedule_layout:
        raise NotImplementedError("layouts rewritten by a search are not supported")

    def arguments(attrs: Any, inputs: Any, out_type: Any) -> list:
        out = [inputs[0], inputs[1], out_type.shape]
        out += [str(attrs.out_dtype)] if need_out_dtype else []
        return [*out, bool(attrs.transpose_a), bool(attrs.transpose_b)]

    return _wrap(topi_compute, arguments)


def wrap_compute_batch_norm(topi_compute: Callable) -> Callable:
    """compute(data, gamma, beta, mean, variance, axis, epsilon, center, scale)."""
    return _wrap(
        topi_compute,
        lambda attrs, inputs, out_type: [*inputs[:5], attrs.axis, attrs.epsilon, attrs.center, attrs.scale],
    )


def wrap_compute_softmax(topi_compute: Callable) -> Callable:
    """compute(data, axis)."""
    return _wrap(topi_compute, lambda attrs, inputs, out_type: [inputs[0], int(attrs.axis)])


def wrap_compute_sort(topi_compute: Callable) -> Callable:
    """compute(data, axis, is_ascend)."""
    return _wrap(topi_compute, lambda attrs, inputs, out_type: [inputs[0], int(attrs.axis), bool(attrs.is_ascend)])


def wrap_compute_argsort(topi_compute: Callable) -> Callable:
    """compute(data, None, axis, is_ascend, dtype)."""

    def arguments(attrs: Any, inputs: Any, out_type: Any) -> list:
        del out_type
        return [inputs[0], None, int(attrs.axis), bool(attrs.is_ascend), str(attrs.dtype)]

    return _wrap(topi_compute, arguments)


def wrap_compute_topk(topi_compute: Callable) -> Callable:
    """compute(data, k, axis, ret_type, is_ascend, dtype)."""

    def arguments(attrs: Any, inputs: Any, out_type: Any) -> list:
        del out_type
        k = inputs[1] if attrs.k is None else attrs.k
        return [inputs[0], k, int(attrs.axis), str(attrs.ret_type), bool(attrs.is_ascend), str(attrs.dtype)]

    return _wrap(topi_compute, arguments)


def wrap_compute_searchsorted(topi_compute: Callable) -> Callable:
    """compute(sorted sequence, values, right, dtype)."""
    return _wrap(topi_compute, lambda attrs, inputs, out_type: [*inputs[:2], bool(attrs.right), str(attrs.dtype)])


def wrap_compute_roi_align(topi_compute: Callable) -> Callable:
    """compute(data, rois, pooled_size, spatial_scale, sample_ratio, mode)."""

    def arguments(attrs: Any, inputs: Any, out_type: Any) -> list:
        del out_type
        mode = attrs.mode.encode() if isinstance(attrs.mode, str) else attrs.mode
        return [*inputs[:2], _ints(attrs.pooled_size), attrs.spatial_scale, attrs.sample_ratio, mode]

    return _wrap(topi_compute, arguments)


def wrap_compute_scatter(topi_compute: Callable) -> Callable:
    """compute(data, indices, updates, axis)."""
    return _wrap(topi_compute, lambda attrs, inputs, out_type: [*inputs[:3], int(attrs.axis)])


def wrap_compute_scatter_nd(topi_compute: Callable) -> Callable:
    """compute(data, indices, updates, mode)."""
    return _wrap(topi_compute, lambda attrs, inputs, out_type: [*inputs[:3], str(attrs.mode)])


def wrap_compute_scanop(topi_compute: Callable) -> Callable:
    """compute(data, axis, dtype, exclusive)."""
    return _wrap(
        topi_compute, lambda attrs, inputs, out_type: [inputs[0], attrs.axis, attrs.dtype, bool(attrs.exclusive)]
    )


def wrap_compute_einsum(topi_compute: Callable) -> Callable:
    """compute(equation, *operands)."""
    return _wrap(topi_compute, lambda attrs, inputs, out_type: [str(attrs.equation), *inputs])


_DEPTHWISE_KERNELS = {"NCHW": "OIHW", "NHWC": "HWOI"}


def is_depthwise_conv2d(data_shape: Any, data_layout: str, kernel_shape: Any, kernel_layout: str, groups: int) -> bool:
    """True when each channel of a convolution is computed from one of its own."""
    if data_layout not in _DEPTHWISE_KERNELS or kernel_layout != _DEPTHWISE_KERNELS[data_layout]:
        return False
    return get_conv2d_in_channels(data_shape, data_layout) == int(groups) and int(groups) > 1


def get_conv2d_in_channels(data_shape: Any, data_layout: str) -> int:
    """The number of input channels, in any layout."""
    extent = int(data_shape[data_layout.index("C")]) if data_layout.isalpha() else None
    if extent is not None:
        return extent
    sizes = [part for part in _parts(data_layout) if part[0] in "Cc"]
    return int(data_shape[_parts(data_layout).index(sizes[0])]) * sizes[1][1]


def get_conv2d_out_channels(kernel_shape: Any, kernel_layout: str) -> int:
    """The number of output channels, in any layout of the weights."""
    if kernel_layout.isalpha():
        return int(kernel_shape[kernel_layout.index("O")])
    sizes = [part for part in _parts(kernel_layout) if part[0] in "Oo"]
    return int(kernel_shape[_parts(kernel_layout).index(sizes[0])]) * sizes[1][1]


def _parts(layout: str) -> list[tuple[str, int]]:
    """The dimensions of a layout: ("C", 0) for a plain one, ("c", 16) for one of blocks."""
    out, number = [], ""
    for letter in layout:
        if letter.isdigit():
            number += letter
        else:
            out.append((letter, int(number or 0)))
            number = ""
    return out
