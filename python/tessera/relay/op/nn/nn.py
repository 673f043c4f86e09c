"""Neural-network operators; signatures are v0.10's."""

from __future__ import annotations

from typing import Any

from ...expr import Call, Constant, Expr, const
from .._make import call_op, elementwise_function

__all__ = [
    "batch_flatten",
    "batch_matmul",
    "batch_to_space_nd",
    "bias_add",
    "contrib_dense_pack",
    "cross_entropy",
    "cross_entropy_with_logits",
    "dense",
    "depth_to_space",
    "dilate",
    "fast_softmax",
    "fifo_buffer",
    "leaky_relu",
    "log_softmax",
    "matmul",
    "mirror_pad",
    "nll_loss",
    "pad",
    "prelu",
    "relu",
    "softmax",
    "space_to_batch_nd",
    "space_to_depth",
    "upsampling",
    "upsampling3d",
]


def dense(data: Expr, weight: Expr, units: Any = None, out_dtype: str = "") -> Call:
    """Linear layer: out[..., n] = sum over k of data[..., k] * weight[n, k]."""
    return call_op("nn.dense", [data, weight], {"units": units, "out_dtype": out_dtype})


def matmul(
    tensor_a: Expr,
    tensor_b: Expr,
    units: Any = None,
    out_dtype: str = "",
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> Call:
    """Matmul with a matrix; either operand may be stored transposed."""
    attrs = {"units": units, "out_dtype": out_dtype, "transpose_a": transpose_a, "transpose_b": transpose_b}
    return call_op("nn.matmul", [tensor_a, tensor_b], attrs)


def batch_matmul(
    tensor_a: Expr, tensor_b: Expr, out_dtype: str = "", transpose_a: bool = False, transpose_b: bool = True
) -> Call:
    """Matmuls of the matrices of two batches; either operand may be stored transposed."""
    attrs = {"out_dtype": out_dtype, "transpose_a": transpose_a, "transpose_b": transpose_b}
    return call_op("nn.batch_matmul", [tensor_a, tensor_b], attrs)


def contrib_dense_pack(
    data: Expr, weight: Expr, weight_layout: str = "NC", units: Any = None, out_dtype: str = ""
) -> Call:
    """Linear layer whose weight lies in blocks of output features."""
    attrs = {"weight_layout": weight_layout, "units": units, "out_dtype": out_dtype}
    return call_op("nn.contrib_dense_pack", [data, weight], attrs, attrs_key="relay.attrs.DensePackAttrs")


def bias_add(data: Expr, bias: Expr, axis: int = 1) -> Call:
    """Adds one value to each slice along `axis`."""
    return call_op("nn.bias_add", [data, bias], {"axis": axis})


def relu(data: Expr) -> Call:
    """max(x, 0)."""
    return call_op("nn.relu", [data])


def leaky_relu(data: Expr, alpha: float = 0.01) -> Call:
    """x where it is positive, else alpha * x."""
    return call_op("nn.leaky_relu", [data], {"alpha": alpha})


def prelu(data: Expr, alpha: Expr, axis: int = 1) -> Call:
    """x where it is positive, else alpha * x with one alpha for each slice along `axis`."""
    return call_op("nn.prelu", [data, alpha], {"axis": axis})


def softmax(data: Expr, axis: int = -1) -> Call:
    """exp(x) over its sum along `axis`."""
    return call_op("nn.softmax", [data], {"axis": axis})


def fast_softmax(data: Expr, axis: int = -1) -> Call:
    """softmax, quicker and less exact."""
    return call_op("nn.fast_softmax", [data], {"axis": axis})


def log_softmax(data: Expr, axis: int = -1) -> Call:
    """The logarithm of softmax."""
    return call_op("nn.log_softmax", [data], {"axis": axis})


def batch_flatten(data: Expr) -> Call:
    """All dimensions but the first become one."""
    return call_op("nn.batch_flatten", [data])


def number_of(value: Any) -> Any:
    """A constant expression as the number or list that it holds; anything else as it is."""
    if isinstance(value, Constant):
        return value.data.numpy().tolist()
    return value


def _is_known(*values: Any) -> bool:
    return not any(isinstance(value, Expr) for value in values)


def pad(data: Expr, pad_width: Any, pad_value: Any = 0, pad_mode: str = "constant") -> Call:
    """A border of `pad_width` (before, after) for each dimension; `pad_mode` is "constant", "edge" or "reflect"."""
    pad_width = number_of(pad_width)
    if not _is_known(pad_width):
        return call_op("dyn.nn.pad", [data, pad_width, pad_value], {"pad_width": [], "pad_mode": pad_mode})
    return call_op("nn.pad", [data, pad_value], {"pad_width": pad_width, "pad_mode": pad_mode})


def mirror_pad(data: Expr, pad_width: Any, mode: str = "SYMMETRIC") -> Call:
    """A border of the mirrored data; with "REFLECT" the outermost element is not repeated."""
    return call_op("nn.mirror_pad", [data], {"mode": mode, "pad_width": pad_width})


def dilate(data: Expr, strides: Any, dilation_value: float = 0.0) -> Call:
    """Elements `strides` apart, with `dilation_value` between them."""
    attrs = {"strides": strides, "dilation_value": dilation_value}
    return call_op("nn.dilate", [data], attrs, attrs_key="relay.attrs.DilateAttrs")


def fifo_buffer(data: Expr, buffer: Expr, axis: int) -> Call:
    """The buffer with data pushed in behind along `axis`, and as much dropped in front."""
    return call_op("nn.fifo_buffer", [data, buffer], {"axis": axis})


def depth_to_space(data: Expr, block_size: int, layout: str = "NCHW", mode: str = "DCR") -> Call:
    """Channels become blocks of pixels."""
    return call_op("nn.depth_to_space", [data], {"block_size": block_size, "layout": layout, "mode": mode})


def space_to_depth(data: Expr, block_size: int, layout: str = "NCHW") -> Call:
    """Blocks of pixels become channels."""
    attrs = {"block_size": block_size, "layout": layout, "mode": ""}  # it knows one order of elements only
    return call_op("nn.space_to_depth", [data], attrs)


def space_to_batch_nd(data: Expr, block_shape: Any, paddings: Any, pad_value: float = 0) -> Call:
    """Space is padded and split into blocks; the position in the block becomes part of the batch."""
    attrs = {"block_shape": block_shape, "paddings": paddings, "pad_value": pad_value}
    return call_op("nn.space_to_batch_nd", [data], attrs)


def batch_to_space_nd(data: Expr, block_shape: Any, crops: Any) -> Call:
    """A part of the batch becomes the position in a block of space; then a border is taken off."""
    return call_op("nn.batch_to_space_nd", [data], {"block_shape": block_shape, "crops": crops})


def upsampling(
    data: Expr,
    scale_h: Any = 1,
    scale_w: Any = 1,
    layout: str = "NCHW",
    method: str = "nearest_neighbor",
    align_corners: bool = False,
) -> Call:
    """Images larger by factors; `method` is "nearest_neighbor", "bilinear" or "bicubic"."""
    scales = number_of(scale_h), number_of(scale_w)
    attrs = {"layout": layout, "method": method, "align_corners": align_corners}
    if not _is_known(*scales):
        return call_op("dyn.nn.upsampling", [data, *map(_as_double, scales)], {"scale_h": 0, "scale_w": 0, **attrs})
    return call_op("nn.upsampling", [data], {"scale_h": scales[0], "scale_w": scales[1], **attrs})


def upsampling3d(
    data: Expr,
    scale_d: Any = 1,
    scale_h: Any = 1,
    scale_w: Any = 1,
    layout: str = "NCDHW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "half_pixel",
) -> Call:
    """Volumes larger by factors; `method` is "nearest_neighbor" or "trilinear"."""
    names, scales = ("scale_d", "scale_h", "scale_w"), [number_of(scale) for scale in (scale_d, scale_h, scale_w)]
    attrs = {
        "layout": layout,
        "method": method,
        "coordinate_transformation_mode": coordinate_transformation_mode,
    }
    if not _is_known(*scales):
        return call_op("dyn.nn.upsampling3d", [data, *map(_as_double, scales)], {**dict.fromkeys(names, 0), **attrs})
    return call_op("nn.upsampling3d", [data], {**dict(zip(names, scales)), **attrs})


def _as_double(value: Any) -> Expr:
    return value if isinstance(value, Expr) else const(value, "float64")


cross_entropy, cross_entropy_with_logits = (
    elementwise_function(f"nn.{name}", ("predictions", "targets"))
    for name in ("cross_entropy", "cross_entropy_with_logits")
)


def nll_loss(
    predictions: Expr, targets: Expr, weights: Expr, reduction: str = "mean", ignore_index: int = -100
) -> Call:
    """Minus the log-probability of the right class, weighted by class."""
    return call_op(
        "nn.nll_loss", [predictions, targets, weights], {"reduction": reduction, "ignore_index": ignore_index}
    )
