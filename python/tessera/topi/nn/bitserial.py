"""Integers of few bits, a plane of each bit, in packed words: contractions are `and` or `xor` and a count of bits."""

from __future__ import annotations

from typing import Any

from ... import te, tir
from ...te import Tensor
from .._records import const_int, const_tuple
from ..utils import get_const_tuple
from .space import pad
from .utils import get_pad_tuple

__all__ = [
    "binarize_pack",
    "binary_dense",
    "binary_op_multiplier",
    "bitpack",
    "bitserial_conv2d_nchw",
    "bitserial_conv2d_nhwc",
    "bitserial_dense",
]


def binary_op_multiplier(pack_dtype: str) -> int:
    """How many one-bit numbers a packed word holds."""
    widths = {"uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}
    if pack_dtype not in widths:
        raise ValueError(f"bits are packed in {', '.join(widths)}, not in {pack_dtype}")
    return widths[pack_dtype]


def bitpack(
    data: Tensor, bits: int, pack_axis: int, bit_axis: int, pack_type: str, name: str = "QuantizeInput"
) -> Tensor:
    """Words of the elements along `pack_axis`, first element in the highest bit; bit `b` of each is slice b of `bit_axis`."""
    width = binary_op_multiplier(pack_type)
    shape = get_const_tuple(data.shape)
    if shape[pack_axis] % width:
        raise ValueError(f"{shape[pack_axis]} elements do not fill words of {pack_type}")
    packed = [extent // width if i == pack_axis else extent for i, extent in enumerate(shape)]
    packed.insert(bit_axis, bits)

    def word(*indices: Any) -> Any:
        plane = indices[bit_axis]
        at = [*indices[:bit_axis], *indices[bit_axis + 1 :]]
        first = at[pack_axis] * width
        out = tir.const(0, pack_type)
        for k in range(width):
            at[pack_axis] = first + k
            element = data(*at).astype(pack_type)
            bit = (element >> plane.astype(pack_type)) & tir.const(1, pack_type)
            out = out | (bit << tir.const(width - 1 - k, pack_type))
        return out

    return te.compute(packed, word, name=name, tag="bitpack")


def _count(a: Any, w: Any, unipolar: bool, out_dtype: str) -> Any:
    """The contraction of two words: of bits 0 and 1, or with weights whose bits stand for -1 and 1."""
    both = tir.popcount(a & w).astype(out_dtype)
    return both - tir.popcount(a & ~w).astype(out_dtype) if unipolar else both


def _is_packed(weight: Tensor, pack_dtype: str, rank: int) -> bool:
    return len(weight.shape) > rank and weight.dtype == pack_dtype


def bitserial_dense(
    data: Tensor,
    weight: Tensor,
    data_bits: int,
    weight_bits: int,
    pack_dtype: str = "uint32",
    out_dtype: str = "int16",
    unipolar: bool = True,
) -> Tensor:
    """Linear layer of (m, k) and (n, k), or a packed weight (n, bits, words)."""
    a = bitpack(data, data_bits, pack_axis=1, bit_axis=1, pack_type=pack_dtype)
    packed = _is_packed(weight, pack_dtype, 2)
    w = weight if packed else bitpack(weight, weight_bits, pack_axis=1, bit_axis=1, pack_type=pack_dtype)
    rows, _, words = get_const_tuple(a.shape)
    units, planes, _ = get_const_tuple(w.shape)
    db = te.reduce_axis((0, data_bits), name="db")
    wb = te.reduce_axis((0, planes), name="wb")
    k = te.reduce_axis((0, words), name="k")

    def element(i: Any, j: Any) -> Any:
        value = _count(a[i, db, k], w[j, wb, k], unipolar, out_dtype)
        return te.sum(value << (db + wb).astype(out_dtype), axis=[wb, db, k])

    return te.compute(
        (rows, units),
        element,
        name="bitserial_dense_unipolar" if unipolar else "bitserial_dense",
        tag="bitserial_dense",
    )


def _conv(padded: Tensor, w: Tensor, layout: str, stride: Any, out_dtype: str, unipolar: bool) -> Tensor:
    """Data in `layout` with its bits before the channels; `w` is (out, words, height, width, bits)."""
    steps = const_tuple(stride, 2)
    out_channels, words, kernel_h, kernel_w, planes = get_const_tuple(w.shape)
    shape = get_const_tuple(padded.shape)
    if layout == "NCHW":
        batch, data_bits, _, height, width = shape
    else:
        batch, height, width, data_bits, _ = shape
    out_h = (height - kernel_h) // steps[0] + 1
    out_w = (width - kernel_w) // steps[1] + 1
    c = te.reduce_axis((0, words), name="ci")
    dy = te.reduce_axis((0, kernel_h), name="dh")
    dx = te.reduce_axis((0, kernel_w), name="dw")
    ab = te.reduce_axis((0, data_bits), name="ib")
    wb = te.reduce_axis((0, planes), name="kb")

    def element(n: Any, o: Any, y: Any, x: Any) -> Any:
        row, column = y * steps[0] + dy, x * steps[1] + dx
        value = padded[n, ab, c, row, column] if layout == "NCHW" else padded[n, row, column, ab, c]
        counted = _count(value, w[o, c, dy, dx, wb], unipolar, out_dtype)
        return te.sum(counted << (ab + wb).astype(out_dtype), axis=[c, dy, dx, wb, ab])

    if layout == "NCHW":
        return te.compute(
            (batch, out_channels, out_h, out_w), element, name="Conv2dOutput", tag="bitserial_conv2d_nchw"
        )
    return te.compute(
        (batch, out_h, out_w, out_channels),
        lambda n, y, x, o: element(n, o, y, x),
        name="Conv2dOutput",
        tag="bitserial_conv2d_nhwc",
    )


def _padded(a: Tensor, at: tuple[int, int], sides: Any) -> Tensor:
    if not any(sides):
        return a
    before, after = [0] * len(a.shape), [0] * len(a.shape)
    before[at[0]], before[at[1]], after[at[0]], after[at[1]] = sides
    return pad(a, before, after, name="PadInput")


def bitserial_conv2d_nchw(
    data: Tensor,
    kernel: Tensor,
    stride: Any,
    padding: Any,
    activation_bits: int,
    weight_bits: int,
    pack_dtype: str = "uint32",
    out_dtype: str = "int16",
    unipolar: bool = True,
) -> Tensor:
    """Convolution of (n, c, h, w) with (o, i, h, w), or with a packed weight (bits, o, words, h, w)."""
    a = bitpack(data, activation_bits, pack_axis=1, bit_axis=1, pack_type=pack_dtype)
    packed = _is_packed(kernel, pack_dtype, 4)
    planes = kernel if packed else bitpack(kernel, weight_bits, pack_axis=1, bit_axis=0, pack_type=pack_dtype)
    bits, out_channels, words, height, width = get_const_tuple(planes.shape)
    w = te.compute(
        (out_channels, words, height, width, bits), lambda o, i, y, x, b: planes[b, o, i, y, x], name="kernel_planes"
    )
    padded = _padded(a, (3, 4), get_pad_tuple(padding, (height, width)))
    return _conv(padded, w, "NCHW", stride, out_dtype, unipolar)


def bitserial_conv2d_nhwc(
    data: Tensor,
    kernel: Tensor,
    stride: Any,
    padding: Any,
    activation_bits: int,
    weight_bits: int,
    pack_dtype: str = "uint32",
    out_dtype: str = "int16",
    unipolar: bool = True,
) -> Tensor:
    """Convolution of (n, h, w, c) with (h, w, i, o), or with a packed weight (h, w, bits, words, o)."""
    a = bitpack(data, activation_bits, pack_axis=3, bit_axis=3, pack_type=pack_dtype)
    packed = _is_packed(kernel, pack_dtype, 4)
    planes = kernel if packed else bitpack(kernel, weight_bits, pack_axis=2, bit_axis=2, pack_type=pack_dtype)
    height, width, bits, words, out_channels = get_const_tuple(planes.shape)
    w = te.compute(
        (out_channels, words, height, width, bits), lambda o, i, y, x, b: planes[y, x, b, i, o], name="kernel_planes"
    )
    padded = _padded(a, (1, 2), get_pad_tuple(padding, (height, width)))
    return _conv(padded, w, "NHWC", stride, out_dtype, unipolar)


def binarize_pack(data: Tensor, axis: int | None = None, name: str = "PackedInput") -> Tensor:
    """uint32 words of the signs along `axis` (the last): 1 where an element is not negative, the first in the highest bit."""
    shape = get_const_tuple(data.shape)
    axis = len(shape) - 1 if axis is None else axis
    if shape[axis] % 32:
        raise ValueError(f"{shape[axis]} elements do not fill words of 32 bits")
    packed = [extent // 32 if i == axis else extent for i, extent in enumerate(shape)]

    def word(*indices: Any) -> Any:
        at = list(indices)
        out = tir.const(0, "uint32")
        for k in range(32):
            at[axis] = indices[axis] * 32 + k
            sign = (data(*at) >= tir.const(0, data.dtype)).astype("uint32")
            out = out | (sign << tir.const(31 - k, "uint32"))
        return out

    return te.compute(packed, word, name=name, tag="binarize_pack")


def binary_dense(data: Tensor, weight: Tensor) -> Tensor:
    """Linear layer of packed signs (m, words) and (n, words): a bit stands for -1 or 1."""
    if data.dtype != "uint32" or weight.dtype != "uint32":
        raise TypeError(f"binary_dense takes words of uint32, got {data.dtype} and {weight.dtype}")
    rows, words = get_const_tuple(data.shape)
    k = te.reduce_axis((0, words), name="k")
    differing = te.compute(
        (rows, const_int(weight.shape[0])),
        lambda i, j: te.sum(tir.popcount(data[i, k] ^ weight[j, k]), axis=k),
        tag="binary_dense",
    )
    return te.compute(
        differing.shape, lambda i, j: 32 * words - (2.0 * differing[i, j]), tag="elemwise", name="binary_dense"
    )
