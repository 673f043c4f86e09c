"""Strategies for Qualcomm's GPUs."""

from ._by_target import install

__all__ = [
    *install(
        globals(),
        "concatenate_strategy_adreno conv2d_strategy_adreno conv2d_winograd_without_weight_transfrom_strategy_adreno schedule_injective_adreno schedule_pool_adreno",
        "adreno",
    )
]
