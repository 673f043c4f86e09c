"""The generator of a network that makes images (Radford et al., 2015)."""

from __future__ import annotations

from typing import Any

from .. import op as _op
from ..analysis import free_vars
from ..expr import Expr, var
from ..function import Function
from .init import create_workload
from .layers import batch_norm_infer, conv2d_transpose, dense_add_bias

__all__ = ["deconv2d", "deconv2d_bn_relu", "get_net", "get_workload"]


def _grow(data: Expr, channels: int, layout: str, name: str) -> Expr:
    """Twice the height and width."""
    return conv2d_transpose(
        data,
        kernel_size=(4, 4),
        strides=(2, 2),
        channels=channels,
        padding=(1, 1),
        output_padding=(0, 0),
        data_layout=layout,
        kernel_layout="IOHW" if layout == "NCHW" else "HWOI",
        name=name + "_deconv",
    )


def deconv2d(data: Expr, ishape: Any, oshape: Any, kshape: Any, layout: str, name: str, stride: Any = (2, 2)) -> Expr:
    """A transposed convolution from the shape `ishape` of an image to `oshape`, without batches, as the layout says."""
    first = layout.index("H") - 1
    channels = oshape[0] if layout == "NCHW" else oshape[2]
    padding, adjust = [], []
    for i in range(2):
        total = (ishape[first + i] - 1) * stride[i] + kshape[i] - oshape[first + i]
        padding.append((total + 1) // 2)
        adjust.append(2 * padding[i] - total)
    return conv2d_transpose(
        data,
        kernel_size=tuple(kshape),
        strides=tuple(stride),
        channels=channels,
        padding=tuple(padding),
        output_padding=tuple(adjust),
        data_layout=layout,
        kernel_layout="IOHW" if layout == "NCHW" else "HWOI",
        name=name,
    )


def deconv2d_bn_relu(data: Expr, prefix: str, **kwargs: Any) -> Expr:
    """The same, normalised and rectified."""
    epsilon = 1e-5 + 1e-12
    axis = str(kwargs.get("layout", "NCHW")).index("C")
    out = deconv2d(data, name=f"{prefix}_deconv", **kwargs)
    return _op.nn.relu(batch_norm_infer(out, epsilon=epsilon, scale=False, axis=axis, name=f"{prefix}_batch_norm"))


def get_net(
    batch_size: int,
    random_len: int = 100,
    oshape: tuple[int, int, int] = (3, 64, 64),
    ngf: int = 128,
    code: Any = None,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Function:
    """The generator as a function of "data", a random code, and its parameters."""
    if layout not in ("NCHW", "NHWC"):
        raise ValueError(f"the layout is NCHW or NHWC, got {layout}")
    if tuple(oshape[-2:] if layout == "NCHW" else oshape[:2]) != (64, 64):
        raise ValueError(f"the image is 64 by 64, got {oshape}")
    code = var("data", dtype=dtype, shape=(batch_size, random_len)) if code is None else code
    out: Expr = _op.nn.relu(dense_add_bias(code, units=4 * 4 * ngf * 8, name="g1"))
    out = _op.reshape(out, (-1, ngf * 8, 4, 4) if layout == "NCHW" else (-1, 4, 4, ngf * 8))
    for name, factor in (("g2", 4), ("g3", 2), ("g4", 1)):
        out = _grow(out, ngf * factor, layout, name)
        axis = layout.index("C")
        out = _op.nn.relu(batch_norm_infer(out, epsilon=1e-5, scale=False, axis=axis, name=name + "_batch_norm"))
    channels = oshape[0] if layout == "NCHW" else oshape[2]
    out = _op.tanh(_grow(out, channels, layout, "g5"))
    return Function(free_vars(out), out)


def get_workload(
    batch_size: int,
    oshape: tuple[int, int, int] = (3, 64, 64),
    ngf: int = 128,
    random_len: int = 100,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Any:
    """The generator as a module, and its parameters."""
    return create_workload(get_net(batch_size, random_len, oshape=oshape, ngf=ngf, layout=layout, dtype=dtype))
