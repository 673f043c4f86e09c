"""Strategies for ARM's Mali GPUs."""

from ._by_target import install

__all__ = [
    *install(
        globals(),
        "conv2d_strategy_mali conv2d_winograd_without_weight_transfrom_strategy_mali dense_strategy_mali",
        "mali",
    )
]
