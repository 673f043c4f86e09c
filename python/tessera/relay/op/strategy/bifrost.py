"""Strategies for ARM's Bifrost GPUs."""

from ._by_target import install

__all__ = [
    *install(
        globals(),
        "conv2d_strategy_bifrost conv2d_winograd_without_weight_transfrom_strategy_bifrost dense_strategy_bifrost",
        "bifrost",
    )
]
