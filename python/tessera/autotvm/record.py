"""Records of measurements: one JSON object a line, as v0.10 writes them. They are data only: nothing in them is run."""

from __future__ import annotations

import fcntl
import json
import logging
import os
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..target import Target
from .measure import MeasureErrorNo, MeasureInput, MeasureResult
from .task import ApplyHistoryBest, ConfigEntity, Task, args_to_workload

__all__ = [
    "ApplyHistoryBest",
    "append_records",
    "decode",
    "encode",
    "load_from_buffer",
    "load_from_file",
    "measure_str_key",
    "pick_best",
    "split_workload",
]

AUTOTVM_LOG_VERSION = 0.2
_FAILED = (1e9,)

logger = logging.getLogger("autotvm")


def _listed(value: Any) -> Any:
    return [_listed(each) for each in value] if isinstance(value, (tuple, list)) else value


def _tupled(value: Any) -> Any:
    return tuple(_tupled(each) for each in value) if isinstance(value, list) else value


def measure_str_key(inp: MeasureInput, include_config: bool = True) -> str:
    """A text that tells inputs apart."""
    config = str(inp.config) if include_config else ""
    return f"{inp.target}{inp.task.name}{inp.task.args}{inp.task.kwargs}{config}"


def encode(inp: MeasureInput, result: MeasureResult, protocol: str = "json") -> str:
    """The line of a record."""
    from .. import __version__

    if protocol != "json":
        raise RuntimeError(f"Invalid log protocol: {protocol}; records are JSON, pickles would run code")
    costs = result.costs if result.error_no == 0 else _FAILED
    row = {
        "input": [str(inp.target), inp.task.name, _listed(inp.task.args), inp.task.kwargs],
        "config": inp.config.to_json_dict(),
        "result": [[float(c) for c in costs], int(result.error_no), float(result.all_cost), float(result.timestamp)],
        "version": AUTOTVM_LOG_VERSION,
        "tvm_version": __version__,
    }
    return json.dumps(row)


def decode(row: str, protocol: str = "json") -> tuple[MeasureInput, MeasureResult] | None:
    """The record of a line; None for a line of an older format. What is no record is an error."""
    if protocol != "json":
        raise RuntimeError(f"Invalid log protocol: {protocol}; records are JSON, pickles would run code")
    data = json.loads(row)
    if "v" in data and data["v"] == 0.1:
        return None
    target_text, name, args, kwargs = data["input"]
    target = Target(str(target_text))
    task = Task(str(name), _tupled(args))
    task.kwargs = dict(kwargs)
    task.target = target
    task.workload = args_to_workload(task.args, task.name)
    costs, error_no, all_cost, timestamp = data["result"]
    result = MeasureResult(
        tuple(float(c) for c in costs), MeasureErrorNo(int(error_no)), float(all_cost), float(timestamp)
    )
    return MeasureInput(target, task, ConfigEntity.from_json_dict(data["config"])), result


def load_from_buffer(file: Any) -> Iterator[tuple[MeasureInput, MeasureResult]]:
    """Records of an open file. Lines that are none are reported by number and left out."""
    name = getattr(file, "name", "the records")
    for number, line in enumerate(file, 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            record = decode(line)
        except Exception as error:
            logger.warning("%s:%d: no record, left out: %s: %s", name, number, type(error).__name__, error)
            continue
        if record is not None:
            yield record


def load_from_file(filepath: Any) -> Iterator[tuple[MeasureInput, MeasureResult]]:
    """Records of a file."""
    with open(filepath, errors="replace") as file:
        yield from load_from_buffer(file)


def append_records(path: Any, lines: list[str]) -> None:
    """Adds lines in one write; one that a killed program left half written is ended first, so that it stays one."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        size = os.fstat(descriptor).st_size
        is_broken = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        os.write(descriptor, (("\n" if is_broken else "") + "".join(line + "\n" for line in lines)).encode())
    finally:
        os.close(descriptor)


def pick_best(in_file: Any, out_file: Any) -> None:
    """Writes the fastest record of each task into another file."""
    records = load_from_file(in_file) if isinstance(in_file, (str, os.PathLike)) else load_from_buffer(in_file)
    best: OrderedDict[str, Any] = OrderedDict()
    for inp, result in records:
        key = measure_str_key(inp, False)
        if result.error_no == 0 and (key not in best or np.mean(result.costs) < np.mean(best[key][1].costs)):
            best[key] = (inp, result)
    text = "".join(encode(*record) + "\n" for record in best.values())
    if hasattr(out_file, "write"):
        out_file.write(text)
    else:
        with open(out_file, "w") as file:
            file.write(text)


def split_workload(in_file: str, clean: bool = True) -> None:
    """Writes the records of each task into a file of its own, behind whose name its number stands."""
    groups: OrderedDict[str, list[Any]] = OrderedDict()
    for inp, result in load_from_file(in_file):
        groups.setdefault(measure_str_key(inp, False), []).append((inp, result))
    for number, records in enumerate(groups.values()):
        kept = [record for record in records if record[1].error_no == 0] if clean else records
        with open(f"{in_file}.{number:03d}.wkl", "w") as file:
            file.writelines(encode(*record) + "\n" for record in kept)
