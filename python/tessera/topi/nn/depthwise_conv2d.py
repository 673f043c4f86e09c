"""Workloads of depthwise convolutions; the computes are in `topi.nn`."""

from __future__ import annotations

from typing import Any

from ._workloads import Workload, extents_of, workload_of


def _get_workload(
    data: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, out_dtype: str, data_layout: str = "NCHW"
) -> Workload:
    """The workload of data in that layout and a kernel (channels, multiplier, h, w), or (h, w, channels, multiplier)."""
    layouts = data_layout, "CMHW" if data_layout == "NCHW" else "HWCM"
    window = extents_of(kernel, layouts[1])
    channels = window["C"], window["C"] * window["M"]
    return workload_of(data, kernel, layouts, channels, (stride, padding, dilation), out_dtype)
