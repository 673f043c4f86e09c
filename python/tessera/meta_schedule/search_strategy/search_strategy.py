"""What to measure next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ..._ffi import register_object
from ...runtime import Object
from ...tir.schedule import Schedule
from .. import _ffi_api
from ..arg_info import ArgInfo

if TYPE_CHECKING:
    from ..cost_model import CostModel
    from ..database import Database
    from ..runner import RunnerResult
    from ..tune_context import TuneContext

__all__ = ["MeasureCandidate", "PySearchStrategy", "SearchStrategy", "create"]


@register_object("meta_schedule.MeasureCandidate")
class MeasureCandidate(Object):
    """A schedule to measure, and the arguments of its function."""

    sch: Schedule

    def __init__(self, sch: Schedule, args_info: list[ArgInfo]) -> None:
        self.__init_handle_by_constructor__(_ffi_api.MeasureCandidate, sch, args_info)


@register_object("meta_schedule.SearchStrategy")
class SearchStrategy(Object):
    """Chooses candidates in design spaces."""

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        _ffi_api.SearchStrategyInitializeWithTuneContext(self, context)

    def pre_tuning(
        self, design_spaces: list[Schedule], database: Database | None = None, cost_model: CostModel | None = None
    ) -> None:
        """Begins a search."""
        _ffi_api.SearchStrategyPreTuning(self, design_spaces, database, cost_model)

    def post_tuning(self) -> None:
        """Ends it."""
        _ffi_api.SearchStrategyPostTuning(self)

    def generate_measure_candidates(self) -> list[MeasureCandidate] | None:
        """Candidates to measure; None at the end."""
        found = _ffi_api.SearchStrategyGenerateMeasureCandidates(self)
        return None if found is None else list(found)

    def notify_runner_results(self, measure_candidates: list[MeasureCandidate], results: list[RunnerResult]) -> None:
        """Tells what came of candidates."""
        _ffi_api.SearchStrategyNotifyRunnerResults(self, measure_candidates, results)

    def clone(self) -> SearchStrategy:
        """A strategy of its own, for another context."""
        return _ffi_api.SearchStrategyClone(self)


@register_object("meta_schedule.PySearchStrategy")
class _PySearchStrategy(SearchStrategy):
    def __init__(
        self,
        f_initialize: Any = None,
        f_pre_tuning: Any = None,
        f_post_tuning: Any = None,
        f_generate: Any = None,
        f_notify: Any = None,
        f_clone: Any = None,
    ) -> None:
        self.__init_handle_by_constructor__(
            _ffi_api.SearchStrategyPySearchStrategy,
            f_initialize,
            f_pre_tuning,
            f_post_tuning,
            f_generate,
            f_notify,
            f_clone,
        )


class PySearchStrategy:
    """A strategy in Python: override its methods, and decorate the class with `derived_object`."""

    _tvm_metadata: ClassVar[dict[str, Any]] = {
        "cls": _PySearchStrategy,
        "methods": [
            "_initialize_with_tune_context",
            "pre_tuning",
            "post_tuning",
            "generate_measure_candidates",
            "notify_runner_results",
            "clone",
        ],
    }

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        raise NotImplementedError

    def pre_tuning(
        self, design_spaces: list[Schedule], database: Database | None = None, cost_model: CostModel | None = None
    ) -> None:
        """Begins a search."""
        raise NotImplementedError

    def post_tuning(self) -> None:
        """Ends it."""
        raise NotImplementedError

    def generate_measure_candidates(self) -> list[MeasureCandidate] | None:
        """Candidates to measure; None at the end."""
        raise NotImplementedError

    def notify_runner_results(self, measure_candidates: list[MeasureCandidate], results: list[RunnerResult]) -> None:
        """Tells what came of candidates."""
        raise NotImplementedError

    def clone(self) -> SearchStrategy:
        """A strategy of its own, for another context."""
        raise NotImplementedError


def create(kind: str = "evolutionary", *args: Any, **kwargs: Any) -> SearchStrategy:
    """A strategy of a kind: "evolutionary", "replay_trace" or "replay_func" ("replay-trace" and so on too)."""
    from . import EvolutionarySearch, ReplayFunc, ReplayTrace

    kinds: dict[str, Any] = {
        "evolutionary": EvolutionarySearch,
        "replay_trace": ReplayTrace,
        "replay_func": ReplayFunc,
    }
    found = kinds.get(kind.replace("-", "_"))
    if found is None:
        raise ValueError(f"Unknown SearchStrategy: {kind}; there are {', '.join(kinds)}")
    return found(*args, **kwargs)
