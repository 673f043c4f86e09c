"""Boosted trees of the package xgboost, over features of every store of a program."""

from __future__ import annotations

import json
import logging
import os
from typing import Any, NamedTuple

import numpy as np

from ...contrib.boosted_trees import find_xgboost, threads_for
from ..utils import derived_object, shash2hex
from .cost_model import PyCostModel

__all__ = ["XGBConfig", "XGBModel"]

logger = logging.getLogger(__name__)


class XGBConfig(NamedTuple):
    """Parameters of the trees; without `nthread` as many threads learn as that is worth."""

    max_depth: int = 10
    gamma: float = 0.001
    min_child_weight: float = 0
    eta: float = 0.2
    seed: int = 43
    nthread: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The same as a dictionary."""
        return dict(self._asdict())


def _mean_cost(result: Any) -> float:
    seconds = result.run_secs
    return float(np.median([float(each) for each in seconds])) if seconds else 1e10


@derived_object
class XGBModel(PyCostModel):
    """Learns from what was measured; candidates are sums of what their stores cost. Until `num_warmup_samples` are known,
    and without the package xgboost, it answers at random, and says so."""

    def __init__(
        self,
        *,
        extractor: Any,
        config: XGBConfig = XGBConfig(),  # noqa: B008  a constant
        num_warmup_samples: int = 100,
        early_stopping_rounds: int = 50,
        verbose_eval: int = 25,
        average_peak_n: int = 32,
        adaptive_training: bool = True,
    ) -> None:
        super().__init__()
        self.extractor, self.config = extractor, config
        self.num_warmup_samples, self.adaptive_training = num_warmup_samples, adaptive_training
        self.early_stopping_rounds, self.verbose_eval = early_stopping_rounds, verbose_eval
        self.average_peak_n = average_peak_n
        self.xgboost = find_xgboost()
        if self.xgboost is None:
            logger.warning("XGBModel: xgboost is not installed; candidates are scored at random")
        self.booster: Any = None
        self.groups: dict[str, tuple[list[np.ndarray], list[float]]] = {}
        self.data_size = self.last_train_size = 0

    def load(self, path: str) -> None:
        """Reads the samples of an earlier run."""
        folder = path if os.path.isdir(path) else os.path.dirname(path)
        name = os.path.join(folder, "cost_model_samples.json")
        with open(name) as text:
            samples = json.load(text)
        for group, pairs in samples.items():
            features = [np.array(each, dtype="float32") for each, _ in pairs]
            self.groups[str(group)] = (features, [float(cost) for _, cost in pairs])
        self.data_size = sum(len(costs) for _, costs in self.groups.values())
        self._train()

    def save(self, path: str) -> None:
        """Writes the samples beside `path`, which holds the trees where there are any."""
        folder = os.path.dirname(os.path.abspath(path))
        samples = {
            group: [(each.tolist(), cost) for each, cost in zip(features, costs)]
            for group, (features, costs) in self.groups.items()
        }
        name = os.path.join(folder, "cost_model_samples.json")
        with open(name + ".new", "w") as out:
            json.dump(samples, out)
        os.replace(name + ".new", name)
        if self.booster is not None:
            self.booster.save_model(path if path.endswith((".json", ".ubj")) else path + ".json")

    def _features(self, context: Any, candidates: Any) -> list[np.ndarray]:
        found = self.extractor.extract_from(context, candidates)
        return [np.asarray(each.numpy() if hasattr(each, "numpy") else each, dtype="float32") for each in found]

    def update(self, context: Any, candidates: Any, results: Any) -> None:
        """Learns what came of candidates."""
        if self.xgboost is None or not candidates:
            return
        features, costs = self.groups.setdefault(shash2hex(context.mod), ([], []))
        features.extend(self._features(context, candidates))
        costs.extend(_mean_cost(each) for each in results)
        self.data_size += len(candidates)
        if self.adaptive_training and self.data_size - self.last_train_size < self.last_train_size / 5:
            return
        self._train()

    def is_blind(self) -> bool:
        """True until there are trees."""
        return self.booster is None or self.data_size < self.num_warmup_samples

    def predict(self, context: Any, candidates: Any) -> np.ndarray:
        """A score for each candidate."""
        if self.is_blind():
            return np.random.uniform(low=0, high=1, size=(len(candidates),))
        features = self._features(context, candidates)
        rows = self.booster.predict(self.xgboost.DMatrix(np.concatenate(features)))
        owners = np.repeat(np.arange(len(features)), [len(each) for each in features])
        return np.bincount(owners, weights=rows, minlength=len(features))

    def _train(self) -> None:
        if self.xgboost is None or self.data_size == 0:
            return
        self.last_train_size = self.data_size
        features: list[np.ndarray] = []
        scores: list[float] = []
        for xs, costs in self.groups.values():
            best = min(costs)
            features += xs
            scores += [best / cost if cost < 1e9 else 0.0 for cost in costs]
        counts = [len(each) for each in features]
        owners = np.repeat(np.arange(len(features)), counts)
        targets = np.array(scores)

        # The score of a candidate is the sum over its stores: each of them gets the gradient of the sum.
        def square_error(rows: np.ndarray, _: Any) -> tuple[np.ndarray, np.ndarray]:
            sums = np.bincount(owners, weights=rows, minlength=len(targets))
            weights = np.maximum(targets, 1e-6)[owners]
            return 2 * weights * (sums - targets)[owners], 2 * weights

        data = self.xgboost.DMatrix(np.concatenate(features))
        params = {key: value for key, value in self.config.to_dict().items() if value is not None}
        params.setdefault("nthread", threads_for(sum(counts)))
        params.update(base_score=0.0, verbosity=0)
        self.booster = self.xgboost.train(params, data, num_boost_round=200, obj=square_error)
