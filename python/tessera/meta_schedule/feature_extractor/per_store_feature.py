"""Features of every store of a program."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._ffi.registry import get_global_func
from ...runtime.ndarray import NDArray, array
from .feature_extractor import FeatureExtractor

__all__ = ["PerStoreFeature"]


class PerStoreFeature(FeatureExtractor):
    """A row for each store: arithmetic, accesses, reuse, allocations, loops around. Until the core has all of them these are
    counts of what stands around the store."""

    def __init__(
        self,
        buffers_per_store: int = 5,
        arith_intensity_curve_num_samples: int = 10,
        cache_line_bytes: int = 64,
        extract_workload: bool = False,
    ) -> None:
        self.buffers_per_store, self.cache_line_bytes = buffers_per_store, cache_line_bytes
        self.arith_intensity_curve_num_samples = arith_intensity_curve_num_samples
        self.extract_workload = extract_workload

    def extract_from(self, context: Any, candidates: list[Any]) -> list[NDArray]:
        """One matrix a candidate."""
        extract = get_global_func("meta_schedule.StoreFeatures")
        out = []
        for candidate in candidates:
            columns, values = extract(candidate.sch, self.buffers_per_store, self.cache_line_bytes)
            rows = np.frombuffer(bytes(values), dtype="float64").reshape(-1, int(columns))
            out.append(array(rows.copy()))
        return out
