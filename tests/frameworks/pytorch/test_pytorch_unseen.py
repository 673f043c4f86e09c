"""Operators without a converter of their own, and corners of those that have one, against PyTorch."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import tessera
import torch
from tessera import relay
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).parents[3] / "tools"))
from framework_cases import difference
from framework_cases._torch_model import array_of, arrays_of, leaves

torch.manual_seed(0)
MATRIX, IMAGE = torch.randn(4, 6), torch.randn(1, 2, 6, 9)


class Called(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def answers(program, args):
    infos = [(f"x{i}", (list(arg.shape), str(arg.dtype).removeprefix("torch."))) for i, arg in enumerate(args)]
    mod, params = relay.frontend.from_pytorch(program, infos)
    return arrays_of(
        relay.create_executor("vm", mod).evaluate()(*[tessera.nd.array(x.numpy()) for x in args], **params)
    )


def check(program, module, *args):
    with torch.no_grad():
        want = [array_of(x) for x in leaves(module(*args))]
    got = answers(program, args)
    assert [x.shape for x in got] == [x.shape for x in want]
    assert all(difference(a, b) < 1e-4 for a, b in zip(got, want, strict=True))


def traced(module, args):
    return torch.jit.trace(module.eval(), args, check_trace=False)


def exported(module, args):
    return torch.export.export(module.eval(), args, strict=False)


@pytest.mark.parametrize("form", [traced, exported])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: (torch.hstack([x, x]), torch.block_diag(x, x), x.rot90(1, (0, 1))),
        lambda x: (torch.inner(x, x), torch.addr(x, x[:, 0], x[0]), torch.dist(x, x * 2)),
        lambda x: (F.soft_margin_loss(x, x.sign()), F.poisson_nll_loss(x, x.abs())),
        lambda x: F.cosine_similarity(x, x.flip(0)),
        lambda x: (x.frac(), torch.xlogy(x.abs(), x.abs()), torch.logaddexp(x, x * 2)),
    ],
)
def test_what_has_no_converter_is_taken_apart(form, function):
    module = Called(function)
    check(form(module, (MATRIX,)), module, MATRIX)


@pytest.mark.parametrize("form", [traced, exported])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.interpolate(x, scale_factor=(1.7, 0.6), mode="nearest"),
        lambda x: F.interpolate(x, scale_factor=(1.7, 0.6), mode="nearest-exact"),
        lambda x: F.interpolate(x, size=(7, 5), mode="nearest"),
        lambda x: F.interpolate(x, size=(3, 4), mode="bilinear", antialias=True),
        lambda x: F.interpolate(x, size=(3, 12), mode="bicubic", antialias=True),
        lambda x: F.avg_pool2d(x, (3, 2), 2, (1, 0), ceil_mode=True, divisor_override=5),
        lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False, divisor_override=2),
        lambda x: F.batch_norm(x, None, None, training=True),
    ],
)
def test_corners_of_operators_on_images(form, function):
    module = Called(function)
    check(form(module, (IMAGE,)), module, IMAGE)


class WithDefaults(nn.Module):
    def forward(self, x, flag: bool = True, other: torch.Tensor | None = None, factor: float = 1.5):
        y = F.relu(x) if flag else torch.tanh(x)
        return y * factor if other is None else y + other


def test_arguments_that_are_not_given_are_what_the_signature_says():
    module = WithDefaults()
    check(torch.jit.script(module), module, MATRIX)


def test_an_exported_program_knows_its_inputs():
    program = exported(nn.Linear(6, 3), (MATRIX,))
    mod, params = relay.frontend.from_pytorch(program)
    assert [str(var.name_hint) for var in mod["main"].params] == ["input", "weight", "bias"] and len(params) == 2


class Quantized(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.into, self.layers, self.out = torch.ao.quantization.QuantStub(), nn.Sequential(*layers), None
        self.out = torch.ao.quantization.DeQuantStub()

    def forward(self, x):
        return self.out(self.layers(self.into(x)))


@pytest.mark.parametrize(
    ("layers", "shape"),
    [
        ([nn.Conv1d(4, 6, 3, stride=2), nn.ELU()], (2, 4, 9)),
        ([nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4), nn.ReLU()], (1, 4, 8, 8)),
    ],
)
def test_quantized_layers(layers, shape):
    module, x = Quantized(*layers).eval(), torch.randn(shape)
    module.qconfig = torch.ao.quantization.get_default_qconfig("fbgemm")
    torch.ao.quantization.prepare(module, inplace=True)
    module(x)
    module = torch.ao.quantization.convert(module)
    check(traced(module, (x,)), module, x)
