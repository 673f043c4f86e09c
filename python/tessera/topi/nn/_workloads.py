"""Convolutions in numbers, from which templates choose tiles."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..utils import get_const_tuple
from .utils import get_pad_tuple


class Workload(NamedTuple):
    """A convolution in numbers."""

    in_dtype: str
    out_dtype: str
    height: int
    width: int
    in_filter: int
    groups: int
    out_filter: int
    kernel_h: int
    kernel_w: int
    padt: int
    padl: int
    padb: int
    padr: int
    dilation_h: int
    dilation_w: int
    stride_h: int
    stride_w: int


def extents_of(tensor: Any, layout: str) -> dict[str, int]:
    """The extents of a tensor by the letters of its layout."""
    return dict(zip(layout, get_const_tuple(tensor.shape)))


def workload_of(
    data: Any,
    kernel: Any,
    layouts: tuple[str, str],
    channels: tuple[int, int],
    call: tuple[Any, Any, Any],
    out_dtype: str,
) -> Workload:
    """Of data and kernel in their layouts: `channels` are groups and those of the result, `call` stride, padding, dilation."""
    if data.dtype != kernel.dtype and (data.dtype, kernel.dtype) != ("uint8", "int8"):
        raise TypeError(
            f"data is {data.dtype} and the kernel {kernel.dtype}; both have one type, or are uint8 and int8"
        )
    image, window = extents_of(data, layouts[0]), extents_of(kernel, layouts[1])
    stride, padding, dilation = call
    steps, distances = (get_const_tuple(v if isinstance(v, (tuple, list)) else (v, v)) for v in (stride, dilation))
    dilated = tuple((window[axis] - 1) * distance + 1 for axis, distance in zip("HW", distances))
    numbers = [image["H"], image["W"], image["C"], *channels, window["H"], window["W"]]
    return Workload._make([data.dtype, out_dtype, *numbers, *get_pad_tuple(padding, dilated), *distances, *steps])


def out_extents(workload: Any) -> tuple[int, int]:
    """Height and width of the result."""
    w = workload
    height = w.height + w.padt + w.padb - (w.kernel_h - 1) * w.dilation_h - 1
    width = w.width + w.padl + w.padr - (w.kernel_w - 1) * w.dilation_w - 1
    return height // w.stride_h + 1, width // w.stride_w + 1
