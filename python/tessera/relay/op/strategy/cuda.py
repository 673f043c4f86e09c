"""Strategies for NVIDIA's GPUs."""

from __future__ import annotations

from typing import Any

from ._by_target import install

__all__ = [
    *install(
        globals(),
        "all_class_nms_strategy_cuda argsort_strategy_cuda argwhere_strategy_cuda batch_matmul_strategy_cuda "
        "concatenate_strategy_cuda conv1d_strategy_cuda conv1d_transpose_strategy_cuda "
        "conv2d_backward_weight_strategy_cuda conv2d_strategy_cuda conv2d_transpose_strategy_cuda "
        "conv2d_winograd_without_weight_transfrom_strategy_cuda conv3d_strategy_cuda conv3d_transpose_strategy_cuda "
        "conv3d_winograd_without_weight_transfrom_strategy_cuda correlation_strategy_cuda cumprod_strategy_cuda "
        "cumsum_strategy_cuda deformable_conv2d_strategy_cuda dense_strategy_cuda einsum_strategy_cuda "
        "fast_softmax_strategy_cuda get_valid_counts_strategy_cuda invert_permutation_strategy_cuda "
        "log_softmax_strategy_cuda matmul_strategy_cuda multibox_prior_strategy_cuda "
        "multibox_transform_loc_strategy_cuda nms_strategy_cuda proposal_strategy_cuda roi_align_strategy_cuda "
        "scatter_add_cuda scatter_cuda scatter_nd_cuda schedule_adaptive_pool_cuda schedule_injective_cuda "
        "schedule_lrn_cuda schedule_pool_cuda schedule_pool_grad_cuda schedule_reduce_cuda schedule_roi_pool_cuda "
        "schedule_transpose_cuda searchsorted_strategy_cuda softmax_strategy_cuda sort_strategy_cuda "
        "sparse_dense_padded_strategy_cuda sparse_dense_strategy_cuda sparse_reshape_strategy_cuda stft_strategy_cuda "
        "topk_strategy_cuda unique_strategy_cuda",
        "cuda",
    ),
    "judge_winograd",
]


def judge_winograd(
    N: Any,
    H: Any,
    W: Any,
    KH: int,
    KW: int,
    CI: Any,
    CO: Any,
    padding: Any,
    stride_h: int,
    stride_w: int,
    dilation_h: int,
    dilation_w: int,
    data_dtype: str,
    kernel_dtype: str,
    pre_flag: bool,
) -> tuple[bool, bool, bool]:
    """Whether Winograd's convolution is right for the sizes with tensor cores, by auto-scheduling, and at all.

    Kernels are 3x3 up to 7x7 with strides and dilation of 1; tensor cores want 16-bit floats and tiles that are filled.
    """
    from ....topi.nn.utils import get_pad_tuple

    if any(not isinstance(extent, int) for extent in (N, H, W, CI, CO)):  # dynamic extents
        return False, False, False
    is_plain = KH == KW and (stride_h, stride_w, dilation_h, dilation_w) == (1, 1, 1, 1)
    top, left, bottom, right = get_pad_tuple(padding, (KH, KW))
    tile = 4 if (H - KH + 1 + top + bottom) % 4 == 0 and (W - KW + 1 + left + right) % 4 == 0 else 2
    tiles = N * (-(-(H + top + bottom - KH + 1) // tile)) * (-(-(W + left + right - KW + 1) // tile))
    by_kernel = is_plain and 2 < KH < 8
    fills_tiles = (tiles % 16 == 0 and CI % 16 == 0 and CO % 16 == 0) or (
        tiles % 8 == 0 and CI % 16 == 0 and CO % 32 == 0
    )
    tensorcore = by_kernel and fills_tiles and "float" in data_dtype and "float" in kernel_dtype
    return bool((tensorcore and not pre_flag) or (tensorcore and KH == 3)), by_kernel and KH == 3, by_kernel
