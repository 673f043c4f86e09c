"""Quantised operators; integers may differ by one step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch

from . import Case
from ._torch_layers import seeded
from ._torch_model import floats, traced

Q = torch.ops.quantized
nnq = torch.ao.nn.quantized
X = floats(2, 4, 9, 8)


def quantized(x: torch.Tensor, scale: float = 0.04, zero: int = 120) -> torch.Tensor:
    return torch.quantize_per_tensor(x, scale, zero, torch.quint8)


def case(operator: str, function: Callable[..., Any], *inputs: torch.Tensor, name: str = "integers") -> Case:
    """A function of quantised tensors, whose integers are compared."""
    return replace(
        traced(operator, lambda *x: function(*(quantized(v) for v in x)).int_repr(), *inputs, name=name), steps=1
    )


def packed(layer: Any, kind: Any, per_channel: bool = True) -> Any:
    """The quantised layer of a float one."""
    weight = layer.weight.detach()
    axis = 1 if "Transpose" in kind.__name__ else 0
    if per_channel:
        scales = weight.abs().amax([i for i in range(weight.dim()) if i != axis]) / 127
        weight = torch.quantize_per_channel(
            weight, scales.double(), torch.zeros(len(scales), dtype=torch.int64), axis, torch.qint8
        )
    else:
        weight = torch.quantize_per_tensor(weight, float(weight.abs().max() / 127), 0, torch.qint8)
    if "Linear" in kind.__name__:
        out = kind(layer.in_features, layer.out_features)
    else:
        more = {"output_padding": layer.output_padding} if axis == 1 else {}
        names = ["in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups"]
        out = kind(**{name: getattr(layer, name) for name in names}, **more)
    out.set_weight_bias(weight, layer.bias.detach())
    out.scale, out.zero_point = 0.06, 100
    return out


def layers() -> Iterator[Case]:
    nn, fused = torch.nn, torch.ao.nn.intrinsic.quantized
    conv = seeded(nn.Conv2d(4, 6, 3, stride=2, padding=1))
    grouped = seeded(nn.Conv2d(4, 6, 3, padding=2, dilation=2, groups=2))
    linear = seeded(nn.Linear(8, 5))
    for per_channel in (False, True):
        name = "by channel" if per_channel else "by tensor"
        for layer in (conv, grouped):
            more = name + (", groups" if layer is grouped else "")
            yield case("quantized::conv2d", packed(layer, nnq.Conv2d, per_channel), X, name=more)
            yield case("quantized::conv2d_relu", packed(layer, fused.ConvReLU2d, per_channel), X, name=more)
        yield case("quantized::linear", packed(linear, nnq.Linear, per_channel), X, name=name)
        yield case("quantized::linear_relu", packed(linear, fused.LinearReLU, per_channel), X, name=name)
    transposed = seeded(nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1))
    yield case("quantized::conv_transpose2d", packed(transposed, nnq.ConvTranspose2d, False), X)
    dynamic = torch.ao.quantization.quantize_dynamic(nn.Sequential(linear), {nn.Linear}, torch.qint8)
    yield traced("quantized::linear_dynamic", dynamic, X[0, 0], tolerance=1e-3)


def arithmetic() -> Iterator[Case]:
    other = floats(2, 4, 9, 8, seed=1)
    for name in ("add", "add_relu", "mul", "mul_relu"):
        yield case(f"quantized::{name}", lambda a, b, n=name: getattr(Q, n)(a, b, 0.05, 90), X, other)
    for name in ("add_scalar", "mul_scalar"):
        for number in (0.7, -1.3):
            yield case(
                f"quantized::{name}", lambda a, n=name, s=number: getattr(Q, n)(a, s), X, name=f"integers {number}"
            )
    yield case("quantized::cat", lambda a, b: Q.cat([a, b], 1, 0.05, 90), X, other)
    yield case("quantized::relu6", lambda a: Q.relu6(a, False), X * 4)
    yield case("quantized::leaky_relu", lambda a: Q.leaky_relu(a, 0.2, False, 0.03, 80), X)
    yield case("quantized::hardswish", lambda a: Q.hardswish(a, 0.03, 80), X)


def plain() -> Iterator[Case]:
    """Operators of floats that take quantised tensors too."""
    F = torch.nn.functional
    yield case("quantize_per_tensor", lambda a: a, X * 3)
    yield traced("dequantize", lambda x: quantized(x).dequantize() * 2, X)
    for name, function in {
        "relu": torch.relu,
        "mean": lambda a: a.mean([2, 3]),
        "sigmoid": torch.sigmoid,
        "hardsigmoid": F.hardsigmoid,
        "upsample_nearest2d": lambda a: F.interpolate(a, scale_factor=2, mode="nearest"),
        "upsample_bilinear2d": lambda a: F.interpolate(a, size=(12, 11), mode="bilinear", align_corners=False),
    }.items():
        yield case(f"aten::{name} (quantised)", function, X)


def models() -> Iterator[Case]:
    """A whole network after PyTorch's static quantization, with a pool, a view and a residual."""

    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            ao = torch.ao.quantization
            self.quant, self.dequant = ao.QuantStub(), ao.DeQuantStub()
            self.first, self.relu = torch.nn.Conv2d(4, 8, 3, padding=1), torch.nn.ReLU()
            self.second = torch.nn.Conv2d(8, 8, 3, padding=1)
            self.add, self.pool = torch.ao.nn.quantized.FloatFunctional(), torch.nn.MaxPool2d(2)
            self.linear = torch.nn.Linear(8, 5)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.relu(self.first(self.quant(x)))
            x = self.pool(self.add.add_relu(x, self.second(x)))
            return self.dequant(self.linear(torch.flatten(F_pool(x), 1)))

    def F_pool(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.adaptive_avg_pool2d(x, 1)

    network = seeded(Network()).eval()
    network.qconfig = torch.ao.quantization.get_default_qconfig("fbgemm")
    prepared = torch.ao.quantization.prepare(network)
    prepared(X)
    yield traced("quantized::add_relu", torch.ao.quantization.convert(prepared), X, name="network", tolerance=0.02)


def cases() -> Iterator[Case]:
    """All of this file."""
    for family in (layers, arithmetic, plain, models):
        yield from family()
