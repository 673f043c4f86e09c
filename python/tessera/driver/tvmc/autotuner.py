"""Tuning: `tune` searches around the plans of the schedule rules (src/tune) and gives a file that `compile` takes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ...target import Target
from .. import _ffi_api
from .exceptions import TVMCException, from_core
from .model import TVMCModel
from .target import target_from_cli

__all__ = [
    "TUNERS",
    "add_tune_parser",
    "autoscheduler_get_tuning_tasks",
    "autotvm_get_tuning_tasks",
    "drive_tune",
    "schedule_tasks",
    "tune_model",
    "tune_tasks",
]

#: Search methods of AutoTVM.
TUNERS = ("ga", "gridsearch", "random", "xgb", "xgb_knob", "xgb-rank")


def tune_model(
    tvmc_model: TVMCModel,
    target: Any,
    tuning_records: str | os.PathLike | None = None,
    prior_records: str | os.PathLike | None = None,
    enable_autoscheduler: bool = False,
    rpc_key: str | None = None,
    hostname: str | None = None,
    port: int | str = 9090,
    trials: int = 10000,
    target_host: Any = None,
    tuner: str = "xgb",
    min_repeat_ms: int | None = None,
    early_stopping: int | None = None,
    desired_layout: str | None = None,
    timeout: int = 10,
    repeat: int = 1,
    number: int = 10,
    parallel: int = 4,
    hardware_params: Any = None,
    include_simple_tasks: bool = False,
    log_estimated_latency: bool = False,
    additional_target_options: Mapping[str, Mapping[str, Any]] | None = None,
) -> str:
    """Looks for faster plans of a model's kernels by measuring them; returns the path of the records.

    Records are appended to `tuning_records`; `prior_records`, and what that file holds already, are where the search begins.
    `trials` counts candidates of the whole model. What is found is measured in turns with the rule's own plan, so that a tuned
    model is never slower. `tuner`, `enable_autoscheduler` and what goes with it choose nothing: there is one search.
    """
    if not isinstance(tvmc_model, TVMCModel):
        raise TVMCException(f"tune takes a TVMCModel, which `load` gives, not {type(tvmc_model).__name__}")
    with from_core():
        parsed, _ = target_from_cli(target, additional_target_options)
    if target_host is not None:
        target_from_cli(target_host)
    if tuner not in TUNERS:
        raise TVMCException(f'there is no tuner "{tuner}"; the tuners are {", ".join(TUNERS)}')
    if desired_layout not in (None, "NCHW", "NHWC"):
        raise TVMCException(f'desired_layout is "NCHW" or "NHWC", not "{desired_layout}"')
    counts = {"trials": trials, "timeout": timeout, "repeat": repeat, "number": number, "parallel": parallel}
    optional = {"min_repeat_ms": min_repeat_ms, "early_stopping": early_stopping}
    for name, value in [*counts.items(), *((n, v) for n, v in optional.items() if v is not None)]:
        least = 0 if name == "min_repeat_ms" else 1
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise TVMCException(f"{name} is a whole number from {least} on, not {value!r}")
    if prior_records is not None and not os.path.isfile(prior_records):
        raise TVMCException(f"there are no prior tuning records at {os.fspath(prior_records)}")
    if rpc_key and not hostname:
        raise TVMCException("rpc_key asks a tracker for a device: name the tracker too (hostname, port)")
    if hostname and not str(port).isdigit():
        raise TVMCException(f"the port of the tracker {hostname} is a number, not {port!r}")
    if hostname and not rpc_key:
        raise TVMCException(f"the tracker {hostname} lists devices by key: say which one (rpc_key)")
    output = os.fspath(tuning_records) if tuning_records is not None else tvmc_model.default_tuning_records_path()
    options = {
        "target": parsed,
        "desired_layout": desired_layout or "",
        "output": output,
        "earlier": [os.fspath(path) for path in (prior_records, output) if path is not None and os.path.isfile(path)],
        "trials": trials,
        "early_stopping": early_stopping or 0,
        "number": number,
        "repeat": repeat,
        "min_repeat_ms": min_repeat_ms or 0,
        "timeout": timeout,
        "parallel": parallel,
        "hostname": hostname or "",
        "rpc_key": rpc_key or "",
        "port": int(port),
    }
    with from_core():
        _ffi_api.tune_model(tvmc_model.mod, tvmc_model.params, options)
    return output


def autotvm_get_tuning_tasks(
    mod: Any, params: Any, target: Any, target_host: Any = None, alter_layout: str | None = None
) -> list[Any]:
    """The tasks of AutoTVM of a model, in another layout of convolutions where one is named."""
    from ... import autotvm
    from .transform import convert_graph_layout

    target = Target(target, target_host) if target_host is not None else Target(target)
    if alter_layout:
        mod = convert_graph_layout(mod, alter_layout)
    return autotvm.task.extract_from_program(mod["main"], params, target)


def autoscheduler_get_tuning_tasks(
    mod: Any,
    params: Any,
    target: Any,
    target_host: Any = None,
    alter_layout: str | None = None,
    hardware_params: Any = None,
    include_simple_tasks: bool = False,
) -> tuple[list[Any], list[int]]:
    """The tasks of the auto-scheduler of a model, and how often each is part of it."""
    from ... import auto_scheduler
    from .transform import convert_graph_layout

    target, target_host = Target.canon_target_and_host(target, target_host)
    if alter_layout:
        mod = convert_graph_layout(mod, alter_layout)
    return auto_scheduler.extract_tasks(
        mod["main"],
        params,
        target=target,
        target_host=target_host,
        hardware_params=hardware_params,
        include_simple_tasks=include_simple_tasks,
    )


def schedule_tasks(
    tasks: Sequence[Any],
    task_weights: Sequence[float],
    tuning_options: Any,
    prior_records: str | os.PathLike | None = None,
    log_estimated_latency: bool = False,
) -> None:
    """Searches for the tasks of `autoscheduler_get_tuning_tasks` together, the heavy ones more; the log of the estimated
    time of the whole model is `total_latency.tsv`."""
    from ... import auto_scheduler

    callbacks: list[Any] = [auto_scheduler.task_scheduler.PrintTableInfo()]
    if log_estimated_latency:
        callbacks.append(auto_scheduler.task_scheduler.LogEstimatedLatency("total_latency.tsv"))
    log = os.fspath(prior_records) if prior_records is not None else None
    auto_scheduler.TaskScheduler(tasks, task_weights, load_log_file=log, callbacks=callbacks).tune(tuning_options)


def tune_tasks(
    tasks: Sequence[Any],
    log_file: str | os.PathLike,
    measure_option: Any,
    tuner: str,
    trials: int,
    early_stopping: int | None = None,
    tuning_records: str | os.PathLike | None = None,
) -> None:
    """Tunes tasks of AutoTVM one after the other; their best records are appended to the log."""
    from ... import autotvm

    if not tasks:
        return
    for i, task in enumerate(tasks):
        search = _tuner_of(autotvm.tuner, tuner, task)
        if tuning_records and os.path.isfile(tuning_records):
            search.load_history(autotvm.record.load_from_file(os.fspath(tuning_records)))
        count = min(trials, len(task.config_space))
        prefix = f"[Task {i + 1:2d}/{len(tasks):2d}] "
        search.tune(
            n_trial=count,
            early_stopping=early_stopping,
            measure_option=measure_option,
            callbacks=[
                autotvm.callback.progress_bar(count, prefix=prefix),
                autotvm.callback.log_to_file(os.fspath(log_file)),
            ],
        )


def _tuner_of(tuners: Any, name: str, task: Any) -> Any:
    if name not in TUNERS:
        raise TVMCException(f'there is no tuner "{name}"; the tuners are {", ".join(TUNERS)}')
    if name.startswith("xgb"):
        return tuners.XGBTuner(task, loss_type="rank", **({"feature_type": "knob"} if name == "xgb_knob" else {}))
    if name == "ga":
        return tuners.GATuner(task, pop_size=50)
    return tuners.RandomTuner(task) if name == "random" else tuners.GridSearchTuner(task)


def drive_tune(args: Any) -> None:
    """Tunes the model that parsed arguments name."""
    from .frontends import load_model
    from .tracker import tracker_host_port_from_cli

    if not os.path.isfile(args.FILE):
        raise TVMCException(f"Input file '{args.FILE}' doesn't exist, is a broken symbolic link, or a directory.")
    model = load_model(args.FILE, getattr(args, "model_format", None), getattr(args, "input_shapes", None))
    hostname, port = tracker_host_port_from_cli(getattr(args, "rpc_tracker", None))
    given = {
        name: getattr(args, name)
        for name in ("trials", "tuner", "early_stopping", "timeout", "repeat", "number", "parallel", "min_repeat_ms")
        if getattr(args, name, None) is not None
    }
    tune_model(
        model,
        args.target,
        tuning_records=args.output,
        prior_records=getattr(args, "tuning_records", None),
        rpc_key=getattr(args, "rpc_key", None),
        hostname=hostname,
        port=port or 9090,
        desired_layout=getattr(args, "desired_layout", None),
        **given,
    )


def add_tune_parser(subparsers: Any, _: Any, json_params: list[dict[str, Any]]) -> None:
    """Adds the command `tune` to a program of one's own; what JSON says are the defaults of its flags."""
    from .commands import add_tune_parser as add

    add(subparsers, _, json_params)
