"""Quantisation that stays among floats, its kind chosen by a value."""

from __future__ import annotations

from typing import Any

from tessera.te import Tensor

from .. import _ffi_api

__all__ = ["SQNN_CODE_TO_DTYPE", "SQNN_DTYPE_TO_CODE", "simulated_dequantize", "simulated_quantize"]

SQNN_DTYPE_TO_CODE = {"disable": 0, "int8": 1, "uint8": 2, "int32": 3}
SQNN_CODE_TO_DTYPE = {code: dtype for dtype, code in SQNN_DTYPE_TO_CODE.items()}


def simulated_quantize(
    data: Tensor, out_dtype: Any, output_scale: Any = None, output_zero_point: Any = None, axis: int = -1
) -> Tensor:
    """`data` as integers of a type would have it, still floats: round(data / scale) + zero point, within the range.

    `out_dtype` is a tensor of one code of `SQNN_DTYPE_TO_CODE`; scale and zero point have an element, or one for each index
    along `axis`.
    """
    return _ffi_api.nn_simulated_quantize(data, out_dtype, output_scale, output_zero_point, axis)


def simulated_dequantize(
    data: Tensor, in_dtype: Any, input_scale: Any = None, input_zero_point: Any = None, axis: int = -1
) -> Tensor:
    """The way back: (data - zero point) * scale."""
    return _ffi_api.nn_simulated_dequantize(data, in_dtype, input_scale, input_zero_point, axis)
