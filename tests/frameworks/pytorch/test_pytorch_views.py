"""Random programs of views and of operators that change tensors in place give what PyTorch gives."""

import random

import numpy as np
import pytest
import tessera
import torch
from tessera import relay


def part(r, t):
    axis = r.randrange(t.dim())
    index = [slice(None)] * t.dim()
    index[axis] = r.choice([slice(r.randint(-3, 3), r.choice([None, -1, 2, 3])), slice(r.randint(0, 1), None, 2)])
    return [t[tuple(index)]]


def reordered(r, t):
    order = list(range(t.dim()))
    r.shuffle(order)
    return [t.permute(order)]


def selected(r, t):
    axis = r.randrange(t.dim())
    return [t.select(axis, r.randrange(-t.shape[axis], t.shape[axis]))]


#: What is looked at from then on; where a tensor does not allow it, another step is drawn.
VIEWS = [
    part,
    reordered,
    selected,
    lambda r, t: [t.narrow(0, r.choice([0, 1, -1]), 1)],
    lambda r, t: t.split(2, -1),
    lambda r, t: t.chunk(2, 0),
    lambda r, t: t.unbind(r.randrange(t.dim())),
    lambda r, t: [t.view(-1)],
    lambda r, t: [t.reshape(-1)],
    lambda r, t: [t.reshape(2, -1)],
    lambda r, t: [t.flatten(0, 1)],
    lambda r, t: [t.unsqueeze(r.randint(0, t.dim()))],
    lambda r, t: [t.squeeze()],
    lambda r, t: [t.unsqueeze(0).expand(1, *t.shape)],
    lambda r, t: [t.contiguous()],
    lambda r, t: [t.to(torch.float32)],
    lambda r, t: [t.diagonal()],
    lambda r, t: [t.clone(memory_format=torch.contiguous_format)],
    lambda r, t: [t.contiguous() * 2 + 1],
]
CHANGES = [
    lambda r, t, other: t.mul_(1.5),
    lambda r, t, other: t.add_(0.5).relu_(),
    lambda r, t, other: t.sub_(t.sum()),
    lambda r, t, other: t.fill_(r.random()),
    lambda r, t, other: t.copy_(other.clone()) if t.shape == other.shape else t,
]


def step(seed, tensors):
    """One random step; an error where the tensor that was drawn does not allow it."""
    r = random.Random(seed)
    t, do = r.choice(tensors), r.choice(VIEWS + CHANGES * 2)
    more = [] if do in CHANGES else do(r, t)
    if do in CHANGES:
        do(r, t, r.choice(tensors))
    return [t for t in [*tensors, *more] if t.numel() and t.dim() < 6][-12:]


class Program(torch.nn.Module):
    def __init__(self, seed, *inputs):
        """Of the steps that its inputs allow: those that fail leave nodes in what PyTorch exports."""
        super().__init__()
        self.steps = []
        tensors = [x.clone() for x in inputs]
        for number in range(100 * seed, 100 * seed + random.Random(seed).randint(6, 18)):
            try:
                tensors = step(number, tensors)
            except (RuntimeError, IndexError, ValueError):
                continue
            self.steps.append(number)

    def forward(self, x, y):
        tensors = [x.clone(), y.clone()]
        for number in self.steps:
            tensors = step(number, tensors)
        return tuple(t * 1.0 for t in tensors)


@pytest.mark.parametrize("seed", range(60))
def test_all_tensors_that_share_memory_see_a_change(seed):
    torch.manual_seed(seed)
    x, y = torch.randn(4, 3, 2), torch.randn(4, 6)
    module = Program(seed, x, y)
    want = module(x, y)
    made = torch.export.export(module, (x, y))
    mod, params = relay.frontend.from_pytorch(made, [("x", ((4, 3, 2), "float32")), ("y", ((4, 6), "float32"))])
    with tessera.transform.PassContext(opt_level=0):
        got = relay.create_executor("vm", mod, params=params).evaluate()(x.numpy(), y.numpy())
    got = list(got) if len(want) > 1 else [got]
    assert len(got) == len(want)
    for ours, theirs in zip(got, want):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-4, atol=1e-4)
