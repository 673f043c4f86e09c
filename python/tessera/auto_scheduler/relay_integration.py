"""Models: their kernels as tasks, and schedules that were found as those of their kernels."""

from __future__ import annotations

import logging
import threading
from typing import Any, ClassVar

from .. import _ffi
from .._ffi.registry import get_global_func
from ..autotvm.measure.models import Model
from ..ir import IRModule
from ..ir.transform import PassContext
from ..target import Target
from ..te import ComputeOp, PlaceholderOp, Tensor
from .compute_dag import ComputeDAG, LayoutRewriteOption
from .dispatcher import DispatchContext
from .search_task import SearchTask
from .utils import get_const_tuple
from .workload_registry import register_workload_tensors

__all__ = [
    "TracingEnvironment",
    "TracingMode",
    "auto_schedule_topi",
    "call_all_topi_funcs",
    "enter_layout_rewrite",
    "exit_layout_rewrite",
    "extract_tasks",
    "is_auto_scheduler_enabled",
    "remove_index_check",
    "rewrite_compute_body",
    "rewrite_tensor_shape",
    "te_compiler_update_weights",
    "traverse_to_get_io_tensors",
]

logger = logging.getLogger("auto_scheduler")


class TracingMode:
    """What is collected of a model."""

    EXTRACT_TASK = 0
    EXTRACT_COMPLEX_TASK_ONLY = 1
    PREPARE_LAYOUT_REWRITE = 2


class TracingEnvironment:
    """Collects the workloads of a model: their keys with what they are called and how often."""

    current: ClassVar[Any] = None

    def __init__(self, tracing_mode: int) -> None:
        self.tracing_mode = tracing_mode
        self.relay_disable_build_cache = "false"
        self.func_name_to_wkl_key: dict[str, str] = {}
        self.wkl_key_to_weight: dict[str, tuple[int, set[str]]] = {}
        self.wkl_key_to_input_names: dict[str, Any] = {}

    def __enter__(self) -> TracingEnvironment:
        TracingEnvironment.current = self
        return self

    def __exit__(self, *_: Any) -> None:
        TracingEnvironment.current = None

    def add_workload_key(self, func_name: str, workload_key: str) -> None:
        """Notes a workload."""
        self.func_name_to_wkl_key[func_name] = workload_key
        self.wkl_key_to_weight.setdefault(workload_key, (0, set()))

    def add_workload_input_names(self, workload_key: str, input_names: Any) -> None:
        """Notes inputs that have values of their own."""
        self.wkl_key_to_input_names[workload_key] = input_names


def call_all_topi_funcs(
    mod: IRModule, params: Any, target: Any, error_list: list[str], opt_level: int = 3
) -> list[tuple[str, list[Tensor], int]]:
    """The kernels of a model: name, tensors (none where they are not tensor expressions), number of calls."""
    from ..relay.build_module import optimize

    target = Target(target) if isinstance(target, str) else target
    with target, PassContext(opt_level=opt_level, config={"relay.backend.use_auto_scheduler": True}):
        try:
            optimized, _ = optimize(mod, target, params)
            found = get_global_func("auto_scheduler.KernelsToSearch")(optimized, target)
        except Exception as error:
            error_list.append(str(error))
            return []
    return [(str(name), list(tensors), int(count)) for name, tensors, count in found]


def extract_tasks(
    mod: Any,
    params: Any,
    target: Any,
    target_host: Any = None,
    hardware_params: Any = None,
    include_simple_tasks: bool = False,
    dump_workload_to_dag_log: str | None = None,
    opt_level: int = 3,
) -> tuple[list[SearchTask], list[int]]:
    """The tasks of a model, and how often each is part of it. Kernels that reduce nothing only on demand."""
    import json

    target, target_host = Target.canon_target_and_host(target, target_host)
    if not isinstance(mod, IRModule):
        mod = IRModule.from_expr(mod)
    mode = TracingMode.EXTRACT_TASK if include_simple_tasks else TracingMode.EXTRACT_COMPLEX_TASK_ONLY
    errors: list[str] = []
    dags: dict[str, ComputeDAG] = {}
    with TracingEnvironment(mode) as env:
        for name, tensors, count in call_all_topi_funcs(mod, params, target, errors, opt_level):
            if not tensors or not (include_simple_tasks or _has_reduction(tensors)):
                continue
            try:
                dag = ComputeDAG(tensors)
                key = dag.workload_key()
            except ValueError as error:  # no search over what is computed otherwise
                logger.info("%s is not searched: %s", name, error)
                continue
            dags.setdefault(key, dag)
            register_workload_tensors(key, tensors)
            env.add_workload_key(name, key)
            te_compiler_update_weights({name: count})
    if errors:
        raise RuntimeError("the model cannot be compiled: " + "; ".join(errors))
    tasks, weights = [], []
    model = Model(mod, params, target)
    for key, (weight, names) in env.wkl_key_to_weight.items():
        tasks.append(
            SearchTask(
                compute_dag=dags[key],
                workload_key=key,
                target=target,
                target_host=target_host,
                hardware_params=hardware_params,
                layout_rewrite_option=LayoutRewriteOption.NO_REWRITE,
                task_inputs=env.wkl_key_to_input_names.get(key),
                task_inputs_save_to_file=True,
                desc=",".join(sorted(names)),
            )
        )
        tasks[-1]._model = model
        weights.append(int(weight))
    if dump_workload_to_dag_log is not None:
        with open(dump_workload_to_dag_log, "w", encoding="utf-8") as file:
            json.dump({task.workload_key: str(task.compute_dag) for task in tasks}, file)
    return tasks, weights


def te_compiler_update_weights(function_weights: Any) -> None:
    """Adds how often kernels are called to the workloads that are being collected."""
    env = TracingEnvironment.current
    if env is None:
        return
    for name, weight in dict(function_weights.items()).items():
        key = env.func_name_to_wkl_key.get(str(name))
        if key is None:
            continue
        old, names = env.wkl_key_to_weight[key]
        names.add(str(name))
        env.wkl_key_to_weight[key] = (old + int(weight), names)


_layout_rewrite = threading.local()


def enter_layout_rewrite() -> None:
    """Tensors are collected for a rewrite of layouts until `exit_layout_rewrite`."""
    env = TracingEnvironment(TracingMode.PREPARE_LAYOUT_REWRITE)
    env.__enter__()
    _layout_rewrite.env = env


def exit_layout_rewrite() -> None:
    """Ends what `enter_layout_rewrite` began."""
    env = getattr(_layout_rewrite, "env", None)
    if env is not None:
        env.__exit__(None, None, None)
        _layout_rewrite.env = None


def traverse_to_get_io_tensors(outs: Any) -> tuple[list[Tensor], bool, bool]:
    """Inputs and outputs of a computation, whether some operand has a free layout, and whether something is reduced.

    No tensors where some extent is not a constant.
    """
    has_layout_free, has_reduction, is_static = False, False, True
    inputs: list[Tensor] = []
    outs = list(outs)
    seen: set[Any] = set()
    pending = outs[::-1]
    while pending:
        tensor = pending.pop()
        if tensor.op in seen:
            continue
        seen.add(tensor.op)
        try:
            get_const_tuple(tensor.shape)
        except ValueError:
            is_static = False
        if isinstance(tensor.op, PlaceholderOp):
            inputs.append(tensor)
        elif isinstance(tensor.op, ComputeOp):
            has_layout_free = has_layout_free or "layout_free_placeholders" in tensor.op.attrs
            has_reduction = has_reduction or len(tensor.op.reduce_axis) > 0
        pending.extend(list(tensor.op.input_tensors)[::-1])
    if not is_static:
        return [], False, False
    return inputs + [out for out in outs if not isinstance(out.op, PlaceholderOp)], has_layout_free, has_reduction


def _has_reduction(tensors: list[Tensor]) -> bool:
    return traverse_to_get_io_tensors(tensors)[2]


def _schedule_of(func_name: str, tensors: list[Tensor], target: Any) -> Any:
    try:
        dag = ComputeDAG(tensors)
        key = dag.workload_key()
    except ValueError:  # dynamic, or not computed by tensor expressions: such kernels are never searched
        return None
    state = DispatchContext.current.query(target, key, _has_reduction(tensors), dag, func_name)
    if state is None:
        return None
    schedule, _ = dag.apply_steps_from_state(state, LayoutRewriteOption.NO_REWRITE)
    return schedule


@_ffi.register_func("auto_scheduler.relay_integration.auto_schedule_topi_compute", override=True)
def _auto_schedule_kernel(func_name: Any, tensors: Any, target: Any) -> Any:
    """The schedule of a kernel by the context in force; None where it has none."""
    return _schedule_of(str(func_name), list(tensors), target)


def auto_schedule_topi(func_name: str, outs: Any) -> Any:
    """The schedule of a computation by the context in force; None where it has none."""
    tensors, _, _ = traverse_to_get_io_tensors(outs)
    return _schedule_of(func_name, tensors, Target.current()) if tensors else None


def is_auto_scheduler_enabled() -> bool:
    """Whether the pass context in force asks for schedules of the auto-scheduler."""
    return bool(PassContext.current().config.get("relay.backend.use_auto_scheduler", False)) or bool(
        PassContext.current().config.get("relay.backend.use_meta_schedule", False)
    )


# ---- tensors of another shape ---------------------------------------------------------------------------------------


def tensor_no_check_call(self: Tensor, *indices: Any) -> Any:
    """An element of a tensor by any number of indices."""
    from ..tir import expr

    return expr.ProducerLoad(self, [index.var if hasattr(index, "var") else index for index in indices])


def remove_index_check(tensor: Tensor) -> None:
    """Lets a placeholder be read by any number of indices: its shape will be another one."""
    _ffi_rewrite("RemoveIndexCheck")


def rewrite_tensor_shape(tensor: Tensor, shape: Any) -> None:
    """Gives a placeholder another shape."""
    _ffi_rewrite("RewriteTensorShape")


def rewrite_compute_body(compute_tensor: Tensor, new_layout: str) -> Tensor:
    """A computation that reads an operand in another layout."""
    return _ffi_rewrite("RewriteComputeBody")


def _ffi_rewrite(name: str) -> Any:
    raise NotImplementedError(
        f"{name}: tensors do not change here; constants of models keep their layout, and ComputeDAG.rewrite_layout_from_state "
        "gives computations over operands in other layouts"
    )
