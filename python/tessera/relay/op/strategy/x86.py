"""Strategies for CPUs."""

from ._by_target import install

__all__ = [
    *install(
        globals(),
        "batch_matmul_strategy_cpu batch_norm_strategy_cpu bitserial_conv2d_strategy_cpu bitserial_dense_strategy_cpu "
        "concatenate_strategy_cpu conv1d_strategy_cpu conv2d_NCHWc_strategy_cpu conv2d_strategy_cpu "
        "conv2d_transpose_strategy_cpu conv2d_winograd_without_weight_transfrom_strategy_cpu conv3d_strategy_cpu "
        "conv3d_transpose_strategy_cpu dense_pack_strategy_cpu dense_strategy_cpu depthwise_conv2d_NCHWc_strategy_cpu "
        "fast_softmax_strategy_cpu log_softmax_strategy_cpu matmul_strategy_cpu roi_align_strategy_cpu "
        "scatter_nd_strategy_cpu schedule_adaptive_pool_cpu schedule_injective_cpu schedule_pool_cpu "
        "schedule_reduce_cpu softmax_strategy_cpu sparse_conv2d_strategy_cpu sparse_dense_strategy_cpu",
        "cpu",
    )
]
