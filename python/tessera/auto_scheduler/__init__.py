"""Search without templates (Ansor): schedules are found from a computation alone, measured, recorded and applied."""

from . import (
    compute_dag,
    cost_model,
    dispatcher,
    feature,
    loop_state,
    measure,
    measure_record,
    relay_integration,
    search_policy,
    search_task,
    task_scheduler,
    utils,
    workload_registry,
)
from .compute_dag import ComputeDAG, LayoutRewriteOption, get_shape_from_rewritten_layout
from .cost_model import RandomModel, XGBModel
from .dispatcher import ApplyHistoryBest, ApplyHistoryBestOrSample, DispatchContext
from .measure import (
    LocalBuilder,
    LocalRPCMeasureContext,
    LocalRunner,
    MeasureInput,
    MeasureResult,
    RPCRunner,
    register_task_input_check_func,
)
from .measure_record import RecordReader, RecordToFile, load_best_record, load_records, save_records
from .relay_integration import (
    extract_tasks,
    is_auto_scheduler_enabled,
    remove_index_check,
    rewrite_compute_body,
    rewrite_tensor_shape,
)
from .search_policy import (
    EmptyPolicy,
    PreloadCustomSketchRule,
    PreloadMeasuredStates,
    SketchPolicy,
)
from .search_task import HardwareParams, SearchTask, TuningOptions, auto_schedule, create_task
from .task_scheduler import TaskScheduler
from .workload_registry import make_workload_key, register_workload

__all__ = [
    "ApplyHistoryBest",
    "ApplyHistoryBestOrSample",
    "ComputeDAG",
    "DispatchContext",
    "EmptyPolicy",
    "HardwareParams",
    "LayoutRewriteOption",
    "LocalBuilder",
    "LocalRPCMeasureContext",
    "LocalRunner",
    "MeasureInput",
    "MeasureResult",
    "PreloadCustomSketchRule",
    "PreloadMeasuredStates",
    "RPCRunner",
    "RandomModel",
    "RecordReader",
    "RecordToFile",
    "SearchTask",
    "SketchPolicy",
    "TaskScheduler",
    "TuningOptions",
    "XGBModel",
    "auto_schedule",
    "compute_dag",
    "cost_model",
    "create_task",
    "dispatcher",
    "extract_tasks",
    "feature",
    "get_shape_from_rewritten_layout",
    "is_auto_scheduler_enabled",
    "load_best_record",
    "load_records",
    "loop_state",
    "make_workload_key",
    "measure",
    "measure_record",
    "register_task_input_check_func",
    "register_workload",
    "relay_integration",
    "remove_index_check",
    "rewrite_compute_body",
    "rewrite_tensor_shape",
    "save_records",
    "search_policy",
    "search_task",
    "task_scheduler",
    "utils",
    "workload_registry",
]
