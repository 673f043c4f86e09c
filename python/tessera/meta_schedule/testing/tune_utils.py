"""Input data, and functions that print how long layers take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import nd

__all__ = ["create_time_per_layer", "create_timer", "generate_input_data"]


def generate_input_data(
    input_shape: list[int], input_dtype: str, *, low: int | None = None, high: int | None = None
) -> Any:
    """Random data: floats of [0, 1), integers of [low, high) or of the type's whole range."""
    if input_dtype.startswith("float"):
        return nd.array(np.random.uniform(size=input_shape).astype(input_dtype))
    limits = np.iinfo(input_dtype)
    first, last = limits.min if low is None else low, limits.max if high is None else high
    return nd.array(np.random.randint(low=first, high=last, size=input_shape).astype(input_dtype))


def create_timer(backend: str) -> Callable[..., Any]:
    """A function (library, device, inputs) that prints how long a model takes; of the backend "graph" or "vm"."""

    def graph_timer(rt_mod: Any, dev: Any, input_data: dict[str, Any]) -> list[float]:
        from ...contrib.graph_executor import GraphModule

        module = GraphModule(rt_mod["default"](dev))
        for name, value in input_data.items():
            module.set_input(name, value)
        result = module.module.time_evaluator("run", dev, min_repeat_ms=500, repeat=3)()
        print(f"Running time in time_evaluator: {list(result.results)}")
        return list(result.results)

    def vm_timer(rt_mod: Any, dev: Any, input_data: dict[str, Any]) -> Any:
        from ...runtime.vm import VirtualMachine

        machine = VirtualMachine(rt_mod, dev)
        result = machine.benchmark(dev, min_repeat_ms=500, repeat=5, number=1, end_to_end=False, **input_data)
        print(result)
        return result

    timers = {"graph": graph_timer, "vm": vm_timer}
    if backend not in timers:
        raise ValueError(f"Backend {backend} not supported in timing function; there are graph and vm")
    return timers[backend]


def create_time_per_layer(graph: Any) -> Callable[..., Any]:
    """A function (library, device, inputs) that prints how long each layer of a graph takes."""

    def time_per_layer(rt_mod: Any, dev: Any, input_data: dict[str, Any]) -> None:
        from ...contrib.debugger.debug_executor import create

        module = create(str(graph), rt_mod, dev)
        for name, value in input_data.items():
            module.set_input(name, value)
        print(module.profile())

    return time_per_layer
