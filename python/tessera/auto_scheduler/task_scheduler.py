"""Several tasks at once: trials go to the task that promises most."""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .confirm import confirm_best
from .cost_model import RandomModel, XGBModel
from .measure import ProgramMeasurer, _mean_cost
from .measure_record import RecordReader
from .search_policy import PreloadMeasuredStates, SearchPolicy, SketchPolicy
from .utils import array_mean

__all__ = [
    "LogEstimatedLatency",
    "PrintTableInfo",
    "TaskScheduler",
    "TaskSchedulerCallback",
    "derive_similarity_tag",
    "make_search_policies",
]

logger = logging.getLogger("auto_scheduler")


def make_search_policies(
    search_policy: Any,
    search_policy_params: Any,
    tasks: Any,
    num_measures_per_round: int,
    verbose: int,
    load_model_file: str | None = None,
    load_log_file: str | None = None,
    adaptive_training: bool = False,
) -> list[SearchPolicy]:
    """A policy for each task: "default", "sketch.xgb", "sketch.random", or policies of the caller's own."""
    if search_policy == "default":
        search_policy = "sketch.xgb"
    if isinstance(search_policy, str):
        policy_type, _, model_type = search_policy.partition(".")
        if model_type == "xgb":
            cost_model: Any = XGBModel(
                num_warmup_sample=len(tasks) * num_measures_per_round,
                model_file=load_model_file,
                adaptive_training=adaptive_training,
            )
            if load_model_file and os.path.isfile(load_model_file):
                logger.info("TaskScheduler: Load pretrained model...")
            elif load_log_file:
                logger.info("TaskScheduler: Reload measured states and train the model...")
                cost_model.update_from_file(load_log_file)
        elif model_type == "random":
            cost_model = RandomModel()
        else:
            raise ValueError("Invalid search policy: " + search_policy)
        if policy_type != "sketch":
            raise ValueError("Invalid search policy: " + search_policy)
        callbacks = [PreloadMeasuredStates(load_log_file)] if load_log_file else None
        return [
            SketchPolicy(
                task, cost_model, params=search_policy_params, verbose=verbose, init_search_callbacks=callbacks
            )
            for task in tasks
        ]
    policies = list(search_policy)
    if not all(isinstance(each, SearchPolicy) for each in policies):
        raise TypeError("search_policy is a name, or a list of policies")
    return policies


def derive_similarity_tag(dag: Any, log_base: float = 1.618) -> str:
    """A word that similar tasks share: their kind, and the order of magnitude of their work. "" where nothing says the kind."""
    tag = ""
    for op in dag.ops:
        found = op.attrs.get("auto_scheduler_task_scheduler_tag", None) if op.attrs else None
        if found:
            tag += str(found) + "_"
    if tag and dag.flop_ct > 0:
        tag += str(int(math.log(dag.flop_ct + 1, log_base)))
    return tag


class TaskScheduler:
    """Tunes tasks together, a round of measurements at a time: round-robin, or by the gradient of the objective.

    The objective is the sum of the tasks' times, each as often as its weight says, unless `objective_func` (costs -> float) says
    otherwise. What a task promises is guessed from how it got better lately, and from its work compared with that of similar tasks.
    """

    def __init__(
        self,
        tasks: Any,
        task_weights: Any = None,
        objective_func: Callable | None = None,
        strategy: str = "gradient",
        load_model_file: str | None = None,
        load_log_file: str | None = None,
        alpha: float = 0.2,
        beta: float = 2,
        gamma: float = 0.5,
        backward_window_size: int = 3,
        callbacks: Any = None,
    ) -> None:
        if strategy not in ("gradient", "round-robin"):
            raise ValueError("Invalid strategy: " + strategy)
        self.tasks = list(tasks)
        weights = [1.0] * len(self.tasks) if task_weights is None else [float(weight) for weight in task_weights]
        self.task_weights = weights
        self.objective_func = objective_func or (
            lambda costs: sum(cost * weight for cost, weight in zip(costs, weights))
        )
        self.strategy = strategy
        self.load_log_file, self.load_model_file = load_log_file, load_model_file
        self.alpha, self.beta, self.gamma = alpha, beta, gamma
        self.backward_window_size = backward_window_size
        self.callbacks = (
            [PrintTableInfo(), LogEstimatedLatency("total_latency.tsv")] if callbacks is None else callbacks
        )
        assert len(self.tasks) != 0, "No tasks"
        self.task_weights = weights
        count = len(self.tasks)
        self.task_cts = [0] * count  # rounds of each task
        self.task_best_cts = [0] * count  # the round that found the best
        self.task_costs_history: list[list[float]] = [[] for _ in range(count)]
        self.best_costs = 1e10 * np.ones(count)
        self.cur_score = self._compute_score(self.best_costs)
        self.tune_option: Any = None
        self.measurer: Any = None
        self.search_policies: list[SearchPolicy] = []
        self.ct, self.best_ct, self.best_score = 0, 0, self.cur_score
        self.tic: float = 0
        self.num_measures_per_round = 0
        self.dead_tasks: set[int] = set()
        self.task_tags: list[str] = []
        self.tag_to_group_id: dict[str, int] = {}
        self.group_task_ids: list[list[int]] = []
        self.flop_cts: list[float] = []
        for i, task in enumerate(self.tasks):
            tag = derive_similarity_tag(task.compute_dag)
            self.task_tags.append(tag)
            self.flop_cts.append(float(task.compute_dag.flop_ct))
            if not tag:
                continue
            group = self.tag_to_group_id.setdefault(tag, len(self.tag_to_group_id))
            if group == len(self.group_task_ids):
                self.group_task_ids.append([])
            self.group_task_ids[group].append(i)

    def tune(
        self,
        tune_option: Any,
        search_policy: Any = "default",
        search_policy_params: dict[str, Any] | None = None,
        adaptive_training: bool = False,
        per_task_early_stopping: int | None = None,
    ) -> None:
        """Tunes all tasks; the trials of the options are those of all of them together."""
        self.tune_option = tune_option
        self.early_stopping_all = tune_option.early_stopping if tune_option.early_stopping < 1e19 else 1e20
        self.early_stopping_task = per_task_early_stopping or 1e20
        self.measurer = ProgramMeasurer(
            tune_option.builder, tune_option.runner, tune_option.measure_callbacks, tune_option.verbose
        )
        self.ct, self.best_ct, self.tic = 0, 0, time.time()
        self.num_measures_per_round = min(
            tune_option.num_measures_per_round, tune_option.num_measure_trials // len(self.tasks)
        )
        if self.num_measures_per_round <= 0:
            raise ValueError(
                "num_measure_trials is too small. Please set it to a higher value."
                f"It should be at least {len(self.tasks)} for this model."
            )
        if self.load_log_file:
            self._restore_status(self.load_log_file, self.num_measures_per_round)
        self.search_policies = make_search_policies(
            search_policy,
            search_policy_params,
            self.tasks,
            self.num_measures_per_round,
            tune_option.verbose,
            self.load_model_file,
            self.load_log_file,
            adaptive_training,
        )
        for i in range(len(self.tasks)):  # each once first
            if self.ct >= tune_option.num_measure_trials:
                break
            if not self.task_cts[i]:
                self._tune_task(i)
        self.best_ct, self.best_score = self.ct, self.cur_score
        task_idx = -1
        while self.ct < tune_option.num_measure_trials and len(self.dead_tasks) < len(self.tasks):
            task_idx = self._next_round_robin(task_idx) if self.strategy == "round-robin" else self._next_by_gradient()
            self._tune_task(task_idx)
            self._adjust_similarity_group(task_idx)
            if self.cur_score < self.best_score:
                self.best_score, self.best_ct = self.cur_score, self.ct
            elif self.ct - self.best_ct >= self.early_stopping_all and all(cost < 1e9 for cost in self.best_costs):
                if tune_option.verbose >= 1:
                    print(
                        "Stop early since no performance improvement in the last "
                        + str(self.early_stopping_all)
                        + " measurement trials."
                    )
                break
        confirm_best(self.tasks, tune_option.runner, tune_option.measure_callbacks, self.task_weights)

    def _next_round_robin(self, last: int) -> int:
        task_idx = (last + 1) % len(self.tasks)
        while task_idx in self.dead_tasks:
            task_idx = (task_idx + 1) % len(self.tasks)
        return task_idx

    def _next_by_gradient(self) -> int:
        gradients = []
        for i in range(len(self.tasks)):
            if i in self.dead_tasks:
                gradients.append(0.0)
                continue
            # how the objective depends on this task's time
            delta = 1e-4
            costs = np.copy(self.best_costs)
            costs[i] -= delta
            chain = (self._compute_score(self.best_costs) - self._compute_score(costs)) / delta
            # how the time became less lately
            history, window = self.task_costs_history[i], self.backward_window_size
            if 0 <= self.task_cts[i] - 1 < len(history) and 0 <= self.task_cts[i] - 1 - window < len(history):
                backward = (history[self.task_cts[i] - 1 - window] - history[self.task_cts[i] - 1]) / window
            else:
                backward = 0.0
            # how much less it may become: in as many rounds as so far, or as fast as similar tasks
            next_down = self.best_costs[i] / self.task_cts[i] if self.task_cts[i] else self.best_costs[i]
            group = self.tag_to_group_id.get(self.task_tags[i])
            if group is not None and len(self.group_task_ids[group]) > 1:
                best_flops = max(self.flop_cts[j] / self.best_costs[j] for j in self.group_task_ids[group])
                similar = self.beta * self.flop_cts[i] / best_flops if best_flops > 0 else self.best_costs[i]
                next_cost = min(self.best_costs[i] - next_down, similar)
            else:
                next_cost = self.best_costs[i] - next_down
            forward = self.best_costs[i] - next_cost
            gradients.append(chain * (self.alpha * backward + (1 - self.alpha) * forward))
        if max(gradients) == min(gradients):
            alive = [i for i in range(len(self.tasks)) if i not in self.dead_tasks]
            return int(np.random.choice(alive))
        alive_gradients = [g if i not in self.dead_tasks else -float("inf") for i, g in enumerate(gradients)]
        return int(np.argmax(alive_gradients))

    def _tune_task(self, task_idx: int) -> None:
        for callback in self.callbacks:
            callback.pre_tune(self, task_idx)
        inputs, results = self.search_policies[task_idx].continue_search_one_round(
            self.num_measures_per_round, self.measurer
        )
        self.task_cts[task_idx] += 1
        for result in results:
            cost = _mean_cost(result) if result.error_no == 0 else 1e10
            if cost < self.best_costs[task_idx]:
                self.task_best_cts[task_idx] = self.task_cts[task_idx]
                self.best_costs[task_idx] = cost
        if not inputs:
            self.dead_tasks.add(task_idx)  # nothing is left to measure
        rounds = self.early_stopping_task / max(self.num_measures_per_round, 1)
        if self.task_cts[task_idx] - self.task_best_cts[task_idx] > rounds and self.best_costs[task_idx] < 1e9:
            self.dead_tasks.add(task_idx)
        self.task_costs_history[task_idx].append(float(self.best_costs[task_idx]))
        self.ct += len(inputs)
        self.cur_score = self._compute_score(self.best_costs)
        for callback in self.callbacks:
            callback.post_tune(self, task_idx)

    def _compute_score(self, costs: Any) -> float:
        return float(self.objective_func(costs))

    def _adjust_similarity_group(self, task_idx: int) -> None:
        """Takes a task that is much slower than similar ones, however long it was searched, out of their group."""
        group = self.tag_to_group_id.get(self.task_tags[task_idx])
        if group is None or len(self.group_task_ids[group]) <= 1:
            return
        members = self.group_task_ids[group]
        best = max(self.flop_cts[j] / self.best_costs[j] for j in members)
        own = self.flop_cts[task_idx] / self.best_costs[task_idx]
        if self.task_cts[task_idx] > 5 + self.task_best_cts[task_idx] and own < best / self.beta:
            self.task_tags[task_idx] = ""
            members.remove(task_idx)

    def _restore_status(self, log_file: str, num_measures_per_round: int) -> None:
        """Goes on from records: the best of each task, and how many rounds it had."""
        index = {(str(task.workload_key), task.target.kind.name): i for i, task in enumerate(self.tasks)}
        counts = [0] * len(self.tasks)
        for inp, result in RecordReader(log_file):
            i = index.get((str(inp.task.workload_key), inp.task.target.kind.name))
            if i is None:
                continue
            counts[i] += 1
            if result.error_no == 0:
                self.best_costs[i] = min(self.best_costs[i], array_mean(result.costs))
        for i, count in enumerate(counts):
            self.task_cts[i] = count // num_measures_per_round + (1 if count else 0)
            self.task_best_cts[i] = self.task_cts[i]
            self.task_costs_history[i] = [float(self.best_costs[i])] * self.task_cts[i]
        self.cur_score = self._compute_score(self.best_costs)
        logger.info("TaskScheduler: Loaded %d measurement records from %s", sum(counts), log_file)


class TaskSchedulerCallback:
    """Told of each round."""

    def pre_tune(self, task_scheduler: TaskScheduler, task_id: int) -> None:
        """Called before a round of a task."""

    def post_tune(self, task_scheduler: TaskScheduler, task_id: int) -> None:
        """Called after it."""


class PrintTableInfo(TaskSchedulerCallback):
    """Prints what is known of each task before each round."""

    def pre_tune(self, task_scheduler: TaskScheduler, task_id: int) -> None:
        """Prints the table."""
        if task_scheduler.tune_option.verbose < 1:
            return
        lines = [
            "|  ID  |                       Task Description                        | Latency (ms) | Speed (GFLOPS) | Trials |",
            "-" * 113,
        ]
        for i, task in enumerate(task_scheduler.tasks):
            cost = task_scheduler.best_costs[i]
            known = cost < 1e9
            latency = f"{1e3 * cost:.3f}" if known else "-"
            speed = f"{task_scheduler.flop_cts[i] / cost / 1e9:.2f}" if known else "-"
            trials = task_scheduler.task_cts[i] * task_scheduler.num_measures_per_round
            lines.append(f"| {i:4d} | {str(task.desc)[-61:]:>61s} | {latency:>12s} | {speed:>14s} | {trials:6d} |")
        lines.append("-" * 113)
        total = f"{task_scheduler.cur_score * 1e3:.3f} ms" if task_scheduler.cur_score < 1e9 else "-"
        used = int(time.time() - task_scheduler.tic)
        lines.append(
            f"Estimated total latency: {total}\tTrials: {task_scheduler.ct}\tUsed time : {used} s\tNext ID: {task_id}"
        )
        print("\n".join(lines), flush=True)


class LogEstimatedLatency(TaskSchedulerCallback):
    """Writes the estimated total time into a file after each round."""

    def __init__(self, log_file: str) -> None:
        if os.path.exists(log_file):
            os.remove(log_file)
        self.log_file = log_file

    def post_tune(self, task_scheduler: TaskScheduler, task_id: int) -> None:
        """Adds a line."""
        if all(cost < 1e9 for cost in task_scheduler.best_costs):
            total = f"{task_scheduler.cur_score * 1e3:.3f}"
        else:
            total = "N/A"
        seconds = int(time.time() - task_scheduler.tic)
        with open(self.log_file, "a", encoding="utf-8") as file:
            file.write(f"ElapsedTime(s)\t{seconds}\tEstimatedLatency(ms)\t{total}\tTrials\t{task_scheduler.ct}\n")
