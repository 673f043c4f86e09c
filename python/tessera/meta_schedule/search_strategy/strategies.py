"""The strategies of the core."""

from __future__ import annotations

from ..._ffi import register_object
from .. import _ffi_api
from .search_strategy import SearchStrategy

__all__ = ["EvolutionarySearch", "ReplayFunc", "ReplayTrace"]


@register_object("meta_schedule.ReplayTrace")
class ReplayTrace(SearchStrategy):
    """Replays traces of the design space with decisions drawn at random."""

    def __init__(self, num_trials_per_iter: int, max_trials_per_task: int, max_fail_count: int = 100) -> None:
        self.__init_handle_by_constructor__(
            _ffi_api.SearchStrategyReplayTrace, num_trials_per_iter, max_trials_per_task, max_fail_count
        )


@register_object("meta_schedule.ReplayFunc")
class ReplayFunc(SearchStrategy):
    """Generates the design space anew for each candidate."""

    def __init__(self, num_trials_per_iter: int, max_trials_per_task: int) -> None:
        self.__init_handle_by_constructor__(_ffi_api.SearchStrategyReplayFunc, num_trials_per_iter, max_trials_per_task)


@register_object("meta_schedule.EvolutionarySearch")
class EvolutionarySearch(SearchStrategy):
    """Breeds candidates that the cost model likes from random ones and from the best that were measured."""

    def __init__(
        self,
        *,
        num_trials_per_iter: int,
        max_trials_per_task: int,
        population_size: int = 2048,
        init_measured_ratio: float = 0.2,
        init_min_unmeasured: int = 50,
        genetic_num_iters: int = 4,
        genetic_mutate_prob: float = 0.85,
        genetic_max_fail_count: int = 10,
        eps_greedy: float = 0.05,
    ) -> None:
        self.__init_handle_by_constructor__(
            _ffi_api.SearchStrategyEvolutionarySearch,
            num_trials_per_iter,
            max_trials_per_task,
            population_size,
            init_measured_ratio,
            init_min_unmeasured,
            genetic_num_iters,
            genetic_mutate_prob,
            genetic_max_fail_count,
            eps_greedy,
        )
