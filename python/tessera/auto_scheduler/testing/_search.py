"""What the three programs share: their words, and a search whose result is measured."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ... import auto_scheduler, relay
from ...ir.transform import PassContext
from ...meta_schedule.testing.tune_utils import create_timer, generate_input_data
from ...runtime import cpu
from ...target import Target

__all__ = ["flag", "options", "parser", "shapes_of", "tune_model"]


def flag(text: str) -> bool:
    """A word for yes or no."""
    if text.lower() in ("1", "true", "yes", "y"):
        return True
    if text.lower() in ("0", "false", "no", "n"):
        return False
    raise argparse.ArgumentTypeError(f"{text} is neither true nor false")


def parser(description: str) -> argparse.ArgumentParser:
    """The words that all three take."""
    out = argparse.ArgumentParser(description=description)
    out.add_argument("--target", type=Target, required=True)
    out.add_argument("--num-trials", type=int, required=True)
    out.add_argument("--work-dir", type=Path, required=True, help="folder for the log")
    out.add_argument("--rpc-host", help="of a tracker; candidates run on this machine without one")
    out.add_argument("--rpc-port", type=int, default=9190)
    out.add_argument("--rpc-key")
    out.add_argument("--number", type=int, default=3)
    out.add_argument("--repeat", type=int, default=1)
    out.add_argument("--min-repeat-ms", type=int, default=100)
    out.add_argument("--adaptive-training", type=flag, default=True)
    out.add_argument("--cpu-flush", type=flag, default=False)
    out.add_argument("--backend", choices=["graph", "vm"], default="graph")
    return out


def options(args: argparse.Namespace, log: Path) -> Any:
    """How a search measures; `--cpu-flush` is rejected by the runner where it has no such thing."""
    timing = {
        "number": args.number,
        "repeat": args.repeat,
        "min_repeat_ms": args.min_repeat_ms,
        "enable_cpu_cache_flush": args.cpu_flush,
    }
    runner: Any
    if args.rpc_host:
        runner = auto_scheduler.RPCRunner(key=args.rpc_key, host=args.rpc_host, port=args.rpc_port, **timing)
    else:
        runner = auto_scheduler.LocalRunner(**timing)
    return auto_scheduler.TuningOptions(
        num_measure_trials=args.num_trials,
        runner=runner,
        measure_callbacks=[auto_scheduler.RecordToFile(str(log))],
    )


def shapes_of(text: str) -> list[dict[str, Any]]:
    """Inputs as JSON: [{"name": "x", "dtype": "float32", "shape": [1, 3, 224, 224]}]."""
    try:
        return [
            {"name": str(each["name"]), "dtype": str(each["dtype"]), "shape": [int(n) for n in each["shape"]]}
            for each in json.loads(text)
        ]
    except (ValueError, TypeError, KeyError) as error:
        raise argparse.ArgumentTypeError(
            f"a list of objects with name, dtype and shape is wanted: {error!r}"
        ) from error


def tune_model(
    mod: Any, params: Any, inputs: Sequence[dict[str, Any]], args: argparse.Namespace, log: Path
) -> list[float]:
    """Tunes the tasks of a model, compiles it with what was found, and gives the seconds of its runs (on this machine)."""
    tasks, weights = auto_scheduler.extract_tasks(mod["main"], params, args.target)
    progress = [
        auto_scheduler.task_scheduler.PrintTableInfo(),
        auto_scheduler.task_scheduler.LogEstimatedLatency(str(log.with_name("total_latency.tsv"))),
    ]
    scheduler = auto_scheduler.TaskScheduler(tasks, weights, callbacks=progress)
    scheduler.tune(options(args, log), adaptive_training=args.adaptive_training)
    best = auto_scheduler.ApplyHistoryBest(str(log) if log.exists() else None)
    with best, PassContext(opt_level=3, config={"relay.backend.use_auto_scheduler": True}):
        build = relay.build if args.backend == "graph" else relay.vm.compile
        library = build(mod, target=args.target, params=params)
    if args.rpc_host:
        return []
    values = {each["name"]: generate_input_data(each["shape"], each["dtype"]) for each in inputs}
    return list(create_timer(args.backend)(library, cpu(), values) or [])
