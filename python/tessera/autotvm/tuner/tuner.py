"""What all tuners share: batches are asked for, measured, told."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..env import GLOBAL_SCOPE
from ..measure import MeasureInput
from ..measure.measure import prepare
from .confirm import confirm_best

__all__ = ["Tuner"]

logger = logging.getLogger("autotvm")

_BATCHES_BUILT = 4  # at once: while the last candidate, which may take a hundred times as long as others, is built, only one core has work


class Tuner:
    """Asks for configurations of a task and keeps the best."""

    def __init__(self, task: Any, **kwargs: Any) -> None:
        self.param = kwargs
        self.task = task
        self.best_config: Any = None
        self.best_flops = 0.0
        self.best_measure_pair: Any = None
        self.best_iter = 0
        self.error_ct_threshold = 150
        self.n_trial: int | None = None
        self.early_stopping: float | None = None

    def has_next(self) -> bool:
        """True while there are configurations that were not measured."""
        raise NotImplementedError

    def next_batch(self, batch_size: int) -> list[Any]:
        """Configurations to measure."""
        raise NotImplementedError

    def update(self, inputs: Any, results: Any) -> None:
        """Tells what came of them."""

    def tune(
        self,
        n_trial: int,
        measure_option: dict[str, Any],
        early_stopping: float | None = None,
        callbacks: Sequence[Callable] = (),
        si_prefix: str = "G",
    ) -> None:
        """Measures `n_trial` configurations, or fewer: it stops `early_stopping` trials after the best one."""
        del si_prefix
        builder, runner = prepare(self.task, measure_option)
        n_trial = min(n_trial, len(self.task.config_space))
        batch_size = max(builder.n_parallel or 8, 1)
        self.n_trial, self.early_stopping = n_trial, early_stopping
        limit = early_stopping if early_stopping is not None else 1e9
        was_tuning, GLOBAL_SCOPE.in_tuning = GLOBAL_SCOPE.in_tuning, True
        done = errors = 0
        waiting: list[tuple[MeasureInput, Any]] = []  # with what was built
        try:
            while waiting or (done < n_trial and self.has_next()):
                if not waiting:
                    configs = self.next_batch(min(_BATCHES_BUILT * batch_size, n_trial - done))
                    inputs = [MeasureInput(self.task.target, self.task, config) for config in configs]
                    waiting = list(zip(inputs, builder.build(inputs)))
                batch, waiting = waiting[:batch_size], waiting[batch_size:]
                inputs = [inp for inp, _ in batch]
                results = runner.run(inputs, [built for _, built in batch])
                for number, (inp, result) in enumerate(zip(inputs, results)):
                    errors = 0 if result.error_no == 0 else errors + 1
                    flops = self.task.flop / np.mean(result.costs) if result.error_no == 0 else 0.0
                    if flops > self.best_flops:
                        self.best_flops, self.best_config = flops, inp.config
                        self.best_measure_pair, self.best_iter = (inp, result), done + number
                done += len(results)
                self.update(inputs, results)
                for each in callbacks:
                    each(self, inputs, results)
                if done > self.best_iter + limit:
                    logger.debug("Early stopped. Best iter: %d.", self.best_iter)
                    break
                if errors > self.error_ct_threshold:
                    logger.warning("Too many errors happen in the tuning: the last was %s", results[-1])
                    errors = 0
        finally:
            GLOBAL_SCOPE.in_tuning = was_tuning
        confirm_best(self, measure_option["runner"], callbacks)

    def reset(self) -> None:
        """Forgets the best."""
        self.best_config = self.best_measure_pair = None
        self.best_flops = 0.0

    def load_history(self, data_set: Any, min_seed_records: int = 500) -> None:
        """Learns from records; a tuner without a model has nothing to learn."""
        raise NotImplementedError(f"{type(self).__name__} does not learn from records")

    def set_error_threshold(self, threshold: int) -> None:
        """After so many failures in a row it warns."""
        self.error_ct_threshold = threshold
