"""Strategies for FPGAs."""

from ._by_target import install

__all__ = [
    *install(
        globals(),
        "bitserial_conv2d_strategy_hls conv2d_NCHWc_strategy_hls conv2d_strategy_hls conv2d_transpose_strategy_hls dense_strategy_hls log_softmax_strategy_hls schedule_adaptive_pool_hls schedule_concatenate_hls schedule_injective_hls schedule_pool_hls schedule_reduce_hls softmax_strategy_hls",
        "hls",
    )
]
