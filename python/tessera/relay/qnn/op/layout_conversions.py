"""Quantised convolutions in other layouts."""

from __future__ import annotations

from typing import Any

from .. import op as _op

__all__ = ["convert_qnn_conv2d", "convert_qnn_conv2d_transpose"]

_KERNELS = {"NCHW": ("OIHW", "OIHW"), "NHWC": ("HWIO", "HWOI")}  # of plain convolutions and of those by depth


def _layouts(attrs: Any, desired_layouts: Any, default: str | None = None) -> dict[str, Any]:
    if len(desired_layouts) != 2:
        raise ValueError("the layouts of data and kernel are wanted")
    data, kernel = map(str, desired_layouts)
    if data == "default":
        raise ValueError("the layout of the data cannot be default")
    out = {key: attrs[key] for key in list(attrs.keys())}
    out["data_layout"] = data
    if kernel == "default":
        if data not in _KERNELS:
            raise ValueError(f"Layout {data} is not yet supported")
        kernel = default or _KERNELS[data][0]
    out["kernel_layout"] = kernel
    return out


def convert_qnn_conv2d(attrs: Any, inputs: Any, tinfos: Any, desired_layouts: Any) -> Any:
    """qnn.conv2d in the layouts of data and kernel that are wanted; "default" is what fits the data."""
    return _op.conv2d(*inputs, **_layouts(attrs, desired_layouts))


def convert_qnn_conv2d_transpose(attrs: Any, inputs: Any, tinfos: Any, desired_layouts: Any) -> Any:
    """The same for qnn.conv2d_transpose."""
    kernel = {"NCHW": "IOHW", "NHWC": "HWIO"}.get(str(desired_layouts[0]))
    return _op.conv2d_transpose(*inputs, **_layouts(attrs, desired_layouts, kernel))
