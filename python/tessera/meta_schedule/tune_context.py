"""One piece of work and everything that its search uses."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._ffi import register_object
from ..ir import IRModule
from ..runtime import Object
from ..target import Target
from ..tir import PrimFunc
from ..tir.schedule import Schedule
from . import _ffi_api
from .utils import cpu_count, make_logging_func

if TYPE_CHECKING:
    from .cost_model import CostModel
    from .database import Database
    from .runner import RunnerResult
    from .search_strategy import MeasureCandidate, SearchStrategy
    from .space_generator import SpaceGenerator

__all__ = ["TuneContext"]


@register_object("meta_schedule.TuneContext")
class TuneContext(Object):
    """A module, its target and the pieces of its search.

    `sch_rules`, `postprocs` and `mutator_probs` may be "default", which means those of the target. `space_generator` may be
    a function of schedules, and `search_strategy` the name of a kind. `rand_state` -1 takes a seed from the machine.
    """

    mod: Any  # an IRModule, or None
    target: Any  # a Target, or None
    space_generator: SpaceGenerator | None
    search_strategy: SearchStrategy | None
    task_name: str
    rand_state: int
    num_threads: int

    def __init__(
        self,
        mod: IRModule | PrimFunc | None = None,
        *,
        target: Target | str | None = None,
        space_generator: Any = None,
        search_strategy: Any = None,
        sch_rules: Any = None,
        postprocs: Any = None,
        mutator_probs: Any = None,
        task_name: str = "main",
        logger: logging.Logger | None = None,
        rand_state: int = -1,
        num_threads: int | None = None,
    ) -> None:
        from ..tir import tensor_intrin  # noqa: F401  registers the intrinsics that rules name
        from . import default_config
        from .search_strategy import create as create_strategy
        from .space_generator import ScheduleFn, SpaceGenerator, create

        if isinstance(mod, PrimFunc):
            mod = default_config.mod(mod)
        if isinstance(target, str):
            target = Target(target)
        if isinstance(space_generator, str):
            space_generator = create(space_generator)
        elif space_generator is not None and not isinstance(space_generator, SpaceGenerator):
            space_generator = ScheduleFn(space_generator)
        if isinstance(search_strategy, str):
            search_strategy = create_strategy(search_strategy)

        def chosen(given: Any, default: Callable[[Any, Target], Any]) -> Any:
            if given == "default" or given == "from-target":
                if target is None:
                    raise ValueError("the default pieces are those of a target, and none is given")
                return default(None, target)
            return given() if callable(given) else given

        if not isinstance(sch_rules, (list, tuple)):
            sch_rules = chosen(sch_rules, default_config.schedule_rules)
        if not isinstance(postprocs, (list, tuple)):
            postprocs = chosen(postprocs, default_config.postproc)
        if not isinstance(mutator_probs, dict):
            mutator_probs = chosen(mutator_probs, default_config.mutator_probs)
        if mutator_probs is not None:
            mutator_probs = {mutator: float(probability) for mutator, probability in mutator_probs.items()}
        self.__init_handle_by_constructor__(
            _ffi_api.TuneContext,
            mod,
            target,
            space_generator,
            search_strategy,
            sch_rules,
            postprocs,
            mutator_probs,
            task_name,
            make_logging_func(logger),
            rand_state,
            cpu_count() if num_threads is None else num_threads,
        )

    def _initialize(self) -> None:
        _ffi_api.TuneContextInitialize(self)

    initialize = _initialize

    def generate_design_space(self) -> list[Schedule]:
        """The design space of the module."""
        if self.space_generator is None:
            raise ValueError("space_generator is not provided. Please construct TuneContext with space_generator")
        return self.space_generator.generate_design_space(self.mod)

    def _strategy(self) -> SearchStrategy:
        if self.search_strategy is None:
            raise ValueError("search_strategy is not provided. Please construct TuneContext with search_strategy")
        return self.search_strategy

    def pre_tuning(
        self,
        design_spaces: list[Schedule] | None = None,
        database: Database | None = None,
        cost_model: CostModel | None = None,
    ) -> None:
        """Begins a search, in the design space of the module unless others are given."""
        strategy = self._strategy()
        if design_spaces is None:
            design_spaces = self.generate_design_space()
        if database is None:
            from .database import MemoryDatabase

            database = MemoryDatabase()
        if cost_model is None:
            from .default_config import random_model

            cost_model = random_model()
        strategy.pre_tuning(design_spaces, database, cost_model)

    def post_tuning(self) -> None:
        """Ends it."""
        self._strategy().post_tuning()

    def generate_measure_candidates(self) -> list[MeasureCandidate] | None:
        """Candidates to measure; None at the end."""
        return self._strategy().generate_measure_candidates()

    def notify_runner_results(self, measure_candidates: list[MeasureCandidate], results: list[RunnerResult]) -> None:
        """Tells the strategy what came of candidates."""
        self._strategy().notify_runner_results(measure_candidates, results)

    def clone(self) -> TuneContext:
        """A context of its own, with pieces of its own."""
        return _ffi_api.TuneContextClone(self)
