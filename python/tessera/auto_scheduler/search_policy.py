"""Search: sketches by rules, states sampled from them, evolution by a cost model, the best of it measured."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from . import _ffi_api
from .cost_model import RandomModel
from .loop_state import State, StateObject
from .measure import MAX_FLOAT, MeasureErrorNo, MeasureInput, _mean_cost
from .measure_record import RecordReader

__all__ = [
    "EmptyPolicy",
    "PreloadCustomSketchRule",
    "PreloadMeasuredStates",
    "SearchCallback",
    "SearchPolicy",
    "SketchPolicy",
]

logger = logging.getLogger("auto_scheduler")


class SearchCallback:
    """Called before a search begins."""

    def callback(self, policy: Any) -> None:
        """Prepares the policy."""


class PreloadMeasuredStates(SearchCallback):
    """Goes on from the records of a file: their states are not measured again, and the best are bred from."""

    def __init__(self, filename: str) -> None:
        self.filename = filename

    def callback(self, policy: Any) -> None:
        """Hands the records of the policy's task over."""
        policy.preload(self.filename)


class PreloadCustomSketchRule(SearchCallback):
    """A rule of a user's own, tried before all others.

    `meet_condition_func(policy, state, stage_id)` gives PASS, APPLY or APPLY_AND_SKIP_REST; `apply_func`, of the same
    arguments, a list of [state, next stage_id].
    """

    PASS: ClassVar[int] = 0
    APPLY: ClassVar[int] = 1
    APPLY_AND_SKIP_REST: ClassVar[int] = 2

    def __init__(
        self, meet_condition_func: Callable, apply_func: Callable, rule_name: str = "CustomSketchRule"
    ) -> None:
        self.meet_condition_func, self.apply_func, self.rule_name = meet_condition_func, apply_func, rule_name

    def callback(self, policy: Any) -> None:
        """Adds the rule."""
        policy.custom_rules.append(self)


class SearchPolicy:
    """A way to search; `search` is what all have."""

    def __init__(self, task: Any, verbose: int = 1) -> None:
        self.search_task, self.verbose = task, verbose

    def set_verbose(self, verbose: int) -> None:
        """How much to say."""
        self.verbose = verbose

    def continue_search_one_round(self, num_measure: int, measurer: Any) -> tuple[list[Any], list[Any]]:
        """Measures some states more: their inputs and results."""
        raise NotImplementedError

    def search(self, n_trials: int, early_stopping: int, num_measures_per_round: int, measurer: Any) -> Any:
        """Searches; the best state found."""
        raise NotImplementedError


class EmptyPolicy(SearchPolicy):
    """Measures the program as it was written: what a policy is at least."""

    def __init__(self, task: Any, init_search_callbacks: Any = None) -> None:
        super().__init__(task)
        for callback in init_search_callbacks or []:
            callback.callback(self)

    def preload(self, filename: str) -> None:
        """Does nothing."""

    @property
    def custom_rules(self) -> list[Any]:
        """None are kept."""
        return []

    def continue_search_one_round(self, num_measure: int, measurer: Any) -> tuple[list[Any], list[Any]]:
        """Measures the program as it was written."""
        inputs = [MeasureInput(self.search_task, self.search_task.compute_dag.init_state)]
        return inputs, measurer.measure(self.search_task, self, inputs)

    def search(self, n_trials: int, early_stopping: int, num_measures_per_round: int, measurer: Any) -> Any:
        """The program as it was written."""
        if n_trials > 1:
            for _ in range(0, n_trials, num_measures_per_round):
                self.continue_search_one_round(num_measures_per_round, measurer)
        return State(self.search_task.compute_dag.init_state, self.search_task.compute_dag)


class SketchPolicy(SearchPolicy):
    """Sketches by rules, evolution by a cost model."""

    DEFAULT_PARAMS: ClassVar[dict[str, Any]] = {
        "eps_greedy": 0.05,
        "retry_search_one_round_on_empty": 1,
        "sample_init_min_population": 50,
        "sample_init_use_measured_ratio": 0.2,
        "evolutionary_search_population": 2048,
        "evolutionary_search_num_iters": 4,
        "evolutionary_search_mutation_prob": 0.85,
        "cpu_multi_level_tiling_structure": "SSRSRS",
        "gpu_multi_level_tiling_structure": "SSSRRSRS",
        "max_innermost_split_factor": 64,
        "max_vectorize_size": 16,
        "disable_change_compute_location": 0,
    }

    def __init__(
        self,
        task: Any,
        program_cost_model: Any = None,
        params: dict[str, Any] | None = None,
        seed: int | None = None,
        verbose: int = 1,
        init_search_callbacks: Any = None,
    ) -> None:
        super().__init__(task, verbose)
        self.program_cost_model = RandomModel() if program_cost_model is None else program_cost_model
        self.params = {**SketchPolicy.DEFAULT_PARAMS, **(params or {})}
        seed = random.randint(1, (1 << 30)) if seed is None else seed
        self._rng = np.random.RandomState(seed % (1 << 31))
        self.custom_rules: list[PreloadCustomSketchRule] = []
        self._measured: dict[str, None] = {}
        self._measured_states: list[Any] = []
        self._throughputs: list[float] = []
        self._core: Any = None
        self._planned: list[Any] | None = None
        self._seed = seed
        for callback in init_search_callbacks or []:
            callback.callback(self)

    # ---- what was measured -----------------------------------------------------------------------------------------

    def preload(self, filename: str) -> None:
        """Takes the records of this task from a file."""
        states, costs = [], []
        for inp, result in RecordReader(filename):
            if str(inp.task.workload_key) != str(self.search_task.workload_key):
                continue
            if inp.task.target.kind.name != self.search_task.target.kind.name or not len(inp.state.transform_steps):
                continue
            states.append(inp.state)
            costs.append(_mean_cost(result) if result.error_no == MeasureErrorNo.NO_ERROR else MAX_FLOAT)
        if not states:
            logger.info("no record of %s is for this task", filename)
            return
        dag = self.search_task.compute_dag
        for state, cost in zip(_ffi_api.InferBounds(dag, states), costs):
            if state is not None:
                self._remember(state, cost)
        self._say(1, f"{len(self._measured_states)} measured states were read from {filename}")

    def _remember(self, state: Any, cost: float) -> None:
        text = str(state)
        if text not in self._measured:
            self._measured[text] = None
            self._measured_states.append(state)
            self._throughputs.append(1.0 / cost if 0 < cost < MAX_FLOAT else 0.0)

    # ---- the core's part ---------------------------------------------------------------------------------------------

    def _policy(self) -> Any:
        if self._core is None:
            conditions = [self._meet(rule) for rule in self.custom_rules]
            applications = [self._apply(rule) for rule in self.custom_rules]
            params = {key: value for key, value in self.params.items() if value is not None}
            self._core = _ffi_api.SketchPolicy(self.search_task, params, self._seed, conditions, applications)
        return self._core

    def _meet(self, rule: PreloadCustomSketchRule) -> Callable:
        return lambda state, stage_id: int(rule.meet_condition_func(self, state, stage_id))

    def _apply(self, rule: PreloadCustomSketchRule) -> Callable:
        def apply(state: Any, stage_id: int) -> list[Any]:
            out = []
            for made, next_stage in rule.apply_func(self, state, stage_id):
                out.append([made if isinstance(made, StateObject) else made.state_object, int(next_stage)])
            return out

        return apply

    def _model_is_random(self) -> bool:
        return bool(getattr(self.program_cost_model, "is_random", False))

    def _predict(self, states: Any) -> list[float]:
        return [float(score) for score in self.program_cost_model.predict(self.search_task, list(states))]

    def generate_sketches(self, print_for_debug: bool = False) -> list[Any]:
        """All sketches: states whose splits have no lengths."""
        sketches = list(_ffi_api.SketchPolicyGenerateSketches(self._policy()))
        if print_for_debug:
            for i, sketch in enumerate(sketches):
                print(f"=============== {i} ===============\n{sketch}")
        return sketches

    def sample_initial_population(self) -> list[Any]:
        """States with random lengths and annotations."""
        return list(
            _ffi_api.SketchPolicySampleInitialPopulation(self._policy(), self._predict, self._model_is_random())
        )

    def _planned_states(self) -> list[Any]:
        """What the cost model of the schedule rules plans for a CPU: the search begins with these."""
        if self._planned is None:
            self._planned = list(_ffi_api.SketchPolicyPlannedStates(self._policy()))
        return self._planned

    def evolutionary_search(self, init_populations: Any, out_size: int) -> list[Any]:
        """The best `out_size` states that evolve from others, as the cost model has it."""
        population = [each if isinstance(each, StateObject) else each.state_object for each in init_populations]
        measured = list(self._measured)
        found = _ffi_api.SketchPolicyEvolutionarySearch(
            self._policy(), population, out_size, measured, self._predict, self._model_is_random()
        )
        return list(found)

    # ---- rounds ------------------------------------------------------------------------------------------------------

    def _say(self, level: int, text: str) -> None:
        if self.verbose >= level:
            print(text, flush=True)

    def _search_one_round(self, num_random: int, num_measure: int) -> tuple[list[Any], list[Any]]:
        start = time.time()
        population = self.sample_initial_population()
        most = int(self.params["sample_init_use_measured_ratio"] * self.params["evolutionary_search_population"])
        best: Any = np.argsort(self._throughputs)[::-1][:most] if self._throughputs else []
        others = []
        if num_random and population:
            others = [population[i] for i in self._rng.randint(len(population), size=num_random)]
        population = population + [self._measured_states[i] for i in best]
        found = self.evolutionary_search(population, num_measure * 2) if population else []
        self._say(1, f"searched {len(population)} states, {len(found)} candidates, {time.time() - start:.1f} s")
        return found, others

    def _pick(self, best: list[Any], others: list[Any], count: int) -> list[MeasureInput]:
        """The best, and a few at random; none that was measured."""
        num_random = int(self.params["eps_greedy"] * count)
        picked: list[MeasureInput] = []
        taken: set[str] = set()

        def take(states: list[Any], most: int) -> None:
            for state in states:
                if len(picked) >= most:
                    return
                text = str(state)
                if text in taken or text in self._measured:
                    continue
                taken.add(text)
                picked.append(MeasureInput(self.search_task, state))

        take(best, count - num_random)
        take(others, count)
        take(best, count)
        return picked

    def continue_search_one_round(self, num_measure: int, measurer: Any) -> tuple[list[Any], list[Any]]:
        """Searches, measures and learns once: inputs and results, empty where nothing new was found."""
        num_random = int(self.params["eps_greedy"] * num_measure)
        best, others = self._search_one_round(num_random * 3, num_measure)
        inputs = self._pick([*self._planned_states(), *best], others, num_measure)
        if not inputs:
            return [], []
        results = measurer.measure(self.search_task, self, inputs)
        for inp, result in zip(inputs, results):
            self._remember(inp.state, _mean_cost(result) if result.error_no == 0 else MAX_FLOAT)
        self.program_cost_model.update(inputs, results)
        return inputs, results

    def search(self, n_trials: int, early_stopping: int, num_measures_per_round: int, measurer: Any) -> Any:
        """Rounds until `n_trials` states are measured, or `early_stopping` without a better one; the best state."""
        if n_trials <= 1:
            best, _ = self._search_one_round(0, num_measures_per_round)
            if not best:
                raise RuntimeError("no valid schedule was found")
            return State(best[0], self.search_task.compute_dag)
        measurer.reset()
        count, key = 0, str(self.search_task.workload_key)
        retries = int(self.params["retry_search_one_round_on_empty"])
        while count < n_trials:
            inputs, _ = self.continue_search_one_round(min(num_measures_per_round, n_trials - count), measurer)
            if not inputs:
                retries -= 1
                if retries < 0:
                    self._say(1, "it seems that all states of the search space were measured")
                    break
                continue
            retries = int(self.params["retry_search_one_round_on_empty"])
            count += len(inputs)
            if key in measurer.has_valid and measurer.ct - measurer.best_ct[key] > early_stopping:
                self._say(1, "stop early: no better state was found for a while")
                break
        state = measurer.best_state.get(key)
        return None if state is None else State(state, self.search_task.compute_dag)
