"""Features of every store of a program."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...auto_scheduler.feature import features_from_primfunc
from ...driver import lower
from ...runtime.ndarray import NDArray, array
from .feature_extractor import FeatureExtractor

__all__ = ["PerStoreFeature"]


class PerStoreFeature(FeatureExtractor):
    """A row of 164 numbers for each buffer that a lowered program stores into: arithmetic, loops around, accesses and their
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
        out = []
        for candidate in candidates:
            rows = features_from_primfunc(
                lower(candidate.sch.mod)["main"], self.cache_line_bytes, self.buffers_per_store, log_scale=True
            )
            rows = np.zeros((1, 64 + 20 * self.buffers_per_store)) if rows is None else np.asarray(rows)
            out.append(array(rows.astype("float64")))
        return out
