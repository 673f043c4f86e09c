"""Programs of PyTorch of one operator: traced, scripted or written as a graph, and what both sides answer."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from . import Case, Pairs

NUMBERS = itertools.count()


def floats(*shape: int, seed: int = 0, low: float = -2, high: float = 2) -> torch.Tensor:
    return torch.tensor(np.random.RandomState(seed).uniform(low, high, shape).astype("float32"))


def ints(*shape: int, seed: int = 0, low: int = -9, high: int = 9, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    return torch.tensor(np.random.RandomState(seed).randint(low, high, shape)).to(dtype)


def bools(*shape: int, seed: int = 0) -> torch.Tensor:
    return floats(*shape, seed=seed) > 0


class Called(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function
        used = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
        used += getattr(function, "__defaults__", None) or ()
        self.parts = torch.nn.ModuleList(part for part in used if isinstance(part, torch.nn.Module))

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def kinds_of(block: Any) -> Iterator[str]:
    """The operators of a graph and of the blocks in it."""
    for node in block.nodes():
        yield node.kind()
        for inner in node.blocks():
            yield from kinds_of(inner)


def leaves(value: Any) -> Iterator[Any]:
    """Tensors and numbers of a nested result."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from leaves(item)
    elif value is not None:
        yield value


def array_of(value: Any) -> np.ndarray:
    """A result of PyTorch; quantised tensors as what they stand for."""
    if isinstance(value, torch.Tensor):
        value = value.dequantize() if value.is_quantized else value
        return np.asarray(value.detach().resolve_conj().resolve_neg().contiguous())
    return np.asarray(value)


def arrays_of(out: Any) -> list[np.ndarray]:
    """What the virtual machine answers."""
    if hasattr(out, "numpy"):
        return [out.numpy()]
    return [array for item in out for array in arrays_of(item)]


def imported(module: Any, inputs: tuple[torch.Tensor, ...], **options: Any) -> list[np.ndarray]:
    """What Tessera answers."""
    import tessera
    from tessera import relay

    infos = [
        (f"input_{i}", (tuple(value.shape), str(value.dtype).removeprefix("torch."))) for i, value in enumerate(inputs)
    ]
    mod, params = relay.frontend.from_pytorch(module, infos, **options)
    feeds = {name: np.asarray(value) for (name, _), value in zip(infos, inputs, strict=True)}
    with tessera.transform.PassContext(opt_level=3):
        executor = relay.create_executor("vm", mod=mod, device=tessera.cpu(), target="llvm", params=params)
        return arrays_of(executor.evaluate()(**feeds))


def compared(
    operator: str, module: Any, inputs: tuple[torch.Tensor, ...], only: Callable[[np.ndarray], Any] | None, options: Any
) -> Pairs:
    """Both sides' answers, and that the program has the operator at all."""
    from tessera.relay.frontend._torch.script import lowered_graph

    kinds = set(kinds_of(module.inlined_graph)) | set(kinds_of(lowered_graph(module)))
    name = full_name(operator).split()[0]
    if name not in kinds and name + "_" not in kinds:
        raise ValueError(f"the program has no {name}, but {sorted(kinds - {'prim::Constant'})}")
    copies = [value.clone() for value in inputs]
    with torch.no_grad():
        want = [array_of(value) for value in leaves(module(*copies))]
    got = imported(module, inputs, **options)
    if len(got) != len(want):
        raise ValueError(f"{len(got)} results, not {len(want)}")
    if only:
        return [(only(a), only(b)) for a, b in zip(got, want, strict=True)]
    # Numbers of Python have no element type of their own.
    return [
        (a, b.astype(a.dtype) if a.ndim == b.ndim == 0 and a.dtype.kind == b.dtype.kind else b)
        for a, b in zip(got, want)
    ]


def traced(
    operator: str,
    function: Callable[..., Any],
    *inputs: torch.Tensor,
    name: str = "traced",
    only: Callable[[np.ndarray], Any] | None = None,
    tolerance: float = 1e-4,
    **options: Any,
) -> Case:
    """A case of a function or module that is traced."""

    def run() -> Pairs:
        module = function if isinstance(function, torch.nn.Module) else Called(function)
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = torch.jit.trace(module.eval(), tuple(v.clone() for v in inputs), check_trace=False)
        return compared(operator, program, inputs, only, options)

    return Case(full_name(operator), name, run, tolerance)


def scripted(operator: str, text: str, *inputs: torch.Tensor, name: str = "scripted", only: Any = None) -> Case:
    """A case of a method `forward` in TorchScript: "x, y: int -> Tensor: return x" without the def."""

    def run() -> Pairs:
        # Methods of one class are compiled once.
        module = type(f"Program{next(NUMBERS)}", (torch.jit.ScriptModule,), {"__module__": __name__})()
        module.define(f"def forward(self, {text}\n")
        return compared(operator, module, inputs, only, {})

    return Case(full_name(operator), name, run)


def written(operator: str, text: str, *inputs: torch.Tensor, name: str = "written") -> Case:
    """A case of a graph, "%x : Tensor): ..." without its beginning."""

    def run() -> Pairs:
        function = torch._C._create_function_from_graph("forward", torch._C.parse_ir(f"graph({text}"))
        return compared(operator, torch.jit.trace(Called(function), inputs, check_trace=False), inputs, None, {})

    return Case(full_name(operator), name, run)


def full_name(operator: str) -> str:
    return operator if "::" in operator else f"aten::{operator}"
