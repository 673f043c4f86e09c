"""XGBoost for the cost models of the tuners: the package xgboost, or else its C library (`libxgboost.so` of the system), found when it is asked for."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import importlib
import os
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["LibraryTrees", "find_xgboost", "threads_for"]

_ROWS_OF_A_THREAD = 20000


def find_xgboost() -> Any:
    """The package xgboost; without it as much of it as our models use, on the C library; None where neither is installed."""
    try:
        return importlib.import_module("xgboost")
    except ImportError:
        return _library_trees()


@functools.cache
def _library_trees() -> LibraryTrees | None:
    for name in (ctypes.util.find_library("xgboost"), "libxgboost.so", "libxgboost.so.0"):
        try:  # the loader knows folders that find_library does not look into where there is no compiler
            if name:
                return LibraryTrees(name)
        except OSError:
            continue
    return None


def threads_for(rows: int) -> int:
    """How many threads learn from so many rows: for few of them one is faster than several, which wait for each other in every tree."""
    return max(1, min(os.cpu_count() or 1, rows // _ROWS_OF_A_THREAD))


class LibraryTrees:
    """The names of the package xgboost that our models use, on its C library: `DMatrix`, `Booster`, `train`."""

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)
        self._library.XGBGetLastError.restype = ctypes.c_char_p
        self._library.XGBSetGlobalConfig(b'{"verbosity": 0}')

    def call(self, name: str, *args: Any) -> None:
        """Calls a function of the library, whose errors become RuntimeError."""
        if getattr(self._library, name)(*args) != 0:
            raise RuntimeError(f"{name}: {self._library.XGBGetLastError().decode()}")

    def DMatrix(self, rows: Any, label: Any = None) -> _Matrix:
        """Rows of features with what they are to give."""
        return _Matrix(self, rows, label)

    def Booster(self, params: dict[str, Any] | None = None) -> _Booster:
        """A model that has learned nothing."""
        return _Booster(self, params or {})

    def train(
        self,
        params: dict[str, Any],
        dtrain: _Matrix,
        num_boost_round: int = 10,
        obj: Callable | None = None,
        callbacks: Any = None,
    ) -> _Booster:
        """A model of so many trees; `obj` gives the gradient and the second derivative of predictions."""
        model = _Booster(self, params, dtrain)
        for number in range(num_boost_round):
            model.update(dtrain, number, obj)
            ends = [each.after_iteration(model, number, {}) for each in callbacks or []]
            if any(ends):
                break
        return model


class _Matrix:
    def __init__(self, trees: LibraryTrees, rows: Any, label: Any) -> None:
        self._trees, self.handle = trees, ctypes.c_void_p()
        values = np.ascontiguousarray(rows, dtype=np.float32)
        count, width = (ctypes.c_uint64(each) for each in values.shape)
        missing = ctypes.c_float(float("nan"))
        trees.call("XGDMatrixCreateFromMat", _pointer(values), count, width, missing, ctypes.byref(self.handle))
        if label is not None:
            self._set("label", label)

    def __del__(self) -> None:
        if self.handle:
            self._trees.call("XGDMatrixFree", self.handle)

    def _set(self, name: str, values: Any) -> None:
        floats = np.ascontiguousarray(values, dtype=np.float32).reshape(-1)
        length = ctypes.c_uint64(floats.size)
        self._trees.call("XGDMatrixSetFloatInfo", self.handle, name.encode(), _pointer(floats), length)

    def _get(self, name: str) -> np.ndarray:
        length, values = ctypes.c_uint64(), ctypes.POINTER(ctypes.c_float)()
        self._trees.call(
            "XGDMatrixGetFloatInfo", self.handle, name.encode(), ctypes.byref(length), ctypes.byref(values)
        )
        return _copied(values, length.value)

    def set_group(self, sizes: Any) -> None:
        """How many rows each group has, in order."""
        counts = np.ascontiguousarray(sizes, dtype=np.uint32)
        length = ctypes.c_uint64(counts.size)
        self._trees.call("XGDMatrixSetUIntInfo", self.handle, b"group", _pointer(counts, ctypes.c_uint), length)

    def set_base_margin(self, margin: Any) -> None:
        """Where predictions begin."""
        self._set("base_margin", margin)

    def set_weight(self, weights: Any) -> None:
        """How much each row counts."""
        self._set("weight", weights)

    def get_label(self) -> np.ndarray:
        """What the rows are to give."""
        return self._get("label")

    def get_weight(self) -> np.ndarray:
        """How much each row counts; nothing where that was not said."""
        return self._get("weight")


class _Booster:
    def __init__(self, trees: LibraryTrees, params: dict[str, Any], matrix: _Matrix | None = None) -> None:
        self._trees, self.handle = trees, ctypes.c_void_p()
        handles = (ctypes.c_void_p * 1)(matrix.handle if matrix else None)
        count = ctypes.c_uint64(1 if matrix else 0)
        trees.call("XGBoosterCreate", handles, count, ctypes.byref(self.handle))
        for name, value in params.items():
            trees.call("XGBoosterSetParam", self.handle, name.encode(), str(value).encode())

    def __del__(self) -> None:
        if self.handle:
            self._trees.call("XGBoosterFree", self.handle)

    def update(self, matrix: _Matrix, number: int, objective: Callable | None) -> None:
        """One tree more."""
        if objective is None:
            self._trees.call("XGBoosterUpdateOneIter", self.handle, number, matrix.handle)
            return
        pair = objective(self._predict(matrix, is_margin=True, is_training=True), matrix)
        gradient, second = (np.ascontiguousarray(each, dtype=np.float32) for each in pair)
        length = ctypes.c_uint64(gradient.size)
        self._trees.call(
            "XGBoosterBoostOneIter", self.handle, matrix.handle, _pointer(gradient), _pointer(second), length
        )

    def _predict(self, matrix: _Matrix, is_margin: bool, is_training: bool = False) -> np.ndarray:
        length, values = ctypes.c_uint64(), ctypes.POINTER(ctypes.c_float)()
        self._trees.call(
            "XGBoosterPredict", self.handle, matrix.handle, int(is_margin), ctypes.c_uint(0), int(is_training),
            ctypes.byref(length), ctypes.byref(values),
        )  # fmt: skip
        return _copied(values, length.value)

    def predict(self, matrix: _Matrix, output_margin: bool = False) -> np.ndarray:
        """What the model gives for rows."""
        return self._predict(matrix, output_margin)

    def save_model(self, path: str) -> None:
        """Writes the model."""
        self._trees.call("XGBoosterSaveModel", self.handle, os.fsencode(path))

    def load_model(self, path: str) -> None:
        """Reads a model."""
        self._trees.call("XGBoosterLoadModel", self.handle, os.fsencode(path))


def _pointer(values: np.ndarray, kind: Any = ctypes.c_float) -> Any:
    return values.ctypes.data_as(ctypes.POINTER(kind))


def _copied(values: Any, length: int) -> np.ndarray:
    return np.ctypeslib.as_array(values, (length,)).copy() if length else np.zeros(0, dtype=np.float32)
