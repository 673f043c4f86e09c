"""The backend of `torch.compile`: graphs of Dynamo become functions of ATen's operators, and those programs of ours."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch._dynamo.backends import registry
from torch._functorch.aot_autograd import aot_module_simplified, make_boxed_func

from ._partition import Compiler

_NAME = "tessera"


@dataclasses.dataclass(frozen=True)
class Options:
    """What `torch.compile(model, backend="tessera", options={...})` takes."""

    target: Any = "llvm"  # a Target, or a text as `tessera compile --target` takes it
    opt_level: int = 3
    precision: str = "fp32"  # as `tessera compile --precision`
    num_threads: int | None = None  # threads of each graph's own; None: those of the process
    freeze: bool = True  # weights are part of the compiled program, which is made anew when they change

    @classmethod
    def of(cls, given: Mapping[str, Any] | None) -> Options:
        """Those of a dict, whose keys are checked."""
        known = [field.name for field in dataclasses.fields(cls)]
        for name in given or {}:
            if name not in known:
                raise ValueError(f'the backend "{_NAME}" has no option "{name}"; its options are {", ".join(known)}')
        return cls(**dict(given or {}))


def backend(
    gm: torch.fx.GraphModule,
    example_inputs: list[Any],
    *,
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
) -> Callable[..., Any]:
    """Compiles a graph that Dynamo captured; gradients, where they are needed, are PyTorch's.

    Parameters and buffers become constants of the compiled program while they stay as they are. Operators that Tessera does not
    have, and random numbers, are left to PyTorch, with a warning `RunsByPyTorch`.
    """
    if mode not in (None, "default"):
        raise ValueError(f'the backend "{_NAME}" has no mode "{mode}"; give options, such as {{"opt_level": 3}}')
    chosen = Options.of(options)

    def forward(graph: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
        return make_boxed_func(Compiler(graph, _static_inputs(), chosen))

    def backward(graph: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
        return make_boxed_func(graph.forward)

    return aot_module_simplified(gm, example_inputs, fw_compiler=forward, bw_compiler=backward)


def _static_inputs() -> set[int]:
    """The positions of the parameters and buffers among the inputs of the graph that is being compiled."""
    context = torch._guards.TracingContext.try_get()
    metadata = context.fw_metadata if context is not None else None
    return set(metadata.static_input_indices) if metadata is not None else set()


def register() -> None:
    """Makes the backend known by its name, unless PyTorch has found its entry point and is about to."""
    if registry._BACKENDS.get(_NAME) is None and _NAME not in registry._COMPILER_FNS:
        registry.register_backend(backend, name=_NAME)
