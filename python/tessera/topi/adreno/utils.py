"""Shapes and packing of data in textures: blocks of four channels."""

from __future__ import annotations

from functools import reduce
from typing import Any

from ... import te, tir
from ...te import Tensor
from ..nn import pad
from ..nn.utils import get_pad_tuple
from ..utils import get_const_tuple

__all__ = [
    "add_pad",
    "bind_data_copy",
    "expand_spatial_dimensions",
    "get_div",
    "get_texture_storage",
    "infer_tile_size",
    "pack_filter",
    "pack_input",
    "split_to_chunks",
]

_MAX_TEXTURE = 16384  # elements of a texture along a dimension


def get_div(value: int, start: int) -> int:
    """The greatest divisor of `value` that is at most `start`."""
    return next(divisor for divisor in range(start, 0, -1) if value % divisor == 0)


def split_to_chunks(extent: int, block: int) -> tuple[int, int, int]:
    """How many blocks an extent has, the size of a block, and how many elements the last one holds."""
    return -(-extent // block), block, extent % block or block


def get_texture_storage(shape: Any) -> str:
    """The scope of a texture for a tensor of blocks: how many of its dimensions are rows."""
    shape = get_const_tuple(shape)
    if len(shape) == 5:  # NCHW4c: N * C * H rows of W
        rows = reduce(lambda a, b: a * b, shape[:3])
        return "global.texture" if rows < _MAX_TEXTURE and shape[3] < _MAX_TEXTURE else "global.texture-nhwc"
    return "global.texture-weight"


def infer_tile_size(data: Tensor, layout: str) -> int:
    """The tile of Winograd's convolution: 4 where images are large enough for it, else 2."""
    if layout == "NCHW":
        height, width = get_const_tuple(data.shape)[2:4]
    elif layout == "NHWC":
        height, width = get_const_tuple(data.shape)[1:3]
    else:
        raise ValueError(f"layout is {layout}, but must be NCHW or NHWC")
    return 2 if height < 8 or width < 8 else 4


def expand_spatial_dimensions(
    in_height: int,
    in_width: int,
    kernel_h: int,
    kernel_w: int,
    dilation_h: int,
    dilation_w: int,
    padding: Any,
    stride_h: int,
    stride_w: int,
) -> tuple[int, int, int, int]:
    """Height and width of the result, rounded up to even numbers where that is cheap, and the true ones."""
    top, left, bottom, right = get_pad_tuple(
        padding, ((kernel_h - 1) * dilation_h + 1, (kernel_w - 1) * dilation_w + 1)
    )
    height = (in_height - ((kernel_h - 1) * dilation_h + 1) + top + bottom) // stride_h + 1
    width = (in_width - ((kernel_w - 1) * dilation_w + 1) + left + right) // stride_w + 1
    grown_height = height + 1 if height % 2 else height
    grown_width = width + 1 if width % 2 else width
    if grown_height * grown_width > 1.1 * height * width:  # what is computed for nothing costs more
        grown_height, grown_width = height, width
    return grown_height, grown_width, height, width


def add_pad(
    data: Tensor,
    layout: str,
    out_height: int,
    out_width: int,
    kernel_h: int,
    kernel_w: int,
    dilation_h: int,
    dilation_w: int,
    padding: Any,
    stride_h: int,
    stride_w: int,
) -> Tensor:
    """Data with zeros around it, so that windows of a result of that size lie inside."""
    window_h, window_w = (kernel_h - 1) * dilation_h + 1, (kernel_w - 1) * dilation_w + 1
    top, left, bottom, right = get_pad_tuple(padding, (window_h, window_w))
    first = layout.index("H")
    height, width = get_const_tuple(data.shape)[first : first + 2]
    bottom = max(bottom, (out_height - 1) * stride_h + window_h - height - top)
    right = max(right, (out_width - 1) * stride_w + window_w - width - left)
    before, after = [0] * len(data.shape), [0] * len(data.shape)
    before[first : first + 2], after[first : first + 2] = [top, left], [bottom, right]
    return pad(data, before, after, name="pad_temp")


def pack_input(
    Input: Tensor, layout: str, batch: int, chunks: int, block: int, original_tail: int, in_height: int, in_width: int
) -> Tensor:
    """Channels in blocks, with zeros at the end of the last one."""
    channels = (chunks - 1) * block + original_tail

    def read(n: Any, c: Any, y: Any, x: Any) -> Any:
        value = Input[n, c, y, x] if layout == "NCHW" else Input[n, y, x, c]
        return value if original_tail == block else tir.if_then_else(c < channels, value, tir.const(0, Input.dtype))

    if layout == "NCHW":
        return te.compute(
            (batch, chunks, in_height, in_width, block),
            lambda n, o, y, x, i: read(n, o * block + i, y, x),
            name="input_pack",
            tag="input_pack",
        )
    return te.compute(
        (batch, in_height, in_width, chunks, block),
        lambda n, y, x, o, i: read(n, o * block + i, y, x),
        name="input_pack",
        tag="input_pack",
    )


def pack_filter(
    Filter: Tensor,
    layout: str,
    out_chunks: int,
    out_block: int,
    out_original_tail: int,
    in_filter_channels: int,
    in_chunks: int,
    in_block: int,
    in_original_tail: int,
    kernel_h: int,
    kernel_w: int,
) -> Tensor:
    """Filters with their out channels in blocks, with zeros where channels are missing. Layouts: OIHW, HWIO, HWOI."""
    del in_filter_channels
    outs, ins = (out_chunks - 1) * out_block + out_original_tail, (in_chunks - 1) * in_block + in_original_tail

    def element(o: Any, i: Any, y: Any, x: Any) -> Any:
        index = {"O": o, "I": i, "H": y, "W": x}
        value = Filter(*(index[letter] for letter in layout))
        return tir.if_then_else(tir.all(o < outs, i < ins), value, tir.const(0, Filter.dtype))

    shape = {"O": out_chunks, "I": in_chunks * in_block, "H": kernel_h, "W": kernel_w}

    def packed(*indices: Any) -> Any:
        at = dict(zip(layout, indices[:-1]))
        return element(at["O"] * out_block + indices[-1], at["I"], at["H"], at["W"])

    return te.compute([*(shape[letter] for letter in layout), out_block], packed, name="filter_pack", tag="filter_pack")


def bind_data_copy(stage: Any, axis_to_vectorize: Any = None) -> None:
    """A copy by blocks of threads; the last axis, or the one given, is a vector."""
    axes = list(stage.op.axis)
    vector = axis_to_vectorize if axis_to_vectorize is not None else axes[-1]
    rest = [axis for axis in axes if axis != vector]
    fused = stage.fuse(*rest)
    outer, inner = stage.split(fused, 64)
    stage.bind(outer, te.thread_axis("blockIdx.x"))
    stage.bind(inner, te.thread_axis("threadIdx.x"))
    stage.vectorize(vector)
