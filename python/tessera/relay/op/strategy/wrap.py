"""From functions of tensors to what strategies take: (attrs, inputs, out_type) and (attrs, outs, target)."""

from __future__ import annotations

from typing import Any, Callable

__all__ = [
    "get_conv2d_in_channels",
    "get_conv2d_out_channels",
    "is_depthwise_conv2d",
    "wrap_compute_all_class_nms",
    "wrap_compute_argsort",
    "wrap_compute_argwhere",
    "wrap_compute_batch_matmul",
    "wrap_compute_batch_norm",
    "wrap_compute_bitserial_conv2d",
    "wrap_compute_bitserial_dense",
    "wrap_compute_concat",
    "wrap_compute_conv1d",
    "wrap_compute_conv1d_transpose",
    "wrap_compute_conv2d",
    "wrap_compute_conv2d_backward_weight",
    "wrap_compute_conv2d_transpose",
    "wrap_compute_conv3d",
    "wrap_compute_conv3d_transpose",
    "wrap_compute_correlation",
    "wrap_compute_deformable_conv2d",
    "wrap_compute_dense",
    "wrap_compute_dense_pack",
    "wrap_compute_dilation2d",
    "wrap_compute_einsum",
    "wrap_compute_get_valid_counts",
    "wrap_compute_group_conv1d",
    "wrap_compute_invert_permutation",
    "wrap_compute_matmul",
    "wrap_compute_multibox_prior",
    "wrap_compute_multibox_transform_loc",
    "wrap_compute_multinomial",
    "wrap_compute_nms",
    "wrap_compute_proposal",
    "wrap_compute_roi_align",
    "wrap_compute_scanop",
    "wrap_compute_scatter",
    "wrap_compute_scatter_nd",
    "wrap_compute_searchsorted",
    "wrap_compute_sliding_window",
    "wrap_compute_softmax",
    "wrap_compute_sort",
    "wrap_compute_sparse_add",
    "wrap_compute_sparse_conv2d",
    "wrap_compute_sparse_dense",
    "wrap_compute_sparse_fill_empty_rows",
    "wrap_compute_sparse_reshape",
    "wrap_compute_stft",
    "wrap_compute_threefry_generate",
    "wrap_compute_threefry_split",
    "wrap_compute_topk",
    "wrap_compute_trilu",
    "wrap_compute_uniform",
    "wrap_compute_unique",
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


def _simple(topi_compute: Callable, arguments: Callable) -> Callable:
    """The same where the type of the result does not matter: arguments(attrs, inputs)."""
    return _wrap(topi_compute, lambda attrs, inputs, out_type: arguments(attrs, inputs))


def _given(value: Any, otherwise: Any) -> Any:
    """An attribute, or the input that stands for it where it is not given."""
    return otherwise if value is None else value


def wrap_compute_all_class_nms(topi_compute: Callable) -> Callable:
    """compute(boxes, scores, max_output_boxes_per_class, iou_threshold, score_threshold, output_format)."""
    return _simple(topi_compute, lambda attrs, inputs: [*inputs[:5], str(attrs.output_format)])


def wrap_compute_argwhere(topi_compute: Callable) -> Callable:
    """compute(type of the result, condition); extents that a run decides are new variables."""

    def arguments(attrs: Any, inputs: Any, out_type: Any) -> list:
        from .... import te
        from ...ty import TensorType

        del attrs
        shape = [extent if hasattr(extent, "value") else te.var("any_dim", "int32") for extent in out_type.shape]
        return [TensorType(shape, "int32"), inputs[0]]

    return _wrap(topi_compute, arguments)


def wrap_compute_bitserial_conv2d(topi_compute: Callable) -> Callable:
    """compute(data, kernel, strides, padding, activation_bits, weight_bits, pack_dtype, out_dtype, unipolar)."""
    return _simple(
        topi_compute,
        lambda attrs, inputs: [
            *inputs[:2],
            _ints(attrs.strides),
            _ints(attrs.padding),
            int(attrs.activation_bits),
            int(attrs.weight_bits),
            str(attrs.pack_dtype),
            str(attrs.out_dtype),
            bool(attrs.unipolar),
        ],
    )


def wrap_compute_bitserial_dense(topi_compute: Callable) -> Callable:
    """compute(data, weight, data_bits, weight_bits, pack_dtype, out_dtype, unipolar)."""
    return _simple(
        topi_compute,
        lambda attrs, inputs: [
            *inputs[:2],
            int(attrs.data_bits),
            int(attrs.weight_bits),
            str(attrs.pack_dtype),
            str(attrs.out_dtype),
            bool(attrs.unipolar),
        ],
    )


def wrap_compute_concat(topi_compute: Callable) -> Callable:
    """compute(tensors, axis)."""
    return _simple(topi_compute, lambda attrs, inputs: [list(inputs), int(attrs.axis)])


def wrap_compute_conv2d_backward_weight(topi_compute: Callable) -> Callable:
    """compute(grad, data, kernel_size, padding, strides, dilation, groups, layout, out_dtype)."""
    return _simple(
        topi_compute,
        lambda attrs, inputs: [
            *inputs[:2],
            _ints(attrs.kernel_size),
            _ints(attrs.padding),
            _ints(attrs.strides),
            _ints(attrs.dilation),
            int(attrs.groups),
            str(attrs.data_layout),
            _out_dtype(attrs, inputs),
        ],
    )


def wrap_compute_correlation(topi_compute: Callable) -> Callable:
    """compute(data1, data2, kernel_size, max_displacement, stride1, stride2, padding, is_multiply)."""
    return _simple(
        topi_compute,
        lambda attrs, inputs: [
            *inputs[:2],
            int(attrs.kernel_size),
            int(attrs.max_displacement),
            int(attrs.stride1),
            int(attrs.stride2),
            _ints(attrs.padding),
            bool(attrs.is_multiply),
        ],
    )


def wrap_compute_get_valid_counts(topi_compute: Callable) -> Callable:
    """compute(data, score_threshold, id_index, score_index)."""

    def arguments(attrs: Any, inputs: Any) -> list:
        threshold = _given(attrs.score_threshold, inputs[1] if len(inputs) > 1 else None)
        return [inputs[0], threshold, int(attrs.id_index), int(attrs.score_index)]

    return _simple(topi_compute, arguments)


def wrap_compute_group_conv1d(topi_compute: Callable) -> Callable:
    """compute(data, kernel, strides, padding, dilation, groups, out_dtype)."""
    return wrap_compute_conv2d(topi_compute, has_groups=True)


def wrap_compute_invert_permutation(topi_compute: Callable) -> Callable:
    """compute(permutation)."""
    return _simple(topi_compute, lambda attrs, inputs: [inputs[0]])


def _floats(values: Any) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def wrap_compute_multibox_prior(topi_compute: Callable) -> Callable:
    """compute(data, sizes, ratios, steps, offsets, clip)."""
    return _simple(
        topi_compute,
        lambda attrs, inputs: [
            inputs[0],
            _floats(attrs.sizes),
            _floats(attrs.ratios),
            _floats(attrs.steps),
            _floats(attrs.offsets),
            bool(attrs.clip),
        ],
    )


def wrap_compute_multibox_transform_loc(topi_compute: Callable) -> Callable:
    """compute(class probabilities, offsets, anchors, clip, threshold, variances)."""

    def arguments(attrs: Any, inputs: Any) -> list:
        return [*inputs[:3], bool(attrs.clip), float(attrs.threshold), _floats(attrs.variances)]

    return _simple(topi_compute, arguments)


def wrap_compute_multinomial(topi_compute: Callable) -> Callable:
    """compute(key, probabilities, number of samples)."""
    return _simple(topi_compute, lambda attrs, inputs: [*inputs[:2], int(attrs.num_samples)])


def wrap_compute_nms(topi_compute: Callable) -> Callable:
    """compute(data, valid_count, indices, max_output_size, iou_threshold, force_suppress, top_k, coord_start, score_index,
    id_index, return_indices, invalid_to_bottom)."""

    def arguments(attrs: Any, inputs: Any) -> list:
        more = [*inputs[3:5], None, None]
        return [
            *inputs[:3],
            _given(getattr(attrs, "max_output_size", None), more[0]),
            _given(getattr(attrs, "iou_threshold", None), more[1]),
            bool(attrs.force_suppress),
            int(attrs.top_k),
            int(attrs.coord_start),
            int(attrs.score_index),
            int(attrs.id_index),
            bool(attrs.return_indices),
            bool(attrs.invalid_to_bottom),
        ]

    return _simple(topi_compute, arguments)


def wrap_compute_proposal(topi_compute: Callable) -> Callable:
    """compute(class probabilities, offsets, image info, scales, ratios, feature_stride, threshold, rpn_pre_nms_top_n,
    rpn_post_nms_top_n, rpn_min_size, iou_loss)."""
    return _simple(
        topi_compute,
        lambda attrs, inputs: [
            *inputs[:3],
            _floats(attrs.scales),
            _floats(attrs.ratios),
            attrs.feature_stride,
            attrs.threshold,
            attrs.rpn_pre_nms_top_n,
            attrs.rpn_post_nms_top_n,
            attrs.rpn_min_size,
            bool(attrs.iou_loss),
        ],
    )


def wrap_compute_sliding_window() -> Callable:
    """The compute of `sliding_window`, for which there is one function only."""

    def compute(attrs: Any, inputs: Any, out_type: Any) -> list:
        from .... import topi

        del out_type
        return [topi.sliding_window(inputs[0], int(attrs.axis), _ints(attrs.window_shape), _ints(attrs.strides))]

    return compute


def wrap_compute_sparse_add(topi_compute: Callable) -> Callable:
    """compute(dense_data, sparse_data, sparse_indices, sparse_indptr)."""
    return _simple(topi_compute, lambda attrs, inputs: list(inputs[:4]))


def wrap_compute_sparse_conv2d(topi_compute: Callable) -> Callable:
    """compute(dense_data, sparse_data, sparse_indices, sparse_indptr, layout, kernel_size)."""
    return _simple(topi_compute, lambda attrs, inputs: [*inputs[:4], str(attrs.layout), _ints(attrs.kernel_size)[0]])


def wrap_compute_sparse_dense(topi_compute: Callable) -> Callable:
    """compute(dense_data, sparse_data, sparse_indices, sparse_indptr, sparse_lhs)."""
    return _simple(topi_compute, lambda attrs, inputs: [*inputs[:4], bool(attrs.sparse_lhs)])


def wrap_compute_sparse_fill_empty_rows(topi_compute: Callable) -> Callable:
    """compute(sparse_indices, sparse_values, dense_shape, default_value, shapes of the three results)."""
    return _wrap(
        topi_compute,
        lambda attrs, inputs, out_type: [*inputs[:4], *(out_type.fields[i].shape for i in range(3))],
    )


def wrap_compute_sparse_reshape(topi_compute: Callable) -> Callable:
    """compute(sparse_indices, prev_shape, new_shape, shapes of both results)."""
    return _wrap(
        topi_compute,
        lambda attrs, inputs, out_type: [*inputs[:3], *(out_type.fields[i].shape for i in range(2))],
    )


def wrap_compute_stft(topi_compute: Callable) -> Callable:
    """compute(data, n_fft, hop_length, win_length, window, normalized, onesided, shape of the result)."""
    return _wrap(
        topi_compute,
        lambda attrs, inputs, out_type: [
            inputs[0],
            attrs.n_fft,
            attrs.hop_length,
            attrs.win_length,
            inputs[1],
            bool(attrs.normalized),
            bool(attrs.onesided),
            out_type.shape,
        ],
    )


def wrap_compute_threefry_generate(topi_compute: Callable) -> Callable:
    """compute(key, shape)."""
    return _simple(topi_compute, lambda attrs, inputs: [inputs[0], attrs.out_shape])


def wrap_compute_threefry_split(topi_compute: Callable) -> Callable:
    """compute(key)."""
    return _simple(topi_compute, lambda attrs, inputs: [inputs[0]])


def wrap_compute_trilu(topi_compute: Callable) -> Callable:
    """compute(data, k, upper)."""
    return _simple(topi_compute, lambda attrs, inputs: [*inputs[:2], bool(attrs.upper)])


def wrap_compute_uniform(topi_compute: Callable) -> Callable:
    """compute(key, low, high, shape, dtype)."""
    return _simple(topi_compute, lambda attrs, inputs: [*inputs[:3], attrs.out_shape, str(attrs.out_dtype)])


def wrap_compute_unique(topi_compute: Callable) -> Callable:
    """compute(data, sorted, return_counts)."""
    return _simple(topi_compute, lambda attrs, inputs: [inputs[0], bool(attrs.sorted), bool(attrs.return_counts)])


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
