"""Strategies for ARM's CPUs."""

from __future__ import annotations

from typing import Any, Callable

from . import generic as _generic
from ._by_target import install
from .wrap import wrap_compute_conv2d

generic: Any = _generic  # which makes its functions when they are asked for

__all__ = [
    *install(
        globals(),
        "bitserial_conv2d_strategy_arm_cpu conv1d_strategy_arm_cpu conv2d_NCHWc_strategy_arm_cpu "
        "conv2d_gemm_without_weight_transform_strategy_arm_cpu conv2d_strategy_arm_cpu conv2d_transpose_strategy_arm_cpu "
        "conv2d_winograd_without_weight_transfrom_strategy_arm_cpu depthwise_conv2d_NCHWc_strategy_arm_cpu "
        "schedule_bitserial_dense_arm_cpu schedule_dense_arm_cpu schedule_pool_arm_cpu",
        "arm_cpu",
        # Strategies, whatever they are called.
        {"schedule_bitserial_dense_arm_cpu": "bitserial_dense_strategy", "schedule_dense_arm_cpu": "dense_strategy"},
    ),
    *install(globals(), "schedule_reduce_cpu", "cpu"),
    "schedule_concatenate_arm_cpu",
    "schedule_injective_arm_cpu",
    "wrap_compute_conv2d_gemm",
    "wrap_compute_conv2d_winograd_nnpack",
]


def schedule_injective_arm_cpu(_: Any, outs: Any, target: Any) -> Any:
    """What schedule_injective gives for the target."""
    with target:
        return generic.schedule_injective(_, outs, target)


def schedule_concatenate_arm_cpu(_: Any, outs: Any, target: Any) -> Any:
    """What schedule_concatenate gives for the target."""
    with target:
        return generic.schedule_concatenate(_, outs, target)


def wrap_compute_conv2d_gemm(topi_compute: Callable) -> Callable:
    """compute(data, transformed kernel, strides, padding, dilation, out_dtype, kernel_size, channels)."""

    def compute(attrs, inputs, out_type):  # type: ignore[no-untyped-def]
        dtype = inputs[0].dtype if str(attrs.out_dtype) in ("same", "", "void") else str(attrs.out_dtype)
        window = [tuple(int(x) for x in value) for value in (attrs.strides, attrs.padding, attrs.dilation)]
        kernel_size = tuple(int(x) for x in attrs.kernel_size)
        return [topi_compute(inputs[0], inputs[1], *window, dtype, kernel_size, int(attrs.channels))]

    return compute


def wrap_compute_conv2d_winograd_nnpack(topi_compute: Callable) -> Callable:
    """compute(data, transformed kernel, strides, padding, dilation, out_dtype)."""
    return wrap_compute_conv2d(topi_compute)
