"""Networks of parallel convolutions of several sizes (Szegedy et al., 2015)."""

from __future__ import annotations

from typing import Any

from .. import op as _op
from ..analysis import free_vars
from ..expr import Expr, var
from ..function import Function
from .init import create_workload
from .layers import batch_norm_infer, conv2d

__all__ = ["get_net", "get_workload"]


def _conv(data: Expr, name: str, channels: int, kernel: Any = 1, stride: int = 1, pad: Any = 0) -> Expr:
    def pair(value: Any) -> tuple[int, int]:
        return value if isinstance(value, tuple) else (value, value)

    out: Expr = conv2d(
        data=data,
        channels=channels,
        kernel_size=pair(kernel),
        strides=pair(stride),
        padding=pair(pad),
        name=name + "_conv1",
    )
    out = batch_norm_infer(data=out, epsilon=2e-5, scale=False, name=name + "_bn")
    return _op.nn.relu(data=out)


def _chain(data: Expr, name: str, *steps: tuple[Any, ...]) -> Expr:
    """Convolutions one after the other: (channels, kernel, stride, pad) each."""
    for index, step in enumerate(steps):
        data = _conv(data, f"{name}_conv{'' if index == 0 else '_' + str(index)}", *step)
    return data


def _pool(data: Expr, kind: str, stride: int = 1, pad: int = 1) -> Expr:
    if kind == "max":
        return _op.nn.max_pool2d(data=data, pool_size=(3, 3), strides=(stride, stride), padding=(pad, pad))
    return _op.nn.avg_pool2d(
        data=data, pool_size=(3, 3), strides=(stride, stride), padding=(pad, pad), count_include_pad=True
    )


def _block_a(data: Expr, projected: int, name: str) -> Expr:
    return _op.concatenate(
        (
            _chain(data, f"{name}_1x1", (64,)),
            _chain(data, f"{name}_tower", (48,), (64, 5, 1, 2)),
            _chain(data, f"{name}_tower_1", (64,), (96, 3, 1, 1), (96, 3, 1, 1)),
            _chain(_pool(data, "avg"), f"{name}_tower_2", (projected,)),
        ),
        axis=1,
    )


def _block_b(data: Expr, name: str) -> Expr:
    return _op.concatenate(
        (
            _chain(data, f"{name}_3x3", (384, 3, 2)),
            _chain(data, f"{name}_tower", (64,), (96, 3, 1, 1), (96, 3, 2)),
            _pool(data, "max", 2, 0),
        ),
        axis=1,
    )


def _block_c(data: Expr, inner: int, name: str) -> Expr:
    row, column = ((1, 7), 1, (0, 3)), ((7, 1), 1, (3, 0))
    return _op.concatenate(
        (
            _chain(data, f"{name}_1x1", (192,)),
            _chain(data, f"{name}_tower", (inner,), (inner, *row), (192, *column)),
            _chain(data, f"{name}_tower_1", (inner,), (inner, *column), (inner, *row), (inner, *column), (192, *row)),
            _chain(_pool(data, "avg"), f"{name}_tower_2", (192,)),
        ),
        axis=1,
    )


def _block_d(data: Expr, name: str) -> Expr:
    return _op.concatenate(
        (
            _chain(data, f"{name}_tower", (192,), (320, 3, 2)),
            _chain(data, f"{name}_tower_1", (192,), (192, (1, 7), 1, (0, 3)), (192, (7, 1), 1, (3, 0)), (192, 3, 2)),
            _pool(data, "max", 2, 0),
        ),
        axis=1,
    )


def _block_e(data: Expr, pool: str, name: str) -> Expr:
    def fork(part: Expr, where: str) -> tuple[Expr, Expr]:
        return (
            _chain(part, f"{where}_mixed", (384, (1, 3), 1, (0, 1))),
            _chain(part, f"{where}_mixed_1", (384, (3, 1), 1, (1, 0))),
        )

    return _op.concatenate(
        (
            _chain(data, f"{name}_1x1", (320,)),
            *fork(_chain(data, f"{name}_tower", (384,)), f"{name}_tower"),
            *fork(_chain(data, f"{name}_tower_1", (448,), (384, 3, 1, 1)), f"{name}_tower_1"),
            _chain(_pool(data, pool), f"{name}_tower_2", (192,)),
        ),
        axis=1,
    )


def _size_at_end(size: int) -> int:
    """What is left of an image of that height or width before the last pool: 8 of 299."""
    for lost, stride in ((2, 2), (2, 1), (2, 2), (2, 1), (2, 2), (2, 2), (2, 2)):
        size = (size - lost - 1) // stride + 1
    return size


def get_net(batch_size: int, num_classes: int, image_shape: tuple[int, ...], dtype: str) -> Function:
    """The network as a function of "data" and its parameters."""
    out: Expr = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    out = _conv(out, "conv", 32, 3, 2, 0)
    out = _conv(out, "conv_1", 32, 3, 1, 0)
    out = _conv(out, "conv_2", 64, 3, 1, 1)
    out = _pool(out, "max", 2, 0)
    out = _conv(out, "conv_3", 80, 1, 1, 0)
    out = _conv(out, "conv_4", 192, 3, 1, 0)
    out = _pool(out, "max", 2, 0)
    for name, projected in (("mixed", 32), ("mixed_1", 64), ("mixed_2", 64)):
        out = _block_a(out, projected, name)
    out = _block_b(out, "mixed_3")
    for name, inner in (("mixed_4", 128), ("mixed_5", 160), ("mixed_6", 160), ("mixed_7", 192)):
        out = _block_c(out, inner, name)
    out = _block_d(out, "mixed_8")
    for name, pool in (("mixed_9", "avg"), ("mixed_10", "max")):
        out = _block_e(out, pool, name)
    out = _op.nn.avg_pool2d(
        data=out,
        pool_size=(_size_at_end(image_shape[1]), _size_at_end(image_shape[2])),
        strides=(1, 1),
        padding=(0, 0),
        count_include_pad=True,
    )
    out = _op.nn.dense(_op.nn.batch_flatten(data=out), var("fc1_weight"), units=num_classes)
    out = _op.nn.softmax(data=_op.nn.bias_add(out, var("fc1_bias"), axis=-1))
    return Function(free_vars(out), out)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: tuple[int, ...] = (3, 299, 299),
    dtype: str = "float32",
) -> Any:
    """The network as a module, and its parameters."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
