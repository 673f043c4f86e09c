"""Operators that make, move, index and scatter tensors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from . import Case
from ._torch_model import bools, floats, ints, scripted, traced

ops = torch.ops.aten


def row_filled(x: torch.Tensor) -> torch.Tensor:
    """The whole, of which a part was changed."""
    out = x.clone()
    out[0].fill_(3)
    out[1, 1:] += 2
    return out


def made() -> Iterator[Case]:
    x, other = floats(2, 3), {"dtype": torch.float64}
    yield traced("arange", lambda x: x + torch.arange(3), x)
    yield traced("arange", lambda x: torch.arange(x.shape[1]) + torch.arange(1, 7, 2), x, name="step")
    yield traced("arange", lambda x: torch.arange(0.5, 2.0, 0.25), x, name="floats")
    yield scripted(
        "arange",
        "x):\n  return torch.arange(int(x.sum()), dtype=torch.float32)",
        ints(3, low=1, high=5),
        name="length of a run",
    )
    for name in ("ones", "zeros"):
        yield traced(name, lambda x, name=name: x + getattr(torch, name)(x.shape[0], 3), x)
        yield traced(f"{name}_like", lambda x, name=name: x + getattr(torch, name + "_like")(x, **other), x)
    yield traced("new_ones", lambda x: x.new_ones((2, 4)), x)
    yield traced("full", lambda x: torch.full((2, 3), 7) + x, x)
    yield traced("full_like", lambda x: torch.full_like(x, 2.5, **other), x)
    yield traced("new_full", lambda x: x.new_full((2, 4), 1.5), x)
    yield traced("fill_", lambda x: x.clone().fill_(3.0), x)
    yield traced("fill_", lambda x: x.clone()[0].fill_(3), x, name="a row")
    yield traced("fill_", row_filled, x, name="a row, in place")
    yield traced("linspace", lambda x: torch.linspace(-1, 2, 7), x)
    yield traced("linspace", lambda x: torch.linspace(0, 1, 1, **other), x, name="one")
    for name in ("empty", "new_empty", "empty_like"):
        make = {
            "empty": lambda x: torch.empty(2, 5),
            "new_empty": lambda x: x.new_empty((2, 5)),
            "empty_like": torch.empty_like,
        }
        yield traced(name, make[name], x, only=np.zeros_like)
    yield traced(
        "randn",
        lambda x: torch.randn(100, 100),
        x,
        only=lambda a: np.round([a.mean(), a.std(), a.ndim, *a.shape], 1) + 0.0,
    )
    yield traced("multinomial", lambda w: torch.multinomial(w, 6, True), torch.tensor([[0.0, 1, 0], [2.0, 0, 0]]))
    yield traced(
        "multinomial",
        lambda w: torch.multinomial(w, 3).sort()[0],
        torch.tensor([0.1, 0, 1, 3]),
        name="without replacement",
    )
    yield traced("scalar_tensor", lambda x: x + ops.scalar_tensor(2.5), x)
    yield scripted("tensor", "x):\n  return torch.tensor([1.5, 2.5, float(x.size(0))])", x)
    yield scripted("tensor", "x):\n  return torch.tensor([[1, x.size(0)], [3, 4]])", x, name="nested")
    yield traced("tril", lambda x: torch.tril(x, 1), floats(2, 4, 5))
    yield traced("triu", lambda x: torch.triu(x, -1), floats(2, 4, 5))
    yield traced("one_hot", lambda x: torch.nn.functional.one_hot(x, 6), ints(2, 3, low=0, high=6))
    yield traced("meshgrid", lambda a, b: torch.meshgrid(a, b, indexing="ij"), floats(3), floats(4))
    yield traced("meshgrid", lambda a, b: torch.meshgrid(a, b, indexing="xy"), floats(3), floats(4), name="xy")


def moved() -> Iterator[Case]:
    x = floats(2, 3, 4)
    yield traced("view", lambda x: x.view(6, -1), x)
    yield traced("reshape", lambda x: x.reshape(x.shape[0], -1), x)
    yield traced("reshape_as", lambda x, y: x.reshape_as(y), x, floats(4, 6))
    yield traced("flatten", lambda x: torch.flatten(x, 1), x)
    yield traced("flatten", torch.flatten, torch.tensor(2.0), name="a number")
    yield traced("permute", lambda x: x.permute(2, 0, 1), x)
    yield traced("transpose", lambda x: x.transpose(0, -1), x)
    yield traced("t", torch.t, floats(3, 4))
    yield traced("numpy_T", lambda x: ops.numpy_T(x), x)
    yield traced("squeeze", torch.squeeze, floats(1, 3, 1))
    yield traced("squeeze", lambda x: x.squeeze(0).squeeze(1), floats(1, 3, 4), name="one axis")
    yield traced("unsqueeze", lambda x: x.unsqueeze(-1), x)
    yield traced("expand", lambda x: x.expand(5, -1, 4), floats(3, 1))
    yield traced("expand_as", lambda x, y: x.expand_as(y), floats(3, 1), x)
    yield traced("broadcast_tensors", lambda a, b: torch.broadcast_tensors(a, b), floats(3, 1), floats(4))
    yield traced("repeat", lambda x: x.repeat(2, 1, 3, 1), x)
    yield traced("repeat_interleave", lambda x: x.repeat_interleave(3, 1), x)
    yield traced("repeat_interleave", lambda x: x.repeat_interleave(2), x, name="flat")
    yield traced("repeat_interleave", lambda x: x.repeat_interleave(torch.tensor([1, 0, 3]), 1), x, name="counts")
    yield traced("cat", lambda a, b: torch.cat([a, b], -1), x, floats(2, 3, 1))
    yield traced("cat", lambda a, b: torch.cat([a, b]), ints(2), floats(3), name="two types")
    yield traced("stack", lambda a, b: torch.stack([a, b], 1), x, x + 1)
    yield traced("split", lambda x: torch.split(x, 3, 2), x)
    yield traced("split_with_sizes", lambda x: torch.split(x, [1, 3], 2), x)
    yield scripted("chunk", "x):\n  return torch.chunk(x, 3, 2)", floats(2, 3, 7))
    yield traced("unsafe_chunk", lambda x: torch.unsafe_chunk(x, 2, 2), x)
    yield traced("unbind", lambda x: torch.unbind(x, 1), x)
    yield traced("flip", lambda x: torch.flip(x, (0, 2)), x)
    yield traced("roll", lambda x: torch.roll(x, (1, -2), (0, 2)), x)
    yield traced("roll", lambda x: torch.roll(x, 5), x, name="flat")
    yield traced("pixel_shuffle", lambda x: torch.pixel_shuffle(x, 2), floats(2, 8, 3, 4))
    yield traced("to", lambda x: x.to(torch.int32), x * 5)
    yield traced("to", lambda x: x.to(torch.float64) + 1, ints(3), name="float64")
    yield traced("to", lambda x, y: x.to(y), x, ints(3), name="as another")
    yield traced("to", lambda x: x.to(torch.bool), ints(9, low=-1, high=2), name="bool")
    yield traced("type_as", lambda x, y: x.type_as(y), x, ints(3))
    yield traced("pad", lambda x: ops.pad(x, [1, 2, 0, 1], "constant", 0.5), x)
    yield traced("pad", lambda x: ops.pad(x, [1, 2], "reflect"), x, name="reflect")
    yield traced("pad", lambda x: ops.pad(x, [1, 2], "circular"), x, name="circular")
    yield traced("constant_pad_nd", lambda x: torch.constant_pad_nd(x, [1, -1, 2, 0], 2), x)
    for dims, data in ((1, floats(2, 3, 8)), (2, floats(2, 3, 8, 7)), (3, floats(1, 2, 6, 5, 7))):
        pads = [2, 1, 3, 2, 1, 3][: 2 * dims]
        if dims < 3:
            yield traced(
                f"reflection_pad{dims}d", lambda x, f=f"reflection_pad{dims}d", p=pads: getattr(ops, f)(x, p), data
            )
        yield traced(
            f"replication_pad{dims}d", lambda x, f=f"replication_pad{dims}d", p=pads: getattr(ops, f)(x, p), data
        )


def indexed() -> Iterator[Case]:
    x = floats(4, 5, 6)
    yield traced("slice", lambda x: x[1:3, ::2, -4:-1], x)
    yield traced("slice", lambda x: x[:, 3:99], x, name="past the end")
    yield scripted("slice", "x, n):\n  return x[int(n):]", x, torch.tensor(2), name="begin of a run")
    yield traced("narrow", lambda x: torch.narrow(x, 1, 2, 2), x)
    yield traced("select", lambda x: x[:, -2], x)
    yield traced("take", torch.take, x, ints(2, 3, low=-100, high=100))
    yield traced("gather", lambda x, i: torch.gather(x, 1, i), x, ints(4, 2, 6, low=0, high=5))
    yield traced("index_select", lambda x, i: torch.index_select(x, 1, i), x, ints(7, low=0, high=5))
    yield traced("index", lambda x, i: x[i], x, ints(3, 2, low=-4, high=4))
    yield traced(
        "index", lambda x, i, j: x[:, i, j], x, ints(3, low=0, high=5), ints(2, 1, low=0, high=5), name="two axes"
    )
    yield traced(
        "index", lambda x, i, j: x[i, :, j], x, ints(3, low=0, high=4), ints(3, low=0, high=5), name="axes apart"
    )
    yield traced("index", lambda x, m: x[m], x, bools(4, 5), name="a mask")
    yield traced("index_put", lambda x, i, v: torch.index_put(x, [i], v), x, torch.tensor([3, 0]), floats(2, 5, 6))
    yield traced(
        "index_put",
        lambda x, i, v: torch.index_put(x, [i, i], v, accumulate=True),
        x,
        torch.tensor([1, 1, 2]),
        floats(6),
        name="accumulate",
    )
    yield traced("index_put", lambda x, m: torch.index_put(x, [m], torch.tensor(2.0)), x, bools(4, 5), name="a mask")
    yield traced("masked_select", torch.masked_select, x, bools(5, 6))
    yield traced("nonzero", torch.nonzero, ints(4, 5, low=0, high=2))
    yield traced("nonzero_numpy", lambda x: ops.nonzero_numpy(x), ints(4, 5, low=0, high=2))
    yield traced(
        "scatter", lambda x, i, v: x.scatter(1, i, v), x, torch.tensor([[[0], [3]], [[1], [2]]]), floats(2, 2, 1)
    )
    yield traced("scatter", lambda x, i: x.scatter(1, i, 2.0), x, ints(4, 2, 6, low=0, high=5), name="a number")
    yield traced(
        "scatter",
        lambda x, i, v: x.scatter(1, i, v, reduce="add"),
        x,
        ints(4, 2, 6, low=0, high=5),
        floats(4, 2, 6),
        name="add",
    )
    yield traced(
        "scatter_add", lambda x, i, v: x.scatter_add(1, i, v), x, ints(4, 2, 6, low=0, high=5), floats(4, 2, 6)
    )
    yield traced("embedding", torch.nn.Embedding(10, 3), ints(2, 4, low=0, high=10))


def sizes() -> Iterator[Case]:
    x = floats(2, 3, 4)
    yield traced("size", lambda x: x.view(x.size(0), -1), x)
    yield scripted("size", "x):\n  return x.size()", x, name="all")
    yield traced("_shape_as_tensor", lambda x: ops._shape_as_tensor(x), x)
    yield scripted("numel", "x):\n  return x.numel() + 1", x)
    yield scripted("len", "x):\n  return x * len(x)", x)
    yield scripted("len", "x):\n  return len([x, x, x])", x, name="a list")
    yield scripted("__getitem__", "x):\n  return x.size()[1] * x", x)
    yield scripted("__getitem__", "x):\n  parts = [x, x + 1]\n  return parts[-1]", x, name="tensors")
    yield scripted(
        "device",
        "x):\n  place = 'cpu'\n  if x.size(0) == 2:\n    place = 'cpu:0'\n  return torch.zeros([2], device=torch.device(place)) + x.sum()",
        x,
    )


def cases() -> Iterator[Case]:
    """All of this file."""
    for family in (made, moved, indexed, sizes):
        yield from family()
