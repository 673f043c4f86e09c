"""A cost model that boosts trees (XGBoost) on features of stores: the scores of the stores of a program are added up.

XGBoost is found when a model is made (contrib/boosted_trees.py). Without it states are scored at random, and the log says so once.
"""

from __future__ import annotations

import json
import logging
import os
from typing import Any

import numpy as np

from ...contrib.boosted_trees import find_xgboost, threads_for
from .cost_model import PythonBasedModel

__all__ = [
    "XGBDMatrixContext",
    "XGBModel",
    "custom_callback",
    "feature_to_pack_sum_xgbmatrix",
    "pack_sum_average_peak_score",
    "pack_sum_rmse",
    "pack_sum_square_error",
    "pack_sum_xgbmatrix",
    "predict_throughput_pack_sum",
]

logger = logging.getLogger("auto_scheduler")

_said: set[str] = set()


def _find_xgboost() -> Any:
    found = find_xgboost()
    if found is None and "xgboost" not in _said:
        _said.add("xgboost")
        logger.warning("XGBModel: xgboost is not installed; states are scored at random")
    return found


class XGBDMatrixContext:
    """Values kept beside a matrix of XGBoost."""

    def __init__(self) -> None:
        self.context_dict: dict[str, dict[int, Any]] = {}

    def get(self, key: str, matrix: Any, default: Any = None) -> Any:
        """The value of a matrix under a key."""
        return self.context_dict.get(key, {}).get(id(matrix), default)

    def set(self, key: str, matrix: Any, value: Any) -> None:
        """Keeps a value."""
        self.context_dict.setdefault(key, {})[id(matrix)] = value


#: Which rows belong to which program, by matrix.
dmatrix_context = XGBDMatrixContext()


class XGBModel(PythonBasedModel):
    """Predicts how fast a program is among those of its task. Random until `num_warmup_sample` states are known."""

    def __init__(
        self,
        verbose_eval: int = 25,
        num_warmup_sample: int = 100,
        seed: int | None = None,
        model_file: str | None = None,
        adaptive_training: bool = False,
    ) -> None:
        self.xgboost = _find_xgboost()
        self.xgb_params = {
            "max_depth": 10,
            "gamma": 0.001,
            "min_child_weight": 0,
            "eta": 0.2,
            "nthread": 1,
            "verbosity": 0,
            "seed": seed or 43,
            "disable_default_eval_metric": 1,
        }
        self.bst: Any = None
        self.plan_size = 32
        self.num_warmup_sample, self.verbose_eval = num_warmup_sample, verbose_eval
        self.model_file, self.adaptive_training = model_file, adaptive_training
        self.inputs: list[Any] = []
        self.results: list[Any] = []
        self.last_train_length = 0
        self._features: list[np.ndarray] = []
        if model_file is not None and os.path.exists(model_file):
            self.load(model_file)

    @property
    def _knows(self) -> bool:
        """Whether enough was measured for predictions; a model from a file knows from the start."""
        return self.bst is not None and (len(self.inputs) > self.num_warmup_sample or not self.inputs)

    @property
    def is_random(self) -> bool:  # type: ignore[override]
        """True while states are scored at random."""
        return not self._knows

    # ---- learning --------------------------------------------------------------------------------------------------

    def update(self, inputs: Any, results: Any) -> None:
        """Learns from all that was measured so far, and these."""
        if len(inputs) <= 0:
            return
        assert len(inputs) == len(results)
        self.inputs.extend(inputs)
        self.results.extend(results)
        if self.xgboost is None:
            return
        grown = len(self.inputs) - self.last_train_length
        if self.adaptive_training and grown < self.last_train_length / 5:
            return  # enough is known for so little to change it
        self.last_train_length = len(self.inputs)
        from ..feature import get_per_store_features_from_measure_pairs

        known = len(self._features)
        features, throughputs, _ = get_per_store_features_from_measure_pairs(
            self.inputs, self.results, skip_first_n_feature_extraction=known
        )
        self._features.extend(features[known:])
        used = [i for i in range(len(self._features)) if np.any(self._features[i])]
        if not used or not max(throughputs[i] for i in used) > 0:
            return
        matrix = pack_sum_xgbmatrix(
            [self._features[i] for i in used], [throughputs[i] for i in used], None, [throughputs[i] for i in used]
        )
        self.bst = self.xgboost.train(
            {**self.xgb_params, "nthread": threads_for(sum(len(self._features[i]) for i in used))},
            matrix,
            num_boost_round=300,
            obj=pack_sum_square_error,
            callbacks=[_StopEarly(self.xgboost, matrix, 50, self.verbose_eval)],
        )
        if self.model_file is not None:
            self.save(self.model_file)

    # ---- scores ----------------------------------------------------------------------------------------------------

    def _rows_of(self, task: Any, states: Any) -> Any:
        from ..feature import get_per_store_features_from_states

        return get_per_store_features_from_states(states, task)

    def predict(self, task: Any, states: Any) -> list[float]:
        """The score of each state; minus infinity for one without features, which cannot be lowered."""
        features = self._rows_of(task, states)
        if self._knows:
            matrix, pack_ids = feature_to_pack_sum_xgbmatrix(features)
            scores = predict_throughput_pack_sum(self.bst.predict(matrix), pack_ids)
        else:
            scores = np.random.uniform(0, 1, (len(states),))
        return [float(score) if np.any(rows) else float("-inf") for score, rows in zip(scores, features)]

    def predict_stages(self, task: Any, states: Any) -> list[float]:
        """The score of each state, and then, state by state, how many stages it has and a score for each."""
        features = self._rows_of(task, states)
        out: list[float] = []
        if self._knows:
            matrix, pack_ids = feature_to_pack_sum_xgbmatrix(features)
            raw = self.bst.predict(matrix)
            out.extend(float(score) for score in predict_throughput_pack_sum(raw, pack_ids))
            for i in range(len(states)):
                own = raw[np.asarray(pack_ids) == i]
                out.extend([float(len(own)), *(float(score) for score in own)])
        else:
            out.extend(float(score) for score in np.random.uniform(0, 1, (len(states),)))
            out.extend(0.0 for _ in states)
        return out

    # ---- files -----------------------------------------------------------------------------------------------------

    def update_from_file(self, file_name: str, n_lines: int | None = None) -> None:
        """Learns from the records of a file."""
        from ..measure_record import RecordReader

        inputs, results = RecordReader(file_name).read_lines(n_lines)
        logger.info("XGBModel: Loaded %s measurement records from %s", len(inputs), file_name)
        self.update(inputs, results)

    def save(self, file_name: str) -> None:
        """Writes the model, in XGBoost's own format."""
        if self.bst is None:
            raise RuntimeError("nothing has been learned yet")
        self.bst.save_model(file_name)

    def load(self, file_name: str) -> None:
        """Reads a model; it is used at once."""
        if self.xgboost is None:
            raise RuntimeError("xgboost is not installed; it reads " + str(file_name))
        self.bst = self.xgboost.Booster(self.xgb_params)
        self.bst.load_model(file_name)
        self.num_warmup_sample = -1


def _StopEarly(xgboost: Any, matrix: Any, rounds: int, verbose_eval: int) -> Any:
    """Ends training when the error has not become less for some rounds."""

    base: Any = xgboost.callback.TrainingCallback if hasattr(xgboost, "callback") else object

    class Callback(base):
        def __init__(self) -> None:
            super().__init__()
            self.best, self.best_round = float("inf"), 0

        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            del evals_log
            if epoch % 5:
                return False
            _, error = pack_sum_rmse(model.predict(matrix), matrix)
            if verbose_eval and epoch % verbose_eval == 0:
                logger.debug("XGB iter: %3d\ttr-p-rmse: %.6f", epoch, error)
            if error < self.best - 1e-6:
                self.best, self.best_round = error, epoch
            return epoch - self.best_round >= rounds

    return Callback()


# ---- programs as sums of their stores ------------------------------------------------------------------------------


def _pack(xs: Any) -> tuple[np.ndarray, np.ndarray]:
    pack_ids = np.concatenate([np.full(len(x), i) for i, x in enumerate(xs)]) if len(xs) else np.zeros(0, dtype=int)
    return np.concatenate([np.asarray(x) for x in xs]), pack_ids


def feature_to_pack_sum_xgbmatrix(xs: Any) -> tuple[Any, np.ndarray]:
    """A matrix of all rows, and the number of the program of each."""
    rows, pack_ids = _pack(xs)
    return find_xgboost().DMatrix(rows), pack_ids


def pack_sum_xgbmatrix(xs: Any, ys: Any, gids: Any = None, weights: Any = None) -> Any:
    """A matrix to learn from: the rows of programs, their throughputs, and how much each counts."""
    if gids is not None:  # programs of one group next to each other
        order = np.argsort(gids, kind="stable")
        xs, ys = [xs[i] for i in order], [ys[i] for i in order]
        weights = None if weights is None else [weights[i] for i in order]
    rows, pack_ids = _pack(xs)
    labels = np.asarray(ys, dtype=np.float32)[pack_ids]
    matrix = find_xgboost().DMatrix(rows, labels)
    dmatrix_context.set("pack_ids", matrix, pack_ids)
    if weights is not None:
        matrix.set_weight(np.asarray(weights, dtype=np.float32)[pack_ids])
        dmatrix_context.set("weights", matrix, np.asarray(weights, dtype=np.float32)[pack_ids])
    return matrix


def predict_throughput_pack_sum(raw_preds: Any, pack_ids: Any) -> np.ndarray:
    """Scores of programs from those of their rows."""
    return np.bincount(pack_ids, weights=raw_preds)


def pack_sum_square_error(preds: Any, dtrain: Any) -> tuple[Any, Any]:
    """Gradient and second derivative of the squared error of sums."""
    pack_ids = dmatrix_context.get("pack_ids", dtrain)
    sums = np.bincount(pack_ids, weights=preds)
    gradient = sums[pack_ids] - dtrain.get_label()
    weight = dtrain.get_weight()
    if len(weight) == 0:
        return gradient, np.ones_like(gradient)
    return gradient * weight, weight


def pack_sum_rmse(raw_preds: Any, labels: Any) -> tuple[str, float]:
    """The error of sums."""
    pack_ids = dmatrix_context.get("pack_ids", labels)
    sums = predict_throughput_pack_sum(raw_preds, pack_ids)[pack_ids]
    return "p-rmse", float(np.sqrt(np.mean(np.square(sums - labels.get_label()))))


def pack_sum_average_peak_score(N: int) -> Any:
    """A measure of a model: the best throughput among its first 1, 2, ... N choices, on average."""

    def feval(preds: Any, labels: Any) -> tuple[str, float]:
        pack_ids = dmatrix_context.get("pack_ids", labels)
        scores = predict_throughput_pack_sum(preds, pack_ids)
        throughputs = np.zeros(len(scores))
        throughputs[pack_ids] = labels.get_label()
        order = np.argsort(scores)[::-1][:N]
        best = np.maximum.accumulate(throughputs[order]) / max(float(np.max(throughputs)), 1e-10)
        return f"a-peak@{N}", float(np.mean(best))

    return feval


def custom_callback(
    stopping_rounds: int,
    metric: str,
    fevals: Any,
    evals: Any = (),
    log_file: str | None = None,
    maximize: bool = False,
    verbose_eval: Any = True,
    skip_every: int = 2,
) -> Any:
    """A function for trainers that call `f(env)` after each round: measures of a model, and an early end."""
    state: dict[str, Any] = {"best": -float("inf") if maximize else float("inf"), "round": 0}

    def callback(env: Any) -> None:
        if env.iteration % skip_every == 1:
            return
        measures = {}
        for matrix, name in evals:
            predicted = env.model.predict(matrix)
            measures.update({f"{name}-{key}": value for key, value in (feval(predicted, matrix) for feval in fevals)})
        if log_file:
            with open(log_file, "a", encoding="utf-8") as file:
                file.write(json.dumps({"iteration": env.iteration, **measures}) + "\n")
        if verbose_eval and env.iteration % int(verbose_eval) == 0:
            logger.debug("XGB iter: %3d\t%s", env.iteration, measures)
        value = measures.get(metric)
        if value is None:
            return
        if (value > state["best"]) if maximize else (value < state["best"]):
            state.update(best=value, round=env.iteration)
        elif env.iteration - state["round"] >= stopping_rounds:
            raise StopIteration(f"{metric} did not get better for {stopping_rounds} rounds")

    return callback
