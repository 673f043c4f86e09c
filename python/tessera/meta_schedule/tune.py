"""Searching for the fastest schedules of programs and models."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Any, NamedTuple

from ..ir import IRModule
from ..target import Target
from ..tir import PrimFunc
from ..tir.schedule import Schedule
from . import default_config
from .builder import Builder
from .confirm import best_schedule, confirm_best
from .cost_model import CostModel
from .database import Database
from .extracted_task import ExtractedTask
from .measure_callback import MeasureCallback
from .runner import Runner
from .search_strategy import SearchStrategy
from .search_strategy import create as create_strategy
from .space_generator import PostOrderApply, SpaceGenerator
from .task_scheduler import TaskScheduler
from .task_scheduler import create as create_scheduler
from .tune_context import TuneContext
from .utils import autotvm_silencer, batch_parameterize_config

__all__ = ["TuneConfig", "tune_extracted_tasks", "tune_relay", "tune_te", "tune_tir"]

logger = logging.getLogger(__name__)


class TuneConfig(NamedTuple):
    """How much is measured, and how: at most `max_trials_global` candidates, `num_trials_per_iter` a round."""

    max_trials_global: int
    num_trials_per_iter: int
    max_trials_per_task: int | None = None
    task_scheduler: str = "gradient"
    strategy: str = "evolutionary"
    task_scheduler_config: dict[str, Any] | None = None
    search_strategy_config: dict[str, Any] | None = None
    logger_config: dict[str, Any] | None = None
    adaptive_training: bool | None = None

    def create_strategy(self, **defaults: Any) -> SearchStrategy:
        """A search strategy for one task; `defaults` are settings that the configuration may have others of."""
        per_task = self.max_trials_per_task
        return create_strategy(
            self.strategy,
            num_trials_per_iter=self.num_trials_per_iter,
            max_trials_per_task=self.max_trials_global if per_task is None else per_task,
            **{**defaults, **(self.search_strategy_config or {})},
        )

    def create_task_scheduler(self, **kwargs: Any) -> TaskScheduler:
        """The scheduler of all tasks."""
        return create_scheduler(
            self.task_scheduler, max_trials=self.max_trials_global, **kwargs, **(self.task_scheduler_config or {})
        )

    def create_loggers(
        self, log_dir: str, params: list[dict[str, Any]], disable_existing_loggers: bool = False
    ) -> None:
        """A log file for each task, unless `logger_config` says otherwise."""
        import logging.config

        os.makedirs(log_dir, exist_ok=True)
        config = self.logger_config or {}
        if config.get("version") is not None and config.get("loggers"):
            handlers = batch_parameterize_config(config.get("handlers", {}), params)
            loggers = batch_parameterize_config(config["loggers"], params)
            logging.config.dictConfig(
                {
                    "version": 1,
                    "disable_existing_loggers": disable_existing_loggers,
                    "handlers": handlers,
                    "loggers": loggers,
                    "formatters": config.get("formatters", {}),
                }
            )
            return
        for each in params:
            task_logger = logging.getLogger(each["logger_name"])
            path = os.path.abspath(os.path.join(log_dir, each["logger_name"] + ".log"))
            if not any(getattr(handler, "baseFilename", "") == path for handler in task_logger.handlers):
                handler = logging.FileHandler(path)
                handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
                task_logger.addHandler(handler)
            task_logger.setLevel(logging.INFO)
            task_logger.propagate = False


def _search(
    tasks: list[ExtractedTask],
    config: TuneConfig,
    work_dir: str,
    *,
    builder: Builder | None,
    runner: Runner | None,
    database: Database | None,
    cost_model: CostModel | None,
    measure_callbacks: list[MeasureCallback] | None,
    space: Callable[[], SpaceGenerator] | None,
    sch_rules: Any,
    postprocs: Any,
    mutator_probs: Any,
    num_threads: int | None,
) -> Database:
    names = [f"{__name__}.task_{i:0{len(str(len(tasks) - 1))}d}_{task.task_name}"[:200] for i, task in enumerate(tasks)]
    names = [name.replace("/", "_") for name in names]
    config.create_loggers(
        os.path.join(work_dir, "logs"),
        [{"logger_name": name, "task_id": str(i), "task_name": task.task_name}
         for i, (name, task) in enumerate(zip(names, tasks))],
    )  # fmt: skip
    database = default_config.database(database, work_dir)
    model = default_config.cost_model(cost_model, config.adaptive_training)
    contexts = [
        TuneContext(
            mod=default_config.mod(task.dispatched[0]),
            target=task.target,
            space_generator=default_config.space_generator(space),
            search_strategy=config.create_strategy(),
            sch_rules=default_config.schedule_rules(sch_rules, task.target),
            postprocs=default_config.postproc(postprocs, task.target),
            mutator_probs=default_config.mutator_probs(mutator_probs, task.target),
            task_name=task.task_name,
            logger=logging.getLogger(name),
            num_threads=num_threads,
        )
        for name, task in zip(names, tasks)
    ]
    runner = default_config.runner(runner)
    scheduler = config.create_task_scheduler(
        tasks=contexts,
        task_weights=[float(task.weight) for task in tasks],
        builder=default_config.builder(builder),
        runner=runner,
        database=database,
        cost_model=model,
        measure_callbacks=default_config.callbacks(measure_callbacks),
    )
    scheduler.tune()
    if space is None and sch_rules is None:  # else the user wants a schedule of that space
        confirm_best(tasks, runner, database)
    if cost_model is None:
        model.save(os.path.join(work_dir, "cost_model.xgb"))
    return database


def tune_extracted_tasks(
    extracted_tasks: list[ExtractedTask],
    config: TuneConfig,
    work_dir: str,
    *,
    builder: Builder | None = None,
    runner: Runner | None = None,
    database: Database | None = None,
    cost_model: CostModel | None = None,
    measure_callbacks: list[MeasureCallback] | None = None,
    space: Callable[[], SpaceGenerator] | None = None,
    sch_rules: Any = None,
    postprocs: Any = None,
    mutator_probs: Any = None,
    num_threads: int | None = None,
) -> Database:
    """Searches on tasks of a model; gives the database, which is in `work_dir` unless another is given. A later run goes on
    from what is in it."""
    return _search(
        list(extracted_tasks),
        config,
        work_dir,
        builder=builder,
        runner=runner,
        database=database,
        cost_model=cost_model,
        measure_callbacks=measure_callbacks,
        space=space,
        sch_rules=sch_rules,
        postprocs=postprocs,
        mutator_probs=mutator_probs,
        num_threads=num_threads,
    )


def tune_tir(
    mod: IRModule | PrimFunc,
    target: str | Target,
    config: TuneConfig,
    work_dir: str,
    *,
    builder: Builder | None = None,
    runner: Runner | None = None,
    database: Database | None = None,
    cost_model: CostModel | None = None,
    measure_callbacks: list[MeasureCallback] | None = None,
    space: Callable[[], SpaceGenerator] | None = None,
    blocks: list[str] | None = None,
    sch_rules: Any = None,
    postprocs: Any = None,
    mutator_probs: Any = None,
    task_name: str = "main",
    num_threads: int | None = None,
) -> Schedule | None:
    """Searches on one function; gives the fastest schedule, None where nothing ran. `blocks` names those to schedule.

    The best is measured once more, in turns with what the schedule rules make of the function; where theirs is as fast, it is given,
    without a trace, and the database leaves the function to the rules. A search with a `space`, `blocks` or `sch_rules` of the user's
    own gives a schedule of that space."""
    mod, target = default_config.mod(mod), default_config.target(target)
    if blocks is not None:
        if space is not None:
            raise ValueError("Can not specify blocks to tune when a search space is given.")
        wanted = set(blocks)
        space = lambda: PostOrderApply(f_block_filter=lambda block: str(block.name_hint) in wanted)  # noqa: E731
    database = tune_extracted_tasks(
        [ExtractedTask(task_name, mod, target, [mod], 1)],
        config,
        work_dir,
        builder=builder,
        runner=runner,
        database=database,
        cost_model=cost_model,
        measure_callbacks=measure_callbacks,
        space=space,
        sch_rules=sch_rules,
        postprocs=postprocs,
        mutator_probs=mutator_probs,
        num_threads=num_threads,
    )
    return best_schedule(database, mod, target)


def tune_te(
    tensors: list[Any],
    target: str | Target,
    config: TuneConfig,
    work_dir: str,
    *,
    task_name: str = "main",
    **pieces: Any,
) -> Schedule | None:
    """tune_tir of the function that tensor expressions make; takes the same pieces."""
    from ..te import create_prim_func

    return tune_tir(create_prim_func(tensors), target, config, work_dir, task_name=task_name, **pieces)


def tune_relay(
    mod: Any,
    target: str | Target,
    config: TuneConfig,
    work_dir: str,
    *,
    backend: str = "graph",
    params: dict[str, Any] | None = None,
    **pieces: Any,
) -> Any:
    """Searches on the tasks of a model, and compiles it with what was found; takes the same pieces as tune_tir."""
    from .. import relay
    from ..ir.transform import PassContext
    from .relay_integration import extract_task_from_relay

    if backend not in ("graph", "vm"):
        raise ValueError(f'backend is "graph" or "vm", not "{backend}"')
    target = default_config.target(target)
    tasks = extract_task_from_relay(mod, target, params)
    database = tune_extracted_tasks(tasks, config, work_dir, **pieces)
    compile_model = relay.build if backend == "graph" else relay.vm.compile
    options = {"relay.backend.use_meta_schedule": True}
    with target, autotvm_silencer(), database, PassContext(opt_level=3, config=options):
        return compile_model(mod, target=target, params=params)
