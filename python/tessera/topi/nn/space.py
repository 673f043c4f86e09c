"""Borders, room between elements, and space against channels and batch."""

from __future__ import annotations

from typing import Any

from tessera.te import Tensor

from .. import _ffi_api
from .._records import call_record, const_tuple

__all__ = [
    "batch_to_space_nd",
    "depth_to_space",
    "dilate",
    "fifo_buffer",
    "mirror_pad",
    "pad",
    "space_to_batch_nd",
    "space_to_depth",
    "upsampling",
    "upsampling3d",
]


def pad(
    data: Tensor,
    pad_before: Any,
    pad_after: Any = None,
    pad_value: Any = 0.0,
    name: str = "PadInput",
    attrs: Any = None,
) -> Tensor:
    """`data` with that many elements of `pad_value` before and after it in each dimension."""
    del attrs
    return _ffi_api.nn_pad(data, pad_before, pad_before if pad_after is None else pad_after, pad_value, name)


def mirror_pad(
    data: Tensor, pad_before: Any, pad_after: Any = None, mode: str = "SYMMETRIC", name: str = "MirrorPadInput"
) -> Tensor:
    """`data` with a border of itself mirrored; with "REFLECT" the outermost element is not repeated."""
    return _ffi_api.nn_mirror_pad(data, pad_before, pad_before if pad_after is None else pad_after, mode, name)


def dilate(data: Tensor, strides: Any, dilation_value: Any = 0.0, name: str = "DilatedInput") -> Tensor:
    """Elements `strides` apart, with `dilation_value` between them."""
    if len(strides) != len(data.shape):
        raise ValueError(
            f"data and strides should have the same number of dimensions: {len(data.shape)}, {len(strides)}"
        )
    return _ffi_api.nn_dilate(data, strides, dilation_value, name)


def fifo_buffer(data: Tensor, buffer: Tensor, axis: int) -> Tensor:
    """The buffer with data pushed in behind along `axis`, and as much dropped in front."""
    return call_record("nn.fifo_buffer", [data, buffer], {"axis": axis})


def depth_to_space(data: Tensor, block_size: int, layout: str = "NCHW", mode: str = "DCR") -> Tensor:
    """Channels become blocks of pixels."""
    return call_record("nn.depth_to_space", [data], {"block_size": block_size, "layout": layout, "mode": mode})


def space_to_depth(data: Tensor, block_size: int, layout: str = "NCHW") -> Tensor:
    """Blocks of pixels become channels."""
    return call_record("nn.space_to_depth", [data], {"block_size": block_size, "layout": layout})


def space_to_batch_nd(
    data: Tensor, block_shape: Any, pad_before: Any, pad_after: Any, pad_value: float = 0.0
) -> Tensor:
    """Space is padded and split into blocks; the position in the block becomes part of the batch."""
    paddings = [list(pair) for pair in zip(const_tuple(pad_before, 1), const_tuple(pad_after, 1))]
    attrs = {"block_shape": const_tuple(block_shape, 1), "paddings": paddings, "pad_value": pad_value}
    return call_record("nn.space_to_batch_nd", [data], attrs)


def batch_to_space_nd(data: Tensor, block_shape: Any, crop_begin_list: Any, crop_end_list: Any) -> Tensor:
    """A part of the batch becomes the position in a block of space; then a border is taken off."""
    crops = [list(pair) for pair in zip(const_tuple(crop_begin_list, 1), const_tuple(crop_end_list, 1))]
    return call_record("nn.batch_to_space_nd", [data], {"block_shape": const_tuple(block_shape, 1), "crops": crops})


def upsampling(
    data: Tensor,
    scale_h: float,
    scale_w: float,
    layout: str = "NCHW",
    method: str = "nearest_neighbor",
    align_corners: bool = False,
    output_shape: Any = None,
) -> Tensor:
    """Images larger by factors."""
    del output_shape
    attrs = {
        "scale_h": scale_h,
        "scale_w": scale_w,
        "layout": layout,
        "method": method,
        "align_corners": align_corners,
    }
    return call_record("nn.upsampling", [data], attrs)


def upsampling3d(
    data: Tensor,
    scale_d: float,
    scale_h: float,
    scale_w: float,
    layout: str = "NCDHW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "half_pixel",
    output_shape: Any = None,
) -> Tensor:
    """Volumes larger by factors."""
    del output_shape
    attrs = {
        "scale_d": scale_d,
        "scale_h": scale_h,
        "scale_w": scale_w,
        "layout": layout,
        "method": method,
        "coordinate_transformation_mode": coordinate_transformation_mode,
    }
    return call_record("nn.upsampling3d", [data], attrs)
