"""Tuning. Everything that `tune` takes is checked; the tuners themselves are not there yet."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .exceptions import TVMCException
from .model import TVMCModel
from .target import target_from_cli

__all__ = ["TUNERS", "add_tune_parser", "tune_model"]

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
    """Looks for better schedules of a model's kernels; returns the path of the records.

    Not there yet: after a look at what is given this is a TVMCException. Models are compiled by the built-in rules.
    """
    if not isinstance(tvmc_model, TVMCModel):
        raise TVMCException(f"tune takes a TVMCModel, which `load` gives, not {type(tvmc_model).__name__}")
    target_from_cli(target, additional_target_options)
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
    raise TVMCException(
        "tuning is not there yet. Compile without tuning records: "
        "tvmc.compile(model, target) chooses schedules by the built-in rules"
    )


def add_tune_parser(subparsers: Any, _: Any, json_params: list[dict[str, Any]]) -> None:
    """Adds the command `tune` to a program of one's own; what JSON says are the defaults of its flags."""
    from .commands import add_tune_parser as add

    add(subparsers, _, json_params)
