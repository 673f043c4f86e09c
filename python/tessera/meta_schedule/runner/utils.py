"""What runners share."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from ... import nd
from ...runtime import Device, Module
from .config import EvaluatorConfig

__all__ = ["T_ARGUMENT", "T_ARGUMENT_LIST", "T_ARG_INFO_JSON_OBJ", "T_ARG_INFO_JSON_OBJ_LIST", "alloc_argument_common",
           "run_evaluator_common"]  # fmt: skip

T_ARG_INFO_JSON_OBJ = list[Any]
T_ARG_INFO_JSON_OBJ_LIST = list[T_ARG_INFO_JSON_OBJ]
T_ARGUMENT = Any
T_ARGUMENT_LIST = list[T_ARGUMENT]


def alloc_argument_common(
    f_random_fill: Callable, device: Device, args_info: T_ARG_INFO_JSON_OBJ_LIST, alloc_repeat: int
) -> list[T_ARGUMENT_LIST]:
    """Random arguments, `alloc_repeat` times."""

    def alloc_tensor(_: str, dtype: str, shape: list[int]) -> Any:
        tensor = nd.empty(tuple(int(extent) for extent in shape), dtype=dtype, device=device)
        f_random_fill(tensor)
        return tensor

    def alloc_fail(kind: str, *_: Any) -> Any:
        raise NotImplementedError(f"arguments of the kind {kind} cannot be made; there is TENSOR")

    makers = {"TENSOR": alloc_tensor}
    return [
        [makers.get(info[0], alloc_fail)(*info) for info in args_info] for _ in range(alloc_repeat)
    ]  # fmt: skip


def run_evaluator_common(
    rt_mod: Module, device: Device, evaluator_config: EvaluatorConfig, repeated_args: list[T_ARGUMENT_LIST]
) -> list[float]:
    """Seconds of each repeat, for each list of arguments."""
    evaluator = rt_mod.time_evaluator(
        func_name=rt_mod.entry_name,
        dev=device,
        number=evaluator_config.number,
        repeat=evaluator_config.repeat,
        min_repeat_ms=evaluator_config.min_repeat_ms,
        f_preproc="cache_flush_cpu_non_first_arg" if evaluator_config.enable_cpu_cache_flush else "",
    )
    times = []
    for args in repeated_args:
        device.sync()
        times.append(evaluator(*args).results)
    return [float(each) for each in itertools.chain.from_iterable(times)]
