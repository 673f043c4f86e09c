"""Strategies for Intel's GPUs."""

from ._by_target import install

__all__ = [
    *install(
        globals(),
        "conv2d_NCHWc_strategy_intel_graphics conv2d_strategy_intel_graphics",
        "intel_graphics",
    )
]
