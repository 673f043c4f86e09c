"""The cost model of XGBTuner: gradient-boosted trees on features of configurations or of their programs."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from ...contrib.boosted_trees import find_xgboost, threads_for
from ...target import Target
from .. import feature

__all__ = ["FEATURE_TYPES", "LOSS_TYPES", "XGBoostCostModel"]

logger = logging.getLogger("autotvm")

FEATURE_TYPES = ("itervar", "knob", "curve")
LOSS_TYPES = ("rank", "reg")
_CURVE_SAMPLES = 20
_ROUNDS = 100


class XGBoostCostModel:
    """Predicts how fast configurations of a task are, from `feature_type`: loops of the program ("itervar"), how reuse grows over
    them ("curve", of the same length for all tasks of a template), or the values of knobs ("knob").

    Without xgboost it learns nothing: `is_there` is false, and predictions are zeros.
    """

    def __init__(
        self,
        task: Any,
        feature_type: str,
        loss_type: str,
        num_threads: int | None = None,
        log_interval: int = 25,
        upper_model: Any = None,
    ) -> None:
        for value, known, name in ((feature_type, FEATURE_TYPES, "feature type"), (loss_type, LOSS_TYPES, "loss type")):
            if value not in known:
                raise RuntimeError(f"Invalid {name} {value}: it may be {', '.join(known)}")
        del log_interval
        self.task, self.feature_type, self.loss_type, self.num_threads = task, feature_type, loss_type, num_threads
        self.xgboost = find_xgboost()
        self.model: Any = None
        self.base_model: XGBoostCostModel | None = None
        self._features: dict[int, Any] = {} if upper_model is None else upper_model._features

    @property
    def is_there(self) -> bool:
        """True where xgboost is installed."""
        return self.xgboost is not None

    def feature(self, index: int) -> Any:
        """The features of a configuration; None where it is none that can be instantiated."""
        if index not in self._features:
            self._features[index] = _feature_of(self.task, self.task.config_space.get(index), self.feature_type)
        return self._features[index]

    def fit(self, xs: Any, ys: Any, plan_size: int) -> None:
        """Learns from indices and how fast they were, in operations per second."""
        del plan_size
        known = [(self.feature(x), y, x) for x, y in zip(xs, ys)]
        rows = [(row, y, x) for row, y, x in known if row is not None]
        if rows:
            margin = None
            if self.base_model is not None:
                margin = self.base_model.predict([x for _, _, x in rows], output_margin=True)
            self._train([row for row, _, _ in rows], [y for _, y, _ in rows], margin)

    def fit_log(self, records: Any, plan_size: int, min_seed_records: int = 500) -> bool:
        """Learns from records, also of other tasks whose features have as many numbers; False where there are too few."""
        del plan_size
        rows, ys, length = [], [], None
        for inp, result in records:
            row = _feature_of(inp.task, inp.config, self.feature_type)
            if row is None or (length is not None and len(row) != length):
                continue
            length = len(row)
            rows.append(row)
            is_good = result.error_no == 0 and inp.task.flop
            ys.append(inp.task.flop / float(np.mean(result.costs)) if is_good else 0.0)
        if len(rows) < min_seed_records:
            return False
        self._train(rows, ys, None)
        return True

    def _train(self, rows: Any, ys: Any, margin: Any) -> None:
        if self.xgboost is None or max(ys) <= 0:
            return
        objective = "rank:pairwise" if self.loss_type == "rank" else "reg:squarederror"
        params = {"max_depth": 3, "eta": 0.3, "min_child_weight": 0.1, "objective": objective, "verbosity": 0}
        params["nthread"] = self.num_threads or threads_for(len(rows))
        data = self.xgboost.DMatrix(_matrix(rows), np.array(ys) / max(ys))
        if self.loss_type == "rank":
            data.set_group([len(rows)])
        if margin is not None:
            data.set_base_margin(margin)
        self.model = self.xgboost.train(params, data, num_boost_round=_ROUNDS)
        self._width = len(rows[0])

    def predict(self, xs: Any, output_margin: bool = False) -> np.ndarray:
        """Scores of indices, higher for faster ones."""
        if self.model is None:
            return np.zeros(len(xs))
        rows = [self.feature(int(x)) for x in xs]
        data = self.xgboost.DMatrix(
            _matrix([np.zeros(self._width) if row is None else row for row in rows], self._width)
        )
        if self.base_model is not None:
            data.set_base_margin(self.base_model.predict(xs, output_margin=True))
        scores = self.model.predict(data, output_margin=output_margin)
        return np.array([-np.inf if row is None else score for row, score in zip(rows, scores)])

    def load_basemodel(self, base_model: XGBoostCostModel) -> None:
        """What another model has learned is where this one begins."""
        self.base_model = base_model
        base_model._features = self._features

    def spawn_base_model(self) -> XGBoostCostModel:
        """A model of the same kind that knows nothing."""
        return XGBoostCostModel(self.task, self.feature_type, self.loss_type, self.num_threads, upper_model=self)


def _matrix(rows: Any, width: int | None = None) -> np.ndarray:
    """Rows of one length: others are filled or clipped."""
    width = width or len(rows[0])
    out = np.zeros((len(rows), width), dtype=np.float32)
    for i, row in enumerate(rows):
        count = min(width, len(row))
        out[i, :count] = row[:count]
    return out


def _feature_of(task: Any, config: Any, feature_type: str) -> Any:
    if feature_type == "knob":
        return config.get_flatten_feature()
    try:
        with task.target if isinstance(task.target, Target) else Target(task.target):
            schedule, args = task.instantiate(config)
        if feature_type == "curve":
            return feature.get_buffer_curve_sample_flatten(schedule, args, sample_n=_CURVE_SAMPLES)
        return feature.get_itervar_feature_flatten(schedule, args, take_log=True)
    except Exception as error:  # whatever a template does with this configuration
        logger.debug("no features of %s: %s", config, error)
        return None
