"""Features of every store of a program."""

from __future__ import annotations

from typing import Any

from ...auto_scheduler.feature import features_from_modules
from ...runtime.ndarray import NDArray, array
from .feature_extractor import FeatureExtractor

__all__ = ["PerStoreFeature"]


class PerStoreFeature(FeatureExtractor):
    """A row of 164 numbers for each buffer that a program stores into: arithmetic, loops around, accesses and their
    reuse, allocations. They are those of the auto-scheduler."""

    def __init__(
        self,
        buffers_per_store: int = 5,
        arith_intensity_curve_num_samples: int = 10,
        cache_line_bytes: int = 64,
        extract_workload: bool = False,
    ) -> None:
        if arith_intensity_curve_num_samples != 10 or extract_workload:
            raise NotImplementedError(
                "PerStoreFeature has 10 samples of arithmetic intensity, and none of the workload"
            )
        self.buffers_per_store, self.cache_line_bytes = buffers_per_store, cache_line_bytes

    def extract_from(self, context: Any, candidates: list[Any]) -> list[NDArray]:
        """One matrix a candidate."""
        modules = [candidate.sch.mod for candidate in candidates]
        rows = features_from_modules(modules, self.cache_line_bytes, self.buffers_per_store, log_scale=True)
        return [array(each.astype("float64")) for each in rows]
