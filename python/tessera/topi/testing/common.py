"""Which compute and which schedule tests of a target take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ... import te
from ...driver import build
from ...runtime import ndarray as nd
from ...target import Target
from ...testing.numeric import assert_allclose
from .. import cuda, generic, nn, x86


def dispatch(target: Any, dispatch_map: Mapping[str, Any]) -> Any:
    """What a map has for the first of the target's keys that it knows, or for "generic"."""
    for key in Target(target).keys:
        if key in dispatch_map:
            return dispatch_map[key]
    return dispatch_map["generic"]


def get_injective_schedule(target: Any) -> Callable[..., Any]:
    """For results whose elements do not depend on each other."""
    schedules = {"generic": generic, "cpu": x86, "gpu": cuda}
    return dispatch(target, {key: module.schedule_injective for key, module in schedules.items()})


get_broadcast_schedule = get_injective_schedule
get_elemwise_schedule = get_injective_schedule


def get_reduce_schedule(target: Any) -> Callable[..., Any]:
    """For reductions."""
    schedules = {"generic": generic, "cpu": x86, "gpu": cuda}
    return dispatch(target, {key: module.schedule_reduce for key, module in schedules.items()})


def get_conv2d_nchw_implement(target: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Compute and schedule of `conv2d_nchw`."""
    schedules = {"generic": generic, "cpu": x86, "gpu": cuda}
    return nn.conv2d_nchw, dispatch(target, {key: module.schedule_conv2d_nchw for key, module in schedules.items()})


def compare_numpy_tvm(
    inputs: Sequence[np.ndarray],
    output: np.ndarray,
    target: Any,
    device: Any,
    compute: Callable[..., Any],
    schedule: Callable[..., Any],
) -> None:
    """Runs a compute on the inputs, scheduled for a target, and compares its result with `output`."""
    tensors = [te.placeholder(x.shape, str(x.dtype)) for x in inputs]
    result = compute(*tensors)
    with Target(target):
        program = schedule([result])
        function = build(program, [*tensors, result], target)
    arrays = [nd.array(x, device) for x in inputs]
    found = nd.array(np.zeros(output.shape, output.dtype), device)
    function(*arrays, found)
    assert_allclose(found.numpy(), output, rtol=1e-4, atol=1e-4)
