"""What TorchScript adds: numbers, lists, tuples, branches and loops."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from . import Case
from ._torch_model import floats, ints, scripted, traced

COLLATZ = """n):
  k = int(n)
  steps = 0
  while k != 1:
    if k % 2 == 0:
      k = k // 2
    else:
      k = 3 * k + 1
    steps += 1
  return steps"""


def numbers() -> Iterator[Case]:
    x = floats(2, 3)
    yield scripted("Int", "x):\n  return int(x.sum()) * 2", x * 9)
    yield scripted("Float", "x):\n  return float(x.sum()) * 2 + x", x)
    yield scripted("Bool", "x):\n  return bool(x.sum() > 0)", x)
    yield scripted("IntImplicit", "x, n):\n  return x * torch.ops.aten.IntImplicit(n)", x, torch.tensor(3))
    yield scripted(
        "ScalarImplicit", "x, n):\n  return torch.add(x, x, alpha=torch.ops.aten.ScalarImplicit(n))", x, torch.tensor(3)
    )
    yield traced("prim::NumToTensor", lambda x: x.view(x.shape[0] * x.shape[1]), x)
    yield traced("aten::Int", lambda x: x.view(x.shape[0] * x.shape[1]), x, name="of a size")
    yield scripted("prim::device", "x):\n  return torch.zeros([2, 3], device=x.device) + x", x)


def structures() -> Iterator[Case]:
    x = floats(2, 3)
    yield scripted(
        "prim::ListConstruct", "x):\n  parts = [x, x + 1]\n  parts.append(x * 2)\n  return torch.cat(parts)", x
    )
    yield scripted("prim::ListUnpack", "x):\n  a, b, c = x.unbind(1)\n  return a + b * c", x)
    yield scripted("prim::TupleConstruct", "x):\n  return (x + 1, (x, x * 2))", x)
    yield scripted("prim::TupleUnpack", "x):\n  pair = [(x, x + 1)]\n  a, b = pair[0]\n  return a * b", x)
    yield scripted("prim::If", "x):\n  if bool(x.sum() > 0):\n    y = x + 1\n  else:\n    y = x * 2\n  return y", x)
    yield scripted("prim::If", "x):\n  if x.dim() == 2:\n    return x + 1\n  return x.sum()", x, name="known")
    yield scripted("prim::Loop", "x):\n  y = x\n  for i in range(5):\n    y = y * 0.5 + i\n  return y", x)
    yield scripted(
        "prim::Loop",
        "x, n):\n  y = x\n  for i in range(int(n)):\n    y = y * 0.5 + i\n  return y",
        x,
        torch.tensor(7),
        name="count of a run",
    )
    yield scripted(
        "prim::Loop", "x):\n  y = x\n  while bool(y.sum() < 100):\n    y = y * 2 + 1\n  return y", x.abs(), name="while"
    )
    yield scripted("prim::Loop", COLLATZ, torch.tensor(27), name="a branch inside")
    yield scripted(
        "prim::Loop",
        "x):\n  rows = []\n  for i in range(x.size(0)):\n    rows.append(x[i] * i)\n  return torch.stack(rows)",
        x,
        name="a list",
    )
    yield scripted(
        "prim::RaiseException", "x):\n  if x.dim() != 2:\n    raise ValueError('two dimensions')\n  return x * 2", x
    )
    yield scripted(
        "prim::RaiseException",
        "x):\n  if bool(x.sum() > 1e9):\n    raise ValueError('too large')\n  return x * 2",
        x,
        name="of a run",
    )
    yield traced("prim::GetAttr", torch.nn.Linear(3, 2), x)
    yield traced("prim::Constant", lambda x: x * 2, ints(3))


def cases() -> Iterator[Case]:
    """All of this file."""
    yield from numbers()
    yield from structures()
