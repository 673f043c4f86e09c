"""What is searched, and how."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from .._ffi.registry import register_object
from ..autotvm.measure.confirm import left_to_rules
from ..runtime.ndarray import array as make_array
from ..runtime.object import Object
from ..target import Target
from . import _ffi_api
from .compute_dag import ComputeDAG, LayoutRewriteOption
from .confirm import confirm_best, schedule_by_rules
from .loop_state import StateObject
from .measure import LocalBuilder, LocalRunner, ProgramMeasurer
from .measure_record import load_best_record
from .workload_registry import make_workload_key

__all__ = [
    "TASK_INPUT_BUFFER_TABLE",
    "HardwareParams",
    "SearchTask",
    "TuningOptions",
    "auto_schedule",
    "create_task",
    "get_task_input_buffer",
    "register_task_input_buffer",
]

logger = logging.getLogger("auto_scheduler")


@register_object("auto_scheduler.HardwareParams")
class HardwareParams(Object):
    """Facts about the hardware that the search asks; those that are not given are the target's."""

    def __init__(
        self,
        num_cores: int | None = None,
        vector_unit_bytes: int | None = None,
        cache_line_bytes: int | None = None,
        max_shared_memory_per_block: int | None = None,
        max_local_memory_per_block: int | None = None,
        max_threads_per_block: int | None = None,
        max_vthread_extent: int | None = None,
        warp_size: int | None = None,
        target: Any = None,
        target_host: Any = None,
    ) -> None:
        given: tuple[int | None, ...] = (
            num_cores,
            vector_unit_bytes,
            cache_line_bytes,
            max_shared_memory_per_block,
            max_local_memory_per_block,
            max_threads_per_block,
            max_vthread_extent,
            warp_size,
        )
        if any(value is None for value in given):
            known = _ffi_api.GetDefaultHardwareParams(Target(target) if target else Target("llvm"), None)
            defaults = (
                known.num_cores,
                known.vector_unit_bytes,
                known.cache_line_bytes,
                known.max_shared_memory_per_block,
                known.max_local_memory_per_block,
                known.max_threads_per_block,
                known.max_vthread_extent,
                known.warp_size,
            )
            given = tuple(own if value is None else value for value, own in zip(given, defaults))
        self.__init_handle_by_constructor__(_ffi_api.HardwareParams, *map(int, given))  # type: ignore[arg-type]

    def __str__(self) -> str:
        return (
            "HardwareParams:\n"
            f"  num_cores: {self.num_cores}\n"
            f"  vector_unit_bytes: {self.vector_unit_bytes}\n"
            f"  cache_line_bytes: {self.cache_line_bytes}\n"
            f"  max_shared_memory_per_block: {self.max_shared_memory_per_block}\n"
            f"  max_local_memory_per_block: {self.max_local_memory_per_block}\n"
            f"  max_threads_per_block: {self.max_threads_per_block}\n"
            f"  max_vthread_extent: {self.max_vthread_extent}\n"
            f"  warp_size: {self.warp_size}\n"
        )

    __repr__ = __str__


class TuningOptions:
    """How long to search, and how to measure. `builder` and `runner` are "local" or objects of `measure`."""

    def __init__(
        self,
        num_measure_trials: int = 0,
        early_stopping: int | None = None,
        num_measures_per_round: int = 64,
        verbose: int = 1,
        builder: Any = "local",
        runner: Any = "local",
        measure_callbacks: Any = None,
    ) -> None:
        for given, what in ((builder, "builder"), (runner, "runner")):
            if isinstance(given, str) and given != "local":
                raise ValueError(f"Invalid {what}: {given}")
        self.num_measure_trials = num_measure_trials
        self.early_stopping = early_stopping if early_stopping is not None and early_stopping >= 0 else int(1e20)
        self.num_measures_per_round = num_measures_per_round
        self.verbose = verbose
        self.builder = LocalBuilder() if isinstance(builder, str) else builder
        self.runner = LocalRunner() if isinstance(runner, str) else runner
        self.measure_callbacks = list(measure_callbacks or [])


# ---- inputs with values of their own -------------------------------------------------------------------------------

#: Arrays by workload key and name.
TASK_INPUT_BUFFER_TABLE: dict[str, dict[str, Any]] = {}

_DTYPES = (
    "float32",
    "float16",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
)


def _save_buffer_to_file(name: str, data: Any) -> None:
    values = data.numpy()
    shape = "_".join(str(extent) for extent in values.shape)
    path = f"{name}.{shape}_{values.dtype}.npy"
    values.tofile(path, " ")


def _try_load_buffer_from_file(name: str) -> Any:
    for entry in sorted(os.listdir(".")):
        if not entry.startswith(name + ".") or not entry.endswith(".npy"):
            continue
        *shape, dtype = entry[len(name) + 1 : -len(".npy")].split("_")
        if dtype not in _DTYPES or not all(extent.isdigit() for extent in shape):
            continue
        values = np.fromfile(entry, dtype=dtype, sep=" ")
        extents = tuple(map(int, shape))
        if values.size == int(np.prod(extents)):
            return make_array(values.reshape(extents))
    return None


def register_task_input_buffer(
    workload_key: str, input_name: str, input_data: Any, overwrite: bool = False, save_to_file: bool = False
) -> Any:
    """Sets the values that an input has while measuring: where times depend on them, as with indices of sparse tensors."""
    table = TASK_INPUT_BUFFER_TABLE.setdefault(workload_key, {})
    if not overwrite:
        if input_name in table:
            raise RuntimeError(
                "Tensor " + input_name + " exists in TASK_INPUT_BUFFER_TABLE, set `overwrite` to True to overwrite it"
            )
        found = _try_load_buffer_from_file(input_name)
        if found is not None:
            logger.info(
                "the values of %s are read from a file of this folder; set overwrite=True for others", input_name
            )
            input_data = found
    table[input_name] = input_data
    if save_to_file:
        _save_buffer_to_file(input_name, input_data)
    return input_data


def get_task_input_buffer(workload_key: str, input_name: str) -> Any:
    """The values of an input; ValueError where none were registered."""
    table = TASK_INPUT_BUFFER_TABLE.setdefault(workload_key, {})
    if input_name not in table:
        found = _try_load_buffer_from_file(input_name)
        if found is not None:
            table[input_name] = found
    if input_name in table:
        return table[input_name]
    raise ValueError(
        f"{input_name} not found in TASK_INPUT_BUFFER_TABLE, should provide with `SearchTask(..., task_inputs={{...}})`"
    )


@register_object("auto_scheduler.SearchTask")
class SearchTask(Object):
    """A computation for a target: of a registered function with its arguments, of a DAG, or of a workload key."""

    _model: Any  # that it was extracted from; others have none

    def __init__(
        self,
        func: Callable | str | None = None,
        args: Any = None,
        compute_dag: ComputeDAG | None = None,
        workload_key: str | None = None,
        target: Any = None,
        target_host: Any = None,
        hardware_params: HardwareParams | None = None,
        layout_rewrite_option: int | None = None,
        task_inputs: Any = None,
        task_inputs_overwrite: bool = False,
        task_inputs_save_to_file: bool = False,
        desc: str = "",
    ) -> None:
        assert func is not None or workload_key is not None, (
            "Either a workload generation function or a workload key should be provided"
        )
        if func is not None:
            workload_key = make_workload_key(func, args)
        if compute_dag is None:
            compute_dag = ComputeDAG(workload_key)
        if target is None:
            target = Target.current()
        if target is None:
            raise ValueError("a SearchTask needs a target")
        target, target_host = Target.canon_target_and_host(target, target_host)
        if layout_rewrite_option is None:
            layout_rewrite_option = LayoutRewriteOption.get_target_default(target)
        names = []
        if isinstance(task_inputs, dict):
            for name, data in task_inputs.items():
                register_task_input_buffer(workload_key, name, data, task_inputs_overwrite, task_inputs_save_to_file)  # type: ignore[arg-type]
                names.append(name)
        elif isinstance(task_inputs, (list, tuple)):
            names = list(task_inputs)
        elif task_inputs is not None:
            raise ValueError("task_inputs should be a dict or a list.")
        self.__init_handle_by_constructor__(
            _ffi_api.SearchTask,
            compute_dag,
            workload_key,
            target,
            target_host,
            hardware_params,
            int(layout_rewrite_option),
            names,
            desc,
        )

    def tune(self, tuning_options: TuningOptions, search_policy: Any = None, adaptive_training: bool = False) -> None:
        """Searches; what is measured goes to the callbacks of the options (RecordToFile)."""
        from .cost_model import XGBModel
        from .search_policy import SketchPolicy

        if search_policy is None:
            search_policy = SketchPolicy(
                self, XGBModel(adaptive_training=adaptive_training), verbose=tuning_options.verbose
            )
        _auto_schedule(search_policy, tuning_options)
        confirm_best([self], tuning_options.runner, tuning_options.measure_callbacks)

    def apply_best(
        self, log_file: str, include_compatible: bool = False, layout_rewrite_option: int | None = None
    ) -> tuple[Any, Any]:
        """The schedule of the best record for this task, and its arguments. Where that lost against the schedule rules when the search
        ended, it is their program, as a schedule without stages of its own."""
        inp, _ = load_best_record(log_file, self.workload_key, self.target, include_compatible)
        if inp is None:
            raise RuntimeError(f"Cannot find any valid schedule for {self.workload_key} in file {log_file}")
        if not include_compatible and (str(self.workload_key), str(self.target)) in left_to_rules(log_file):
            return schedule_by_rules(self)
        if layout_rewrite_option is None:
            layout_rewrite_option = LayoutRewriteOption.get_target_default(self.target)
        return self.compute_dag.apply_steps_from_state(inp.state, layout_rewrite_option)

    def print_best(self, log_file: str, print_mode: str = "schedule") -> str:
        """The best record as a program in Python ("schedule"), or the source of its kernel ("cuda")."""
        from ..driver import build

        inp, _ = load_best_record(log_file, self.workload_key, self.target)
        if inp is None:
            raise RuntimeError(f"Cannot find any valid schedule for {self.workload_key} in file {log_file}")
        if print_mode == "schedule":
            return self.compute_dag.print_python_code_from_state(inp.state)
        if print_mode == "cuda":
            assert self.target.kind.name == "cuda"
            sch, args = self.compute_dag.apply_steps_from_state(inp.state)
            return build(sch, args, self.target).imported_modules[0].get_source()
        raise ValueError(f"Invalid print_mode: {print_mode}")

    def __str__(self) -> str:
        return f"SearchTask({self.workload_key}, {self.target})"

    __repr__ = __str__


def _auto_schedule(search_policy: Any, tuning_options: TuningOptions) -> Any:
    measurer = ProgramMeasurer(
        tuning_options.builder, tuning_options.runner, tuning_options.measure_callbacks, tuning_options.verbose
    )
    return search_policy.search(
        tuning_options.num_measure_trials,
        tuning_options.early_stopping,
        tuning_options.num_measures_per_round,
        measurer,
    )


def create_task(func: Any, args: Any, target: Any, target_host: Any = None, hardware_params: Any = None) -> Any:
    """Gone since v0.8: call SearchTask(func=..., args=..., target=...)."""
    raise ValueError(
        'The API "auto_scheduler.create_task" is deprecated.'
        "See https://github.com/apache/tvm/pull/7028 for the upgrade guide: use SearchTask(func=func, args=args, target=target)"
    )


def auto_schedule(task: Any, search_policy: Any = None, tuning_options: Any = None) -> Any:
    """Gone since v0.8: call `task.tune(tuning_options)`, then `task.apply_best(log_file)`."""
    raise ValueError(
        'The API "auto_scheduler.create_task" is deprecated.'
        "See https://github.com/apache/tvm/pull/7028 for the upgrade guide: use task.tune(tuning_options)"
    )


def _rebuilt_state(task: SearchTask, state: StateObject) -> StateObject:
    """The state of a record with its stages."""
    return task.compute_dag.infer_bound_from_state(state).state_object


def _task_of_record(task: Any) -> SearchTask:
    """The task of a record with its DAG."""
    return SearchTask(
        workload_key=task.workload_key,
        target=task.target,
        target_host=task.target_host,
        hardware_params=task.hardware_params,
        layout_rewrite_option=task.layout_rewrite_option,
        task_inputs=list(task.task_input_names),
    )
