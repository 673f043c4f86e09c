"""Packed weights of quantised modules, taken out of their objects."""

from __future__ import annotations

from typing import Any


def packed_params(reader: Any, value: Any, path: str) -> Any:
    """[weight, scales, zero points, axis, bias, numbers of the convolution...] of what a quantised layer keeps."""
    import torch

    def tensor(data: Any, name: str) -> Any:
        own, is_param = reader.param_name(f"{path}.{name}", data)
        # Kernels of integers are made for weights that are known.
        return reader.writer.weight(data, own, is_param and reader.writer.keep_quantized_weight)

    def weight(quantized: Any) -> list[Any]:
        if quantized.qscheme() in (torch.per_channel_affine, torch.per_channel_affine_float_qparams):
            scales, zeros = quantized.q_per_channel_scales(), quantized.q_per_channel_zero_points()
            axis = quantized.q_per_channel_axis()
        else:
            scales, zeros, axis = torch.tensor(quantized.q_scale()), torch.tensor(quantized.q_zero_point()), -1
        numbers = quantized.int_repr()
        return [
            tensor(numbers, "weight"),
            reader.writer.weight(scales.to(torch.float32), f"{path}.scale"),
            reader.writer.weight(zeros.to(torch.int32), f"{path}.zero_point"),
            axis,
        ]

    if isinstance(value, torch.Tensor):
        return weight(value)
    kind = str(value._type().name()) if hasattr(value, "_type") else type(value).__name__
    if "Linear" in kind:
        quantized, bias = torch.ops.quantized.linear_unpack(value)
        numbers: list[Any] = []
    else:
        spatial = 3 if "3d" in kind.lower() else 1 if "1d" in kind.lower() else 2
        transposed = False
        try:
            transposed = bool(getattr(torch.ops.quantized, f"conv{spatial}d_transpose")(value))
        except (AttributeError, RuntimeError):
            transposed = False
        unpack = getattr(torch.ops.quantized, f"conv{spatial}d_unpack")
        quantized, bias = unpack(value)
        ops = torch.ops.quantized
        numbers = [
            list(getattr(ops, f"conv{spatial}d_stride")(value)),
            list(getattr(ops, f"conv{spatial}d_padding")(value)),
            list(getattr(ops, f"conv{spatial}d_dilation")(value)),
            int(getattr(ops, f"conv{spatial}d_groups")(value)),
            list(getattr(ops, f"conv{spatial}d_output_padding")(value)),
            transposed,
        ]
    return [*weight(quantized), tensor(bias, "bias") if bias is not None else None, *numbers]
