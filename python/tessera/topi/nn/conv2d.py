"""Workloads of convolutions; the computes are in `topi.nn`."""

from __future__ import annotations

from typing import Any

from ._workloads import Workload, extents_of, workload_of


def _get_workload(
    data: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, out_dtype: str, data_layout: str = "NCHW"
) -> Workload:
    """The workload of data in that layout and a kernel (o, i, h, w), or (h, w, i, o) where channels are not second."""
    layouts = data_layout, "OIHW" if data_layout == "NCHW" else "HWIO"
    window = extents_of(kernel, layouts[1])
    channels = extents_of(data, data_layout)["C"] // window["I"], window["O"]
    return workload_of(data, kernel, layouts, channels, (stride, padding, dilation), out_dtype)
