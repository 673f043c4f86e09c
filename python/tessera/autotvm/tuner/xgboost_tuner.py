"""Search by a learned cost model: XGBoost on the values of knobs, simulated annealing for what it likes best."""

from __future__ import annotations

import importlib
import logging
from typing import Any

import numpy as np

from .model_based_tuner import simulated_annealing
from .tuner import Tuner

__all__ = ["XGBTuner"]

logger = logging.getLogger("autotvm")


def _find_xgboost() -> Any:
    try:
        return importlib.import_module("xgboost")
    except ImportError:
        return None


class XGBTuner(Tuner):
    """Learns from what was measured which configurations are fast. Without the package xgboost it says so and searches at
    random. `feature_type` is accepted as v0.10 has it; the values of knobs are what is learned from."""

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
        for value, known, name in (
            (feature_type, ("itervar", "knob", "curve"), "feature type"),
            (loss_type, ("rank", "reg"), "loss type"),
            (optimizer, ("sa",), "optimizer"),
        ):
            if value not in known:
                raise RuntimeError(f"Invalid {name} {value}: it may be {', '.join(known)}")
        self.plan_size, self.loss_type, self.num_threads = plan_size, loss_type, num_threads
        self.xgboost = _find_xgboost()
        if self.xgboost is None:
            logger.warning("XGBTuner: the package xgboost is not installed; configurations are chosen at random")
        self.dims, self.size = task.config_space.dims, len(task.config_space)
        self.visited: set[int] = set()
        self.xs: list[int] = []
        self.ys: list[float] = []
        self.plan: list[int] = []
        self._features: dict[int, np.ndarray] = {}

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
        if self.xgboost is not None and len(self.xs) // step > before // step and max(self.ys) > 0:
            self.plan = self._make_plan()

    def _feature(self, point: int) -> np.ndarray:
        if point not in self._features:
            self._features[point] = self.task.config_space.get(point).get_flatten_feature()
        return self._features[point]

    def _make_plan(self) -> list[int]:
        ys = np.array(self.ys) / max(self.ys)
        objective = "rank:pairwise" if self.loss_type == "rank" else "reg:squarederror"
        params = {"max_depth": 3, "eta": 0.3, "min_child_weight": 0.1, "objective": objective, "verbosity": 0}
        if self.num_threads:
            params["nthread"] = self.num_threads
        data = self.xgboost.DMatrix(np.array([self._feature(x) for x in self.xs]), ys)
        if self.loss_type == "rank":
            data.set_group([len(self.xs)])
        model = self.xgboost.train(params, data, num_boost_round=100)

        def predict(points: Any) -> np.ndarray:
            return model.predict(self.xgboost.DMatrix(np.array([self._feature(p) for p in points])))

        return simulated_annealing(predict, self.dims, self.plan_size, self.visited)

    def load_history(self, data_set: Any, min_seed_records: int = 500) -> None:
        """Learns from records of the same task before anything is measured."""
        del min_seed_records
        for inp, result in data_set:
            if inp.task.workload == self.task.workload and 0 <= inp.config.index < self.size:
                self.update([inp._replace(task=self.task)], [result])
        if self.xgboost is not None and self.ys and max(self.ys) > 0:
            self.plan = self._make_plan()
