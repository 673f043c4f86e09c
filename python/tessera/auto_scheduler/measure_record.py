"""Records of what was measured: one JSON object a line (v0.10's version v0.6)."""

from __future__ import annotations

import argparse
import itertools
import logging
import os
from collections.abc import Iterator
from typing import Any

from ..target import Target
from . import _ffi_api
from .measure import MeasureCallback, MeasureErrorNo, MeasureInput, MeasureResult, _mean_cost
from .utils import calc_workload_dis_factor, decode_workload_key

__all__ = [
    "RecordReader",
    "RecordToFile",
    "distill_record_file",
    "dump_record_to_string",
    "load_best_record",
    "load_record_from_string",
    "load_records",
    "save_records",
]

logger = logging.getLogger("auto_scheduler")


class RecordToFile(MeasureCallback):
    """Appends what is measured to a file: whole lines in one write each time, so that an interrupted search goes on from it."""

    def __init__(self, filename: str) -> None:
        self.filename = os.fspath(filename)
        folder = os.path.dirname(os.path.abspath(self.filename))
        os.makedirs(folder, exist_ok=True)

    def callback(self, policy: Any, inputs: Any, results: Any) -> None:
        """Appends a batch."""
        del policy
        _ffi_api.AppendRecords(self.filename, list(inputs), list(results))


class RecordReader:
    """Reads a file of records. A line that cannot be read, or that a newer version wrote, is reported by its number and left out."""

    def __init__(self, filename: str) -> None:
        if not os.path.exists(filename):
            logger.warning("%s does not exist!", filename)
        self.filename = os.fspath(filename)

    def check_workload_key(self, inputs: Any) -> None:
        """Warns of keys whose workload is not registered."""
        from .workload_registry import workload_key_to_tensors

        for key in {str(inp.task.workload_key) for inp in inputs}:
            try:
                workload_key_to_tensors(key)
            except ValueError:
                logger.warning("the workload %s of %s is not registered", key, self.filename)

    def read_lines(self, max_lines: int | None = None, skip_lines: int = 0) -> tuple[list[Any], list[Any]]:
        """Inputs and results of the records, at most so many, after those to skip."""
        records = itertools.islice(iter(self), skip_lines, None if max_lines is None else skip_lines + max_lines)
        inputs, results = [], []
        for inp, result in records:
            inputs.append(inp)
            results.append(result)
        return inputs, results

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        if not os.path.exists(self.filename):
            return
        with open(self.filename, encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                if not line.strip() or line.startswith(("#", " ")):
                    continue
                try:
                    record = load_record_from_string(line)
                except Exception as error:
                    reason = str(error).strip().splitlines()
                    logger.warning("%s:%d: not a record: %s", self.filename, number, reason[-1] if reason else error)
                    continue
                yield record


def load_record_from_string(record: str) -> tuple[MeasureInput, MeasureResult]:
    """What a line says. The task has no DAG, and the state no stages: see `recover_measure_input`."""
    inp, result = _ffi_api.DeserializeRecord(record)
    return inp, result


def dump_record_to_string(inp: MeasureInput, res: MeasureResult) -> str:
    """A record as a line."""
    return str(_ffi_api.SerializeRecord(inp, res))


def load_records(filename: str) -> Iterator[tuple[MeasureInput, MeasureResult]]:
    """All records of a file."""
    return zip(*RecordReader(filename).read_lines())


def save_records(filename: str, inputs: Any, results: Any) -> None:
    """Appends records to a file."""
    folder = os.path.dirname(os.path.abspath(filename))
    os.makedirs(folder, exist_ok=True)
    _ffi_api.AppendRecords(os.fspath(filename), list(inputs), list(results))


def load_best_record(
    filename: str, workload_key: str | None = None, target: Any = None, include_compatible: bool = False
) -> tuple[Any, Any]:
    """The fastest record of a workload on a target; (None, None) where there is none.

    With `include_compatible`, records of the same workload with smaller shapes serve too, their times scaled.
    """
    best_cost, best = 1e30, (None, None)
    wanted = decode_workload_key(workload_key) if workload_key else None
    target = Target(target) if isinstance(target, str) else target
    for inp, result in RecordReader(filename):
        if result.error_no != MeasureErrorNo.NO_ERROR:
            continue
        if target is not None and inp.task.target.kind.name != target.kind.name:
            continue
        factor = 1.0
        if wanted is not None and str(inp.task.workload_key) != workload_key:
            factor = calc_workload_dis_factor(wanted, decode_workload_key(str(inp.task.workload_key)))
            if not include_compatible or factor == float("inf"):
                continue
        cost = _mean_cost(result) * factor
        if cost < best_cost:
            best_cost, best = cost, (inp, result)
    return best


def distill_record_file(in_file: str, out_file: str) -> None:
    """Writes the best record of each workload and target of a file into another."""
    best: dict[tuple[str, str], tuple[float, Any, Any]] = {}
    for inp, result in RecordReader(in_file):
        if result.error_no != MeasureErrorNo.NO_ERROR:
            continue
        key = (str(inp.task.workload_key), str(inp.task.target))
        cost = _mean_cost(result)
        if key not in best or cost < best[key][0]:
            best[key] = (cost, inp, result)
    temporary = f"{out_file}.{os.getpid()}.part"
    open(temporary, "w", encoding="utf-8").close()
    save_records(temporary, [inp for _, inp, _ in best.values()], [result for _, _, result in best.values()])
    os.replace(temporary, out_file)
    logger.info("Extract %d best records from %s to %s", len(best), in_file, out_file)


def main() -> None:
    """`python -m tvm.auto_scheduler.measure_record --mode distill -i FILE -o FILE`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=["distill"], required=True)
    parser.add_argument("-i", "--input", "--i", dest="i", type=str, required=True, help="input file")
    parser.add_argument("-o", "--output", "--o", dest="o", type=str, default=None, help="output file")
    args = parser.parse_args()
    logging.basicConfig()
    logger.setLevel(logging.INFO)
    distill_record_file(args.i, args.o or args.i + ".best.json")


if __name__ == "__main__":
    main()
