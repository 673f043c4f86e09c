"""Networks of parallel convolutions of several sizes (Szegedy et al., 2015)."""

from __future__ import annotations

from typing import Any

from .. import op as _op
from ..analysis import free_vars
from ..expr import Expr, var
from ..function import Function
from .init import create_workload
from .layers import batch_norm_infer, conv2d

__all__ = [
    "Conv",
    "Inception7A",
    "Inception7B",
    "Inception7C",
    "Inception7D",
    "Inception7E",
    "Pooling",
    "get_net",
    "get_workload",
]


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


# ---- the blocks with all their numbers, as v0.10 has them --------------------------------------------------------


def Conv(
    data: Expr,
    num_filter: int,
    kernel: Any = (1, 1),
    stride: Any = (1, 1),
    pad: Any = (0, 0),
    name: str | None = None,
    suffix: str = "",
) -> Expr:
    """A convolution, normalised and rectified."""
    return _conv(data, f"{name}{suffix}", num_filter, kernel, stride, pad)


def Pooling(data: Expr, kernel: Any, stride: Any, pad: Any, pool_type: str, name: str) -> Expr:
    """The maximum or the mean of windows."""
    del name
    if pool_type == "max":
        return _op.nn.max_pool2d(data=data, pool_size=kernel, strides=stride, padding=pad)
    if pool_type == "avg":
        return _op.nn.avg_pool2d(data=data, pool_size=kernel, strides=stride, padding=pad, count_include_pad=True)
    raise ValueError("Invalid pooling type: " + pool_type)


def _tower(data: Expr, name: str, *steps: Any) -> Expr:
    """Convolutions one after the other: (channels, kernel, stride, pad) each."""
    conv: Any = Conv
    for index, step in enumerate(steps):
        data = conv(data, *step, name=name, suffix="_conv" + (f"_{index}" if index else ""))
    return data


def Inception7A(
    data: Expr,
    num_1x1: int,
    num_3x3_red: int,
    num_3x3_1: int,
    num_3x3_2: int,
    num_5x5_red: int,
    num_5x5: int,
    pool: str,
    proj: int,
    name: str,
) -> Expr:
    """1x1, 5x5, two of 3x3 and a pool side by side."""
    one, five, three = (1, 1), (5, 5), (3, 3)
    pooled = Pooling(data, three, one, one, pool, f"{pool}_pool_{name}_pool")
    towers = (
        _tower(data, name, (num_1x1,)),
        _tower(data, f"{name}_tower", (num_5x5_red,), (num_5x5, five, one, (2, 2))),
        _tower(data, f"{name}_tower_1", (num_3x3_red,), (num_3x3_1, three, one, one), (num_3x3_2, three, one, one)),
        _tower(pooled, f"{name}_tower_2", (proj,)),
    )
    return _op.concatenate(towers, axis=1)


def Inception7B(
    data: Expr,
    num_3x3: int,
    num_d3x3_red: int,
    num_d3x3_1: int,
    num_d3x3_2: int,
    pool: str,
    name: str,
) -> Expr:
    """Half the height and width: 3x3, two of 3x3 and a pool side by side."""
    three, two, none, one = (3, 3), (2, 2), (0, 0), (1, 1)
    towers = (
        _tower(data, name, (num_3x3, three, two, none)),
        _tower(data, f"{name}_tower", (num_d3x3_red,), (num_d3x3_1, three, one, one), (num_d3x3_2, three, two, none)),
        Pooling(data, three, two, none, pool, f"max_pool_{name}_pool"),
    )
    return _op.concatenate(towers, axis=1)


def Inception7C(
    data: Expr,
    num_1x1: int,
    num_d7_red: int,
    num_d7_1: int,
    num_d7_2: int,
    num_q7_red: int,
    num_q7_1: int,
    num_q7_2: int,
    num_q7_3: int,
    num_q7_4: int,
    pool: str,
    proj: int,
    name: str,
) -> Expr:
    """1x1, 7x7 as 1x7 and 7x1 once and twice, and a pool side by side."""
    one, wide, tall = (1, 1), ((1, 7), (1, 1), (0, 3)), ((7, 1), (1, 1), (3, 0))
    pooled = Pooling(data, (3, 3), one, one, pool, f"{pool}_pool_{name}_pool")
    towers = (
        _tower(data, name, (num_1x1,)),
        _tower(data, f"{name}_tower", (num_d7_red,), (num_d7_1, *wide), (num_d7_2, *tall)),
        _tower(
            data,
            f"{name}_tower_1",
            (num_q7_red,),
            (num_q7_1, *tall),
            (num_q7_2, *wide),
            (num_q7_3, *tall),
            (num_q7_4, *wide),
        ),
        _tower(pooled, f"{name}_tower_2", (proj,)),
    )
    return _op.concatenate(towers, axis=1)


def Inception7D(
    data: Expr,
    num_3x3_red: int,
    num_3x3: int,
    num_d7_3x3_red: int,
    num_d7_1: int,
    num_d7_2: int,
    num_d7_3x3: int,
    pool: str,
    name: str,
) -> Expr:
    """Half the height and width: 3x3, 7x7 and 3x3, and a pool side by side."""
    three, two, none = (3, 3), (2, 2), (0, 0)
    wide, tall = ((1, 7), (1, 1), (0, 3)), ((7, 1), (1, 1), (3, 0))
    towers = (
        _tower(data, f"{name}_tower", (num_3x3_red,), (num_3x3, three, two, none)),
        _tower(
            data,
            f"{name}_tower_1",
            (num_d7_3x3_red,),
            (num_d7_1, *wide),
            (num_d7_2, *tall),
            (num_d7_3x3, three, two, none),
        ),
        Pooling(data, three, two, none, pool, f"{pool}_pool_{name}_pool"),
    )
    return _op.concatenate(towers, axis=1)


def Inception7E(
    data: Expr,
    num_1x1: int,
    num_d3_red: int,
    num_d3_1: int,
    num_d3_2: int,
    num_3x3_d3_red: int,
    num_3x3: int,
    num_3x3_d3_1: int,
    num_3x3_d3_2: int,
    pool: str,
    proj: int,
    name: str,
) -> Expr:
    """1x1, 1x3 beside 3x1 after 1x1 and after 3x3, and a pool side by side."""
    wide, tall, one = ((1, 3), (1, 1), (0, 1)), ((3, 1), (1, 1), (1, 0)), (1, 1)
    short = _tower(data, f"{name}_tower", (num_d3_red,))
    long = _tower(data, f"{name}_tower_1", (num_3x3_d3_red,), (num_3x3, (3, 3), one, one))
    pooled = Pooling(data, (3, 3), one, one, pool, f"{pool}_pool_{name}_pool")
    towers = (
        _tower(data, name, (num_1x1,)),
        Conv(short, num_d3_1, *wide, name=f"{name}_tower", suffix="_mixed_conv"),
        Conv(short, num_d3_2, *tall, name=f"{name}_tower", suffix="_mixed_conv_1"),
        Conv(long, num_3x3_d3_1, *wide, name=f"{name}_tower_1", suffix="_mixed_conv"),
        Conv(long, num_3x3_d3_2, *tall, name=f"{name}_tower_1", suffix="_mixed_conv_1"),
        _tower(pooled, f"{name}_tower_2", (proj,)),
    )
    return _op.concatenate(towers, axis=1)
