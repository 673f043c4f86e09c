"""What predicts how good candidates are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..._ffi import register_object
from ...runtime import Object
from .. import _ffi_api

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..runner import RunnerResult
    from ..search_strategy import MeasureCandidate
    from ..tune_context import TuneContext

__all__ = ["CostModel", "PyCostModel"]


@register_object("meta_schedule.CostModel")
class CostModel(Object):
    """Predicts how good candidates are, more is better, and learns from what was measured."""

    def load(self, path: str) -> None:
        """Reads what an earlier run learned."""
        _ffi_api.CostModelLoad(self, str(path))

    def save(self, path: str) -> None:
        """Writes what was learned."""
        _ffi_api.CostModelSave(self, str(path))

    def update(self, context: TuneContext, candidates: list[MeasureCandidate], results: list[RunnerResult]) -> None:
        """Learns what came of candidates."""
        _ffi_api.CostModelUpdate(self, context, candidates, results)

    def predict(self, context: TuneContext, candidates: list[MeasureCandidate]) -> np.ndarray:
        """A score for each candidate."""
        scores = _ffi_api.CostModelPredict(self, context, candidates)
        return np.array([float(getattr(each, "value", each)) for each in scores], dtype="float64")


def _as_floats(predict: Callable[..., Any] | None) -> Callable[..., Any] | None:
    if predict is None:
        return None

    def predict_floats(context: Any, candidates: Any) -> list[float]:
        return [float(each) for each in np.asarray(predict(context, list(candidates))).ravel()]

    return predict_floats


@register_object("meta_schedule.PyCostModel")
class _PyCostModel(CostModel):
    def __init__(
        self,
        f_load: Any = None,
        f_save: Any = None,
        f_update: Any = None,
        predict_func: Any = None,
        f_str: Any = None,
        f_is_blind: Any = None,
    ) -> None:
        del f_str
        self.__init_handle_by_constructor__(
            _ffi_api.CostModelPyCostModel, f_load, f_save, f_update, _as_floats(predict_func), f_is_blind
        )


class PyCostModel:
    """A cost model in Python: override its methods, and decorate the class with `derived_object`."""

    _tvm_metadata: ClassVar[dict[str, Any]] = {
        "cls": _PyCostModel,
        "methods": ["load", "save", "update", "predict", "__str__", "is_blind"],
    }

    def load(self, path: str) -> None:
        """Reads what an earlier run learned."""
        raise NotImplementedError

    def save(self, path: str) -> None:
        """Writes what was learned."""
        raise NotImplementedError

    def update(self, context: TuneContext, candidates: list[MeasureCandidate], results: list[RunnerResult]) -> None:
        """Learns what came of candidates."""
        raise NotImplementedError

    def predict(self, context: TuneContext, candidates: list[MeasureCandidate]) -> np.ndarray:
        """A score for each candidate."""
        raise NotImplementedError

    def is_blind(self) -> bool:
        """True while the scores tell nothing: a search then breeds no more candidates than it has a use for."""
        return False
