"""Pooling; signatures are v0.10's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...expr import Call, Expr
from .._make import call_op
from .conv import _SPACE, _named, window_attrs

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool2d_grad",
    "avg_pool3d",
    "global_avg_pool1d",
    "global_avg_pool2d",
    "global_avg_pool3d",
    "global_max_pool1d",
    "global_max_pool2d",
    "global_max_pool3d",
    "max_pool1d",
    "max_pool2d",
    "max_pool2d_grad",
    "max_pool3d",
]

_OF_WINDOW = {"max": "The greatest element of each window.", "avg": "The mean of each window."}
_OF_CHANNEL = {"max": "The greatest element of each channel.", "avg": "The mean of each channel."}


def _max_pool(spatial: int) -> Callable[..., Call]:
    name = f"max_pool{spatial}d"

    def function(
        data: Expr,
        pool_size: Any = (1,) * spatial,
        strides: Any = (1,) * spatial,
        dilation: Any = (1,) * spatial,
        padding: Any = (0,) * spatial,
        layout: str = f"NC{_SPACE[spatial]}",
        out_layout: str = "",
        ceil_mode: bool = False,
    ) -> Call:
        attrs = {key: value for key, value in locals().items() if key not in ("data", "name", "spatial")}
        return call_op(f"nn.{name}", [data], window_attrs(spatial, attrs))

    return _named(function, name, _OF_WINDOW["max"])


def _avg_pool(spatial: int) -> Callable[..., Call]:
    name = f"avg_pool{spatial}d"

    def function(
        data: Expr,
        pool_size: Any = (1,) * spatial,
        strides: Any = (1,) * spatial,
        dilation: Any = (1,) * spatial,
        padding: Any = (0,) * spatial,
        layout: str = f"NC{_SPACE[spatial]}",
        out_layout: str = "",
        ceil_mode: bool = False,
        count_include_pad: bool = False,
    ) -> Call:
        attrs = {key: value for key, value in locals().items() if key not in ("data", "name", "spatial")}
        return call_op(f"nn.{name}", [data], window_attrs(spatial, attrs))

    return _named(function, name, _OF_WINDOW["avg"])


def _adaptive_pool(kind: str, spatial: int) -> Callable[..., Call]:
    name = f"adaptive_{kind}_pool{spatial}d"

    def function(
        data: Expr, output_size: Any = None, layout: str = f"NC{_SPACE[spatial]}", out_layout: str = ""
    ) -> Call:
        size = [output_size] if isinstance(output_size, int) else list(output_size or [])
        return call_op(f"nn.{name}", [data], {"output_size": size, "layout": layout, "out_layout": out_layout})

    return _named(function, name, f"{_OF_WINDOW[kind][:-1]}, with windows that give `output_size`.")


def _global_pool(kind: str, spatial: int) -> Callable[..., Call]:
    def function(data: Expr, layout: str = f"NC{_SPACE[spatial]}", out_layout: str = "") -> Call:
        attrs: dict[str, Any] = {"layout": layout, "out_layout": out_layout}
        if spatial == 2:
            return call_op(f"nn.global_{kind}_pool2d", [data], attrs)
        return call_op(f"nn.adaptive_{kind}_pool{spatial}d", [data], {"output_size": [1] * spatial, **attrs})

    return _named(function, f"global_{kind}_pool{spatial}d", _OF_CHANNEL[kind])


max_pool1d, max_pool2d, max_pool3d = (_max_pool(n) for n in (1, 2, 3))
avg_pool1d, avg_pool2d, avg_pool3d = (_avg_pool(n) for n in (1, 2, 3))
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (_adaptive_pool("max", n) for n in (1, 2, 3))
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (_adaptive_pool("avg", n) for n in (1, 2, 3))
global_max_pool1d, global_max_pool2d, global_max_pool3d = (_global_pool("max", n) for n in (1, 2, 3))
global_avg_pool1d, global_avg_pool2d, global_avg_pool3d = (_global_pool("avg", n) for n in (1, 2, 3))


def max_pool2d_grad(
    out_grad: Expr,
    data: Expr,
    pool_size: Any = (1, 1),
    strides: Any = (1, 1),
    padding: Any = (0, 0),
    layout: str = "NCHW",
    out_layout: str = "",
    ceil_mode: bool = False,
) -> Call:
    """The gradient of max_pool2d by its data."""
    attrs = {key: value for key, value in locals().items() if key not in ("out_grad", "data")}
    return call_op("nn.max_pool2d_grad", [out_grad, data], window_attrs(2, attrs))


def avg_pool2d_grad(
    out_grad: Expr,
    data: Expr,
    pool_size: Any = (1, 1),
    strides: Any = (1, 1),
    padding: Any = (0, 0),
    layout: str = "NCHW",
    out_layout: str = "",
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Call:
    """The gradient of avg_pool2d by its data."""
    attrs = {key: value for key, value in locals().items() if key not in ("out_grad", "data")}
    return call_op(
        "nn.avg_pool2d_grad", [out_grad, data], window_attrs(2, attrs), attrs_key="relay.attrs.AvgPool2DAttrs"
    )
