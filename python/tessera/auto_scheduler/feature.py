"""Features of programs, 164 numbers for each tensor that is stored; what cost models learn from."""

from __future__ import annotations

import functools
import struct
from typing import Any

import numpy as np

from . import _ffi_api
from .loop_state import StateObject
from .measure import MeasureErrorNo, _mean_cost, recover_measure_input
from .measure_record import RecordReader

__all__ = [
    "features_from_modules",
    "features_from_primfunc",
    "get_per_store_feature_names",
    "get_per_store_features_from_file",
    "get_per_store_features_from_measure_pairs",
    "get_per_store_features_from_states",
    "named_features_from_primfunc",
    "unpack_feature",
]

#: Buffers of a store that have features, where nothing else is said.
DEFAULT_MAX_N_BUFS = 5

#: What stands for a program that has no features.
DEFAULT_FEATURE_VEC_LEN = 164

SIZE_OF_INT32 = 4
SIZE_OF_FLOAT32 = 4


@functools.lru_cache
def _width(max_n_bufs: int) -> int:
    return len(get_per_store_feature_names(max_n_bufs))


def _rows(data: Any, max_n_bufs: int) -> np.ndarray:
    width = _width(max_n_bufs)
    values = np.frombuffer(bytes(data), dtype=np.float32)
    return values.reshape(-1, width) if values.size else np.zeros((1, width), dtype=np.float32)


def unpack_feature(byte_arr: Any) -> tuple[Any, Any, Any]:
    """Features, costs and task numbers from v0.10's bytes: counts first, then for each state its rows, costs, numbers."""
    data = bytes(byte_arr)
    (n,) = struct.unpack_from("1i", data, 0)
    if n < 0 or (n + 3) * SIZE_OF_INT32 > len(data):
        raise ValueError("these bytes hold no features")
    sizes = struct.unpack_from(f"{n + 2}i", data, SIZE_OF_INT32)
    offset = (n + 3) * SIZE_OF_INT32
    features: list[Any] = []
    for size in sizes[:-2]:
        if size < 0 or offset + size * SIZE_OF_FLOAT32 > len(data):
            raise ValueError("these bytes hold fewer features than they say")
        if size <= 1:
            features.append(np.zeros((1, DEFAULT_FEATURE_VEC_LEN), dtype=np.float32))
        else:
            (count,) = struct.unpack_from("f", data, offset)
            values = np.frombuffer(data, np.float32, size - 1, offset + SIZE_OF_FLOAT32)
            features.append(values.reshape(int(count + 0.5), -1))
        offset += size * SIZE_OF_FLOAT32
    costs = struct.unpack_from(f"{sizes[-2]}f", data, offset)
    offset += sizes[-2] * SIZE_OF_FLOAT32
    task_ids = struct.unpack_from(f"{sizes[-1]}i", data, offset)
    return np.array(features, dtype=object), np.array(costs), np.array(task_ids)


def get_per_store_feature_names(max_n_bufs: int | None = None) -> list[str]:
    """The name of each number of a row."""
    return [str(name) for name in _ffi_api.FeatureNames(max_n_bufs or DEFAULT_MAX_N_BUFS)]


def get_per_store_features_from_states(states: Any, task: Any, max_n_bufs: int | None = None) -> np.ndarray:
    """For each state a matrix, a row for each store; a row of zeros for one that cannot be lowered."""
    objects = [each if isinstance(each, StateObject) else each.state_object for each in states]
    count = max_n_bufs or DEFAULT_MAX_N_BUFS
    rows = _ffi_api.FeaturesOfStates(task, objects, count)
    out = np.empty(len(objects), dtype=object)
    for i, each in enumerate(rows):
        out[i] = _rows(each, count)
    return out


def get_per_store_features_from_measure_pairs(
    inputs: Any, results: Any, skip_first_n_feature_extraction: int = 0, max_n_bufs: int | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features of measured states, their throughput within their task (1 is the best), and the number of each one's task."""
    tasks: dict[tuple[str, str], tuple[int, Any]] = {}
    features = np.empty(len(inputs), dtype=object)
    costs, numbers = np.zeros(len(inputs)), np.zeros(len(inputs), dtype=int)
    empty = np.zeros((1, len(get_per_store_feature_names(max_n_bufs))), dtype=np.float32)
    groups: dict[int, list[int]] = {}
    for i, (inp, result) in enumerate(zip(inputs, results)):
        key = (str(inp.task.workload_key), str(inp.task.target))
        if key not in tasks:
            task = inp.task if inp.task.compute_dag is not None else recover_measure_input(inp).task
            tasks[key] = (len(tasks), task)
        numbers[i] = tasks[key][0]
        features[i] = empty
        costs[i] = _mean_cost(result) if result.error_no == MeasureErrorNo.NO_ERROR else 1e10
        if result.error_no == MeasureErrorNo.NO_ERROR and i >= skip_first_n_feature_extraction:
            groups.setdefault(int(numbers[i]), []).append(i)
    by_number = dict(tasks.values())
    for number, members in groups.items():
        states = [inputs[i].state for i in members]
        for i, rows in zip(members, get_per_store_features_from_states(states, by_number[number], max_n_bufs)):
            features[i] = rows
    throughputs = np.zeros(len(inputs), dtype=np.float32)
    for number in by_number:
        own = numbers == number
        throughputs[own] = costs[own].min() / costs[own]
    return features, throughputs, numbers


def get_per_store_features_from_file(
    filename: str, max_lines: int, max_n_bufs: int | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same of the records of a file."""
    inputs, results = RecordReader(filename).read_lines(max_lines=max_lines if max_lines >= 0 else None)
    return get_per_store_features_from_measure_pairs(inputs, results, max_n_bufs=max_n_bufs)


def features_from_primfunc(
    func: Any, cache_line_bytes: int = 64, max_n_bufs: int | None = None, log_scale: bool = False
) -> np.ndarray | None:
    """The rows of a function, one for each buffer that it stores into; None where it stores nothing."""
    count = max_n_bufs or DEFAULT_MAX_N_BUFS
    data = bytes(_ffi_api.FeaturesOfPrimFunc(func, cache_line_bytes, count, log_scale))
    return _rows(data, count) if data else None


def features_from_modules(
    modules: Any, cache_line_bytes: int = 64, max_n_bufs: int | None = None, log_scale: bool = False
) -> list[np.ndarray]:
    """For each module of functions of blocks a matrix, a row for each store; a row of zeros for one that cannot be lowered."""
    count = max_n_bufs or DEFAULT_MAX_N_BUFS
    return [_rows(each, count) for each in _ffi_api.FeaturesOfModules(modules, cache_line_bytes, count, log_scale)]


def named_features_from_primfunc(
    func: Any, cache_line_bytes: int = 64, max_n_bufs: int | None = None, log_scale: bool = False
) -> dict[str, np.ndarray] | None:
    """The columns of these rows by name."""
    rows = features_from_primfunc(func, cache_line_bytes, max_n_bufs, log_scale)
    if rows is None:
        return None
    return {name: rows[:, i] for i, name in enumerate(get_per_store_feature_names(max_n_bufs))}
