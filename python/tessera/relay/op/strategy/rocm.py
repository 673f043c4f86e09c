"""Strategies for AMD's GPUs."""

from ._by_target import install

__all__ = [
    *install(
        globals(),
        "batch_matmul_strategy_rocm conv2d_strategy_rocm dense_strategy_rocm log_softmax_strategy_rocm "
        "softmax_strategy_rocm",
        "rocm",
    ),
    *install(globals(), "argsort_strategy_cuda scatter_cuda sort_strategy_cuda topk_strategy_cuda", "cuda"),
]
