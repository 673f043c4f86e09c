"""Messages of protobuf, written by hand: what readers of ours are given where no package writes it."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def message(*fields: tuple[int, Any]) -> bytes:
    """Fields as (number, value): a whole number, a float (of 32 bits), a text, the bytes of a message, or an array (packed)."""
    out = b""
    for number, value in fields:
        if isinstance(value, (bool, int, np.integer)):
            out += _varint(number << 3) + _varint(int(value))
        elif isinstance(value, float):
            out += _varint(number << 3 | 5) + struct.pack("<f", value)
        else:
            if isinstance(value, np.ndarray):
                is_real = value.dtype.kind == "f"
                value = value.tobytes() if is_real else b"".join(_varint(int(one)) for one in value.ravel())
            body = value.encode() if isinstance(value, str) else value
            out += _varint(number << 3 | 2) + _varint(len(body)) + body
    return out
