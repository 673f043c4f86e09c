"""Search by a learned cost model: XGBoost, and simulated annealing for what it likes best."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from .model_based_tuner import simulated_annealing
from .tuner import Tuner
from .xgboost_cost_model import XGBoostCostModel

__all__ = ["XGBTuner"]

logger = logging.getLogger("autotvm")


class XGBTuner(Tuner):
    """Learns from what was measured which configurations are fast. Without the package xgboost it says so and searches at
    random. `feature_type` is what it learns from: "itervar", "curve" or "knob" (XGBoostCostModel)."""

    def __init__(
        self,
        task: Any,
        plan_size: int = 64,
        feature_type: str = "itervar",
        loss_type: str = "rank",
        num_threads: int | None = None,
        optimizer: Any = "sa",
        diversity_filter_ratio: float | None = None,
        log_interval: int = 50,
    ) -> None:
        super().__init__(task)
        del diversity_filter_ratio, log_interval
        if optimizer != "sa":
            raise RuntimeError(f"Invalid optimizer {optimizer}: it may be sa")
        self.cost_model = XGBoostCostModel(task, feature_type, loss_type, num_threads)
        self.plan_size = plan_size
        if not self.cost_model.is_there:
            logger.warning("XGBTuner: the package xgboost is not installed; configurations are chosen at random")
        self.dims, self.size = task.config_space.dims, len(task.config_space)
        self.visited: set[int] = set()
        self.xs: list[int] = []
        self.ys: list[float] = []
        self.plan: list[int] = []

    def has_next(self) -> bool:
        """True while there are configurations that were not asked for."""
        return len(self.visited) < self.size

    def _random_point(self) -> int:
        point = int(np.random.randint(self.size))
        while point in self.visited:
            point = (point + 1) % self.size
        return point

    def next_batch(self, batch_size: int) -> list[Any]:
        """What the model likes best, and one in twenty at random."""
        out: list[Any] = []
        while len(out) < batch_size and self.has_next():
            while self.plan and self.plan[0] in self.visited:
                self.plan.pop(0)
            is_random = not self.plan or np.random.random() < 0.05
            point = self._random_point() if is_random else self.plan.pop(0)
            self.visited.add(point)
            out.append(self.task.config_space.get(point))
        return out

    def update(self, inputs: Any, results: Any) -> None:
        """Learns when half a plan was measured."""
        before = len(self.xs)
        for inp, result in zip(inputs, results):
            flops = inp.task.flop / np.mean(result.costs) if result.error_no == 0 else 0.0
            self.xs.append(inp.config.index)
            self.ys.append(float(flops))
        step = max(self.plan_size // 2, 1)
        if self.cost_model.is_there and len(self.xs) // step > before // step and max(self.ys) > 0:
            self._learn()

    def _learn(self) -> None:
        self.cost_model.fit(self.xs, self.ys, self.plan_size)
        self._make_plan()

    def _make_plan(self) -> None:
        # features of programs take milliseconds each: walks are shorter than those over the values of knobs
        is_quick = self.cost_model.feature_type == "knob"
        walks = {"n_iter": 100, "parallel_size": 128} if is_quick else {"n_iter": 12, "parallel_size": 32}
        self.plan = simulated_annealing(self.cost_model.predict, self.dims, self.plan_size, self.visited, **walks)

    def load_history(self, data_set: Any, min_seed_records: int = 500) -> None:
        """Learns from records before anything is measured: those of this task, and where there are `min_seed_records` of
        tasks with as many features, of those too."""
        records = list(data_set)
        if self.cost_model.is_there:
            base = self.cost_model.spawn_base_model()
            if base.fit_log(records, self.plan_size, min_seed_records):
                self.cost_model.load_basemodel(base)
                self.cost_model.model = base.model
                self.cost_model._width = base._width
                self._make_plan()
        own = [(inp, result) for inp, result in records if inp.task.workload == self.task.workload]
        for inp, result in own:
            if 0 <= inp.config.index < self.size:
                self.update([inp._replace(task=self.task)], [result])
        if self.cost_model.is_there and self.ys and max(self.ys) > 0:
            self._learn()
