"""Contractions of fp16, int8 and int4 padded to the shapes of tensor cores, as legalization for CUDA."""

from __future__ import annotations

from typing import Any

from ..nn.legalize import batch_matmul_legalize, conv2d_legalize, dense_legalize

__all__ = ["pad_to_tensorcore"]

#: (m, k, n) of the fragments.
_SHAPES = {
    "float16": [(16, 16, 16), (32, 16, 8), (8, 16, 32)],
    "int8": [(16, 16, 16), (32, 16, 8), (8, 16, 32)],
    "uint8": [(16, 16, 16), (32, 16, 8), (8, 16, 32)],
    "int4": [(8, 32, 8)],
    "uint4": [(8, 32, 8)],
}
#: Padding that multiplies the arithmetic by more than this is not worth it.
_MAX_GROWTH = 2


def pad_to_tensorcore(M: int, K: int, N: int, candidates: Any) -> tuple[tuple[int, int, int], float]:
    """What to add to (M, K, N) for the shape that costs the least, and how much arithmetic that adds."""

    def padding(shape: tuple[int, int, int]) -> tuple[int, int, int]:
        m, k, n = (-extent % unit for extent, unit in zip((M, K, N), shape))
        return m, k, n

    def extra(pads: tuple[int, int, int]) -> float:
        m, k, n = pads
        return float((M + m) * (K + k) * (N + n) - M * K * N)

    best = min(map(padding, candidates), key=extra)
    return best, extra(best)


def _padding(m: Any, k: Any, n: Any, types: Any) -> tuple[int, int, int] | None:
    """What to add to (m, k, n), or None where nothing should be done."""
    left, right = types[0].dtype, types[1].dtype
    if left != right or left not in _SHAPES:
        return None
    try:
        m, k, n = int(m), int(k), int(n)
    except (TypeError, ValueError):
        return None  # a dynamic dimension
    pads, extra = pad_to_tensorcore(m, k, n, _SHAPES[left])
    return pads if any(pads) and extra <= _MAX_GROWTH * m * k * n else None


def _pad(data: Any, *after: int) -> Any:
    from ... import relay  # which imports topi

    return relay.nn.pad(data, pad_width=tuple((0, count) for count in after)) if any(after) else data


def _crop(data: Any, out_type: Any, is_padded: bool) -> Any:
    from ... import relay

    if not is_padded:
        return data
    end = [int(extent) for extent in out_type.shape]
    return relay.strided_slice(data, begin=[0] * len(end), end=end)


@dense_legalize.register(["cuda"])
def _dense(attrs: Any, inputs: Any, types: Any) -> Any:
    from ... import relay

    (m, k), (n, _) = types[0].shape, types[1].shape
    pads = _padding(m, k, n, types)
    if pads is None:
        return None
    dm, dk, dn = pads
    units = None if attrs.units is None else int(n) + dn
    out = relay.nn.dense(_pad(inputs[0], dm, dk), _pad(inputs[1], dn, dk), units=units, out_dtype=attrs.out_dtype)
    return _crop(out, types[2], bool(dm or dn))


@batch_matmul_legalize.register(["cuda"])
def _batch_matmul(attrs: Any, inputs: Any, types: Any) -> Any:
    from ... import relay

    if attrs.transpose_a or not attrs.transpose_b:
        return None
    (_, m, k), (_, n, _) = types[0].shape, types[1].shape
    pads = _padding(m, k, n, types)
    if pads is None:
        return None
    dm, dk, dn = pads
    out = relay.nn.batch_matmul(
        _pad(inputs[0], 0, dm, dk), _pad(inputs[1], 0, dn, dk), out_dtype=attrs.out_dtype, transpose_b=True
    )
    return _crop(out, types[2], bool(dm or dn))


@conv2d_legalize.register(["cuda"])
def _conv2d(attrs: Any, inputs: Any, types: Any) -> Any:
    from ... import relay

    if attrs.data_layout != "NHWC" or attrs.kernel_layout != "HWIO" or int(attrs.groups) != 1:
        return None
    batch, _, _, channels = types[0].shape
    pads = _padding(batch, channels, types[1].shape[3], types)
    if pads is None:
        return None
    db, di, do = pads
    out = relay.nn.conv2d(
        _pad(inputs[0], db, 0, 0, di),
        _pad(inputs[1], 0, 0, di, do),
        strides=attrs.strides,
        padding=attrs.padding,
        dilation=attrs.dilation,
        channels=int(types[1].shape[3]) + do,
        kernel_size=attrs.kernel_size,
        data_layout="NHWC",
        kernel_layout="HWIO",
        out_layout=attrs.out_layout,
        out_dtype=attrs.out_dtype,
    )
    return _crop(out, types[2], bool(db or do))
