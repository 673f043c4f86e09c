"""Complex numbers, packed sequences, strides and other corners of PyTorch, through all ways of importing."""

from __future__ import annotations

import pytest
import tessera
import torch
from tessera import relay
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def answers(program, args):
    infos = [(f"x{i}", (list(arg.shape), str(arg.dtype).removeprefix("torch."))) for i, arg in enumerate(args)]
    mod, params = relay.frontend.from_pytorch(program, infos)
    out = relay.create_executor("vm", mod).evaluate()(*[tessera.nd.array(arg.numpy()) for arg in args], **params)
    return [out] if hasattr(out, "numpy") else list(out)


class Module(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def forms(module, args):
    yield torch.jit.trace(module, tuple(args), check_trace=False)
    yield torch.export.export(module, tuple(args), strict=False)


def check(function, *args, only=None):
    module = function if isinstance(function, nn.Module) else Module(function)
    module.eval()
    with torch.no_grad():
        want = module(*args)
        want = [want] if isinstance(want, torch.Tensor) else list(want)
        for program in forms(module, args) if only is None else [only(module, args)]:
            got = answers(program, args)
            assert len(got) == len(want)
            for ours, theirs in zip(got, want):
                torch.testing.assert_close(torch.from_numpy(ours.numpy()), theirs, rtol=2e-5, atol=2e-5)


def x(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def test_rotary_embeddings_by_complex_numbers():
    class Rotary(nn.Module):
        def __init__(self):
            super().__init__()
            angles = torch.outer(torch.arange(6).float(), 1.0 / 100 ** (torch.arange(0, 8, 2).float() / 8))
            self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles))

        def forward(self, q):
            pairs = torch.view_as_complex(q.float().reshape(*q.shape[:-1], -1, 2))
            turned = pairs * self.turns.view(1, 6, 1, 4)
            return torch.view_as_real(turned).flatten(3)

    check(Rotary(), x(2, 6, 3, 8))


def test_arithmetic_of_complex_numbers():
    def program(a, b):
        p, q = torch.complex(a, b), torch.complex(b, a + 2)
        made = torch.polar(a.abs(), b)
        all_ = (p * q + made - q / p, p.conj() * 2.0, (p @ q.transpose(0, 1)).exp(), (p + a) / (b + 5), p * p.abs())
        moved = torch.cat([p, q], 1)[:, 1:3].unsqueeze(0).permute(2, 1, 0)
        parts = [part for each in (*all_, moved, p.sum(1), p.reciprocal()) for part in (each.real, each.imag)]
        return (*parts, p.angle(), p.abs())

    check(program, x(3, 4), x(4, 4)[:3].contiguous() + 3)


def test_complex_outputs_are_told():
    with pytest.raises(NotImplementedError, match="view_as_real"):
        answers(torch.jit.trace(Module(lambda a: torch.complex(a, a)), (x(3),)), [x(3)])


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("two_ways", [False, True])
def test_packed_sequences(kind, two_ways):
    class Layers(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = kind(5, 6, 2, batch_first=True, bidirectional=two_ways)

        def forward(self, data, lengths):
            packed = pack_padded_sequence(data, lengths, batch_first=True, enforce_sorted=False)
            out, state = self.layers(packed)
            padded, again = pad_packed_sequence(out, batch_first=True, padding_value=0.5)
            states = state if isinstance(state, tuple) else (state,)
            return (padded, again, *states)

    torch.manual_seed(0)
    check(Layers(), x(3, 7, 5), torch.tensor([4, 7, 2]), only=lambda m, a: torch.jit.trace(m, a, check_trace=False))


def test_a_projection_of_a_dynamic_number_of_steps():
    torch.manual_seed(0)
    layers = nn.LSTM(5, 6, proj_size=3, bidirectional=True).eval()
    mod, params = relay.frontend.from_pytorch(torch.jit.trace(layers, x(4, 2, 5)), [("x", [None, 2, 5])])
    run = relay.create_executor("vm", mod).evaluate()
    for steps in (1, 9):
        out = list(run(tessera.nd.array(x(steps, 2, 5).numpy()), **params))
        want, (h, c) = layers(x(steps, 2, 5))
        for ours, theirs in zip(out, (want, h, c)):
            torch.testing.assert_close(torch.from_numpy(ours.numpy()), theirs, rtol=1e-5, atol=1e-5)


def test_one_hot_of_as_many_classes_as_there_are():
    check(F.one_hot, torch.tensor([[1, 4, 0], [2, 2, 3]]), only=lambda m, a: torch.jit.trace(m, a, check_trace=False))


@pytest.mark.parametrize("how", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("include_self", [True, False])
def test_scatter_reduce(how, include_self):
    index = torch.tensor([[0, 1, 1, 0], [2, 2, 2, 0], [1, 1, 0, 1]])
    check(lambda a, i, s: a.scatter_reduce(0, i, s, how, include_self=include_self), x(4, 5), index, x(3, 4))
    integers = torch.arange(20).reshape(4, 5)
    check(lambda a, i: a.scatter_reduce(0, i, a, how, include_self=include_self), integers, index)


def test_as_strided():
    check(lambda a: torch.as_strided(a, (3, 2, 4), (8, 4, 1)), x(3, 8))
    check(lambda a: torch.as_strided(a * 2, (5, 3), (4, 2), 1), x(6, 4))
    check(lambda a: torch.as_strided(a.t() + 1, (4, 6), (1, 4)), x(6, 4), only=lambda m, a: torch.export.export(m, a))


def test_a_write_through_strides():
    def program(a):
        b = a.clone()
        torch.as_strided(b, (3,), (5,)).zero_()
        return b

    check(program, x(4, 4))


@pytest.mark.parametrize("norm_first", [False, True])
def test_layers_that_are_one_operator_without_gradients(norm_first):
    torch.manual_seed(0)

    class Layers(nn.Module):
        def __init__(self):
            super().__init__()
            settings = {"activation": "gelu", "batch_first": True, "norm_first": norm_first}
            self.layer = nn.TransformerEncoderLayer(16, 4, 32, **settings)
            self.attention = nn.MultiheadAttention(16, 4, batch_first=True)
            self.register_buffer("mask", torch.triu(torch.ones(5, 5, dtype=torch.bool), 1))

        def forward(self, a):
            both = self.layer(a), self.layer(a, src_mask=self.mask)
            return (
                *both,
                *self.attention(a, a, a, attn_mask=self.mask),
                self.attention(a, a, a, need_weights=False)[0],
            )

    check(Layers(), x(2, 5, 16))
