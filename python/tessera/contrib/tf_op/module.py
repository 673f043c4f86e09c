"""Functions of a library over tensors of TensorFlow, through NumPy."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from ...runtime import ndarray as nd
from ...runtime.module import Module, load_module

__all__ = ["OpModule", "TensorFunc"]


class OpModule:
    """A library whose functions TensorFlow calls."""

    def __init__(self, lib_path: str):
        self.lib_path = lib_path

    def func(self, name: str, output_dtype: str | None = None, output_shape: Any = None) -> TensorFunc:
        """A function of the library; its last argument is the result, of this type ("float") and shape."""
        return TensorFunc(self.lib_path, name, output_dtype, output_shape)

    def __getitem__(self, func_name: str) -> TensorFunc:
        return self.func(func_name)


class TensorFunc:
    """One function; calling it gives a tensor of TensorFlow."""

    def __init__(self, lib_path: str, func_name: str, output_dtype: str | None, output_shape: Any):
        self.lib_path = lib_path
        self.func_name = func_name
        self.output_dtype = "float32" if output_dtype in (None, "float") else str(output_dtype)
        self.output_shape = output_shape
        self._library: Module | None = None

    def _run(self, *arrays: Any) -> np.ndarray:
        if self._library is None:
            self._library = load_module(self.lib_path)
        shape = arrays[0].shape if self.output_shape is None else [int(extent) for extent in self.output_shape]
        result = nd.empty(shape, self.output_dtype)
        self._library[self.func_name](*(nd.array(np.asarray(array)) for array in arrays), result)
        return result.numpy()

    def apply(self, *params: Any) -> Any:
        """Calls the function; without a shape the result has that of the first tensor."""
        tensorflow = importlib.import_module("tensorflow")
        return tensorflow.numpy_function(self._run, params, tensorflow.as_dtype(self.output_dtype))

    def __call__(self, *params: Any) -> Any:
        return self.apply(*params)
