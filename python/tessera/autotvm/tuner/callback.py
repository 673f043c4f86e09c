"""Functions that a tuner calls after each batch: `f(tuner, inputs, results)`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..record import append_records, encode

__all__ = ["Monitor", "log_to_database", "log_to_file", "progress_bar"]

_PREFIXES = {"T": 1e12, "G": 1e9, "M": 1e6, "K": 1e3, "": 1.0}


def log_to_file(file_out: Any, protocol: str = "json") -> Callable:
    """Appends records to a file: all of a batch in one write, so that no line is half written."""

    def write(tuner: Any, inputs: Any, results: Any) -> None:
        del tuner
        lines = [encode(inp, result, protocol) for inp, result in zip(inputs, results)]
        if hasattr(file_out, "write"):
            file_out.write("".join(line + "\n" for line in lines))
        else:
            append_records(file_out, lines)

    write.log_file = None if hasattr(file_out, "write") else os.fspath(file_out)  # type: ignore[attr-defined]
    return write


def log_to_database(db: Any) -> Callable:
    """Gives records to a database."""

    def save(tuner: Any, inputs: Any, results: Any) -> None:
        del tuner
        for inp, result in zip(inputs, results):
            db.save(inp, result)

    return save


class Monitor:
    """Collects the FLOPS of all trials and when they were."""

    def __init__(self) -> None:
        self.scores: list[float] = []
        self.timestamps: list[float] = []

    def __call__(self, tuner: Any, inputs: Any, results: Any) -> None:
        for inp, result in zip(inputs, results):
            self.scores.append(float(inp.task.flop / np.mean(result.costs)) if result.error_no == 0 else 0.0)
            self.timestamps.append(result.timestamp)

    def reset(self) -> None:
        """Forgets them."""
        self.scores, self.timestamps = [], []

    def trial_scores(self) -> np.ndarray:
        """FLOPS, trial by trial."""
        return np.array(self.scores)

    def trial_timestamps(self) -> np.ndarray:
        """When they were measured."""
        return np.array(self.timestamps)


def progress_bar(total: int, prefix: str = "", si_prefix: str = "G") -> Callable:
    """One line on standard error: the last and the best FLOPS, trials, and the time taken."""
    if si_prefix not in _PREFIXES:
        raise ValueError(f"si_prefix is one of T, G, M, K, not {si_prefix}")
    scale, start = _PREFIXES[si_prefix], time.time()
    state = {"done": 0, "best": 0.0}

    def show(tuner: Any, inputs: Any, results: Any) -> None:
        del tuner
        last = 0.0
        for inp, result in zip(inputs, results):
            last = float(inp.task.flop / np.mean(result.costs)) if result.error_no == 0 else 0.0
            state["best"] = max(state["best"], last)
        state["done"] += len(inputs)
        unit = f"{si_prefix}FLOPS"
        sys.stderr.write(
            f"\r{prefix} Current/Best: {last / scale:7.2f}/{state['best'] / scale:7.2f} {unit} | "
            f"Progress: ({state['done']}/{total}) | {time.time() - start:.2f} s"
        )
        if state["done"] >= total:
            sys.stderr.write(" Done.\n")
        sys.stderr.flush()

    return show
