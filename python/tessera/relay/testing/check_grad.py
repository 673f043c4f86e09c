"""Gradients against finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ir as _ir
from ..._ffi.registry import get_global_func
from ...target import Target
from ..build_module import create_executor
from ..transform import gradient

__all__ = ["check_grad", "rand_from_type"]


def rand_from_type(type_: Any, scale: float = 1.0, mean: float = 0.0) -> Any:
    """A random value of a tensor type, from a normal distribution; integers are rounded."""
    shape = [int(extent) for extent in type_.shape]
    return (mean + np.random.normal(0.0, scale, shape)).astype(str(type_.dtype))


def check_grad(
    func: Any,
    inputs: Any = None,
    test_inputs: Any = None,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    scale: float | None = None,
    mean: float = 0,
    mode: str = "higher_order",
    target_devices: Any = None,
    executor_kind: str = "debug",
) -> None:
    """Compares the gradients of `func` with two-sided differences of its summed result.

    All parameters are given `inputs`, by default random ones of standard deviation `scale` (10 `eps`) around `mean`. The
    gradients of those that are among `test_inputs` are compared, by default all. Types of low precision will not
    pass.
    """
    infer = get_global_func("relay._transform.InferType")()
    forward = infer(_ir.IRModule.from_expr(func))["main"]
    backward = infer(_ir.IRModule.from_expr(gradient(forward, mode=mode)))["main"]
    if inputs is None:
        scale = 10 * eps if scale is None else scale
        inputs = [rand_from_type(param.checked_type, scale, mean) for param in forward.params]
    test_inputs = inputs if test_inputs is None else test_inputs
    for target, device in target_devices or [("llvm", None)]:
        target = Target(target)
        run = create_executor(executor_kind, _ir.IRModule.from_expr(forward), device, target).evaluate()
        _, gradients = create_executor(executor_kind, _ir.IRModule.from_expr(backward), device, target).evaluate()(
            *inputs
        )
        for position, value in enumerate(inputs):
            if not any(value is tested for tested in test_inputs):
                continue
            np.testing.assert_allclose(
                gradients[position].numpy(), _differences(run, inputs, position, eps), atol=atol, rtol=rtol
            )


def _differences(run: Any, inputs: Any, position: int, eps: float) -> Any:
    """The gradient of the summed result with respect to one input, element by element."""
    out = np.zeros_like(inputs[position])
    for index in np.ndindex(*inputs[position].shape):
        sums = []
        for step in (eps, -eps):
            moved = [np.array(value) for value in inputs]
            moved[position][index] += step
            sums.append(np.sum(run(*moved).numpy().astype("float64")))
        out[index] = (sums[0] - sums[1]) / (2 * eps)
    return out
