"""What cost models see of candidates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ...runtime.ndarray import NDArray, array
from ..utils import derived_object

__all__ = ["FeatureExtractor", "PyFeatureExtractor", "RandomFeatureExtractor"]


class FeatureExtractor:
    """A matrix of features for each candidate."""

    def extract_from(self, context: Any, candidates: list[Any]) -> list[NDArray]:
        """One row a store."""
        raise NotImplementedError


class _PyFeatureExtractor(FeatureExtractor):
    _f_extract_from: Callable | None

    def __init__(self, f_extract_from: Callable | None = None, f_as_string: Callable | None = None) -> None:
        del f_as_string
        self.__dict__["_f_extract_from"] = f_extract_from

    def extract_from(self, context: Any, candidates: list[Any]) -> list[NDArray]:
        if self._f_extract_from is None:
            raise NotImplementedError("PyFeatureExtractor's extract_from method is not implemented")
        return list(self._f_extract_from(context, candidates))


class PyFeatureExtractor:
    """Features in Python: override `extract_from`, and decorate the class with `derived_object`."""

    _tvm_metadata: ClassVar[dict[str, Any]] = {"cls": _PyFeatureExtractor, "methods": ["extract_from", "__str__"]}

    def extract_from(self, context: Any, candidates: list[Any]) -> list[NDArray]:
        """One row a store."""
        raise NotImplementedError


@derived_object
class RandomFeatureExtractor(PyFeatureExtractor):
    """Random numbers."""

    def __init__(self, *, feature_size: int = 30, max_block_num: int = 5, seed: int = 0) -> None:
        super().__init__()
        self.feature_size, self.max_block_num = feature_size, max_block_num
        np.random.seed(seed)

    def extract_from(self, context: Any, candidates: list[Any]) -> list[NDArray]:
        """Some rows for each candidate."""
        shape = (np.random.randint(1, self.max_block_num + 1), self.feature_size)
        return [array(np.random.rand(*shape)) for _ in candidates]
